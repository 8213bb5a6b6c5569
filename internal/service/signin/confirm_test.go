package signin_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/service/signin"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/shop"
)

// TestConfirm checks that every change of how somebody signs in needs the password and the current second factor, the
// latter once in five minutes. That somebody has just signed in is not enough.
func TestConfirm(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.reconfigure(t, shop.WithMail)
		secret, recovery := w.enrol(t)
		k := w.add(t, w.device)
		w.WantMails(t, "second-factor-on "+w.who.Email, "passkey-added "+w.who.Email)
		changes := map[string]func(p signin.Proof) error{
			"SecondFactor": func(p signin.Proof) error {
				e, err := w.BeginSecondFactor(w.who)
				must.NoError(t, err)
				_, err = w.ConfirmSecondFactor(t.Context(), w.who, e, p, w.code(t, e.Secret), w.here())
				return err
			},
			"NoSecondFactor": func(p signin.Proof) error {
				return w.EndSecondFactor(t.Context(), w.who, p, w.here())
			},
			"RecoveryCodes": func(p signin.Proof) error {
				_, err := w.RenewRecoveryCodes(t.Context(), w.who, p, w.here())
				return err
			},
			"NewPasskey": func(p signin.Proof) error {
				_, err := w.BeginNewPasskey(t.Context(), w.who, "Tablet", p, w.here())
				return err
			},
			"NoPasskey": func(p signin.Proof) error {
				return w.RemovePasskey(t.Context(), w.who, k.ID, p, w.here())
			},
			"Password": func(p signin.Proof) error {
				return w.ChangePassword(t.Context(), w.who, p, next, w.here())
			},
		}
		if w.audience == access.Portal {
			changes["Email"] = func(p signin.Proof) error {
				_, err := w.ChangeEmail(t.Context(), w.who, p, "new@acme.example", w.here())
				return err
			}
		} else {
			changes["Token"] = func(p signin.Proof) error {
				_, err := w.Service.RotateOwnToken(t.Context(), w.who.ID, p, nil, w.here())
				return err
			}
		}
		for name, change := range changes {
			t.Run(name, func(t *testing.T) {
				if err := change(signin.Proof{}); !errors.Is(err, signin.WrongPassword) {
					t.Errorf("with a session alone: %v", err)
				}
				if err := change(with(password)); !errors.Is(err, signin.WrongCurrentCode) {
					t.Errorf("without the second factor: %v", err)
				}
				if err := change(signin.Proof{Password: password, Code: "000000"}); !errors.Is(err, signin.WrongCurrentCode) {
					t.Errorf("with a wrong code: %v", err)
				}
				if err := change(signin.Proof{Password: "wrong", Code: recovery[0]}); !errors.Is(err, signin.WrongPassword) {
					t.Errorf("with a wrong password: %v", err)
				}
				w.Clock.Advance(throttleWindow)
			})
		}
		w.WantMails(t, "wrong-codes "+w.who.Email) // nothing has changed

		must.NoError(t, changes["RecoveryCodes"](signin.Proof{Password: password, Code: w.code(t, secret)}))
		w.WantMails(t, "recovery-codes "+w.who.Email)
		sessions, err := w.Service.Sessions(t.Context(), w.audience, w.who.ID)
		must.NoError(t, err)
		w.session = sessions[0]
		if err := changes["NoPasskey"](signin.Proof{}); !errors.Is(err, signin.WrongPassword) {
			t.Errorf("without the password within the five minutes: %v", err)
		}
		must.NoError(t, changes["NoPasskey"](with(password))) // within the five minutes
		w.WantMails(t, "passkey-removed "+w.who.Email)
		if err := changes["NoSecondFactor"](with("wrong")); !errors.Is(err, signin.WrongPassword) {
			t.Errorf("a wrong password within the five minutes: %v", err)
		}
		w.Clock.Advance(access.ConfirmLife)
		if err := changes["NoSecondFactor"](with(password)); !errors.Is(err, signin.WrongCurrentCode) {
			t.Errorf("after the five minutes: %v", err)
		}
		must.NoError(t, changes["NoSecondFactor"](signin.Proof{Password: password, Code: w.code(t, secret)}))
		w.WantMails(t, "second-factor-off "+w.who.Email)
	})
}

