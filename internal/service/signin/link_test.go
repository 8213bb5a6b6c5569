package signin_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/letter"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/service/signin"
	"github.com/assayhq/assay/internal/testkit/device"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/shop"
)

// invite makes an invitation and returns its token.
func (w *world) invite(t *testing.T, email string) string {
	t.Helper()
	var link string
	var err error
	if w.audience == access.Desk {
		link, err = w.Service.InviteStaff(t.Context(), w.who.Actor(origin), email, "Nao", access.Reviewer)
	} else {
		link, err = w.Service.Invite(t.Context(), w.who.Actor(origin), email, access.Developer)
	}
	must.NoError(t, err)
	path, token, _ := strings.Cut(link, "?token=")
	if path != address+"/"+string(w.audience)+"/join" {
		t.Errorf("the link is %s", link)
	}
	return token
}

// TestInvitation opens one invitation in many browsers at once: one user is made.
func TestInvitation(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		token := w.invite(t, "new@acme.example")
		l, err := w.Link(t.Context(), access.Invitation, token)
		must.NoError(t, err)
		if l.Email != "new@acme.example" || (l.Account == w.Account.Name) != (w.audience == access.Portal) {
			t.Errorf("link %+v", l)
		}
		if _, err := w.AcceptInvitation(t.Context(), token, "short", origin); fault.CodeOf(err) != fault.CodeValidation {
			t.Errorf("a short password: %v", err)
		}
		accept := func() error {
			_, err := w.AcceptInvitation(t.Context(), token, next, origin)
			return err
		}
		unusable := func(err error) bool { return errors.Is(err, signin.LinkUnusable) }
		if n := together(t, accept, unusable); n != 1 {
			t.Errorf("accepted %d times", n)
		}
		who, _, err := w.Password(t.Context(), "new@acme.example", next, origin)
		must.NoError(t, err)
		if w.audience == access.Desk {
			m, err := w.Service.StaffMember(t.Context(), w.who.Actor(origin), who.ID)
			must.NoError(t, err)
			if m.Name != "Nao" || m.Role != access.Reviewer || m.HasToken || !m.Active() {
				t.Errorf("staff user %+v", m)
			}
		} else {
			u, err := w.Store.User(t.Context(), who.ID)
			must.NoError(t, err)
			if u.Role != access.Developer || u.AccountID != w.Account.ID {
				t.Errorf("user %+v", u)
			}
		}
		t.Run("EmailTaken", func(t *testing.T) {
			token := w.invite(t, "later@acme.example")
			w.person(t, "later@acme.example", access.Reviewer, access.Viewer)
			if _, err := w.AcceptInvitation(t.Context(), token, next, origin); !errors.Is(err, signin.EmailTaken) {
				t.Errorf("%v", err)
			}
		})
		t.Run("Replaced", func(t *testing.T) {
			first, second := w.invite(t, "twice@acme.example"), w.invite(t, "twice@acme.example")
			if _, err := w.Link(t.Context(), access.Invitation, first); !errors.Is(err, signin.LinkUnusable) {
				t.Errorf("the first of two invitations: %v", err)
			}
			w.Clock.Advance(access.InvitationLife)
			if _, err := w.AcceptInvitation(t.Context(), second, next, origin); !errors.Is(err, signin.LinkUnusable) {
				t.Errorf("after a week: %v", err)
			}
		})
	})
}

