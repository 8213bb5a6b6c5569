package signin_test

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/secret"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/service/signin"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// signIns is a service whose clock the test moves.
type signIns struct {
	*service.Service
	Store *store.Store
	clock time.Time
	asked func() // called when the clock is looked at; nil: nothing is
}

func eachSignIns(t *testing.T, f func(t *testing.T, s *signIns)) {
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		s := &signIns{Store: st, clock: time.Date(2025, 3, 1, 9, 0, 0, 0, time.UTC)}
		box, err := secret.New(shop.SecretKey)
		must.NoError(t, err)
		s.Service = service.New(service.Config{
			Store: st, Secrets: box, Now: s.now, Log: slog.New(slog.DiscardHandler),
		})
		account := &access.Account{ID: uuid7.New(), Name: "Acme", Locale: "en", CreatedAt: s.clock}
		must.NoError(t, st.Update(t.Context(), func(tx *store.Tx) error {
			if err := tx.InsertAccount(account); err != nil {
				return err
			}
			for _, id := range []string{"u1", "u2", "idle", "busy"} {
				email := id + "@acme.example"
				if err := errors.Join(
					tx.InsertStaff(&access.Staff{ID: id, Email: email, Name: id, Role: access.Reviewer, CreatedAt: s.clock},
						store.StaffToken{}),
					tx.InsertUser(&access.User{ID: id, AccountID: account.ID, Email: email, Role: access.Viewer, CreatedAt: s.clock}),
				); err != nil {
					return err
				}
			}
			return nil
		}))
		f(t, s)
	})
}

func (s *signIns) now() time.Time {
	if s.asked != nil {
		s.asked()
	}
	return s.clock
}

func (s *signIns) start(t *testing.T, a access.Audience, user string) (*access.Session, string) {
	t.Helper()
	session, token, err := s.StartSession(t.Context(), a, user, access.Origin{IP: "192.0.2.7", UserAgent: "Browser/1.0"})
	if err != nil {
		t.Fatal(err)
	}
	return session, token
}

func TestSession(t *testing.T) {
	eachSignIns(t, func(t *testing.T, s *signIns) {
		ctx := t.Context()
		session, token := s.start(t, access.Desk, "u1")

		t.Run("Found", func(t *testing.T) {
			got, err := s.Session(ctx, access.Desk, token)
			if err != nil || *got != *session {
				t.Fatalf("Session = %+v, %v; want %+v", got, err, session)
			}
			if got.IP != "192.0.2.7" || got.UserAgent != "Browser/1.0" || got.UserID != "u1" {
				t.Errorf("the session lost where it came from: %+v", got)
			}
		})
		t.Run("OtherAudience", func(t *testing.T) {
			if _, err := s.Session(ctx, access.Portal, token); !errors.Is(err, access.NoSession) {
				t.Errorf("a session of the desk opens the portal: %v", err)
			}
		})
		t.Run("Unknown", func(t *testing.T) {
			for _, bad := range []string{"", "x", token + "A", access.NewSessionToken(), session.ID} {
				if _, err := s.Session(ctx, access.Desk, bad); !errors.Is(err, access.NoSession) {
					t.Errorf("Session(%q) = %v, want NoSession", bad, err)
				}
			}
		})
		t.Run("FreshEachTime", func(t *testing.T) {
			again, other := s.start(t, access.Desk, "u1")
			if other == token || again.ID == session.ID {
				t.Error("two sign-ins share a session")
			}
		})
	})
}

func TestSessionExpiry(t *testing.T) {
	for a, lifetime := range map[access.Audience]time.Duration{
		access.Portal: access.SessionLifetime, access.Desk: access.StaffSessionLifetime,
	} {
		t.Run(string(a), func(t *testing.T) { testSessionExpiry(t, a, lifetime) })
	}
}

