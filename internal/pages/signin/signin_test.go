package signin_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pagetest"
)

func TestSignIn(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		t.Run("Succeeds", func(t *testing.T) {
			v := w.Visit(t)
			p := v.Post(w.base+"/sign-in", "email", strings.ToUpper(w.other.Email), "password", password, "next", w.page).
				Want(t, http.StatusSeeOther)
			if p.Location != w.page {
				t.Errorf("leads to %q", p.Location)
			}
			w.recorded(t, "in", w.other, "")
			v.Get(w.page).Want(t, http.StatusOK, w.other.Name)
			v.Post(w.base + "/sign-out")
			if p := v.Get(w.page); p.Status != http.StatusSeeOther {
				t.Errorf("signed out, the page is %d", p.Status)
			}
		})
		t.Run("Fails", func(t *testing.T) {
			w.Visit(t).Post(w.base+"/sign-in", "email", w.other.Email, "password", "wrong").
				Want(t, http.StatusUnprocessableEntity, "The email or password is wrong.")
			w.recorded(t, "failed", w.other, "wrong-password")
		})
		t.Run("UnknownEmailLooksTheSame", func(t *testing.T) {
			before := len(w.SignInRecords(t, w.audience))
			known := w.Visit(t).Post(w.base+"/sign-in", "email", w.who.Email, "password", "wrong")
			unknown := w.Visit(t).Post(w.base+"/sign-in", "email", "nobodyyy@acme.example", "password", "wrong")
			same := strings.ReplaceAll(unknown.Body, "nobodyyy@acme.example", w.who.Email)
			if known.Status != unknown.Status || known.Body != same {
				t.Errorf("an unknown email is told apart:\n%s\n%s", known.Body, unknown.Body)
			}
			if n := len(w.SignInRecords(t, w.audience)); n != before+1 {
				t.Errorf("%d events were written for a known and an unknown email", n-before)
			}
		})
		t.Run("RemovedUser", func(t *testing.T) {
			u, gone := w.leaver(t)
			v := w.as(t, u)
			v.Get(w.page).Want(t, http.StatusOK)
			gone()
			if p := v.Get(w.page); p.Status != http.StatusSeeOther {
				t.Errorf("the session goes on: %d", p.Status)
			}
			w.Visit(t).Post(w.base+"/sign-in", "email", u.Email, "password", password).
				Want(t, http.StatusUnprocessableEntity, "The email or password is wrong.").Lacks(t, password)
		})
		t.Run("NoEmail", func(t *testing.T) {
			for _, email := range []string{"", "not an address"} {
				w.Visit(t).Post(w.base+"/sign-in", "email", email, "password", password).
					Want(t, http.StatusUnprocessableEntity, "The email or password is wrong.")
			}
		})
		t.Run("Throttled", func(t *testing.T) {
			v := w.Visit(t)
			for range 10 {
				v.Post(w.base+"/sign-in", "email", w.third.Email, "password", "wrong").
					Want(t, http.StatusUnprocessableEntity)
			}
			v.Post(w.base+"/sign-in", "email", w.third.Email, "password", password).
				Want(t, http.StatusTooManyRequests, "Too many attempts")
			w.Clock.Advance(16 * time.Minute)
			v.Post(w.base+"/sign-in", "email", w.third.Email, "password", password).Want(t, http.StatusSeeOther)
		})
		t.Run("TooOften", func(t *testing.T) {
			for range 30 {
				_, _, err := w.Service.StartSession(t.Context(), w.audience, w.other.ID, access.Origin{IP: "192.0.2.7"})
				must.NoError(t, err)
			}
			w.Visit(t).Post(w.base+"/sign-in", "email", w.other.Email, "password", password, "next", w.page).
				Want(t, http.StatusTooManyRequests, "Too many attempts", w.page)
		})
	})
}

// TestSessionFixation checks that a session which was there before the sign-in is not the one after it.
func TestSessionFixation(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		v := w.as(t, w.third)
		planted := v.Cookies[w.cookie].Value
		v.Post(w.base+"/sign-in", "email", w.other.Email, "password", password).Want(t, http.StatusSeeOther)
		if v.Cookies[w.cookie].Value == planted {
			t.Fatal("the session of before is gone on with")
		}
		attacker := w.Visit(t)
		attacker.Cookies[w.cookie] = &http.Cookie{Name: w.cookie, Value: planted}
		if p := attacker.Get(w.page); p.Status != http.StatusSeeOther {
			t.Errorf("the session of before still stands: %d", p.Status)
		}
	})
}

