package service_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/letter"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/shop"
)

// eachPost is eachPortal with a mail server that has no sender: the tests take what is queued.
func eachPost(t *testing.T, f func(t *testing.T, s *shop.Shop, owner *service.Member)) {
	t.Helper()
	eachPortal(t, func(t *testing.T, s *shop.Shop, owner *service.Member) {
		s.Service.Mail = func() {}
		f(t, s, owner)
	})
}

// posted takes all mail out of the queue, as a sender does that has sent it.
func posted(t *testing.T, s *shop.Shop) []*service.OutgoingMail {
	t.Helper()
	var all []*service.OutgoingMail
	for {
		m, err := s.Service.NextMail(t.Context())
		must.NoError(t, err)
		if m == nil {
			return all
		}
		must.NoError(t, s.Service.MailSent(t.Context(), m))
		all = append(all, m)
	}
}

// wantPosted holds what was posted to kinds and receivers, in any order.
func wantPosted(t *testing.T, s *shop.Shop, want ...string) []*service.OutgoingMail {
	t.Helper()
	all := posted(t, s)
	var got []string
	for _, m := range all {
		got = append(got, string(m.Kind)+" "+m.To)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Fatalf("posted %q, want %q", got, want)
	}
	return all
}

func addOwner(t *testing.T, s *shop.Shop, email string, role access.Role) *access.User {
	t.Helper()
	u := &access.User{ID: store.NewID(), AccountID: s.Account.ID, Email: email, Role: role, PasswordHash: "x", CreatedAt: s.Clock.Now()}
	must.NoError(t, s.Store.Update(t.Context(), func(tx *store.Tx) error { return tx.InsertUser(u) }))
	return u
}

