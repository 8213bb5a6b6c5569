package portal_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/testkit/pagetest"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// TestUnstorablePaths asks for every page of users and staff with an id in its address that PostgreSQL does not take:
// there is no such page.
func TestUnstorablePaths(t *testing.T) {
	id := regexp.MustCompile(`\{\w+\}`)
	storetest.EachTarget(t, func(t *testing.T, target string) {
		w := &world{pagetest.On(t, target)}
		user, staff := w.AsUser(t, w.Owner), w.AsStaff(t, w.Aoi)
		for _, pattern := range slices.Concat(patternsOf(w), w.Desk.Patterns(), w.Admin.Patterns()) {
			v := user
			if strings.Contains(pattern, " /desk/") {
				v = staff
			}
			for _, text := range []string{"%00", "%FF"} {
				if path := id.ReplaceAllLiteralString(pattern, text); path != pattern {
					_, path, _ = strings.Cut(path, " ")
					if p := request(v, pattern, path); p.Status != http.StatusNotFound {
						t.Errorf("%s is %d, want 404", p.Request, p.Status)
					}
				}
			}
		}
		staff.Post("/desk/admin/certificates/%00/revoke", "reason", "Forged").Want(t, http.StatusNotFound)
	})
}
