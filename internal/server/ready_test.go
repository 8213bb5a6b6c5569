package server

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/rawsql"
)

type readiness struct {
	code   int
	Status string
	Checks map[string]struct {
		OK    *bool
		MS    *int64
		Error string
	}
}

func askReady(t *testing.T, s *Server, query ...string) (r readiness) {
	t.Helper()
	resp, err := http.Get("http://" + s.listener["ops-listen"].Addr().String() + "/readyz" + strings.Join(query, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&r); err != nil {
		t.Fatal(err)
	}
	r.code = resp.StatusCode
	for name, c := range r.Checks {
		if c.OK == nil || c.MS == nil || *c.OK != (c.Error == "") {
			t.Errorf("%s: %+v", name, c)
		}
	}
	return r
}

// wantReady checks which parts fail: one, with words of its error, or none.
func wantReady(t *testing.T, s *Server, failing, words string) {
	t.Helper()
	r := askReady(t, s)
	wantCode, wantStatus := http.StatusOK, "ready"
	if failing != "" {
		wantCode, wantStatus = http.StatusServiceUnavailable, "not-ready"
	}
	if r.code != wantCode || r.Status != wantStatus {
		t.Errorf("%d %q, want %d %q", r.code, r.Status, wantCode, wantStatus)
	}
	for _, name := range []string{"database", "media", "disk", "workers"} {
		c, ok := r.Checks[name]
		if !ok || *c.OK != (name != failing) || name == failing && !strings.Contains(c.Error, words) {
			t.Errorf("%s: %+v, want %q to fail with %q", name, c, failing, words)
		}
	}
}

// stuck is a worker that gets nothing done.
type stuck struct{ age time.Duration }

func (w *stuck) Name() string                         { return "stuck" }
func (w *stuck) Run(ctx context.Context) error        { <-ctx.Done(); return nil }
func (w *stuck) Progress() (age, limit time.Duration) { return w.age, 30 * time.Second }

func move(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func TestReady(t *testing.T) {
	set := nodeSettings(t, "--shutdown-delay", "500ms")
	s := run(t, set, slog.New(slog.DiscardHandler))
	database := filepath.Join(set.Data, "assay.db")
	wantReady(t, s, "", "")

	t.Run("DatabaseDoesNotWrite", func(t *testing.T) {
		rawsql.Exec(t, database, "ALTER TABLE write_probes RENAME TO gone")
		wantReady(t, s, "database", "write_probes")
		rawsql.Exec(t, database, "ALTER TABLE gone RENAME TO write_probes")
		wantReady(t, s, "", "")
	})
	for name, file := range map[string]string{"DatabaseMoved": database, "LogOfDatabaseMoved": database + "-wal"} {
		t.Run(name, func(t *testing.T) {
			move(t, file, file+".moved")
			wantReady(t, s, "database", filepath.Base(file))
			err := s.app.Store.Update(t.Context(), func(*store.Tx) error { return nil })
			if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != fault.Unavailable {
				t.Errorf("a write ended with %v", err)
			}
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			wantReady(t, s, "database", filepath.Base(file)+" is another file")
			move(t, file+".moved", file)
			wantReady(t, s, "", "")
		})
	}
	t.Run("StagingCannotBeWritten", func(t *testing.T) {
		staging := s.app.Media.StagingDir()
		move(t, staging, staging+"-gone")
		if err := os.WriteFile(staging, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		wantReady(t, s, "media", "staging")
		if err := os.Remove(staging); err != nil {
			t.Fatal(err)
		}
		move(t, staging+"-gone", staging)
		wantReady(t, s, "", "")
	})
	t.Run("WorkerIsStuck", func(t *testing.T) {
		w := &stuck{age: 31 * time.Second}
		s.workers = append(s.workers, w)
		wantReady(t, s, "workers", "stuck: no success for 31s")
		w.age = 0
		wantReady(t, s, "", "")
	})
	t.Run("CheckHangs", func(t *testing.T) { // it fails alone, and is not started again while it hangs
		hang, runs := make(chan struct{}), 0
		disk := s.checks[2].run
		s.checks[2].run = func(context.Context) error { runs++; <-hang; return nil }
		wantReady(t, s, "disk", "no answer within")
		wantReady(t, s, "disk", "no answer within")
		close(hang)
		<-s.checks[2].current.done
		if runs != 1 {
			t.Errorf("%d checks hang at the same time", runs)
		}
		s.checks[2].run = disk
		wantReady(t, s, "", "")
	})
}

// TestReady_Exclude checks that what a proxy excludes is run and told, and does not count.
func TestReady_Exclude(t *testing.T) {
	s := run(t, nodeSettings(t), slog.New(slog.DiscardHandler))
	away := func(context.Context) error { return errors.New("the bucket is away") }
	s.checks[1].run = away
	wantReady(t, s, "media", "the bucket is away")
	for query, want := range map[string]int{
		"?exclude=media":                  http.StatusOK,
		"?exclude=media&exclude=database": http.StatusOK,
		"?exclude=database":               http.StatusServiceUnavailable,
	} {
		r := askReady(t, s, query)
		if r.code != want || (r.Status == "ready") != (want == http.StatusOK) || len(r.Checks) != 4 ||
			r.Checks["media"].Error != "the bucket is away" {
			t.Errorf("%s: %+v", query, r)
		}
	}
	s.checks[0].run = away
	if r := askReady(t, s, "?exclude=media"); r.code != http.StatusServiceUnavailable || r.Status != "not-ready" {
		t.Errorf("database and media fail, media does not count: %+v", r)
	}
	for _, query := range []string{"?exclude=bucket", "?exclude=media&exclude=bucket", "?exclude=bucket&exclude=media"} {
		code, text := fetch(t, "http://"+s.listener["ops-listen"].Addr().String()+"/readyz"+query)
		const want = `exclude: "bucket" is no check of this node; it has database, media, disk, workers` + "\n"
		if code != http.StatusBadRequest || text != want {
			t.Errorf("%s: %d %q", query, code, text)
		}
	}
}

// TestReadyMetric checks that the metrics tell of the checks, and do not wait for one that takes long.
func TestReadyMetric(t *testing.T) {
	s := run(t, nodeSettings(t), slog.New(slog.DiscardHandler))
	want := func(media string) {
		t.Helper()
		_, metrics := fetch(t, "http://"+s.listener["ops-listen"].Addr().String()+"/metrics")
		for check, value := range map[string]string{"database": "1", "media": media, "disk": "1", "workers": "1"} {
			line := `assay_ready{check="` + check + `"} `
			if _, rest, ok := strings.Cut(metrics, "\n"+line); ok != (value != "") || ok && rest[:2] != value+"\n" {
				t.Errorf("%s is not %q: %.2q", line, value, rest)
			}
		}
	}
	media := s.checks[1]
	works := media.run
	want("1")
	media.run = func(context.Context) error { return errors.New("away") }
	want("0")
	want("0") // nobody has asked /readyz
	media.run = works
	want("1")

	hang, runs := make(chan struct{}), 0
	media.run = func(context.Context) error { runs++; <-hang; return nil }
	want("1") // the last that is known
	wantReady(t, s, "media", "no answer within")
	want("0") // as /readyz says
	close(hang)
	<-media.current.done
	if runs != 1 {
		t.Errorf("%d checks hang at the same time", runs)
	}
	want("1")

	first := make(chan struct{})
	defer close(first)
	s.checks[1] = &check{name: "media", run: func(context.Context) error { <-first; return nil }}
	want("") // not known yet
}

func TestDiskSpace(t *testing.T) {
	if err := diskSpace(filepath.Join(t.TempDir(), "nothing")); err == nil {
		t.Error("a folder that does not exist has room")
	}
	if err := diskSpace("/proc"); err != nil && !strings.Contains(err.Error(), "full") {
		t.Error(err)
	}
}

// TestShutdownDelay checks that a node that stops says so for a while, and still answers.
func TestShutdownDelay(t *testing.T) {
	t.Parallel()
	set := nodeSettings(t, "--shutdown-delay", "15s")
	app, err := Begin(t.Context(), set, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = app.Close() }()
	s, err := New(t.Context(), app)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	started, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- s.Run(ctx, writerFunc(func() { close(started) })) }()
	<-started
	wantReady(t, s, "", "")
	stop()
	must.Eventually(t, time.Minute, "the node leaves", s.leaving.Load)
	if r := askReady(t, s); r.code != http.StatusServiceUnavailable || r.Status != "stopping" {
		t.Errorf("%d %q", r.code, r.Status)
	}
	resp, err := http.Get(s.BaseURL() + "/portal/sign-in")
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("%v, %v", resp, err)
	} else {
		_ = resp.Body.Close()
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

type writerFunc func()

func (f writerFunc) Write(p []byte) (int, error) {
	f()
	return len(p), nil
}

// TestLeavingEndsConnections checks that a client that keeps its connection leaves a node that stops with its next
// answer, on both versions of HTTP, and not before.
func TestLeavingEndsConnections(t *testing.T) {
	s := startServer(t, time.Minute)
	insecure := &tls.Config{InsecureSkipVerify: true}
	for listener, transport := range map[string]*http.Transport{
		"listen":     {},
		"tls-listen": {TLSClientConfig: insecure, ForceAttemptHTTP2: true},
		"ops-listen": {},
	} {
		s.leaving.Store(false)
		t.Run(listener, func(t *testing.T) {
			defer transport.CloseIdleConnections()
			scheme := "http://"
			if transport.TLSClientConfig != nil {
				scheme = "https://"
			}
			address := scheme + s.listener[listener].Addr().String() + "/healthz"
			reuses := func() (reused bool) {
				trace := &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { reused = i.Reused }}
				r, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), http.MethodGet, address, nil)
				if err != nil {
					t.Fatal(err)
				}
				resp, err := transport.RoundTrip(r)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				if _, err := io.Copy(io.Discard, resp.Body); err != nil {
					t.Fatal(err)
				}
				if last := resp.ProtoMajor == 1 && s.leaving.Load(); resp.Close != last {
					t.Errorf("Connection: close is %v, want %v", resp.Close, last)
				}
				return reused
			}
			reuses()
			if !reuses() {
				t.Error("the connection is not kept")
			}
			s.leaving.Store(true)
			if !reuses() {
				t.Error("the connection ended before its last answer")
			}
			// Until the GOAWAY has arrived.
			must.Eventually(t, time.Minute, "the connection is not kept", func() bool { return !reuses() })
		})
	}
}
