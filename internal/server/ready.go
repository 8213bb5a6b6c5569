package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/host"
)

// checkTimeout is how long each check of /readyz may take. They run at the same time.
const checkTimeout = 2 * time.Second

// check is a part of the service that has to work for a node to get requests.
type check struct {
	name string
	run  func(context.Context) error
	hint bool // the node is ready without it

	mu      sync.Mutex
	current *checkRun // the last one, which may be running
	before  *checkRun // the one before it, which has ended
}

type checkRun struct {
	began time.Time
	done  chan struct{}
	took  time.Duration
	err   error
}

// checkResult is what /readyz tells of a check.
type checkResult struct {
	OK    bool   `json:"ok"`
	MS    int64  `json:"ms"`
	Error string `json:"error,omitempty"`
}

// ask runs the check and waits for it, checkTimeout at most. Where it still runs since it was last asked, because a
// disk or a network does not answer, it is not started again.
func (c *check) ask() (took time.Duration, err error) {
	began := time.Now()
	run, _ := c.begin()
	select {
	case <-run.done:
		return run.took, run.err
	case <-time.After(checkTimeout):
		return time.Since(began), fmt.Errorf("no answer within %s", checkTimeout)
	}
}

// scrapeWait is how long a scrape of the metrics waits for a check.
const scrapeWait = time.Second

// lately tells a scrape whether the check succeeds. A run that takes longer than scrapeWait leaves what the one before
// it has found, unless it takes too long for /readyz, too. Nothing is known while the first one runs.
func (c *check) lately() (ok, known bool) {
	run, before := c.begin()
	select {
	case <-run.done:
		return run.err == nil, true
	case <-time.After(scrapeWait):
	}
	switch {
	case time.Since(run.began) > checkTimeout:
		return false, true
	case before == nil:
		return false, false
	}
	return before.err == nil, true
}

// begin returns the run of the check that is under way, a new one where there is none, and the one before it, if any.
func (c *check) begin() (run, before *checkRun) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current != nil {
		select {
		case <-c.current.done:
			c.before = c.current
		default:
			return c.current, c.before
		}
	}
	run = &checkRun{began: time.Now(), done: make(chan struct{})}
	c.current = run
	go func() {
		defer close(run.done)
		ctx, cancel := context.WithTimeout(context.Background(), checkTimeout)
		defer cancel()
		run.err = c.run(ctx)
		run.took = time.Since(run.began)
	}()
	return run, c.before
}

// readyChecks are the checks of /readyz.
func (s *Server) readyChecks() []*check {
	checks := []*check{
		{name: "database", run: s.app.Store.ProbeWrite},
		{name: "media", run: s.app.Media.Ping},
		{name: "disk", run: func(context.Context) error { return diskSpace(s.app.Settings.Data) }},
		{name: "workers", run: func(context.Context) error { return s.workersAlive() }},
	}
	if s.redis != nil {
		checks = append(checks, &check{name: "redis", run: s.redis.Ping, hint: true})
	}
	if s.app.Settings.DatabaseRead != "" {
		checks = append(checks, &check{name: "database-read", run: s.app.Store.PingReplica, hint: true})
	}
	return checks
}

// excluded returns the checks that a request for /readyz does not want to count.
func (s *Server) excluded(r *http.Request) (names []string, err error) {
	names = r.URL.Query()["exclude"]
	var known []string
	for _, c := range s.checks {
		known = append(known, c.name)
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("exclude: %q is no check of this node; it has %s", name, strings.Join(known, ", "))
		}
	}
	return names, nil
}

// ready reports whether requests can be served now, and what does not work otherwise.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	excluded, err := s.excluded(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	results := make(map[string]checkResult, len(s.checks))
	code, status := http.StatusOK, "ready"
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, c := range s.checks {
		all.Go(func() {
			took, err := c.ask()
			result := checkResult{OK: err == nil, MS: took.Milliseconds()}
			if err != nil {
				result.Error = Reason(err)
			}
			mu.Lock()
			defer mu.Unlock()
			results[c.name] = result
			switch {
			case err == nil || c.hint: // a hint says in the log itself what it has to say
			case slices.Contains(excluded, c.name):
				s.app.Log.WarnContext(r.Context(), "ready without a check", "check", c.name, "error", result.Error)
			default:
				s.app.Log.WarnContext(r.Context(), "not ready", "check", c.name, "error", result.Error)
				code, status = http.StatusServiceUnavailable, "not-ready"
			}
		})
	}
	all.Wait()
	if s.leaving.Load() {
		code, status = http.StatusServiceUnavailable, "stopping"
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	if code != http.StatusOK {
		h.Set("Retry-After", "1")
	}
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(struct { // the client is an operator's, or gone
		Status string                 `json:"status"`
		Checks map[string]checkResult `json:"checks"`
	}{status, results})
}

// Reason is what an operator is told of a failure: the cause that clients do not get, in one line.
func Reason(err error) string {
	return strings.Join(strings.Fields(cmp.Or(fault.Cause(err), err.Error())), " ")
}

// A disk counts as full before it is: what runs then can still be finished. On a small disk the share decides.
const (
	minFree      = 64 << 20
	minFreeShare = 20 // 1/20
)

// diskSpace checks that the file system of a folder has room.
func diskSpace(dir string) error {
	free, size, err := freeSpace(dir)
	if err != nil {
		return err
	}
	if least := min(minFree, size/minFreeShare); free < least {
		return fmt.Errorf("the disk of --data is full: %d MiB of %d MiB are free", free>>20, size>>20)
	}
	return nil
}

// freeSpace returns how many bytes of a file system the program may still write.
func freeSpace(dir string) (free, size uint64, err error) {
	s, err := host.SpaceOf(dir)
	if err != nil {
		return 0, 0, fmt.Errorf("read the free space of --data: %w", err)
	}
	return s.Usable, s.Total, nil
}

// progressing is a worker that tells how long ago it last got something done, and for how long that may be normal.
type progressing interface {
	Progress() (age, limit time.Duration)
}

// workersAlive names the workers that do not run, or run without getting anything done.
func (s *Server) workersAlive() error {
	var problems []string
	for _, w := range s.workers {
		p, ok := w.(progressing)
		if !ok {
			continue
		}
		if age, limit := p.Progress(); age > limit {
			problems = append(problems, fmt.Sprintf("%s: no success for %s", w.Name(), age.Round(time.Second)))
		}
	}
	if len(problems) > 0 {
		return errors.New(strings.Join(problems, "; "))
	}
	return nil
}

// opsHandler is for operators only and has its own listener.
func (s *Server) opsHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("ok\n"))
	})
	mux.HandleFunc("GET /readyz", s.ready)
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{}))
	if s.app.Settings.Pprof { // without cmdline: flags may hold secrets
		mux.HandleFunc("/debug/pprof/", pprof.Index)
		mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
		mux.HandleFunc("/debug/pprof/cmdline", http.NotFound)
	}
	return mux
}

// quietLog logs what net/http reports about single connections, such as failed TLS handshakes, at debug level.
func quietLog(l *slog.Logger) *log.Logger { return slog.NewLogLogger(l.Handler(), slog.LevelDebug) }
