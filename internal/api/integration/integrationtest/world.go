// Package integrationtest is the world that tests of the integration API live in: a database, a media folder, the
// use cases over a clock that stands still, and the interface behind a real HTTP server. Every answer that a Client gets
// is held against the OpenAPI document.
package integrationtest

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
	_ "time/tzdata" // the program embeds it too

	"github.com/assayhq/assay/api/apitest"
	"github.com/assayhq/assay/internal/api/integration"
	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/httpx"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/netguard"
	"github.com/assayhq/assay/internal/ratelimit"
	"github.com/assayhq/assay/internal/secret"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/storetest"
	"github.com/assayhq/assay/internal/testkit/fakeclock"
)

// Where the world says that its media and its pages are.
const (
	MediaURL  = "https://media.assay.example/photos"
	PublicURL = "https://assay.example"
)

// Start is when the clock of a world stands at first: a Monday, 10:00 in Tokyo.
var Start = time.Date(2026, time.March, 2, 1, 0, 0, 0, time.UTC)

// World is one installation of the service.
type World struct {
	Target  string // of the database
	Clock   *fakeclock.Clock
	Store   *store.Store
	Media   *media.Disk
	Secrets *secret.Box
	Service *service.Service
	API     *integration.API
	Server  *httptest.Server

	mediaDir  string
	validator *apitest.Validator
	log       lockedBuffer
	staffOnce sync.Once
	staff     *access.Staff
}

// Options change a world from what it usually is; the zero value does not.
type Options struct {
	Catalog       []byte                                    // instead of Catalog
	MaxPhotoBytes int64                                     // instead of 10 MiB
	FailureLimit  int                                       // failed authentications a minute, instead of 300
	Limiter       func(ratelimit.Limiter) ratelimit.Limiter // wraps the limiter
	Media         func(media.Store) media.Store             // wraps the media store
}

// Each runs a test of the interface on each database engine, in parallel with other tests. Subtests are named by
// literals, so that docs/rules.md can name them.
func Each(t *testing.T, f func(t *testing.T, w *World)) {
	t.Helper()
	EachWith(t, Options{}, f)
}

// EachWith is Each for a world that is not the usual one.
func EachWith(t *testing.T, o Options, f func(t *testing.T, w *World)) {
	t.Helper()
	t.Parallel()
	storetest.EachTarget(t, func(t *testing.T, target string) { f(t, New(t, target, o)) })
}

// New makes a world over a database that is empty.
func New(t testing.TB, target string, o Options) *World {
	t.Helper()
	if o.Catalog == nil {
		o.Catalog = Catalog
	}
	if o.MaxPhotoBytes == 0 {
		o.MaxPhotoBytes = 10 << 20
	}
	if o.FailureLimit == 0 {
		o.FailureLimit = ratelimit.DefaultFailureLimit
	}
	w := &World{Target: target, Clock: fakeclock.New(Start), Store: storetest.Open(t, target), mediaDir: t.TempDir(), validator: contract(t)}
	var err error
	if w.Secrets, err = secret.New(secret.Generate()); err != nil {
		t.Fatal(err)
	}
	if w.Media, err = media.NewDisk(w.mediaDir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Media.Close() })
	w.serve(t, o)
	w.ImportCatalog(t, o.Catalog)
	return w
}

// serve puts the interface together as the program does.
func (w *World) serve(t testing.TB, o Options) {
	t.Helper()
	urls, err := photo.NewURLs(MediaURL)
	if err != nil {
		t.Fatal(err)
	}
	staging, err := media.NewStaging(w.Media.StagingDir())
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(&w.log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	var files media.Store = w.Media
	if o.Media != nil {
		files = o.Media(files)
	}
	var limiter ratelimit.Limiter = ratelimit.NewMemory(w.Clock.Now)
	if o.Limiter != nil {
		limiter = o.Limiter(limiter)
	}
	w.Service = service.New(service.Config{
		Store: w.Store, Media: files, Secrets: w.Secrets, Guard: &netguard.Guard{Resolver: resolver{}}, Now: w.Clock.Now,
		MediaURLs: urls, PublicURL: PublicURL, Log: log,
	})
	responder := &httpx.Responder{Log: log, Now: w.Clock.Now}
	w.API = integration.New(integration.Config{
		Service: w.Service, Limiter: limiter, Failures: ratelimit.NewFailures(o.FailureLimit, w.Clock.Now),
		Staging: staging, MaxPhotoBytes: o.MaxPhotoBytes, Responder: responder,
	})
	w.Server = httptest.NewServer(httpx.RequestID(responder.AccessLog(responder.Recover(fromAddress(w.API)))))
	t.Cleanup(func() {
		w.Server.Close()
		if t.Failed() {
			t.Logf("log of the service:\n%s", w.log.String())
		}
	})
}

const addressHeader = "X-Test-Address"

// fromAddress lets tests come from the address that they name.
func fromAddress(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if address := r.Header.Get(addressHeader); address != "" {
			r.RemoteAddr = address
		}
		next.ServeHTTP(w, r)
	})
}

// Log returns the warnings and errors that the service has logged.
func (w *World) Log() string { return w.log.String() }

var (
	contractOnce sync.Once
	shared       *apitest.Validator
)

// contract returns the validator of all worlds: they share the record of what has been seen.
func contract(t testing.TB) *apitest.Validator {
	t.Helper()
	contractOnce.Do(func() { shared = apitest.New(t) })
	if shared == nil {
		t.Fatal("the OpenAPI document cannot be read")
	}
	return shared
}

// Unseen returns the documented answers that no test of the process has met so far.
func Unseen() []apitest.Case {
	if shared == nil {
		return nil
	}
	return shared.Coverage().Missing
}

// Routes returns the operations as the OpenAPI document has them.
func (w *World) Routes() []apitest.Route { return w.validator.Routes() }

// lockedBuffer is a buffer that several requests write to.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

var _ io.Writer = (*lockedBuffer)(nil)

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.TrimSpace(l.b.String())
}
