package desk_test

import (
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/pages/desk"
	"github.com/assayhq/assay/internal/pages/portal"
	"github.com/assayhq/assay/internal/testkit/uitest"
)

func TestMessages(t *testing.T) {
	uitest.CheckMessages(t, uitest.Site(t, time.Now, desk.Area), "desk", []string{"."},
		"desk.event.", "desk.because.", "desk.role.", "desk.tab.", "desk.problem.", "desk.check.", "desk.fail.",
		"desk.cancel.", "desk.complete.", "desk.lost.")
}

// TestEventsHaveTexts checks that timelines show no codes. A text is always there in both languages.
func TestEventsHaveTexts(t *testing.T) {
	site := uitest.Site(t, time.Now, desk.Area, portal.Area)
	for _, event := range order.Events {
		for _, area := range []string{"desk", "portal"} {
			if key := area + ".event." + event; !site.Messages.Has(key) {
				t.Errorf("there is no text %s", key)
			}
		}
	}
}
