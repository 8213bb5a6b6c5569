package desk_test

import (
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pagetest"
	"github.com/pquerna/otp/totp"
)

const wrongWords = "The email or the password is wrong."

func TestSignIn(t *testing.T) {
	w := newWorld(t)
	t.Run("Right", func(t *testing.T) {
		v := w.Visit(t)
		if p := v.Post("/desk/sign-in", "email", "Mika@Example.com", "password", password, "next",
			"/desk/me"); p.Location != "/desk/me" {
			t.Fatalf("%d to %q", p.Status, p.Location)
		}
		v.Get("/desk/me").Want(t, http.StatusOK, "Mika Sato")
		v.Post("/desk/sign-out").Want(t, http.StatusSeeOther)
		v.Get("/desk").Want(t, http.StatusSeeOther)
	})
	t.Run("SameRefusal", func(t *testing.T) {
		gone := w.AddStaff(t, "gone@example.com", "Gone", access.Reviewer)
		must.NoError(t, w.Service.DeactivateStaff(t.Context(), gone.ID))
		for name, form := range map[string][]string{
			"WrongPassword": {"email", "mika@example.com", "password", "nonsense"},
			"UnknownUser":   {"email", "nobody@example.com", "password", password},
			"NoEmail":       {"email", "not an address", "password", password},
			"Deactivated":   {"email", "gone@example.com", "password", password},
			"Empty":         {},
		} {
			t.Run(name, func(t *testing.T) {
				p := w.Visit(t).Post("/desk/sign-in", form...).Want(t, http.StatusUnprocessableEntity, wrongWords)
				p.Lacks(t, password)
			})
		}
	})
	t.Run("ForeignNext", func(t *testing.T) {
		if p := w.Visit(t).
			Post("/desk/sign-in", "email", "mika@example.com", "password", password, "next",
				"https://evil.example/"); p.Location != "/desk" {
			t.Errorf("sent on to %q", p.Location)
		}
	})
	t.Run("Throttled", func(t *testing.T) {
		v := w.Visit(t)
		for range 10 {
			v.Post("/desk/sign-in", "email", "ren@example.com", "password", "guess").Want(t, http.StatusUnprocessableEntity)
		}
		v.Post("/desk/sign-in", "email", "ren@example.com", "password", password).
			Want(t, http.StatusTooManyRequests, "Too many attempts")
		w.Clock.Advance(16 * time.Minute)
		v.Post("/desk/sign-in", "email", "ren@example.com", "password", password).Want(t, http.StatusSeeOther)
	})
}

var secretPattern = regexp.MustCompile(`<code>([A-Z2-7]{20,})</code>`)

// enrol turns the second factor on and returns its secret.
func enrol(t *testing.T, w *world, v *pagetest.Visitor) string {
	t.Helper()
	p := v.Get("/desk/me/second-factor").Want(t, http.StatusOK, "data:image/png;base64,")
	secret := secretPattern.FindStringSubmatch(p.Body)[1]
	_, rest, _ := strings.Cut(p.Body, `name="sealed" value="`)
	sealed, _, _ := strings.Cut(rest, `"`)
	sealed = html.UnescapeString(sealed)
	v.Post("/desk/me/second-factor", "sealed", sealed, "code", "000000").
		Want(t, http.StatusUnprocessableEntity, "The code is wrong", secret)
	v.Submit("/desk/me/second-factor", "sealed", sealed, "code", code(t, w, secret)).
		Want(t, http.StatusOK, "The second factor is on.")
	return secret
}

func code(t *testing.T, w *world, secret string) string {
	t.Helper()
	c, err := totp.GenerateCode(secret, w.Clock.Now())
	must.NoError(t, err)
	return c
}