func TestOpenRedirect(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, next := range []string{
			"https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)", "/%0d%0aevil",
		} {
			v := w.Visit(t)
			p := v.Post(w.base+"/sign-in", "email", w.other.Email, "password", password, "next", next).
				Want(t, http.StatusSeeOther)
			if u, err := url.Parse(p.Location); err != nil || u.Host != "" || u.Scheme != "" ||
				strings.HasPrefix(p.Location, "//") || strings.Contains(p.Location, "\\") {
				t.Errorf("next=%q leads to %q", next, p.Location)
			}
			if p := v.Get(w.base + "/sign-in?next=" + url.QueryEscape(next)); strings.Contains(p.Location, "evil.example") {
				t.Errorf("next=%q leads to %q", next, p.Location)
			}
		}
	})
}

func (w *world) code(t *testing.T, secret string) string {
	t.Helper()
	code, err := totp.GenerateCode(secret, w.Clock.Now())
	must.NoError(t, err)
	return code
}

// enrol gives somebody a second factor and returns its secret and the recovery codes.
func enrol(t *testing.T, w *world, who *access.Person) (secret string, recovery []string) {
	t.Helper()
	v := w.as(t, who)
	p := v.Get(w.settings+"/second-factor").Want(t, http.StatusOK, "data:image/png;base64,")
	secret, sealed := p.NewFactor(t)
	confirm := func(code, password string) *pagetest.Page {
		return v.Post(w.settings+"/second-factor", "sealed", sealed, "code", code, "password", password)
	}
	confirm("000000", password).Want(t, http.StatusUnprocessableEntity, "The code is wrong", secret)
	confirm(w.code(t, secret), "wrong").Want(t, http.StatusUnprocessableEntity, "The password is wrong.", secret)
	confirm(w.code(t, secret), "").Want(t, http.StatusUnprocessableEntity, "The password is wrong.")
	p = confirm(w.code(t, secret), password).Want(t, http.StatusOK, "Your recovery codes", "The second factor is on.")
	return secret, p.RecoveryCodes(t)
}

