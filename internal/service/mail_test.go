package service_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/service/signin"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/shop"
)

// TestLowBalance walks a balance down and up again: owners are told once for each time it falls below their number.
func TestLowBalance(t *testing.T) {
	eachPost(t, func(t *testing.T, s *shop.Shop, owner *service.Member) {
		addOwner(t, s, "second@acme.example", access.Owner)
		addOwner(t, s, "developer@acme.example", access.Developer)
		gone := addOwner(t, s, "gone@acme.example", access.Owner)
		must.NoError(t, s.Service.RemoveUser(t.Context(), owner.Actor("", portalOrigin), gone.ID))
		must.NoError(t, s.Store.Update(t.Context(), func(tx *store.Tx) error {
			return tx.SetAccountLocale(s.Account.ID, text.Japanese)
		}))
		before, err := s.Store.Balance(t.Context(), s.Account.Tenant(access.Live))
		must.NoError(t, err)
		s.Order(t, s.Live, "")
		price := func() int64 {
			after, err := s.Store.Balance(t.Context(), s.Account.Tenant(access.Live))
			must.NoError(t, err)
			return before - after
		}()
		balance := before - price
		must.NoError(t, s.Service.SetLowCredits(t.Context(), owner.Actor("", access.Origin{}), balance-price))
		s.WantMails(t)

		s.Order(t, s.Live, "") // to the number exactly
		s.WantMails(t)
		s.Order(t, s.Live, "") // below it
		all := s.WantMails(t, "low-balance owner@acme.example", "low-balance second@acme.example")
		left := fmt.Sprint(balance - 2*price)
		if m := all[0]; !strings.Contains(m.Subject, left) || !strings.Contains(m.Text, "本番クレジット") ||
			!strings.Contains(m.Text, "https://assay.example/portal/live/credits") {
			t.Errorf("%s\n%s", m.Subject, m.Text)
		}
		s.Order(t, s.Live, "") // further down
		s.WantMails(t)

		t.Run("RaisedButNotEnough", func(t *testing.T) {
			_, err := s.Service.GrantCredits(t.Context(), access.System,
				access.Tenant{AccountID: s.Account.ID, Environment: access.Live}, 2*price-1, "a little")
			must.NoError(t, err)
			s.Order(t, s.Live, "")
			s.WantMails(t)
		})
		t.Run("RaisedToTheNumber", func(t *testing.T) {
			book, err := s.Store.AccountTotals(t.Context(), s.Account.Tenant(access.Live))
			must.NoError(t, err)
			_, err = s.Service.GrantCredits(t.Context(), access.System,
				access.Tenant{AccountID: s.Account.ID, Environment: access.Live}, book.LowCredits-book.Credits, "enough")
			must.NoError(t, err)
			s.WantMails(t)
			s.Order(t, s.Live, "")
			s.WantMails(t, "low-balance owner@acme.example", "low-balance second@acme.example")
		})
		t.Run("RolledBack", func(t *testing.T) {
			must.NoError(t, s.Service.SetLowCredits(t.Context(), owner.Actor("", access.Origin{}), 1_000_000))
			_, err := s.Service.GrantCredits(t.Context(), access.System,
				access.Tenant{AccountID: s.Account.ID, Environment: access.Live}, 1_000_000, "much")
			must.NoError(t, err)
			err = s.Store.Update(t.Context(), func(tx *store.Tx) error {
				_, err := tx.Grant(s.Account.Tenant(access.Live), -500_000_000, "", s.Clock.Now()) // there is not that much
				return err
			})
			if err == nil {
				t.Error("more than the balance was charged")
			}
			s.WantMails(t)
		})
		t.Run("Off", func(t *testing.T) {
			must.NoError(t, s.Service.SetLowCredits(t.Context(), owner.Actor("", access.Origin{}), 0))
			s.Order(t, s.Live, "")
			s.WantMails(t)
		})
		t.Run("Refused", func(t *testing.T) {
			for _, below := range []int64{-1, 1_000_000_000_001} {
				if err := s.Service.SetLowCredits(t.Context(), owner.Actor("", access.Origin{}), below); err == nil {
					t.Errorf("%d is taken", below)
				}
			}
			viewer := addOwner(t, s, "viewer@acme.example", access.Viewer)
			if err := s.Service.SetLowCredits(t.Context(), viewer.Actor("", access.Origin{}), 5); err == nil {
				t.Error("a viewer sets it")
			}
		})
		t.Run("NoMailServer", func(t *testing.T) {
			book, err := s.Store.AccountTotals(t.Context(), s.Account.Tenant(access.Live))
			must.NoError(t, err)
			must.NoError(t, s.Service.SetLowCredits(t.Context(), owner.Actor("", access.Origin{}), book.Credits))
			s.Reconfigure(t, func(c *service.Config) { c.OnMail = nil })
			s.Order(t, s.Live, "")
			s.Reconfigure(t, shop.WithMail)
			s.WantMails(t)
		})
	})
}

