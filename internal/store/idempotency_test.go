package store_test

import (
	"testing"
	"time"

	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// TestNothingToExpire is what housekeeping asks most of the time.
func TestNothingToExpire(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		before := time.UnixMicro(1)
		if some, err := s.HasUnusedPhotos(t.Context(), before); some || err != nil {
			t.Errorf("unused photos: %t, %v", some, err)
		}
		if some, err := s.HasIdempotencyKeys(t.Context(), before); some || err != nil {
			t.Errorf("idempotency keys: %t, %v", some, err)
		}
	})
}