func testSessionExpiry(t *testing.T, a access.Audience, lifetime time.Duration) {
	eachSignIns(t, func(t *testing.T, s *signIns) {
		ctx := t.Context()
		start := s.clock
		_, idle := s.start(t, a, "idle")
		_, busy := s.start(t, a, "busy")

		for s.clock.Sub(start) < lifetime-time.Hour {
			s.clock = s.clock.Add(11 * time.Hour)
			if s.clock.Sub(start) >= lifetime {
				break
			}
			if _, err := s.Session(ctx, a, busy); err != nil {
				t.Fatalf("a session in use has ended after %v: %v", s.clock.Sub(start), err)
			}
		}
		if _, err := s.Session(ctx, a, idle); !errors.Is(err, access.NoSession) {
			t.Errorf("an idle session lives: %v", err)
		}
		s.clock = start.Add(lifetime)
		if _, err := s.Session(ctx, a, busy); !errors.Is(err, access.NoSession) {
			t.Errorf("a session lives past its lifetime: %v", err)
		}
		for _, want := range []int{1, 1, 0} {
			if n, err := s.DeleteExpiredSessions(ctx, 1); err != nil || n != want {
				t.Errorf("DeleteExpiredSessions = %d, %v; want %d", n, err, want)
			}
		}
	})
}

func TestSessionTouch(t *testing.T) {
	eachSignIns(t, func(t *testing.T, s *signIns) {
		_, token := s.start(t, access.Desk, "u1")
		stored := func() time.Time {
			all, err := s.Sessions(t.Context(), access.Desk, "u1")
			if err != nil || len(all) != 1 {
				t.Fatalf("Sessions = %v, %v", all, err)
			}
			return all[0].LastSeenAt
		}
		first := stored()
		s.clock = s.clock.Add(access.SessionTouch - time.Second)
		if _, err := s.Session(t.Context(), access.Desk, token); err != nil || !stored().Equal(first) {
			t.Errorf("a use within a minute was written: %v, %v", stored(), err)
		}
		s.clock = s.clock.Add(time.Second)
		if _, err := s.Session(t.Context(), access.Desk, token); err != nil || !stored().Equal(s.clock) {
			t.Errorf("last seen = %v, %v; want %v", stored(), err, s.clock)
		}
	})
}

// TestLookAtSession checks that looking at a session finds what using it finds, and does not keep it alive.
func TestLookAtSession(t *testing.T) {
	eachSignIns(t, func(t *testing.T, s *signIns) {
		ctx := t.Context()
		session, token := s.start(t, access.Desk, "u1")
		s.clock = s.clock.Add(access.SessionIdle - time.Second)
		if got, err := s.LookAtSession(ctx, access.Desk, token); err != nil || *got != *session {
			t.Fatalf("LookAtSession = %+v, %v; want %+v", got, err, session)
		}
		if _, err := s.LookAtSession(ctx, access.Portal, token); !errors.Is(err, access.NoSession) {
			t.Errorf("a session of the desk opens the portal: %v", err)
		}
		s.clock = s.clock.Add(time.Second)
		if _, err := s.LookAtSession(ctx, access.Desk, token); !errors.Is(err, access.NoSession) {
			t.Errorf("a session that was only looked at is kept alive: %v", err)
		}
	})
}

