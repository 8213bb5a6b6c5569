package desk_test

import (
	"testing"
	"time"

	"github.com/assayhq/assay/internal/pages/desk"
	"github.com/assayhq/assay/internal/testkit/uitest"
)

func TestMessages(t *testing.T) {
	uitest.CheckMessages(t, uitest.Site(t, time.Now, desk.Area), "desk", []string{"."},
		"desk.event.", "desk.role.", "desk.tab.", "desk.problem.", "desk.check.", "desk.fail.", "desk.cancel.", "desk.lost.")
}
