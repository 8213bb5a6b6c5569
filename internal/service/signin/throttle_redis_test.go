package signin_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/ratelimit"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/service/signin"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/redistest"
)

// TestThrottle_Redis checks the limits of attempts that are counted in Redis, and that the database takes over while
// Redis is away.
func TestThrottle_Redis(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		server := redistest.Start(t)
		connect := func() *ratelimit.Redis {
			redis, err := ratelimit.NewRedis(ratelimit.RedisConfig{
				URL: server.URL(), Patience: time.Minute, Now: time.Now, Log: slog.New(slog.DiscardHandler),
			})
			must.NoError(t, err)
			t.Cleanup(func() { _ = redis.Close() })
			w.reconfigure(t, func(c *service.Config) { c.SignInWindows = redis })
			return redis
		}
		rawsql.Exec(t, w.Target, "DELETE FROM sign_in_attempts") // from before there was Redis
		connect()
		tooMany := func(err error) bool { return errors.Is(err, signin.TooManyLogins) }
		try := func(address, user string) error {
			_, err := w.Try(t.Context(), access.Origin{IP: address}, user, "")
			return err
		}
		stored := func() int { return len(rawsql.Rows(t, w.Target, "SELECT key FROM sign_in_attempts")) }

		n := 0
		for range 3 {
			n += together(t, func() error { return try("192.0.2.1", "a") }, tooMany)
		}
		if n != 10 {
			t.Errorf("%d attempts at once, want 10", n)
		}
		connect() // another node
		f, _ := errors.AsType[*fault.Error](try("192.0.2.1", "A"))
		if f == nil || f.RetryAfter <= 14*time.Minute || f.RetryAfter > 15*time.Minute {
			t.Errorf("on another node: %+v", f)
		}
		must.NoError(t, try("192.0.2.2", "a"))
		for i := range 90 { // with the ten above
			must.NoError(t, try("192.0.2.1", fmt.Sprint(i)))
		}
		if err := try("192.0.2.1", "z"); !tooMany(err) {
			t.Errorf("the address has no limit: %v", err)
		}
		for range 30 {
			succeeded, err := w.Try(t.Context(), access.Origin{IP: "192.0.2.3"}, "c", "")
			must.NoError(t, err)
			must.NoError(t, succeeded(t.Context()))
		}
		for _, key := range server.Client(t).Keys(t.Context(), "*").Val() {
			if strings.Contains(key, "192.0.2") {
				t.Errorf("kept as %s", key)
			}
		}
		if n := stored(); n != 0 {
			t.Errorf("%d windows in the database", n)
		}

		server.Kill(t)
		for range 10 {
			must.NoError(t, try("192.0.2.9", "b"))
		}
		if err := try("192.0.2.9", "b"); !tooMany(err) {
			t.Errorf("without Redis there is no limit: %v", err)
		}
		if n := stored(); n != 3 {
			t.Errorf("%d windows in the database, want 3", n)
		}
	})
}