// TestChangeEmail checks that a new email is that of a mailbox which the user reads, and that nobody learns who has an
// email.
func TestChangeEmail(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		if w.audience == access.Desk {
			return // administrators make staff
		}
		w.reconfigure(t, shop.WithMail)
		other := w.person(t, "other@acme.example", "", access.Viewer)
		old := w.who.Email
		ask := func(email string) error {
			done, err := w.ChangeEmail(t.Context(), w.who, with(password), email, w.here())
			if done {
				t.Error("nobody was asked")
			}
			return err
		}
		if err := ask("no email"); !errors.Is(err, signin.EmailUnusable) {
			t.Errorf("%v", err)
		}
		must.NoError(t, ask(other.Email)) // the same answer as for a free one
		taken := w.WantMails(t, "email-change "+other.Email)[0]
		if err := w.ConfirmEmail(t.Context(), tokenIn(taken.Text), origin); !errors.Is(err, signin.LinkUnusable) {
			t.Errorf("the email of another user: %v", err)
		}
		must.NoError(t, ask("Boss@acme.example"))
		m := w.WantMails(t, "email-change boss@acme.example")[0]
		w.again(t)
		if w.who.Email != old || !strings.Contains(m.Text, old) {
			t.Errorf("%s before the link was opened: %s", w.who.Email, m.Text)
		}
		elsewhere := w.token(t, w.who)
		token := tokenIn(m.Text)
		for _, kind := range []access.LinkKind{access.PasswordReset, access.Invitation} {
			if _, err := w.Link(t.Context(), kind, token); !errors.Is(err, signin.LinkUnusable) {
				t.Errorf("as %s: %v", kind, err)
			}
		}
		must.NoError(t, w.ConfirmEmail(t.Context(), token, origin))
		w.WantMails(t, "email-changed-old "+old, "email-changed-new boss@acme.example")
		if _, err := w.Service.Session(t.Context(), w.audience, elsewhere); !errors.Is(err, access.NoSession) {
			t.Errorf("a session goes on: %v", err)
		}
		w.again(t)
		if w.who.Email != "boss@acme.example" {
			t.Errorf("email %s", w.who.Email)
		}
		if err := w.ConfirmEmail(t.Context(), token, origin); !errors.Is(err, signin.LinkUnusable) {
			t.Errorf("a second time: %v", err)
		}
		w.session = w.start(t, w.who) // the former one has ended
		must.NoError(t, ask("late@acme.example"))
		late := tokenIn(w.WantMails(t, "email-change late@acme.example")[0].Text)
		w.Clock.Advance(access.ResetLife + time.Second)
		if err := w.ConfirmEmail(t.Context(), late, origin); !errors.Is(err, signin.LinkUnusable) {
			t.Errorf("too late: %v", err)
		}
	})
}

// TestChangeEmail_Limits checks that nobody sends mail to any number of strangers by this, not even with a browser that
// is known.
func TestChangeEmail_Limits(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		if w.audience == access.Desk {
			return // administrators make staff
		}
		w.reconfigure(t, shop.WithMail)
		from := func(ip string) access.Origin {
			here := w.here()
			here.IP, here.Device = ip, "mine"
			return here
		}
		_, _, err := w.Service.StartSession(t.Context(), w.audience, w.who.ID, from(origin.IP))
		must.NoError(t, err)
		ask := func(ip, email string) error {
			_, err := w.ChangeEmail(t.Context(), w.who, with(password), email, from(ip))
			return err
		}
		refused := func(what string, err error) {
			t.Helper()
			if !errors.Is(err, signin.TooManyLogins) {
				t.Errorf("%s: %v", what, err)
			}
		}
		for i := range 5 {
			must.NoError(t, ask(origin.IP, fmt.Sprintf("%d@acme.example", i)))
		}
		refused("one person", ask("192.0.2.99", "sixth@acme.example"))
		w.Clock.Advance(throttleWindow)
		must.NoError(t, ask(origin.IP, "sixth@acme.example"))

		for i := range 10 {
			must.NoError(t, w.RequestReset(t.Context(), "full@acme.example", from(fmt.Sprintf("198.51.100.%d", i))))
		}
		refused("one mailbox", ask(origin.IP, "full@acme.example"))
		for i := range 30 {
			must.NoError(t, w.RequestReset(t.Context(), fmt.Sprintf("%d@reset.example", i), from("203.0.113.1")))
		}
		refused("one address", ask("203.0.113.1", "new@acme.example"))
		must.NoError(t, ask("203.0.113.2", "new@acme.example"))
	})
}

// TestGuessablePasswords checks that nobody can choose what others would try first.
func TestGuessablePasswords(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, chosen := range []string{"passwordpassword", "aaaaaaaaaaaa", "123456789012", w.who.Email + "1"} {
			err := w.ChangePassword(t.Context(), w.who, with(password), chosen, w.here())
			f, _ := errors.AsType[*fault.Error](err)
			if f == nil || f.Code != fault.CodeValidation {
				t.Errorf("%q: %v", chosen, err)
			}
		}
	})
}
