package credit_test

import (
	"testing"

	"github.com/assayhq/assay/internal/domain/credit"
	"github.com/assayhq/assay/internal/domain/fault"
)

func TestNotEnough(t *testing.T) {
	t.Run("Details", func(t *testing.T) {
		e := credit.NotEnough(12, 5)
		if e.Kind != fault.PaymentRequired || e.Code != "not-enough-credits" || e.Details["required_credits"] != int64(12) ||
			e.Details["available_credits"] != int64(5) {
			t.Errorf("the refusal is %+v", e)
		}
	})
}
