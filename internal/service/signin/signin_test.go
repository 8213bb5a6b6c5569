package signin_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/service/signin"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/shop"
)

func TestPassword(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		before := len(w.SignInRecords(t, w.audience))
		_, _, err := w.Password(t.Context(), "nobody@acme.example", password, origin)
		if !errors.Is(err, signin.WrongSignIn) {
			t.Errorf("unknown email: %v", err)
		}
		if n := len(w.SignInRecords(t, w.audience)); n != before || w.unknown(t) != 1 {
			t.Errorf("an unknown email left %d entries, and %d were counted", n-before, w.unknown(t))
		}
		if _, _, err := w.Password(t.Context(), w.who.Email, "wrong", origin); !errors.Is(err, signin.WrongSignIn) {
			t.Errorf("wrong password: %v", err)
		}
		w.last(t, "failed", "wrong-password")
		who, owes, err := w.Password(t.Context(), strings.ToUpper(w.who.Email), password, origin)
		must.NoError(t, err)
		if who.ID != w.who.ID || owes {
			t.Errorf("user %s, owes a code: %v", who.ID, owes)
		}
		session, token, err := w.Service.StartSession(t.Context(), w.audience, who.ID, origin)
		must.NoError(t, err)
		got, err := w.Service.Session(t.Context(), w.audience, token)
		must.NoError(t, err)
		if *got != *session || session.UserID != w.who.ID || session.IP != origin.IP {
			t.Errorf("session %+v", session)
		}
		w.last(t, "in", "")
		if n := len(w.SignInRecords(t, w.audience)); n != before+2 {
			t.Errorf("%d entries", n-before)
		}

		gone := w.person(t, "gone@acme.example", access.Reviewer, access.Viewer)
		w.remove(t, gone)
		if _, _, err := w.Password(t.Context(), gone.Email, password, origin); !errors.Is(err, signin.WrongSignIn) {
			t.Errorf("somebody who has left: %v", err)
		}
		_, _, err = w.Service.StartSession(t.Context(), w.audience, gone.ID, origin)
		if !errors.Is(err, signin.WrongSignIn) {
			t.Errorf("a session of somebody who has left: %v", err)
		}
	})
}

// TestAudiences checks that people of one audience are unknown to the other, with the same email and password, too.
func TestAudiences(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		other := access.Desk
		if w.audience == access.Desk {
			other = access.Portal
		}
		there := w.Service.SignIn(other)
		secret, _ := w.enrol(t)
		if _, _, err := there.Password(t.Context(), w.who.Email, password, origin); !errors.Is(err, signin.WrongSignIn) {
			t.Errorf("password: %v", err)
		}
		w.Clock.Advance(time.Minute)
		if err := there.Code(t.Context(), w.who.ID, w.code(t, secret), origin); !errors.Is(err, signin.WrongCode) {
			t.Errorf("code: %v", err)
		}
		w.add(t, w.device)
		asked, err := there.BeginPasskey(thisBrowser)
		must.NoError(t, err)
		answer := w.device.Get(t, asked.Options)
		if _, err := there.Passkey(
			t.Context(), thisBrowser, asked.Sealed, answer, origin,
		); !errors.Is(err, signin.WrongPasskey) {
			t.Errorf("passkey: %v", err)
		}
		asked = w.challenge(t)
		answer = w.device.Get(t, asked.Options)
		if _, err := there.Passkey(
			t.Context(), thisBrowser, asked.Sealed, answer, origin,
		); !errors.Is(err, signin.PasskeyTooLate) {
			t.Errorf("challenge: %v", err)
		}
		if _, _, err := w.Service.StartSession(t.Context(), other, w.who.ID, origin); !errors.Is(err, signin.WrongSignIn) {
			t.Errorf("session: %v", err)
		}
		w.reconfigure(t, shop.WithMail)
		must.NoError(t, w.RequestReset(t.Context(), w.who.Email, origin))
		token := tokenIn(w.WantMails(t, "reset-requested "+w.who.Email)[0].Text)
		if _, err := there.Link(t.Context(), access.PasswordReset, token); !errors.Is(err, signin.LinkUnusable) {
			t.Errorf("link: %v", err)
		}
	})
}

