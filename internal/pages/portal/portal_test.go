package portal_test

import (
	"testing"
	"time"

	"github.com/assayhq/assay/internal/pages/portal"
	"github.com/assayhq/assay/internal/testkit/uitest"
)

func TestMessages(t *testing.T) {
	uitest.CheckMessages(t, uitest.Site(t, time.Now, portal.Area), "portal", []string{"."},
		"portal.env.", "portal.nav.", "portal.role.", "portal.role_may.", "portal.scope.", "portal.event.", "portal.fault.",
		"portal.problem.", "portal.file.",
		"portal.keys.env_", "portal.webhooks.on_", "portal.webhooks.auth_", "portal.delivery.since_",
		"portal.delivery.because_", "portal.failure.",
		"portal.audit.source.", "portal.audit.code.", "portal.audit.lead_",
		"portal.chart.", "portal.limits.of_", "portal.requests.class_", "portal.capture.life_",
		"portal.capture.revoke_", "portal.keys.revoke_", "portal.order.cancel_",
		"portal.team.remove_", "portal.webhooks.delete_") // of confirm
}