// TestInvitation_OfFormerUser: the email of somebody who has left an account is free, for that account and for others.
func TestInvitation_OfFormerUser(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		if w.audience == access.Desk {
			return // staff are deactivated, and stay
		}
		other, err := w.Service.CreateAccount(t.Context(), access.Operator, "Other", "owner@other.example", text.English)
		must.NoError(t, err)
		here, there := w.who.Actor(origin), other.Owner.Actor("", origin)
		token := func(by access.Actor, email string) string {
			link, err := w.Service.Invite(t.Context(), by, email, access.Viewer)
			must.NoError(t, err)
			return tokenIn(link)
		}
		const email = "leaver@acme.example"
		join := func(by access.Actor) (string, error) {
			return w.AcceptInvitation(t.Context(), token(by, email), next, origin)
		}
		leave := func(by access.Actor, id string) { must.NoError(t, w.Service.RemoveUser(t.Context(), by, id)) }

		first, err := join(here)
		must.NoError(t, err)
		leave(here, first)
		second, err := join(there)
		must.NoError(t, err)
		if who, _, err := w.Password(t.Context(), email, next, origin); err != nil || who.ID != second || second == first {
			t.Errorf("signed in as %+v, %v; want %s", who, err, second)
		}
		if _, err := join(here); !errors.Is(err, signin.EmailTaken) {
			t.Errorf("in two accounts: %v", err)
		}
		leave(there, second)
		if id, err := join(here); err != nil || id != first {
			t.Errorf("came back as %s, %v; want %s", id, err, first)
		}
		leave(here, first)

		t.Run("Together", func(t *testing.T) {
			tokens := make(chan string, 6) // as many as run together
			for _, by := range []access.Actor{here, there} {
				x := token(by, email)
				for range cap(tokens) / 2 {
					tokens <- x
				}
			}
			accept := func() error {
				_, err := w.AcceptInvitation(t.Context(), <-tokens, next, origin)
				return err
			}
			refused := func(err error) bool {
				return errors.Is(err, signin.EmailTaken) || errors.Is(err, signin.LinkUnusable)
			}
			if n := together(t, accept, refused); n != 1 {
				t.Errorf("%d users of one email", n)
			}
			u, err := w.Store.UserByEmail(t.Context(), email)
			must.NoError(t, err)
			leave(access.Actor{Kind: access.ByUser, Role: access.Owner, Tenant: access.Tenant{AccountID: u.AccountID}}, u.ID)
		})
		t.Run("ChangeOfEmail", func(t *testing.T) {
			done, err := w.ChangeEmail(t.Context(), w.who, with(password), email, w.here())
			if err != nil || !done {
				t.Errorf("%v, %v", done, err)
			}
			if _, err := join(there); !errors.Is(err, signin.EmailTaken) {
				t.Errorf("in two accounts: %v", err)
			}
			_, err = w.ChangeEmail(t.Context(), w.who, with(password), "hana@acme.example", w.here())
			must.NoError(t, err)
		})
		t.Run("NewAccount", func(t *testing.T) {
			_, err := w.Service.CreateAccount(t.Context(), access.Operator, "Third", email, text.English)
			must.NoError(t, err)
			_, err = w.Service.CreateAccount(t.Context(), access.Operator, "Fourth", email, text.English)
			if fault.CodeOf(err) != fault.CodeValidation {
				t.Errorf("the owner of two accounts: %v", err)
			}
		})
	})
}

// TestRequestReset asks for links: nothing about the request tells whether somebody has the email.
func TestRequestReset(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.reconfigure(t, shop.WithMail)
		request := func(email string) {
			t.Helper()
			must.NoError(t, w.RequestReset(t.Context(), email, access.Origin{IP: "192.0.2.1", Locale: text.Japanese}))
		}
		request("Hana@Acme.example")
		request("nobody@acme.example")
		rows := rawsql.Rows(t, w.Target, "SELECT kind, account_id, link_id, attempts FROM mails ORDER BY id")
		if len(rows) != 2 || rows[0][0] != rows[1][0] || rows[0][1] != "<null>" || rows[1][1] != "<null>" {
			t.Errorf("the requests left %q: the known email is told apart before the answer", rows)
		}
		if links := rawsql.Rows(t, w.Target, "SELECT 1 FROM links"); len(links) != 0 {
			t.Error("a link was made before the answer")
		}
		m := w.WantMails(t, "reset-requested "+w.who.Email)[0]
		if m.Locale != text.Japanese || m.AccountID != w.who.AccountID {
			t.Errorf("%+v", m)
		}
		request(w.who.Email)
		second := w.WantMails(t, "reset-requested "+w.who.Email)[0]
		for i, x := range []*service.OutgoingMail{m, second} {
			if _, err := w.Link(t.Context(), access.PasswordReset, tokenIn(x.Text)); err != nil {
				t.Errorf("link %d: %v: a request of somebody else must not spoil it", i, err)
			}
		}
		_, err := w.ResetPassword(t.Context(), tokenIn(second.Text), next, origin)
		must.NoError(t, err)
		if _, err := w.Link(t.Context(), access.PasswordReset, tokenIn(m.Text)); !errors.Is(err, signin.LinkUnusable) {
			t.Errorf("the other link after the reset: %v", err)
		}
		w.WantMails(t, "password-changed "+w.who.Email)

		t.Run("NoEmail", func(t *testing.T) {
			for _, email := range []string{"", "x", "a@b, c@d", "a@b.example\r\nBcc: x@y.example"} {
				if err := w.RequestReset(t.Context(), email, origin); !errors.Is(err, signin.NoEmail) {
					t.Errorf("%q: %v", email, err)
				}
			}
		})
		t.Run("Throttled", func(t *testing.T) {
			w.person(t, "ken@acme.example", access.Reviewer, access.Viewer)
			for _, email := range []string{"ken@acme.example", "unknown@acme.example"} {
				for i := range 5 {
					if err := w.RequestReset(t.Context(), email, origin); err != nil {
						t.Fatalf("request %d: %v", i+1, err)
					}
				}
				if err := w.RequestReset(t.Context(), email, origin); !errors.Is(err, signin.TooManyLogins) {
					t.Errorf("%s: %v", email, err)
				}
				for i := range 5 { // from elsewhere
					must.NoError(t, w.RequestReset(t.Context(), email, access.Origin{IP: fmt.Sprintf("198.51.100.%d", i)}))
				}
				err := w.RequestReset(t.Context(), email, access.Origin{IP: "203.0.113.9"})
				if !errors.Is(err, signin.TooManyLogins) {
					t.Errorf("%s from many addresses: %v", email, err)
				}
			}
			w.Clock.Advance(throttleWindow)
			must.NoError(t, w.RequestReset(t.Context(), "ken@acme.example", origin))
		})
		t.Run("TooOld", func(t *testing.T) {
			w.Mails(t)
			request(w.who.Email)
			w.Clock.Advance(letter.Life)
			w.WantMails(t)
		})
	})
}

