package signin_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/service/signin"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/shop"
)

func TestThrottle(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		try := func(address, user string) error {
			_, err := w.Try(t.Context(), access.Origin{IP: address}, user, "")
			return err
		}
		refusedAfter := func(t *testing.T, attempt func(i int) (address, user string)) int {
			t.Helper()
			for i := range 1000 {
				if err := try(attempt(i)); err != nil {
					if !errors.Is(err, signin.TooManyLogins) {
						t.Fatal(err)
					}
					return i
				}
			}
			return -1
		}
		fresh := func(t *testing.T, name string, f func(t *testing.T)) {
			t.Run(name, f)
			w.Clock.Advance(throttleWindow)
		}
		same := func(int) (string, string) { return "192.0.2.1", "a@example.com" }

		fresh(t, "OneUserFromOneAddress", func(t *testing.T) {
			if n := refusedAfter(t, same); n != 10 {
				t.Errorf("refused after %d attempts, want 10", n)
			}
			must.NoError(t, try("192.0.2.2", "a@example.com")) // not locked out elsewhere
			if err := try("192.0.2.1", "A@EXAMPLE.com"); err == nil {
				t.Error("upper case is another user")
			}
		})
		fresh(t, "ManyUsersFromOneAddress", func(t *testing.T) {
			if n := refusedAfter(t, func(i int) (string, string) { return "192.0.2.1", fmt.Sprint(i) }); n != 100 {
				t.Errorf("refused after %d attempts, want 100", n)
			}
		})
		fresh(t, "OneUserFromManyAddresses", func(t *testing.T) {
			from := func(i int) (string, string) { return fmt.Sprintf("10.0.%d.%d", i/256, i%256), "a" }
			if n := refusedAfter(t, from); n != 100 {
				t.Errorf("refused after %d attempts, want 100", n)
			}
		})
		fresh(t, "OneSiteOfIPv6", func(t *testing.T) {
			from := func(i int) (string, string) { return fmt.Sprintf("2001:db8::%x", i), "a" }
			if n := refusedAfter(t, from); n != 10 {
				t.Errorf("refused after %d attempts, want 10", n)
			}
		})
		fresh(t, "AfterARestartAndOnOtherNodes", func(t *testing.T) {
			if n := refusedAfter(t, same); n != 10 {
				t.Errorf("refused after %d attempts, want 10", n)
			}
			w.reconfigure(t, func(*service.Config) {})
			if err := try(same(0)); !errors.Is(err, signin.TooManyLogins) {
				t.Errorf("a restart forgets: %v", err)
			}
		})
		fresh(t, "TellsWhenToComeBack", func(t *testing.T) {
			refusedAfter(t, same)
			w.Clock.Advance(14 * time.Minute)
			f, _ := errors.AsType[*fault.Error](try(same(0)))
			if f == nil || f.RetryAfter != time.Minute {
				t.Errorf("refusal = %+v, want one that ends in a minute", f)
			}
			w.Clock.Advance(time.Minute)
			must.NoError(t, try(same(0)))
		})
		fresh(t, "SuccessForgets", func(t *testing.T) {
			for i := range 30 {
				var succeeded func(context.Context) error
				for range 4 {
					var err error
					succeeded, err = w.Try(t.Context(), access.Origin{IP: "192.0.2.1"}, "a", "")
					if errors.Is(err, signin.TooManyLogins) && i > 30 { // the address has a limit of failures
						return
					}
					must.NoError(t, err)
				}
				must.NoError(t, succeeded(t.Context()))
			}
			for i := range 50 {
				if try("192.0.2.1", fmt.Sprint("b", i)) != nil {
					return // three of each four stay: the limit of the address holds for failures
				}
			}
			t.Error("failures from one address are without limit")
		})
		fresh(t, "Together", func(t *testing.T) {
			tooMany := func(err error) bool { return errors.Is(err, signin.TooManyLogins) }
			n := 0
			for range 3 {
				n += together(t, func() error { return try(same(0)) }, tooMany)
			}
			if n != 10 {
				t.Errorf("%d attempts at once, want 10", n)
			}
		})
		fresh(t, "AfterAClockWasSetBack", func(t *testing.T) {
			const ahead = 48 * time.Hour
			w.Clock.Advance(ahead)
			refusedAfter(t, same)
			must.NoError(t, try("192.0.2.50", "b"))
			w.Clock.Advance(-ahead)
			must.NoError(t, try(same(0)))
			future := func() int {
				return len(rawsql.Rows(t, w.Target, fmt.Sprintf("SELECT key FROM sign_in_attempts WHERE ends_at > %d",
					w.Clock.Now().Add(throttleWindow).UnixMicro())))
			}
			if future() == 0 {
				t.Error("no windows of the future")
			}
			_, err := w.Service.DeleteOldSignInAttempts(t.Context(), 10_000)
			must.NoError(t, err)
			if n := future(); n != 0 {
				t.Errorf("%d windows of the future remain", n)
			}
			for range 9 { // the window that has begun goes on
				must.NoError(t, try(same(0)))
			}
			if err := try(same(0)); !errors.Is(err, signin.TooManyLogins) {
				t.Errorf("the window was forgotten: %v", err)
			}
		})
		t.Run("KeepsNoNames", func(t *testing.T) {
			must.NoError(t, try("192.0.2.77", "my-secret-password"))
			for _, row := range rawsql.Rows(t, w.Target, "SELECT key FROM sign_in_attempts") {
				if strings.Contains(row[0], "secret") || strings.Contains(row[0], "192.0.2") {
					t.Errorf("kept as %s", row[0])
				}
			}
		})
		t.Run("Cleaned", func(t *testing.T) {
			w.Clock.Advance(throttleWindow)
			if n, err := w.Service.DeleteOldSignInAttempts(t.Context(), 10_000); err != nil || n == 0 {
				t.Errorf("%d, %v", n, err)
			}
			if rows := rawsql.Rows(t, w.Target, "SELECT key FROM sign_in_attempts"); len(rows) != 0 {
				t.Errorf("%d windows remain", len(rows))
			}
		})
	})
}

