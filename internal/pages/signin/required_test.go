package signin_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/service"
	auth "github.com/assayhq/assay/internal/service/signin"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/must"
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

// TestPasskeyIsTheSecondFactor checks that a password, or a mailbox, is not enough where more is required and somebody
// has a passkey: whoever has learnt it could set up a second factor of their own.
func TestPasskeyIsTheSecondFactor(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		d := w.device()
		w.addPasskey(w.as(t, w.who), d, "Phone").Want(t, http.StatusSeeOther)
		w.Reconfigure(t, func(c *service.Config) { c.Limits.SecondFactor = map[access.Audience]bool{w.audience: true} })
		intruder := w.Visit(t)
		refused := func(password string) {
			t.Helper()
			intruder.Post(w.base+"/sign-in", "email", w.who.Email, "password", password).
				Want(t, http.StatusUnprocessableEntity, "Sign in with your passkey.")
			if p := intruder.Get(w.settings + "/second-factor"); p.Status != http.StatusSeeOther ||
				!strings.HasPrefix(p.Location, w.base+"/sign-in") {
				t.Errorf("the page to set up a second factor: %d to %q", p.Status, p.Location)
			}
		}
		refused(password)

		var token string
		must.NoError(t, w.Store.Update(t.Context(), func(tx *store.Tx) error {
			g := w.Service.SignIn(w.audience)
			address, err := g.MakeLink(tx, auth.ResetLink(w.who, w.who.ID))
			_, token, _ = strings.Cut(address, "token=")
			return err
		}))
		const chosen = "chosen with a mailbox alone"
		p := intruder.Post(w.base+"/reset", "token", token, "new_password", chosen, "repeat", chosen).
			Want(t, http.StatusSeeOther)
		if p.Location != w.base+"/sign-in" {
			t.Errorf("leads to %s", p.Location)
		}
		if p := intruder.Post(w.base+"/reset/passkeys", "all", "1"); p.Status == http.StatusOK {
			t.Error("a form for nobody is accepted")
		}
		refused(chosen)

		v := w.Visit(t)
		w.usePasskey(v, d).Want(t, http.StatusSeeOther)
		v.Get(w.page).Want(t, http.StatusOK)
	})
}
