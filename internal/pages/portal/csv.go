package portal

import (
	"time"

	"github.com/assayhq/assay/internal/pages/ui"
)

func csvTimeOf(t *time.Time) string {
	if t == nil {
		return ""
	}
	return ui.CSVTime(*t)
}