// TestLowBalance walks a balance down and up again: owners are told once for each time it falls below their number.
func TestLowBalance(t *testing.T) {
	eachPost(t, func(t *testing.T, s *shop.Shop, owner *service.Member) {
		addOwner(t, s, "second@acme.example", access.Owner)
		addOwner(t, s, "developer@acme.example", access.Developer)
		gone := addOwner(t, s, "gone@acme.example", access.Owner)
		must.NoError(t, s.Service.RemoveUser(t.Context(), owner, gone.ID))
		must.NoError(t, s.Store.Update(t.Context(), func(tx *store.Tx) error { return tx.SetAccountLocale(s.Account.ID, text.Japanese) }))
		before, err := s.Store.Balance(t.Context(), s.Account.ID, access.Live)
		must.NoError(t, err)
		s.Order(t, s.Live, "")
		price := func() int64 {
			after, err := s.Store.Balance(t.Context(), s.Account.ID, access.Live)
			must.NoError(t, err)
			return before - after
		}()
		balance := before - price
		must.NoError(t, s.Service.SetLowCredits(t.Context(), owner, balance-price))
		wantPosted(t, s)

		s.Order(t, s.Live, "") // to the number exactly
		wantPosted(t, s)
		first := s.Order(t, s.Live, "") // below it
		all := wantPosted(t, s, "low-balance owner@acme.example", "low-balance second@acme.example")
		left := fmt.Sprint(balance - 2*price)
		if m := all[0]; !strings.Contains(m.Subject, left) || !strings.Contains(m.Text, "本番クレジット") || !strings.Contains(m.Text, "https://assay.example/portal/live/credits") {
			t.Errorf("%s\n%s", m.Subject, m.Text)
		}
		s.Order(t, s.Live, "") // further down
		wantPosted(t, s)

		t.Run("RaisedButNotEnough", func(t *testing.T) {
			_, err := s.Service.GrantCredits(t.Context(), s.Account, access.Live, 2*price-1, "a little")
			must.NoError(t, err)
			s.Order(t, s.Live, "")
			wantPosted(t, s)
		})
		t.Run("RaisedToTheNumber", func(t *testing.T) {
			book, err := s.Store.Book(t.Context(), s.Account.ID, access.Live)
			must.NoError(t, err)
			_, err = s.Service.GrantCredits(t.Context(), s.Account, access.Live, book.LowCredits-book.Credits, "enough")
			must.NoError(t, err)
			wantPosted(t, s)
			s.Order(t, s.Live, "")
			wantPosted(t, s, "low-balance owner@acme.example", "low-balance second@acme.example")
		})
		t.Run("RolledBack", func(t *testing.T) {
			must.NoError(t, s.Service.SetLowCredits(t.Context(), owner, 1_000_000))
			_, err := s.Service.GrantCredits(t.Context(), s.Account, access.Live, 1_000_000, "much")
			must.NoError(t, err)
			err = s.Store.Update(t.Context(), func(tx *store.Tx) error {
				if _, err := tx.ChargeForOrder(s.Account.ID, access.Live, first, 500_000_000, s.Clock.Now()); err != nil {
					return err // there is not that much
				}
				return nil
			})
			if err == nil {
				t.Error("more than the balance was charged")
			}
			wantPosted(t, s)
		})
		t.Run("Off", func(t *testing.T) {
			must.NoError(t, s.Service.SetLowCredits(t.Context(), owner, 0))
			s.Order(t, s.Live, "")
			wantPosted(t, s)
		})
		t.Run("Refused", func(t *testing.T) {
			for _, below := range []int64{-1, 1_000_000_000_001} {
				if err := s.Service.SetLowCredits(t.Context(), owner, below); err == nil {
					t.Errorf("%d is taken", below)
				}
			}
			viewer := &service.Member{User: *addOwner(t, s, "viewer@acme.example", access.Viewer), Account: s.Account}
			if err := s.Service.SetLowCredits(t.Context(), viewer, 5); err == nil {
				t.Error("a viewer sets it")
			}
		})
		t.Run("NoMailServer", func(t *testing.T) {
			book, err := s.Store.Book(t.Context(), s.Account.ID, access.Live)
			must.NoError(t, err)
			must.NoError(t, s.Service.SetLowCredits(t.Context(), owner, book.Credits))
			s.Service.Mail = nil
			s.Order(t, s.Live, "")
			s.Service.Mail = func() {}
			wantPosted(t, s)
		})
	})
}

// TestLowBalance_Default holds what owners get who have set nothing, and that Test is left alone.
func TestLowBalance_Default(t *testing.T) {
	eachPost(t, func(t *testing.T, s *shop.Shop, owner *service.Member) {
		for _, env := range access.Environments {
			balance, err := s.Store.Balance(t.Context(), s.Account.ID, env)
			must.NoError(t, err)
			_, err = s.Service.GrantCredits(t.Context(), s.Account, env, 100-balance, "to the default")
			must.NoError(t, err)
		}
		s.Order(t, s.Test, "authentic")
		wantPosted(t, s)
		s.Order(t, s.Live, "")
		wantPosted(t, s, "low-balance "+owner.Email)
	})
}

// TestLowBalance_Race lets many orders go for one balance: one of them crosses the line.
func TestLowBalance_Race(t *testing.T) {
	eachPost(t, func(t *testing.T, s *shop.Shop, owner *service.Member) {
		must.NoError(t, s.Service.SetLowCredits(t.Context(), owner, 980))
		var wg sync.WaitGroup
		for range 12 {
			wg.Go(func() { s.Order(t, s.Live, "") })
		}
		wg.Wait()
		wantPosted(t, s, "low-balance "+owner.Email)
	})
}

