package server

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/child"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pgtest"
	"github.com/assayhq/assay/internal/testkit/tcpproxy"
)

// lastWriter is a worker that writes when it is to end.
type lastWriter struct{ *store.Store }

func (lastWriter) Name() string { return "last writer" }

func (w lastWriter) Run(ctx context.Context) error {
	<-ctx.Done()
	return w.ProbeWrite(context.WithoutCancel(ctx))
}

// TestStopWithoutDatabase checks that a server ends in time while its database does not answer, and says what it has
// left behind.
func TestStopWithoutDatabase(t *testing.T) {
	t.Parallel()
	for engine, start := range map[string]func(t *testing.T) (set Settings, hold func(*App)){
		"sqlite": func(t *testing.T) (Settings, func(*App)) {
			t.Helper()
			disk := make(chan struct{})
			t.Cleanup(func() { close(disk) })
			return nodeSettings(t), func(app *App) { // its disk stands still
				begun := make(chan struct{})
				go func() {
					_ = app.Store.Update(store.Unhurried(context.Background()), func(*store.Tx) error {
						close(begun)
						<-disk
						return nil
					})
				}()
				<-begun
			}
		},
		"postgres": func(t *testing.T) (Settings, func(*App)) {
			t.Helper()
			proxy, through := tcpproxy.Before(t, pgtest.Database(t))
			set := nodeSettings(t, "--secret-key", strings.Repeat("k", 32), "--database", through)
			return set, func(*App) { proxy.Cut(true) }
		},
	} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			set, hold := start(t)
			set.shutdownTimeLimit = 500 * time.Millisecond
			var out child.Output
			app, err := Begin(t.Context(), set, slog.New(slog.NewTextHandler(&out, nil)))
			must.NoError(t, err)
			s, err := New(t.Context(), app)
			must.NoError(t, err)
			s.workers = append(s.workers, lastWriter{app.Store})
			ctx, stop := context.WithCancel(context.Background())
			started, done := make(chan struct{}), make(chan error, 2)
			go func() {
				done <- s.Run(ctx, writerFunc(func() { close(started) }))
				done <- app.Close()
			}()
			<-started
			must.Eventually(t, time.Minute, "housekeeping has its lease", func() bool { return s.leases[0].Held() })
			hold(app)
			stop()
			limit := time.After(set.shutdownTimeLimit + lastWrites + flushTimeout + closeTimeout + 4*time.Second)
			for range 2 {
				select {
				case err := <-done:
					must.NoError(t, err)
				case <-limit:
					t.Fatalf("the server does not end:\n%s", out.String())
				}
			}
			text := out.String()
			if !strings.Contains(text, "did not end in time") || !strings.Contains(text, lastWriter{}.Name()) {
				t.Errorf("the log does not name the workers that did not end:\n%s", text)
			}
		})
	}
}
