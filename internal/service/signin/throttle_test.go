package signin_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/service/signin"
)

func TestThrottle(t *testing.T) {
	clock := time.Date(2025, 3, 1, 9, 0, 0, 0, time.UTC)
	fresh := func() signin.Throttle { return signin.NewThrottle(func() time.Time { return clock }) }
	refusedAfter := func(t *testing.T, throttle signin.Throttle, attempt func(i int) (address, user string)) int {
		t.Helper()
		for i := range 1000 {
			if err := throttle.Begin(attempt(i)); err != nil {
				if !errors.Is(err, signin.TooManyLogins) {
					t.Fatal(err)
				}
				return i
			}
		}
		return -1
	}
	same := func(int) (string, string) { return "192.0.2.1", "a@example.com" }

	t.Run("OneUserFromOneAddress", func(t *testing.T) {
		throttle := fresh()
		if n := refusedAfter(t, throttle, same); n != 10 {
			t.Errorf("refused after %d attempts, want 10", n)
		}
		if err := throttle.Begin("192.0.2.2", "a@example.com"); err != nil {
			t.Errorf("the user is locked out elsewhere: %v", err)
		}
		if err := throttle.Begin("192.0.2.1", "A@EXAMPLE.com"); err == nil {
			t.Error("upper case is another user")
		}
	})
	t.Run("ManyUsersFromOneAddress", func(t *testing.T) {
		if n := refusedAfter(t, fresh(), func(i int) (string, string) { return "192.0.2.1", fmt.Sprint(i) }); n != 100 {
			t.Errorf("refused after %d attempts, want 100", n)
		}
	})
	t.Run("OneUserFromManyAddresses", func(t *testing.T) {
		from := func(i int) (string, string) { return fmt.Sprintf("10.0.%d.%d", i/256, i%256), "a" }
		if n := refusedAfter(t, fresh(), from); n != 100 {
			t.Errorf("refused after %d attempts, want 100", n)
		}
	})
	t.Run("OneSiteOfIPv6", func(t *testing.T) {
		from := func(i int) (string, string) { return fmt.Sprintf("2001:db8::%x", i), "a" }
		if n := refusedAfter(t, fresh(), from); n != 10 {
			t.Errorf("refused after %d attempts, want 10", n)
		}
	})
	t.Run("TellsWhenToComeBack", func(t *testing.T) {
		throttle := fresh()
		refusedAfter(t, throttle, same)
		clock = clock.Add(14 * time.Minute)
		f, _ := errors.AsType[*fault.Error](throttle.Begin(same(0)))
		if f == nil || f.RetryAfter != time.Minute {
			t.Errorf("refusal = %+v, want one that ends in a minute", f)
		}
		clock = clock.Add(time.Minute)
		if err := throttle.Begin(same(0)); err != nil {
			t.Errorf("refused after the window: %v", err)
		}
	})
	t.Run("SuccessForgets", func(t *testing.T) {
		throttle := fresh()
		for range 500 {
			for range 9 {
				if err := throttle.Begin("192.0.2.1", "a"); err != nil {
					return // the limit of the address holds for failures: nine of each ten stay
				}
			}
			if err := throttle.Begin("192.0.2.1", "a"); err != nil {
				t.Fatalf("refused by the limit of the pair: %v", err)
			}
			throttle.Succeeded("192.0.2.1", "a")
		}
		t.Error("failures from one address are without limit")
	})
	t.Run("OnlySuccess", func(t *testing.T) {
		throttle := fresh()
		for range 500 {
			if err := throttle.Begin(same(0)); err != nil {
				t.Fatal(err)
			}
			throttle.Succeeded(same(0))
		}
	})
}