func TestSecondFactor(t *testing.T) {
	w := newWorld(t)
	first, second := w.AsStaff(t, w.Mika), w.AsStaff(t, w.Mika)
	secret := enrol(t, w, first)
	second.Get("/desk").Want(t, http.StatusSeeOther) // other browsers are signed out
	w.Clock.Advance(time.Minute)

	signIn := func(t *testing.T) *pagetest.Visitor {
		v := w.Visit(t)
		if p := v.Post("/desk/sign-in", "email", "mika@example.com", "password", password, "next",
			"/desk/me"); p.Location != "/desk/sign-in/code" {
			t.Fatalf("%d to %q, want to be asked for the code", p.Status, p.Location)
		}
		v.Get("/desk").Want(t, http.StatusSeeOther) // not signed in yet
		return v
	}
	used := code(t, w, secret)
	t.Run("Right", func(t *testing.T) {
		v := signIn(t)
		v.Get("/desk/sign-in/code").Want(t, http.StatusOK, "Six-digit code")
		if p := v.Post("/desk/sign-in/code", "code", used[:3]+" "+used[3:]); p.Location != "/desk/me" {
			t.Fatalf("%d to %q\n%.500s", p.Status, p.Location, p.Body)
		}
		v.Get("/desk/me").Want(t, http.StatusOK, "On")
	})
	t.Run("Replayed", func(t *testing.T) {
		signIn(t).Post("/desk/sign-in/code", "code", used).Want(t, http.StatusUnprocessableEntity, "was used before")
	})
	t.Run("NextPeriod", func(t *testing.T) {
		w.Clock.Advance(30 * time.Second)
		signIn(t).Post("/desk/sign-in/code", "code", code(t, w, secret)).Want(t, http.StatusSeeOther)
	})
	t.Run("TooLate", func(t *testing.T) {
		v := signIn(t)
		w.Clock.Advance(6 * time.Minute)
		if p := v.Post("/desk/sign-in/code", "code", code(t, w, secret)); p.Location != "/desk/sign-in" {
			t.Errorf("%d to %q, want to begin again", p.Status, p.Location)
		}
	})
	t.Run("Throttled", func(t *testing.T) {
		v := signIn(t)
		for range 10 {
			v.Post("/desk/sign-in/code", "code", "123456").Want(t, http.StatusUnprocessableEntity)
		}
		v.Post("/desk/sign-in/code", "code", code(t, w, secret)).Want(t, http.StatusTooManyRequests)
	})
	t.Run("Off", func(t *testing.T) {
		first.Post("/desk/me/second-factor/end", "off_password", "wrong").
			Want(t, http.StatusUnprocessableEntity, "The password is wrong.")
		first.Submit("/desk/me/second-factor/end", "off_password", password).
			Want(t, http.StatusOK, "The second factor is off.")
		w.Visit(t).Post("/desk/sign-in", "email", "mika@example.com", "password", password).Want(t, http.StatusSeeOther)
	})
}

func TestSettings(t *testing.T) {
	w := newWorld(t)
	v, other := w.AsStaff(t, w.Mika), w.AsStaff(t, w.Mika)
	t.Run("PasswordRules", func(t *testing.T) {
		v.Post("/desk/me/password", "password", password, "new_password", "short", "repeat", "short").
			Want(t, http.StatusUnprocessableEntity, "12 to 256 characters.")
		v.Post("/desk/me/password", "password", password, "new_password", "long enough to keep", "repeat", "something else").
			Want(t, http.StatusUnprocessableEntity, "differ")
		v.Post("/desk/me/password", "password", "wrong", "new_password", "long enough to keep", "repeat",
			"long enough to keep").
			Want(t, http.StatusUnprocessableEntity, "The password is wrong.").Lacks(t, "long enough to keep")
	})
	t.Run("Sessions", func(t *testing.T) {
		p := v.Get("/desk/me").Want(t, http.StatusOK, "this one")
		if n := strings.Count(p.Body, "/desk/me/sessions/0"); n != 2 {
			t.Errorf("%d sessions are listed, want 2", n)
		}
		v.Submit("/desk/me/sessions/end").Want(t, http.StatusOK, "All other browsers are signed out.")
		other.Get("/desk").Want(t, http.StatusSeeOther)
		foreign := w.AsStaff(t, w.Ren)
		foreign.Get("/desk").Want(t, http.StatusOK)
		sessions, err := w.Service.Sessions(t.Context(), access.Desk, w.Ren.ID)
		must.NoError(t, err)
		v.Post("/desk/me/sessions/" + sessions[0].ID + "/end")
		foreign.Get("/desk").Want(t, http.StatusOK) // nobody ends another's session
	})
	t.Run("Token", func(t *testing.T) {
		v.Post("/desk/me/token", "token_password", "wrong").Want(t, http.StatusUnprocessableEntity).Lacks(t, "assay_staff_")
		p := v.Post("/desk/me/token", "token_password", password).Want(t, http.StatusOK, "assay_staff_")
		_, rest, _ := strings.Cut(p.Body, "<code>assay_staff_")
		token, _, _ := strings.Cut("assay_staff_"+rest, "<")
		if who, err := w.Service.AuthenticateStaff(t.Context(), token); err != nil || who.ID != w.Mika.ID {
			t.Errorf("the token belongs to %v, %v", who, err)
		}
	})
	t.Run("Password", func(t *testing.T) {
		v.Submit("/desk/me/password", "password", password, "new_password", "long enough to keep", "repeat",
			"long enough to keep").
			Want(t, http.StatusOK, "Your password is changed.")
		w.Visit(t).Post("/desk/sign-in", "email", "mika@example.com", "password", password).
			Want(t, http.StatusUnprocessableEntity)
		w.Visit(t).Post("/desk/sign-in", "email", "mika@example.com", "password", "long enough to keep").
			Want(t, http.StatusSeeOther)
	})
}