// TestCodes checks that each code of either kind lets one browser in, once.
func TestCodes(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		secret, recovery := w.enrol(t)
		if len(recovery) != 10 {
			t.Errorf("recovery codes %q", recovery)
		}
		if _, owes, err := w.Password(t.Context(), w.who.Email, password, origin); err != nil || !owes {
			t.Errorf("owes a code: %t, %v", owes, err)
		}
		give := func(code string) error { return w.Code(t.Context(), w.who.ID, code, origin) }
		if err := give(w.code(t, secret)); !errors.Is(err, signin.WrongCode) {
			t.Errorf("the code that proved the enrolment signs in, too: %v", err)
		}
		w.last(t, "failed", "wrong-code")
		w.Clock.Advance(time.Minute)
		wrong := func(err error) bool { return errors.Is(err, signin.WrongCode) }
		for _, code := range []string{w.code(t, secret), strings.ToUpper(recovery[3])} {
			if n := together(t, func() error { return give(code) }, wrong); n != 1 {
				t.Errorf("a code was accepted %d times", n)
			}
			w.Clock.Advance(throttleWindow) // the others were failures
		}
		if left, err := w.RecoveryCodesLeft(t.Context(), w.who.ID); err != nil || left != 9 {
			t.Errorf("%d recovery codes are left, %v", left, err)
		}
		w.Clock.Advance(24 * time.Hour) // what has failed so far counts for a day
		for range 10 {
			if err := give("000000"); !errors.Is(err, signin.WrongCode) {
				t.Fatal(err)
			}
		}
		if err := give(recovery[4]); !errors.Is(err, signin.TooManyLogins) {
			t.Errorf("after ten guesses: %v", err)
		}
	})
}

// TestSecondFactor checks what turning the second factor on and off needs, and whom it tells.
func TestSecondFactor(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.reconfigure(t, shop.WithMail)
		e, err := w.BeginSecondFactor(w.who)
		must.NoError(t, err)
		confirm := func(password, code string) error {
			_, err := w.ConfirmSecondFactor(t.Context(), w.who, e, with(password), code, w.here())
			return err
		}
		has := func() bool {
			t.Helper()
			has, err := w.HasSecondFactor(t.Context(), w.who.ID)
			must.NoError(t, err)
			return has
		}
		if err := confirm("wrong", w.code(t, e.Secret)); !errors.Is(err, signin.WrongPassword) || has() {
			t.Errorf("without the password: %v", err)
		}
		if err := confirm(password, "000000"); !errors.Is(err, signin.WrongCode) || has() {
			t.Errorf("without the code: %v", err)
		}
		w.WantMails(t)
		elsewhere := w.token(t, w.who)
		must.NoError(t, confirm(password, w.code(t, e.Secret)))
		if _, err := w.Service.Session(t.Context(), w.audience, elsewhere); !errors.Is(err, access.NoSession) || !has() {
			t.Errorf("another session goes on: %v", err)
		}
		if m := w.WantMails(t, "second-factor-on "+w.who.Email)[0]; !strings.Contains(m.Text, w.settings()) ||
			strings.Contains(m.Text, e.Secret) {
			t.Errorf("%s", m.Text)
		}

		inJapanese := access.Origin{IP: origin.IP, Locale: text.Japanese, Session: w.fresh().Session}
		if err := w.EndSecondFactor(
			t.Context(), w.who, with("wrong"), w.fresh(),
		); !errors.Is(err, signin.WrongPassword) || !has() {
			t.Errorf("off without the password: %v", err)
		}
		must.NoError(t, w.EndSecondFactor(t.Context(), w.who, with(password), inJapanese))
		if m := w.WantMails(t, "second-factor-off "+w.who.Email)[0]; m.Locale != text.Japanese || has() {
			t.Errorf("%+v", m)
		}
		if left, err := w.RecoveryCodesLeft(t.Context(), w.who.ID); err != nil || left != 0 {
			t.Errorf("%d recovery codes are left, %v", left, err)
		}
	})
}

func (w *world) settings() string {
	if w.audience == access.Desk {
		return address + "/desk/me"
	}
	return address + "/portal/settings"
}