// TestKnownDevice checks that a browser with which somebody has signed in before is not locked out by strangers, and
// that guessing with it is limited, too.
func TestKnownDevice(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.reconfigure(t, shop.WithMail)
		mine, other := origin, origin
		mine.Device, other.Device = "mine", "other"
		for range 2 {
			_, _, err := w.Service.StartSession(t.Context(), w.audience, w.who.ID, mine)
			must.NoError(t, err)
		}
		w.WantMails(t) // nothing: it is the first one
		for i := range 100 {
			from := access.Origin{IP: fmt.Sprintf("198.51.100.%d", i), Device: "stranger"}
			_, err := w.Try(t.Context(), from, w.who.Email, w.who.ID)
			must.NoError(t, err)
		}
		if _, _, err := w.Password(t.Context(), w.who.Email, password, other); !errors.Is(err, signin.TooManyLogins) {
			t.Errorf("a browser that is not known: %v", err)
		}
		_, _, err := w.Password(t.Context(), w.who.Email, password, mine)
		must.NoError(t, err)
		for range 10 {
			_, err := w.Try(t.Context(), mine, w.who.Email, w.who.ID)
			must.NoError(t, err)
		}
		if _, _, err := w.Password(t.Context(), w.who.Email, password, mine); !errors.Is(err, signin.TooManyLogins) {
			t.Errorf("guessing with a known browser: %v", err)
		}

		_, _, err = w.Service.StartSession(t.Context(), w.audience, w.who.ID, other)
		must.NoError(t, err)
		m := w.WantMails(t, "new-device "+w.who.Email)[0]
		if !strings.Contains(m.Text, origin.IP) || !strings.Contains(m.Text, origin.UserAgent) ||
			!strings.Contains(m.Text, w.settings()) {
			t.Errorf("%s", m.Text)
		}
		_, _, err = w.Service.StartSession(t.Context(), w.audience, w.who.ID, other)
		must.NoError(t, err)
		w.WantMails(t)

		w.Clock.Advance(access.DeviceLife)
		if n, err := w.Service.DeleteOldDevices(t.Context(), 100); err != nil || n != 2 {
			t.Errorf("%d browsers forgotten, %v", n, err)
		}
	})
}
