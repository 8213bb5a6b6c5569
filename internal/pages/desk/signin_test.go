package desk_test

import (
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/pquerna/otp/totp"
)

const wrongWords = "The email or the password is wrong."

func TestSignIn(t *testing.T) {
	w := newWorld(t)
	t.Run("Right", func(t *testing.T) {
		v := w.visit(t)
		if p := v.post("/desk/sign-in", "email", "Mika@Example.com", "password", password, "next", "/desk/me"); p.location != "/desk/me" {
			t.Fatalf("%d to %q", p.status, p.location)
		}
		v.get("/desk/me").want(t, http.StatusOK, "Mika Sato")
		v.post("/desk/sign-out").want(t, http.StatusSeeOther)
		v.get("/desk").want(t, http.StatusSeeOther)
	})
	t.Run("SameRefusal", func(t *testing.T) {
		gone := w.staff(t, "gone@example.com", "Gone", access.Reviewer)
		check(t, second(w.Service.DeactivateStaff(t.Context(), access.Operator, gone.ID)))
		for name, form := range map[string][]string{
			"WrongPassword": {"email", "mika@example.com", "password", "nonsense"},
			"UnknownUser":   {"email", "nobody@example.com", "password", password},
			"NoEmail":       {"email", "not an address", "password", password},
			"Deactivated":   {"email", "gone@example.com", "password", password},
			"Empty":         {},
		} {
			t.Run(name, func(t *testing.T) {
				p := w.visit(t).post("/desk/sign-in", form...).want(t, http.StatusUnprocessableEntity, wrongWords)
				p.lacks(t, password)
			})
		}
	})
	t.Run("ForeignNext", func(t *testing.T) {
		if p := w.visit(t).post("/desk/sign-in", "email", "mika@example.com", "password", password, "next", "https://evil.example/"); p.location != "/desk" {
			t.Errorf("sent on to %q", p.location)
		}
	})
	t.Run("Throttled", func(t *testing.T) {
		v := w.visit(t)
		for range 10 {
			v.post("/desk/sign-in", "email", "ren@example.com", "password", "guess").want(t, http.StatusUnprocessableEntity)
		}
		v.post("/desk/sign-in", "email", "ren@example.com", "password", password).want(t, http.StatusTooManyRequests, "Too many attempts")
		w.Clock.Advance(16 * time.Minute)
		v.post("/desk/sign-in", "email", "ren@example.com", "password", password).want(t, http.StatusSeeOther)
	})
}

var secretPattern = regexp.MustCompile(`<code>([A-Z2-7]{20,})</code>`)

// enrol turns the second factor on and returns its secret.
func enrol(t *testing.T, w *world, v *visitor) string {
	t.Helper()
	p := v.get("/desk/me/second-factor").want(t, http.StatusOK, "data:image/png;base64,")
	secret := secretPattern.FindStringSubmatch(p.body)[1]
	_, rest, _ := strings.Cut(p.body, `name="sealed" value="`)
	sealed, _, _ := strings.Cut(rest, `"`)
	sealed = html.UnescapeString(sealed)
	v.post("/desk/me/second-factor", "sealed", sealed, "code", "000000").want(t, http.StatusUnprocessableEntity, "The code is wrong", secret)
	v.follow("/desk/me/second-factor", "sealed", sealed, "code", code(t, w, secret)).want(t, http.StatusOK, "The second factor is on.")
	return secret
}

func code(t *testing.T, w *world, secret string) string {
	t.Helper()
	c, err := totp.GenerateCode(secret, w.Clock.Now())
	check(t, err)
	return c
}

