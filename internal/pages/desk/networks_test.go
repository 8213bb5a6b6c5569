package desk_test

import (
	"net/http"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/testkit/pagetest"
)

// TestDeskNetworks checks that nobody outside of the networks of the desk sees more than a refusal, not even the page
// to sign in, and that the portal is not affected.
func TestDeskNetworks(t *testing.T) {
	w := pagetest.New(t)
	staff, user := w.AsStaff(t, w.Aoi), w.AsUser(t, w.Owner)
	for network, want := range map[string]int{"203.0.113.0/24": http.StatusForbidden, "127.0.0.0/8": http.StatusOK} {
		w.Reconfigure(t, func(c *service.Config) {
			c.Limits.DeskNetworks, _ = access.CheckNetworks("", []string{network})
		})
		for _, path := range []string{"/desk", "/desk/me", "/desk/admin/staff"} {
			staff.Get(path).Want(t, want)
		}
		w.Visit(t).Get("/desk/sign-in").Want(t, want)
		if want == http.StatusForbidden {
			staff.Get("/desk?lang=ja").Want(t, want, "（127.0.0.1）からは、このページを利用できません")
		}
		user.Get("/portal").Want(t, http.StatusSeeOther)
	}
}