// TestRecoveryCodes checks that new codes replace the old ones, and that a broken database is no fault of the person.
func TestRecoveryCodes(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		renew := func(ctx context.Context) ([]string, error) {
			return w.RenewRecoveryCodes(ctx, w.who, with(password), w.fresh())
		}
		if _, err := renew(t.Context()); fault.CodeOf(err) != fault.CodeBadRequest {
			t.Errorf("without a second factor: %v", err)
		}
		_, old := w.enrol(t)
		_, err := w.RenewRecoveryCodes(t.Context(), w.who, with("wrong"), w.fresh())
		if !errors.Is(err, signin.WrongPassword) {
			t.Errorf("without the password: %v", err)
		}
		renewed, err := renew(t.Context())
		must.NoError(t, err)
		if len(renewed) != 10 || slices.Contains(renewed, old[0]) {
			t.Errorf("renewed %q", renewed)
		}
		if err := w.Code(t.Context(), w.who.ID, old[0], origin); !errors.Is(err, signin.WrongCode) {
			t.Errorf("an old code: %v", err)
		}
		must.NoError(t, w.Code(t.Context(), w.who.ID, renewed[0], origin))

		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := renew(ended); err == nil || fault.CodeOf(err) != "" {
			t.Errorf("a read that failed is told as %q: %v", fault.CodeOf(err), err)
		}
		rawsql.Exec(t, w.Target, "DROP TABLE totp")
		if _, err := renew(t.Context()); err == nil || fault.CodeOf(err) == fault.CodeBadRequest {
			t.Errorf("a broken database is told as a bad request: %v", err)
		}
	})
}

// TestNotices checks who is told what about changes of how somebody signs in.
func TestNotices(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.reconfigure(t, shop.WithMail)
		inJapanese := w.here()
		inJapanese.Locale = text.Japanese
		change := func(current string, from access.Origin) error {
			return w.ChangePassword(t.Context(), w.who, with(current), next, from)
		}
		if err := change("wrong", inJapanese); !errors.Is(err, signin.WrongPassword) {
			t.Fatal(err)
		}
		w.WantMails(t)
		elsewhere := w.token(t, w.who)
		must.NoError(t, change(password, inJapanese))
		w.last(t, "password", "")
		m := w.WantMails(t, "password-changed "+w.who.Email)[0]
		if m.Locale != text.Japanese || m.Subject != "パスワードが変更されました" || strings.Contains(m.Text, next) ||
			!strings.Contains(m.Text, address+"/"+string(w.audience)+"/forgot") {
			t.Errorf("%+v", m)
		}
		if _, err := w.Service.Session(t.Context(), w.audience, elsewhere); !errors.Is(err, access.NoSession) {
			t.Errorf("another session goes on: %v", err)
		}
		w.again(t)
	})
}

// TestLateSignIn: a password that was checked before it was changed starts no session after it.
func TestLateSignIn(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		who, _, err := w.Password(t.Context(), w.who.Email, password, origin)
		must.NoError(t, err)
		from := origin
		from.Ticket = w.TicketOf(who)
		start := func() error {
			_, _, err := w.Service.StartSession(t.Context(), w.audience, who.ID, from)
			return err
		}
		must.NoError(t, start())
		must.NoError(t, w.ChangePassword(t.Context(), w.who, with(password), next, w.here()))
		if err := start(); !errors.Is(err, signin.WrongSignIn) {
			t.Errorf("with the old password: %v", err)
		}
	})
}

// TestLateChanges: a change of how somebody signs in is not made when their session has ended while it was checked.
func TestLateChanges(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, from := t.Context(), w.here()
		changes := map[string]func() error{
			"password": func() error { return w.ChangePassword(ctx, w.who, with(password), next, from) },
			"factor": func() error {
				e, err := w.BeginSecondFactor(w.who)
				must.NoError(t, err)
				_, err = w.ConfirmSecondFactor(ctx, w.who, e, with(password), w.code(t, e.Secret), from)
				return err
			},
			"no factor": func() error { return w.EndSecondFactor(ctx, w.who, with(password), from) },
		}
		if w.audience == access.Desk {
			changes["token"] = func() error {
				_, err := w.Service.RotateOwnToken(ctx, w.who.ID, with(password), nil, from)
				return err
			}
		} else {
			changes["email"] = func() error {
				_, err := w.ChangeEmail(ctx, w.who, with(password), "other@acme.example", from)
				return err
			}
		}
		must.NoError(t, w.Service.RevokeSessions(ctx, w.audience, w.who.ID, "", origin))
		for name, change := range changes {
			if err := change(); !errors.Is(err, access.NoSession) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, owes, err := w.Password(ctx, w.who.Email, password, origin); err != nil || owes {
			t.Errorf("the password was changed, or a factor added: %v", err)
		}
	})
}