func TestSecondFactor(t *testing.T) {
	w := newWorld(t)
	first, second := w.as(t, w.Mika), w.as(t, w.Mika)
	secret := enrol(t, w, first)
	second.get("/desk").want(t, http.StatusSeeOther) // other browsers are signed out
	w.Clock.Advance(time.Minute)

	signIn := func(t *testing.T) *visitor {
		v := w.visit(t)
		if p := v.post("/desk/sign-in", "email", "mika@example.com", "password", password, "next", "/desk/me"); p.location != "/desk/sign-in/code" {
			t.Fatalf("%d to %q, want to be asked for the code", p.status, p.location)
		}
		v.get("/desk").want(t, http.StatusSeeOther) // not signed in yet
		return v
	}
	used := code(t, w, secret)
	t.Run("Right", func(t *testing.T) {
		v := signIn(t)
		v.get("/desk/sign-in/code").want(t, http.StatusOK, "Six-digit code")
		if p := v.post("/desk/sign-in/code", "code", used[:3]+" "+used[3:]); p.location != "/desk/me" {
			t.Fatalf("%d to %q\n%.500s", p.status, p.location, p.body)
		}
		v.get("/desk/me").want(t, http.StatusOK, "On")
	})
	t.Run("Replayed", func(t *testing.T) {
		signIn(t).post("/desk/sign-in/code", "code", used).want(t, http.StatusUnprocessableEntity, "was used before")
	})
	t.Run("NextPeriod", func(t *testing.T) {
		w.Clock.Advance(30 * time.Second)
		signIn(t).post("/desk/sign-in/code", "code", code(t, w, secret)).want(t, http.StatusSeeOther)
	})
	t.Run("TooLate", func(t *testing.T) {
		v := signIn(t)
		w.Clock.Advance(6 * time.Minute)
		if p := v.post("/desk/sign-in/code", "code", code(t, w, secret)); p.location != "/desk/sign-in" {
			t.Errorf("%d to %q, want to begin again", p.status, p.location)
		}
	})
	t.Run("Throttled", func(t *testing.T) {
		v := signIn(t)
		for range 10 {
			v.post("/desk/sign-in/code", "code", "123456").want(t, http.StatusUnprocessableEntity)
		}
		v.post("/desk/sign-in/code", "code", code(t, w, secret)).want(t, http.StatusTooManyRequests)
	})
	t.Run("Off", func(t *testing.T) {
		first.post("/desk/me/second-factor/end", "off_password", "wrong").want(t, http.StatusUnprocessableEntity, "The password is wrong.")
		first.follow("/desk/me/second-factor/end", "off_password", password).want(t, http.StatusOK, "The second factor is off.")
		w.visit(t).post("/desk/sign-in", "email", "mika@example.com", "password", password).want(t, http.StatusSeeOther)
	})
}

func TestSettings(t *testing.T) {
	w := newWorld(t)
	v, other := w.as(t, w.Mika), w.as(t, w.Mika)
	t.Run("PasswordRules", func(t *testing.T) {
		v.post("/desk/me/password", "password", password, "new_password", "short", "repeat", "short").want(t, http.StatusUnprocessableEntity, "12 to 256 characters.")
		v.post("/desk/me/password", "password", password, "new_password", "long enough to keep", "repeat", "something else").want(t, http.StatusUnprocessableEntity, "differ")
		v.post("/desk/me/password", "password", "wrong", "new_password", "long enough to keep", "repeat", "long enough to keep").
			want(t, http.StatusUnprocessableEntity, "The password is wrong.").lacks(t, "long enough to keep")
	})
	t.Run("Sessions", func(t *testing.T) {
		p := v.get("/desk/me").want(t, http.StatusOK, "this one")
		if n := strings.Count(p.body, "/desk/me/sessions/0"); n != 2 {
			t.Errorf("%d sessions are listed, want 2", n)
		}
		v.follow("/desk/me/sessions/end").want(t, http.StatusOK, "All other browsers are signed out.")
		other.get("/desk").want(t, http.StatusSeeOther)
		foreign := w.as(t, w.Ren)
		foreign.get("/desk").want(t, http.StatusOK)
		sessions, err := w.Service.Sessions(t.Context(), access.Desk, w.Ren.ID)
		check(t, err)
		v.post("/desk/me/sessions/" + sessions[0].ID + "/end")
		foreign.get("/desk").want(t, http.StatusOK) // nobody ends another's session
	})
	t.Run("Token", func(t *testing.T) {
		v.post("/desk/me/token", "token_password", "wrong").want(t, http.StatusUnprocessableEntity).lacks(t, "assay_staff_")
		p := v.post("/desk/me/token", "token_password", password).want(t, http.StatusOK, "assay_staff_")
		_, rest, _ := strings.Cut(p.body, "<code>assay_staff_")
		token, _, _ := strings.Cut("assay_staff_"+rest, "<")
		if who, err := w.Service.AuthenticateStaff(t.Context(), token); err != nil || who.ID != w.Mika.ID {
			t.Errorf("the token belongs to %v, %v", who, err)
		}
	})
	t.Run("Password", func(t *testing.T) {
		v.follow("/desk/me/password", "password", password, "new_password", "long enough to keep", "repeat", "long enough to keep").
			want(t, http.StatusOK, "Your password is changed.")
		w.visit(t).post("/desk/sign-in", "email", "mika@example.com", "password", password).want(t, http.StatusUnprocessableEntity)
		w.visit(t).post("/desk/sign-in", "email", "mika@example.com", "password", "long enough to keep").want(t, http.StatusSeeOther)
	})
}