// TestLowBalance_Default holds what owners get who have set nothing, and that Test is left alone.
func TestLowBalance_Default(t *testing.T) {
	eachPost(t, func(t *testing.T, s *shop.Shop, owner *service.Member) {
		for _, env := range access.Environments {
			balance, err := s.Store.Balance(t.Context(), s.Account.Tenant(env))
			must.NoError(t, err)
			_, err = s.Service.GrantCredits(t.Context(), access.System, access.Tenant{AccountID: s.Account.ID, Environment: env},
				100-balance, "to the default")
			must.NoError(t, err)
		}
		s.Order(t, s.Test, "authentic")
		s.WantMails(t)
		s.Order(t, s.Live, "")
		s.WantMails(t, "low-balance "+owner.Email)
	})
}

// TestMail_WrongClock: mail that a wrong clock has put off is sent at once, and expires as any other.
func TestMail_WrongClock(t *testing.T) {
	eachPost(t, func(t *testing.T, s *shop.Shop, owner *service.Member) {
		reset := func() {
			t.Helper()
			_, _, err := s.Service.ResetUserPassword(t.Context(), access.Operator, owner.AccountID, owner.ID)
			must.NoError(t, err)
			far := s.Clock.Now().AddDate(1, 0, 0).UnixMicro()
			rawsql.Exec(t, s.Target, fmt.Sprintf("UPDATE mails SET due_at = %d", far))
		}
		reset()
		due, err := s.Service.NextMailDue(t.Context())
		if err != nil || due.After(s.Clock.Now()) {
			t.Errorf("due at %s, %v", due, err)
		}
		s.WantMails(t, "reset-made "+owner.Email)

		reset()
		s.Clock.Advance(25 * time.Hour)
		s.WantMails(t)
		_, err = s.Service.DeleteOldMail(t.Context(), s.Clock.Now().Add(-time.Hour), 10)
		must.NoError(t, err)
		if queued, failed, err := s.Service.MailCounts(t.Context()); queued != 0 || failed != 1 || err != nil {
			t.Errorf("%d mails wait, %d have failed, %v", queued, failed, err)
		}
	})
}

// TestLowBalance_Race lets many orders go for one balance: one of them crosses the line.
func TestLowBalance_Race(t *testing.T) {
	eachPost(t, func(t *testing.T, s *shop.Shop, owner *service.Member) {
		must.NoError(t, s.Service.SetLowCredits(t.Context(), owner.Actor("", access.Origin{}), 980))
		var wg sync.WaitGroup
		for range 12 {
			wg.Go(func() { s.Order(t, s.Live, "") })
		}
		wg.Wait()
		s.WantMails(t, "low-balance "+owner.Email)
	})
}

// TestMadeReset checks the mail with a link that an operator or an owner has made for a user.
func TestMadeReset(t *testing.T) {
	eachPost(t, func(t *testing.T, s *shop.Shop, owner *service.Member) {
		t.Run("ByOperator", func(t *testing.T) {
			user, err := s.Service.UserByEmail(t.Context(), access.Operator, strings.ToUpper(owner.Email))
			must.NoError(t, err)
			_, address, err := s.Service.ResetUserPassword(t.Context(), access.Operator, user.AccountID, user.ID)
			must.NoError(t, err)
			m := s.WantMails(t, "reset-made "+owner.Email)[0]
			if user.ID != owner.ID || !strings.Contains(m.Text, address) ||
				!strings.Contains(m.Text, "The operator of the service") {
				t.Errorf("%s is not in\n%s", address, m.Text)
			}
			_, token, _ := strings.Cut(address, "token=")
			_, err = s.Service.SignIn(access.Portal).ResetPassword(t.Context(), token, "a password of my own", portalOrigin)
			must.NoError(t, err)
			s.WantMails(t, "password-changed "+owner.Email)
		})
		t.Run("ByOwner", func(t *testing.T) {
			hana := addOwner(t, s, "hana@acme.example", access.Viewer)
			_, address, err := s.Service.ResetUserPassword(t.Context(), owner.Actor("", portalOrigin), s.Account.ID, hana.ID)
			must.NoError(t, err)
			m := s.WantMails(t, "reset-made hana@acme.example")[0]
			if address != "" || !strings.Contains(m.Text, owner.Email+" created a password reset link") {
				t.Errorf("%q\n%s", address, m.Text)
			}
		})
		t.Run("TooOften", func(t *testing.T) {
			mika := addOwner(t, s, "mika@acme.example", access.Viewer)
			reset := func(actor access.Actor) error {
				_, _, err := s.Service.ResetUserPassword(t.Context(), actor, s.Account.ID, mika.ID)
				return err
			}
			for range 5 {
				must.NoError(t, reset(owner.Actor("", portalOrigin)))
				s.WantMails(t, "reset-made mika@acme.example")
			}
			if err := reset(owner.Actor("", portalOrigin)); !errors.Is(err, signin.TooManyLogins) {
				t.Errorf("a mailbox is filled: %v", err)
			}
			must.NoError(t, reset(access.Operator))
			s.WantMails(t, "reset-made mika@acme.example")
		})
		t.Run("OfAnotherAccount", func(t *testing.T) {
			other, err := s.Service.CreateAccount(t.Context(), access.System, "Other", "owner@other.example", text.English)
			must.NoError(t, err)
			for name, accountID := range map[string]string{"theirs": other.Account.ID, "mine": s.Account.ID} {
				_, _, err := s.Service.ResetUserPassword(t.Context(), owner.Actor("", portalOrigin), accountID, other.Owner.ID)
				if err == nil {
					t.Errorf("%s: a link for the user of another account", name)
				}
			}
			s.WantMails(t)
		})
	})
}

