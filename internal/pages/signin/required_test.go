package signin_test

import (
	"net/http"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/service"
)

// TestSecondFactorRequired checks that who has to have a second factor reaches nothing but the page to set it up.
func TestSecondFactorRequired(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Reconfigure(t, func(c *service.Config) { c.Limits.SecondFactor = map[access.Audience]bool{w.audience: true} })
		v := w.Visit(t)
		v.Post(w.base+"/sign-in", "email", w.who.Email, "password", password).Want(t, http.StatusSeeOther)
		setUp := w.settings + "/second-factor"
		for _, path := range []string{w.base, w.page, w.settings, w.settings + "/password"} {
			if p := v.Get(path).Want(t, http.StatusSeeOther); p.Location != setUp {
				t.Errorf("%s leads to %s", path, p.Location)
			}
		}
		if p := v.Post(w.settings+"/token", "token_password", password); p.Status == http.StatusOK {
			t.Error("a form is taken before the second factor")
		}
		v.Get(setUp).Want(t, http.StatusOK, "requires a second factor")
		v.Post(w.base+"/sign-out").Want(t, http.StatusSeeOther)

		_, recovery := enrol(t, w, w.who)
		v = w.Visit(t)
		v.Post(w.base+"/sign-in", "email", w.who.Email, "password", password).Want(t, http.StatusSeeOther)
		v.Post(w.base+"/sign-in/code", "code", recovery[0]).Want(t, http.StatusSeeOther)
		v.Get(w.page).Want(t, http.StatusOK)
	})
}
