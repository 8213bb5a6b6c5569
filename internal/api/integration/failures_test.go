package integration_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/ratelimit"
	"github.com/assayhq/assay/internal/testkit/integrationtest"
	"github.com/assayhq/assay/internal/testkit/pgtest"
	"github.com/assayhq/assay/internal/testkit/rawsql"
)

// wantOpaque checks that a failure of the service reveals no internals.
func wantOpaque(t *testing.T, e *integrationtest.Envelope) {
	t.Helper()
	for _, inside := range []string{
		"sql", "SQL", "pg", "table", "goroutine", ".go:", "panic", "secret", "connect", "api_keys", "127.0.0.1",
	} {
		if strings.Contains(e.Message, inside) {
			t.Errorf("%s: the message tells %q: %s", e.Request, inside, e.Message)
		}
	}
	if len(e.Details) != 0 {
		t.Errorf("%s: the details are %v", e.Request, e.Details)
	}
}

func wantUnavailable(t *testing.T, r *integrationtest.Response) {
	t.Helper()
	e := r.Refused(t, 503, "service-unavailable")
	if got := e.Header.Get("Retry-After"); got == "" || got == "0" {
		t.Errorf("%s: Retry-After is %q", r.Request, got)
	}
	wantOpaque(t, e)
}

// TestFailure_Internal checks that a bug is an opaque 500, for every operation.
func TestFailure_Internal(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		t.Run("BrokenStatement", func(t *testing.T) {
			c := w.Live(t)
			rawsql.Exec(t, w.Target, "ALTER TABLE api_keys RENAME TO api_keys_gone")
			defer rawsql.Exec(t, w.Target, "ALTER TABLE api_keys_gone RENAME TO api_keys")
			for _, op := range operations {
				e := c.Send(t, op.send).Refused(t, 500, "internal-error")
				wantOpaque(t, e)
				if !strings.Contains(w.Log(), e.RequestID) {
					t.Errorf("%s: the log has nothing under the request id", e.Request)
				}
			}
		})
		t.Run("FailedAuthenticationIsNotCounted", func(t *testing.T) { // a database that fails is not a key that is guessed
			c := w.Live(t)
			rawsql.Exec(t, w.Target, "ALTER TABLE api_keys RENAME TO api_keys_gone")
			for range 301 {
				c.Get(t, "/balance").Refused(t, 500, "internal-error")
			}
			rawsql.Exec(t, w.Target, "ALTER TABLE api_keys_gone RENAME TO api_keys")
			c.Get(t, "/balance").Want(t, 200)
		})
		t.Run("ChangeIsWholeOrNot", func(t *testing.T) { // a late statement of a creation fails: nothing of it is left
			c := w.Live(t)
			body := c.Bag(t)
			rawsql.Exec(t, w.Target, "ALTER TABLE orders RENAME TO orders_gone")
			c.Post(t, "/orders", body).Refused(t, 500, "internal-error")
			rawsql.Exec(t, w.Target, "ALTER TABLE orders_gone RENAME TO orders")
			c.Get(t, "/orders").Is(t, "total", 0)
			c.Get(t, "/balance").Is(t, "availableCredits", integrationtest.LiveCredits)
			c.Post(t, "/orders", body).Want(t, 201)
		})
	})
}

// brokenLimiter is a limiter that fails in its own way.
type brokenLimiter struct {
	ratelimit.Limiter
	fail func() error
}

func (l brokenLimiter) Take(context.Context, string, string, int) (ratelimit.Decision, error) {
	return ratelimit.Decision{}, l.fail()
}

// TestFailure_Limiter checks for every operation that a limiter out of reach is a 503, and a panic an opaque 500.
func TestFailure_Limiter(t *testing.T) {
	for _, c := range []struct {
		name string
		fail func() error
		want func(*testing.T, *integrationtest.Response)
	}{
		{"OutOfReach", func() error { return errors.New("connect 127.0.0.1: refused") }, wantUnavailable},
		{"Panic", func() error { panic("secret of the inside") }, func(t *testing.T, r *integrationtest.Response) {
			t.Helper()
			wantOpaque(t, r.Refused(t, 500, "internal-error"))
		}},
	} {
		o := integrationtest.Options{Limiter: func(l ratelimit.Limiter) ratelimit.Limiter { return brokenLimiter{l, c.fail} }}
		t.Run(c.name, func(t *testing.T) {
			integrationtest.EachWith(t, o, func(t *testing.T, w *world) {
				key := w.Live(t)
				for _, op := range operations {
					c.want(t, key.Send(t, op.send))
				}
			})
		})
	}
}

// fullDisk is a media store that takes nothing.
type fullDisk struct{ media.Store }

func (fullDisk) Put(context.Context, string, *media.Staged) error {
	return fault.UnavailableError(errors.New("secret: no space left on device"))
}

// TestFailure_Media checks that a media store out of reach is a 503, and that nothing is stored.
func TestFailure_Media(t *testing.T) {
	o := integrationtest.Options{Media: func(s media.Store) media.Store { return fullDisk{s} }}
	integrationtest.EachWith(t, o, func(t *testing.T, w *world) {
		t.Run("Upload", func(t *testing.T) {
			c := w.Live(t)
			wantUnavailable(t, c.Upload(t, file(t, "x")))
			if known := rows(t, w, "SELECT name FROM photos"); len(known) != 0 {
				t.Errorf("%d photos are known", len(known))
			}
			wantNoStagedFiles(t, w)
		})
	})
}

// TestFailure_Database stops PostgreSQL under the service: every operation answers 503, and all is well again
// afterwards.
func TestFailure_Database(t *testing.T) {
	t.Parallel()
	server, target := pgtest.ClusterDatabase(t)
	w := integrationtest.New(t, target, integrationtest.Options{})
	c := w.Live(t)
	id := c.CreateID(t)
	t.Run("Away", func(t *testing.T) {
		if err := server.Stop(); err != nil {
			t.Fatal(err)
		}
		w.Clock.Advance(time.Minute) // no key is remembered so long
		for _, op := range operations {
			wantUnavailable(t, c.Send(t, op.send))
		}
	})
	t.Run("BackAgain", func(t *testing.T) {
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
		c.Get(t, "/orders/"+id).Want(t, 200)
		c.Create(t)
	})
}