func TestSecondFactor(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		secret, recovery := enrol(t, w, w.who)
		signIn := func() *pagetest.Visitor {
			v := w.Visit(t)
			p := v.Post(w.base+"/sign-in", "email", w.who.Email, "password", password).Want(t, http.StatusSeeOther)
			if p.Location != w.base+"/sign-in/code" {
				t.Fatalf("leads to %q", p.Location)
			}
			return v
		}
		t.Run("PasswordAloneIsNotEnough", func(t *testing.T) {
			if p := signIn().Get(w.page); p.Status != http.StatusSeeOther {
				t.Errorf("status %d", p.Status)
			}
		})
		t.Run("CodeOfEnrolmentIsSpent", func(t *testing.T) {
			code := w.code(t, secret)
			signIn().Post(w.base+"/sign-in/code", "code", code).Want(t, http.StatusUnprocessableEntity)
			w.recorded(t, "failed", w.who, "wrong-code")
		})
		t.Run("TooLate", func(t *testing.T) {
			v := signIn()
			w.Clock.Advance(6 * time.Minute)
			if p := v.Post(w.base+"/sign-in/code", "code", w.code(t, secret)); p.Location != w.base+"/sign-in" {
				t.Errorf("%d to %q, want to begin again", p.Status, p.Location)
			}
		})
		t.Run("Replay", func(t *testing.T) {
			w.Clock.Advance(time.Minute)
			code := w.code(t, secret)
			v := signIn()
			v.Get(w.base+"/sign-in/code").Want(t, http.StatusOK, "six-digit code", "a recovery code")
			v.Post(w.base+"/sign-in/code", "code", code[:3]+" "+code[3:]).Want(t, http.StatusSeeOther)
			w.recorded(t, "in", w.who, "")
			v.Get(w.page).Want(t, http.StatusOK)
			signIn().Post(w.base+"/sign-in/code", "code", code).
				Want(t, http.StatusUnprocessableEntity, "The code is wrong or has already been used.")
		})
		t.Run("LongWayBack", func(t *testing.T) {
			for _, c := range []struct {
				next, want string
			}{
				{w.page + "?q=" + strings.Repeat("a", 1500), w.page + "?q=" + strings.Repeat("a", 1500)},
				{w.page + "?q=" + strings.Repeat("a", 3000), w.base}, // a cookie cannot hold it
			} {
				w.Clock.Advance(time.Minute)
				v := w.Visit(t)
				v.Post(w.base+"/sign-in", "email", w.who.Email, "password", password, "next", c.next).
					Want(t, http.StatusSeeOther)
				p := v.Post(w.base+"/sign-in/code", "code", w.code(t, secret)).Want(t, http.StatusSeeOther)
				if p.Location != c.want {
					t.Errorf("leads to %.60q, want %.60q", p.Location, c.want)
				}
			}
		})
		t.Run("RecoveryCodeOnce", func(t *testing.T) {
			signIn().Post(w.base+"/sign-in/code", "code", strings.ToUpper(recovery[0])).Want(t, http.StatusSeeOther)
			signIn().Post(w.base+"/sign-in/code", "code", recovery[0]).Want(t, http.StatusUnprocessableEntity)
			v := w.as(t, w.who)
			v.Get(w.settings).Want(t, http.StatusOK, "9 recovery codes are left.", "On")
			v.Post(w.settings+"/recovery-codes", "renew_password", "wrong").
				Want(t, http.StatusUnprocessableEntity, "The password is wrong.")
			v.Post(w.settings+"/recovery-codes", "renew_password", password).
				Want(t, http.StatusUnprocessableEntity, "The code is wrong or has already been used.")
			v.Post(w.settings+"/recovery-codes", "renew_password", password, "current_code", recovery[1]).
				Want(t, http.StatusOK, "Your recovery codes").
				Lacks(t, recovery[2])
			v.Get(w.settings).Want(t, http.StatusOK, "10 recovery codes are left.")
		})
		t.Run("CodeOfAnotherUser", func(t *testing.T) {
			_, others := enrol(t, w, w.third)
			signIn().Post(w.base+"/sign-in/code", "code", others[0]).Want(t, http.StatusUnprocessableEntity)
		})
		t.Run("StepOfAnotherUserCannotBeForged", func(t *testing.T) {
			v := signIn()
			step := v.Cookies[w.cookie+"_step"]
			forged := *step
			forged.Value = strings.Replace(step.Value, step.Value[20:24], "AAAA", 1)
			v.Cookies[w.cookie+"_step"] = &forged
			if p := v.Post(w.base+"/sign-in/code", "code", w.code(t, secret)); p.Location != w.base+"/sign-in" {
				t.Errorf("%d to %q", p.Status, p.Location)
			}
		})
		t.Run("StepEndsWithThePassword", func(t *testing.T) {
			v, settings := signIn(), w.as(t, w.who)
			w.Clock.Advance(time.Minute)
			change := func(from, to string) { // the code once: then it is good for a while
				settings.Post(w.settings+"/password", "password", from, "new_password", to, "repeat", to,
					"current_code", w.code(t, secret)).
					Want(t, http.StatusSeeOther)
			}
			change(password, chosen)
			w.Clock.Advance(time.Minute)
			if p := v.Post(w.base+"/sign-in/code", "code", w.code(t, secret)); p.Location != w.base+"/sign-in" {
				t.Errorf("%d to %q, want to begin again", p.Status, p.Location)
			}
			change(chosen, password)
		})
		t.Run("Off", func(t *testing.T) {
			v := w.as(t, w.who)
			v.Post(w.settings+"/second-factor/end", "off_password", "wrong").
				Want(t, http.StatusUnprocessableEntity, "The password is wrong.")
			v.Get(w.settings).Want(t, http.StatusOK, "current_code")
			w.Clock.Advance(time.Minute)
			v.Submit(w.settings+"/confirm", "password", password, "current_code", w.code(t, secret), "next", w.settings).
				Want(t, http.StatusOK, "Repeat the change now").Lacks(t, "current_code")
			v.Submit(w.settings+"/second-factor/end", "off_password", password).
				Want(t, http.StatusOK, "The second factor is off.")
			v = w.Visit(t)
			if p := v.Post(w.base+"/sign-in", "email", w.who.Email, "password", password); p.Location != w.base {
				t.Errorf("leads to %q", p.Location)
			}
		})
	})
}

