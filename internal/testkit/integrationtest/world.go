// Package integrationtest gives tests of the integration API an installation with a fake clock and the API behind a
// real HTTP server. Every answer that a Client gets is checked against the OpenAPI document.
package integrationtest

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
	_ "time/tzdata" // the program embeds it too

	"github.com/assayhq/assay/api/apitest"
	"github.com/assayhq/assay/api/spec"
	"github.com/assayhq/assay/internal/api/integration"
	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/httpx"
	"github.com/assayhq/assay/internal/jsonlog"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/netguard"
	"github.com/assayhq/assay/internal/ratelimit"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/testkit/child"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
	"github.com/assayhq/assay/internal/worker/requestlog"
	"github.com/prometheus/client_golang/prometheus"
)

// Where the world says that its media and its pages are.
const (
	MediaURL  = shop.MediaURL
	PublicURL = shop.PublicURL
)

// SecretOverlap is how long a world signs deliveries with both secrets after a rotation.
const SecretOverlap = 24 * time.Hour

// Start is the time of a new world: a Monday, 10:00 in Tokyo.
var Start = time.Date(2026, time.March, 2, 1, 0, 0, 0, time.UTC)

// World is an installation with the integration API.
type World struct {
	*shop.Installation
	API      *integration.API
	Server   *httptest.Server
	Requests *requestlog.Log // what the API has answered; Flush stores it

	validator *apitest.Validator
	log       child.Output
	staffOnce sync.Once
	staff     *access.Staff
}

// Options change a world from what it usually is; the zero value does not.
type Options struct {
	Catalog       []byte                                    // instead of Catalog
	MaxPhotoBytes int64                                     // instead of 10 MiB
	StoredBytes   int64                                     // of the photos of an account; 0: no limit
	FailureLimit  int                                       // failed authentications a minute, instead of 300
	Limiter       func(ratelimit.Limiter) ratelimit.Limiter // wraps the limiter
	Media         func(media.Store) media.Store             // wraps the media store
	EventDelay    time.Duration                             // of Test events
	EventAge      time.Duration                             // how long events can be read; 0: as long as they are stored
}

// Each runs a test of the API on each database engine, in parallel with other tests. Subtests are named by
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
	w := &World{validator: contract(t)}
	options := jsonlog.Options()
	options.Level = slog.LevelWarn
	log := slog.New(slog.NewTextHandler(&w.log, options))
	w.Installation = shop.Open(t, target, t.TempDir(), func(c *service.Config) {
		ports := netguard.Ports{{First: 443, Last: 443}, {First: 1024, Last: 65535}} // as by default
		c.Guard, c.Log, c.TestEventDelay = &netguard.Guard{Resolver: resolver{}, Ports: ports}, log, o.EventDelay
		c.SecretOverlap, c.EventAge = SecretOverlap, o.EventAge
		c.Limits.StoredBytes = o.StoredBytes
		if o.Media != nil {
			c.Media = o.Media(c.Media)
		}
	})
	w.Clock.Set(Start)
	w.serve(t, o, log)
	w.ImportCatalog(t, o.Catalog)
	return w
}

// serve puts the API together as the program does.
func (w *World) serve(t testing.TB, o Options, log *slog.Logger) {
	t.Helper()
	var limiter ratelimit.Limiter = ratelimit.NewMemory(w.Clock.Now)
	if o.Limiter != nil {
		limiter = o.Limiter(limiter)
	}
	responder := &httpx.Responder{Log: log, Now: w.Clock.Now}
	w.Requests = requestlog.New(w.Service, log, prometheus.NewRegistry())
	w.API = integration.New(integration.Config{
		Service: w.Service, Limiter: limiter, Failures: ratelimit.NewFailures(o.FailureLimit, w.Clock.Now),
		Staging: w.Staging, MaxPhotoBytes: o.MaxPhotoBytes, Responder: responder,
		PublicURL: PublicURL, Requests: w.Requests,
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
func (w *World) Log() string { return strings.TrimSpace(w.log.String()) }

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
func (w *World) Routes() []*spec.Operation { return w.validator.Routes() }