// TestNotices holds who is told what about changes of how somebody signs in.
func TestNotices(t *testing.T) {
	eachPost(t, func(t *testing.T, s *shop.Shop, owner *service.Member) {
		g := service.NewPortalSignIn(s.Service)
		const password, next = "a password of my own", "another long password"
		must.NoError(t, s.Store.Update(t.Context(), func(tx *store.Tx) error { return tx.SetUserPassword(owner.ID, access.HashPassword(password)) }))
		again := func() {
			var err error
			owner, err = s.Service.MemberOfSession(t.Context(), owner.ID)
			must.NoError(t, err)
		}
		again()
		inJapanese := service.Origin{IP: "192.0.2.7", Locale: text.Japanese}
		t.Run("Password", func(t *testing.T) {
			if err := g.ChangePassword(t.Context(), owner, "wrong", next, "", inJapanese); !errors.Is(err, service.WrongPassword) {
				t.Fatal(err)
			}
			wantPosted(t, s)
			must.NoError(t, g.ChangePassword(t.Context(), owner, password, next, "", inJapanese))
			if m := wantPosted(t, s, "password-changed "+owner.Email)[0]; m.Locale != text.Japanese || m.Subject != "パスワードが変更されました" || strings.Contains(m.Text, next) {
				t.Errorf("%+v", m)
			}
			again()
		})
		t.Run("Email", func(t *testing.T) {
			old := owner.Email
			must.NoError(t, g.ChangeEmail(t.Context(), owner, next, "Boss@acme.example", "", portalOrigin))
			for _, m := range wantPosted(t, s, "email-changed-old "+old, "email-changed-new boss@acme.example") {
				if m.Locale != text.English || !strings.Contains(m.Text, old) || !strings.Contains(m.Text, "boss@acme.example") {
					t.Errorf("%+v", m)
				}
			}
			again()
		})
		t.Run("Reset", func(t *testing.T) {
			user, address, err := s.Service.ResetPasswordByOperator(t.Context(), "BOSS@acme.example")
			must.NoError(t, err)
			m := wantPosted(t, s, "reset-made boss@acme.example")[0]
			if user.ID != owner.ID || !strings.Contains(m.Text, address) || !strings.Contains(m.Text, "The operator of the service") {
				t.Errorf("%s is not in\n%s", address, m.Text)
			}
			_, token, _ := strings.Cut(address, "token=")
			must.NoError(t, g.ResetPassword(t.Context(), token, password, portalOrigin))
			wantPosted(t, s, "password-changed boss@acme.example")
		})
		t.Run("ByOwner", func(t *testing.T) {
			hana := addOwner(t, s, "hana@acme.example", access.Viewer)
			address, err := s.Service.ResetPasswordOf(t.Context(), owner, hana.ID)
			must.NoError(t, err)
			if m := wantPosted(t, s, "reset-made hana@acme.example")[0]; address != "" || !strings.Contains(m.Text, "boss@acme.example has made a link") {
				t.Errorf("%q\n%s", address, m.Text)
			}
		})
	})
}