// TestWrongCodes checks what somebody reads who has given too many wrong codes.
func TestWrongCodes(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		enrol(t, w, w.who)
		v := w.Visit(t)
		guess := func(times int) *pagetest.Page {
			v.Post(w.base+"/sign-in", "email", w.who.Email, "password", password).Want(t, http.StatusSeeOther)
			for range times - 1 {
				v.Post(w.base+"/sign-in/code", "code", "000").Want(t, http.StatusUnprocessableEntity)
			}
			return v.Post(w.base+"/sign-in/code", "code", "000")
		}
		for range 2 {
			guess(10).Want(t, http.StatusUnprocessableEntity)
			w.Clock.Advance(16 * time.Minute)
		}
		guess(1).Want(t, http.StatusTooManyRequests, "Too many wrong codes. Try again in 24 hours")
		v.Headers["Accept-Language"] = "ja"
		guess(1).Want(t, http.StatusTooManyRequests, "24 時間後")
	})
}

func TestChangePassword(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		v, elsewhere := w.as(t, w.other), w.as(t, w.other)
		elsewhere.Get(w.page).Want(t, http.StatusOK)
		const next = "another long password"
		v.Post(w.settings+"/password", "password", "wrong", "new_password", next, "repeat", next).
			Want(t, http.StatusUnprocessableEntity, "The password is wrong.")
		v.Post(w.settings+"/password", "password", password, "new_password", "short", "repeat", "short").
			Want(t, http.StatusUnprocessableEntity, "12 to 256")
		v.Post(w.settings+"/password", "password", password, "new_password", next, "repeat", "different one").
			Want(t, http.StatusUnprocessableEntity, "do not match")
		v.Submit(w.settings+"/password", "password", password, "new_password", next, "repeat", next).
			Want(t, http.StatusOK, "Your password is changed.")
		w.recorded(t, "password", w.other, "")
		if p := elsewhere.Get(w.page); p.Status != http.StatusSeeOther {
			t.Errorf("another browser goes on: %d", p.Status)
		}
		w.Visit(t).Post(w.base+"/sign-in", "email", w.other.Email, "password", password).
			Want(t, http.StatusUnprocessableEntity)
		w.Visit(t).Post(w.base+"/sign-in", "email", w.other.Email, "password", next).Want(t, http.StatusSeeOther)
	})
}

func TestSessions(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		v, other := w.as(t, w.other), w.as(t, w.other)
		sessions, err := w.Service.Sessions(t.Context(), w.audience, w.other.ID)
		must.NoError(t, err)
		if len(sessions) != 2 {
			t.Fatalf("%d sessions", len(sessions))
		}
		w.as(t, w.third).Post(w.settings+"/sessions/"+sessions[0].ID+"/end").Want(t, http.StatusNotFound)
		v.Post(w.settings+"/sessions/end").Want(t, http.StatusSeeOther)
		if p := other.Get(w.page); p.Status != http.StatusSeeOther {
			t.Errorf("the other browser goes on: %d", p.Status)
		}
		v.Get(w.settings).Want(t, http.StatusOK, "this browser")
	})
}

// TestToken makes a token for the desk API, which only staff have.
func TestToken(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		v := w.as(t, w.who)
		if w.audience == access.Portal {
			v.Get(w.settings).Want(t, http.StatusOK).Lacks(t, "Desk API token")
			v.Post(w.settings+"/token", "token_password", password).Want(t, http.StatusNotFound)
			return
		}
		v.Post(w.settings+"/email", "email", "x@example.com", "email_password", password).Want(t, http.StatusNotFound)
		v.Post(w.settings+"/token", "token_password", "wrong").
			Want(t, http.StatusUnprocessableEntity, "The password is wrong.").
			Lacks(t, "assay_staff_")
		p := v.Post(w.settings+"/token", "token_password", password).Want(t, http.StatusOK, "assay_staff_")
		_, rest, _ := strings.Cut(p.Body, "<code>assay_staff_")
		token, _, _ := strings.Cut("assay_staff_"+rest, "<")
		if who, err := w.Service.AuthenticateStaff(t.Context(), token, "127.0.0.1"); err != nil || who.ID != w.who.ID {
			t.Errorf("the token belongs to %v, %v", who, err)
		}
	})
}