// TestInvite_Limits checks that invitations fill nobody's mailbox, and that a team can be invited in one go.
func TestInvite_Limits(t *testing.T) {
	eachPost(t, func(t *testing.T, s *shop.Shop, owner *service.Member) {
		const window = 15 * time.Minute
		invite := func(by access.Actor, email string) error {
			_, err := s.Service.Invite(t.Context(), by, email, access.Viewer)
			return err
		}
		refused := func(what string, err error) {
			t.Helper()
			if !errors.Is(err, signin.TooManyLogins) {
				t.Errorf("%s: %v", what, err)
			}
		}
		from := func(ip string) access.Actor { return owner.Actor("", access.Origin{IP: ip}) }
		for i := range 50 {
			must.NoError(t, invite(from("192.0.2.1"), fmt.Sprintf("%d@acme.example", i)))
		}
		refused("one person", invite(from("192.0.2.2"), "more@acme.example"))
		s.Clock.Advance(window)

		must.NoError(t, invite(from("192.0.2.1"), "one@acme.example"))
		for range 4 {
			_, open, err := s.Service.Team(t.Context(), from("192.0.2.1"))
			must.NoError(t, err)
			_, _, err = s.Service.InviteAgain(t.Context(), from("192.0.2.1"), open[0].ID)
			must.NoError(t, err)
		}
		refused("one mailbox", invite(from("192.0.2.1"), "ONE@acme.example"))
		must.NoError(t, invite(from("192.0.2.1"), "two@acme.example"))

		s.Reconfigure(t, func(c *service.Config) { c.OnMail = nil }) // links are handed over: nothing to limit
		for range 20 {
			must.NoError(t, invite(from("192.0.2.1"), "one@acme.example"))
		}
	})
}

// TestMailOfAnotherKey checks that what another secret key has sealed waits for that key, for a day, and does not hold
// up the rest.
func TestMailOfAnotherKey(t *testing.T) {
	eachPost(t, func(t *testing.T, s *shop.Shop, owner *service.Member) {
		_, err := s.Service.Invite(t.Context(), owner.Actor("", portalOrigin), "first@acme.example", access.Viewer)
		must.NoError(t, err)
		must.NoError(t, s.Service.SignIn(access.Portal).RequestReset(t.Context(), owner.Email, portalOrigin))
		rawsql.Exec(t, s.Target, "UPDATE mails SET sealed = 'x' || sealed")
		_, err = s.Service.Invite(t.Context(), owner.Actor("", portalOrigin), "second@acme.example", access.Viewer)
		must.NoError(t, err)
		s.WantMails(t, "invitation second@acme.example")
		rawsql.Exec(t, s.Target, "UPDATE mails SET sealed = substr(sealed, 2)")
		s.WantMails(t)
		s.Clock.Advance(2 * time.Minute)
		s.WantMails(t, "invitation first@acme.example", "reset-requested "+owner.Email)

		_, err = s.Service.Invite(t.Context(), owner.Actor("", portalOrigin), "third@acme.example", access.Viewer)
		must.NoError(t, err)
		rawsql.Exec(t, s.Target, "UPDATE mails SET sealed = 'v1:AAAA'")
		s.WantMails(t)
		s.Clock.Advance(25 * time.Hour)
		s.WantMails(t)
		_, err = s.Service.DeleteOldMail(t.Context(), s.Clock.Now().Add(-time.Hour), 10)
		must.NoError(t, err)
		if rows := rawsql.Rows(t, s.Target, "SELECT failure FROM mails"); len(rows) != 1 || rows[0][0] != "expired" {
			t.Errorf("the queue is %q", rows)
		}
	})
}