// TestResetPassword checks that a reset ends all sessions, and that passkeys stay until the person removes them.
func TestResetPassword(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.reconfigure(t, shop.WithMail)
		kept, lost := &device.Device{Origin: address}, &device.Device{Origin: address}
		w.add(t, kept)
		k := w.add(t, lost)
		w.WantMails(t, "passkey-added "+w.who.Email, "passkey-added "+w.who.Email)
		elsewhere := w.token(t, w.who)
		must.NoError(t, w.RequestReset(t.Context(), w.who.Email, origin))
		token := tokenIn(w.WantMails(t, "reset-requested "+w.who.Email)[0].Text)
		who, err := w.ResetPassword(t.Context(), token, next, origin)
		must.NoError(t, err)
		w.last(t, "password", "")
		if _, err := w.Service.Session(
			t.Context(), w.audience, elsewhere,
		); !errors.Is(err, access.NoSession) || who.ID != w.who.ID {
			t.Errorf("%s: a session goes on: %v", who.ID, err)
		}
		if _, err := w.ResetPassword(t.Context(), token, password, origin); !errors.Is(err, signin.LinkUnusable) {
			t.Errorf("again: %v", err)
		}
		for _, d := range []*device.Device{kept, lost} {
			_, err := w.signIn(t, d)
			must.NoError(t, err)
		}
		must.NoError(t, w.RemovePasskeysAfterReset(t.Context(), who.ID, k.ID, origin))
		if _, err := w.signIn(t, lost); !errors.Is(err, signin.WrongPasskey) {
			t.Errorf("the removed passkey: %v", err)
		}
		_, err = w.signIn(t, kept)
		must.NoError(t, err)
		must.NoError(t, w.RemovePasskeysAfterReset(t.Context(), who.ID, "", origin))
		if left, err := w.Passkeys(t.Context(), who.ID); err != nil || len(left) != 0 {
			t.Errorf("%d passkeys are left, %v", len(left), err)
		}
	})
}

// TestResetOfTheGone checks that who may not sign in any more gets no link, and cannot use one from before.
func TestResetOfTheGone(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.reconfigure(t, shop.WithMail)
		gone := w.person(t, "gone@acme.example", access.Reviewer, access.Viewer)
		must.NoError(t, w.RequestReset(t.Context(), gone.Email, origin))
		token := tokenIn(w.WantMails(t, "reset-requested "+gone.Email)[0].Text)
		w.remove(t, gone)
		if _, err := w.ResetPassword(t.Context(), token, next, origin); !errors.Is(err, signin.LinkUnusable) {
			t.Errorf("a link from before: %v", err)
		}
		must.NoError(t, w.RequestReset(t.Context(), gone.Email, origin))
		w.WantMails(t)
	})
}