// TestRequestReset asks for links: nothing about the request tells whether somebody has the email.
func TestRequestReset(t *testing.T) {
	eachPost(t, func(t *testing.T, s *shop.Shop, owner *service.Member) {
		g := service.NewPortalSignIn(s.Service)
		request := func(email string) {
			t.Helper()
			must.NoError(t, g.RequestReset(t.Context(), email, service.Origin{IP: "192.0.2.1", Locale: text.Japanese}))
		}
		request("Owner@Acme.example")
		request("nobody@acme.example")
		rows := rawsql.Rows(t, s.Target, "SELECT kind, account_id, link_id, attempts FROM mails ORDER BY id")
		if len(rows) != 2 || rows[0][0] != rows[1][0] || rows[0][1] != "<null>" || rows[1][1] != "<null>" {
			t.Errorf("the requests left %q: the known email is told apart before the answer", rows)
		}
		if links := rawsql.Rows(t, s.Target, "SELECT 1 FROM portal_links"); len(links) != 0 {
			t.Error("a link was made before the answer")
		}
		m := wantPosted(t, s, "reset-requested owner@acme.example")[0]
		if m.Locale != text.Japanese || m.AccountID != s.Account.ID {
			t.Errorf("%+v", m)
		}
		request(owner.Email)
		second := wantPosted(t, s, "reset-requested owner@acme.example")[0]
		for i, x := range []*service.OutgoingMail{m, second} {
			if _, err := s.Service.Link(t.Context(), store.PasswordReset, tokenIn(x.Text)); err != nil {
				t.Errorf("link %d: %v: a request of somebody else must not spoil it", i, err)
			}
		}
		must.NoError(t, g.ResetPassword(t.Context(), tokenIn(second.Text), "a password of my own", portalOrigin))
		if _, err := s.Service.Link(t.Context(), store.PasswordReset, tokenIn(m.Text)); !errors.Is(err, service.LinkUnusable) {
			t.Errorf("the other link after the reset: %v", err)
		}
		wantPosted(t, s, "password-changed owner@acme.example")

		t.Run("NoEmail", func(t *testing.T) {
			for _, email := range []string{"", "x", "a@b, c@d", "a@b.example\r\nBcc: x@y.example"} {
				if err := g.RequestReset(t.Context(), email, portalOrigin); !errors.Is(err, service.NoEmail) {
					t.Errorf("%q: %v", email, err)
				}
			}
		})
		t.Run("Throttled", func(t *testing.T) {
			addOwner(t, s, "hana@acme.example", access.Viewer)
			for _, email := range []string{"hana@acme.example", "unknown@acme.example"} {
				for i := range 5 {
					if err := g.RequestReset(t.Context(), email, portalOrigin); err != nil {
						t.Fatalf("request %d: %v", i+1, err)
					}
				}
				if err := g.RequestReset(t.Context(), email, portalOrigin); !errors.Is(err, service.TooManyLogins) {
					t.Errorf("%s: %v", email, err)
				}
				for i := range 5 { // from elsewhere
					must.NoError(t, g.RequestReset(t.Context(), email, service.Origin{IP: fmt.Sprintf("198.51.100.%d", i)}))
				}
				if err := g.RequestReset(t.Context(), email, service.Origin{IP: "203.0.113.9"}); !errors.Is(err, service.TooManyLogins) {
					t.Errorf("%s from many addresses: %v", email, err)
				}
			}
			s.Clock.Advance(16 * time.Minute)
			must.NoError(t, g.RequestReset(t.Context(), "hana@acme.example", portalOrigin))
		})
		t.Run("TooOld", func(t *testing.T) {
			posted(t, s)
			request(owner.Email)
			s.Clock.Advance(letter.Life)
			wantPosted(t, s)
		})
	})
}

func tokenIn(text string) string {
	_, rest, _ := strings.Cut(text, "token=")
	token, _, _ := strings.Cut(rest, "\n")
	return token
}

// TestMailOfAnotherKey holds that what another secret key has sealed is given up, and does not hold up the rest.
func TestMailOfAnotherKey(t *testing.T) {
	eachPost(t, func(t *testing.T, s *shop.Shop, owner *service.Member) {
		_, err := s.Service.Invite(t.Context(), owner, "first@acme.example", access.Viewer)
		must.NoError(t, err)
		rawsql.Exec(t, s.Target, "UPDATE mails SET sealed = 'v1:AAAA'")
		must.NoError(t, service.NewPortalSignIn(s.Service).RequestReset(t.Context(), "x@acme.example", portalOrigin))
		rawsql.Exec(t, s.Target, "UPDATE mails SET sealed = 'v1:AAAA' WHERE kind = 'reset-request'")
		_, err = s.Service.Invite(t.Context(), owner, "second@acme.example", access.Viewer)
		must.NoError(t, err)
		wantPosted(t, s, "invitation second@acme.example")
		if rows := rawsql.Rows(t, s.Target, "SELECT failure FROM mails"); len(rows) != 2 || rows[0][0] != "unreadable" || rows[1][0] != "unreadable" {
			t.Errorf("the queue is %q", rows)
		}
	})
}