func TestRevokeSession(t *testing.T) {
	eachSignIns(t, func(t *testing.T, s *signIns) {
		ctx := t.Context()
		mine, token := s.start(t, access.Portal, "u1")
		_, second := s.start(t, access.Portal, "u1")
		_, others := s.start(t, access.Portal, "u2")
		if _, err := s.Session(ctx, access.Portal, token); err != nil {
			t.Fatal(err)
		}
		err := s.RevokeSession(ctx, access.Portal, "u2", mine.ID, access.Origin{})
		if !errors.Is(err, signin.SessionNotFound) {
			t.Errorf("another user may revoke a session: %v", err)
		}
		if err := s.RevokeSessions(ctx, access.Portal, "u1", mine.ID, access.Origin{}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Session(ctx, access.Portal, second); !errors.Is(err, access.NoSession) {
			t.Errorf("a revoked session lives: %v", err)
		}
		if err := s.EndSession(ctx, mine, access.Origin{}); err != nil {
			t.Fatal(err)
		}
		if err := s.EndSession(ctx, mine, access.Origin{}); err != nil {
			t.Errorf("signing out twice: %v", err)
		}
		if _, err := s.Session(ctx, access.Portal, token); !errors.Is(err, access.NoSession) {
			t.Errorf("signed out, and still in: %v", err)
		}
		if _, err := s.Session(ctx, access.Portal, others); err != nil {
			t.Errorf("another user's session ended too: %v", err)
		}
	})
}

// TestEndSession_InUse checks that a session which ends while a request uses it is refused from then on.
func TestEndSession_InUse(t *testing.T) {
	eachSignIns(t, func(t *testing.T, s *signIns) {
		session, token := s.start(t, access.Desk, "u1")
		s.clock = s.clock.Add(access.SessionTouch) // the request notes its use
		looks := 0
		s.asked = func() {
			if looks++; looks == 2 { // the session was found
				s.asked = nil
				must.NoError(t, s.EndSession(t.Context(), session, access.Origin{}))
			}
		}
		if _, err := s.Session(t.Context(), access.Desk, token); err != nil || looks != 2 {
			t.Fatalf("%v after %d looks at the clock", err, looks)
		}
		if _, err := s.Session(t.Context(), access.Desk, token); !errors.Is(err, access.NoSession) {
			t.Errorf("a session that has ended is still accepted: %v", err)
		}
	})
}

// TestRevokedElsewhere checks that a node which has a session in its cache refuses it within a second of its end.
func TestRevokedElsewhere(t *testing.T) {
	eachSignIns(t, func(t *testing.T, s *signIns) {
		session, token := s.start(t, access.Desk, "u1")
		for range 3 {
			if _, err := s.Session(t.Context(), access.Desk, token); err != nil {
				t.Fatal(err)
			}
			s.clock = s.clock.Add(300 * time.Millisecond)
		}
		if err := s.Store.Update(
			t.Context(), func(tx *store.Tx) error { return tx.DeleteSession(access.Desk, "u1", session.ID) },
		); err != nil {
			t.Fatal(err)
		}
		for range 4 { // use must not keep the entry young
			s.clock = s.clock.Add(249 * time.Millisecond)
			_, err := s.Session(t.Context(), access.Desk, token)
			if errors.Is(err, access.NoSession) {
				return
			}
		}
		t.Error("a session revoked by another node is still accepted after a second")
	})
}

// TestSignInLimits checks that whoever can sign in as somebody cannot do so without end: not in a while, and not with
// ever more sessions, browsers and mails.
func TestSignInLimits(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.reconfigure(t, shop.WithMail)
		w.Clock.Advance(throttleWindow) // the session that there is began before
		signIn := func(device string) (string, error) {
			w.Clock.Advance(time.Second)
			from := origin
			from.Device = device
			_, token, err := w.Service.StartSession(t.Context(), w.audience, w.who.ID, from)
			return token, err
		}
		signedIn := func(device string) string {
			t.Helper()
			token, err := signIn(device)
			must.NoError(t, err)
			return token
		}
		usable := func(token string) bool {
			_, err := w.Service.Session(t.Context(), w.audience, token)
			if err != nil && !errors.Is(err, access.NoSession) {
				t.Error(err)
			}
			return err == nil
		}

		first, second := signedIn("mine"), signedIn("mine") // the first of these is a new browser
		for range 29 {
			signedIn("")
		}
		if _, err := signIn(""); !errors.Is(err, signin.TooManyLogins) {
			t.Errorf("the 31st sign-in: %v", err)
		}
		signedIn("mine") // strangers lock no known browser out
		w.Clock.Advance(throttleWindow)
		if !usable(first) { // which is a use of it
			t.Error("a session has ended too early")
		}
		for range 30 {
			signedIn("")
		}
		sessions, err := w.Service.Sessions(t.Context(), w.audience, w.who.ID)
		must.NoError(t, err)
		if len(sessions) != 50 || !usable(first) || usable(second) {
			t.Errorf("%d sessions; used lately %t, used long ago %t", len(sessions), usable(first), usable(second))
		}

		w.Clock.Advance(throttleWindow)
		w.WantMails(t)
		for i := range 25 {
			signedIn(fmt.Sprint("browser ", i))
		}
		told := "new-device " + w.who.Email
		w.WantMails(t, told, told, told)
		if n := len(rawsql.Rows(t, w.Target, "SELECT device_hash FROM sign_in_devices")); n != 20 {
			t.Errorf("%d browsers are known, want 20", n)
		}
		w.Clock.Advance(time.Hour)
		signedIn("browser 24")
		w.WantMails(t)
		signedIn("mine") // it was used before all others
		w.WantMails(t, told)
	})
}
