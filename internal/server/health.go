package server

import (
	"errors"
	"flag"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/pages/admin"
	"github.com/assayhq/assay/internal/worker/liveness"
)

// workerHealth is the state of the workers of this node, for the system page.
type workerHealth struct {
	mu      sync.Mutex
	workers []admin.Worker
}

func (h *workerHealth) change(name string, f func(*admin.Worker)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.IndexFunc(h.workers, func(w admin.Worker) bool { return w.Name == name })
	if i < 0 {
		i = len(h.workers)
		h.workers = append(h.workers, admin.Worker{Name: name})
	}
	f(&h.workers[i])
}

func (h *workerHealth) began(name string, at time.Time) {
	h.change(name, func(w *admin.Worker) { w.Running, w.Since, w.Cause = true, at, "" })
}

func (h *workerHealth) failed(name string, at time.Time, err error) {
	h.change(name, func(w *admin.Worker) {
		w.Running, w.Since, w.FailedAt, w.Cause = false, at, &at, shortCause(err)
		w.Failures++
	})
}

// ended notes that a worker does not run anymore, because the server stops.
func (h *workerHealth) ended(name string) {
	h.change(name, func(w *admin.Worker) { w.Running = false })
}

// running returns the names of the workers that run.
func (h *workerHealth) running() (names []string) {
	for _, w := range h.list() {
		if w.Running {
			names = append(names, w.Name)
		}
	}
	return names
}

// list returns the workers in the order of their names.
func (h *workerHealth) list() []admin.Worker {
	h.mu.Lock()
	defer h.mu.Unlock()
	byName := func(a, b admin.Worker) int { return strings.Compare(a.Name, b.Name) }
	return slices.SortedFunc(slices.Values(h.workers), byName)
}

// persistent is a worker that goes on after a round that fails.
type persistent interface {
	Failures() liveness.Failures
}

// workerStates returns the workers of this node, with the failures that they went on after.
func (s *Server) workerStates() []admin.Worker {
	list := s.health.list()
	for _, w := range s.workers {
		p, ok := w.(persistent)
		i := slices.IndexFunc(list, func(x admin.Worker) bool { return x.Name == w.Name() })
		if ok && i >= 0 {
			addRounds(&list[i], p.Failures())
		}
	}
	return list
}

func addRounds(w *admin.Worker, f liveness.Failures) {
	w.Failures += f.Count
	if f.Count > 0 && (w.FailedAt == nil || f.Last.After(*w.FailedAt)) {
		w.FailedAt = &f.Last
	}
	if f.Err != nil && w.Running {
		w.Cause = shortCause(f.Err)
	}
}

const maxCause = 200 // characters

var addressPattern = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>]+`)

// shortCause is what administrators are told of a failure: its first line, with the cause that clients do not get. Of
// addresses only the place is shown.
func shortCause(err error) string {
	if err == nil { // a worker that has ended by itself
		return ""
	}
	line, _, more := strings.Cut(err.Error(), "\n")
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Unwrap() != nil && strings.HasSuffix(line, f.Error()) {
		line += ": " + Reason(f)
	}
	if more {
		line += " …"
	}
	return text.Clip(addressPattern.ReplaceAllStringFunc(line, withoutSecrets), maxCause)
}

// How a setting may be shown. Of one that is in neither list it is only shown that it is set, because it may be a
// secret.
var (
	plainSettings = []string{
		"max-connections", "max-connections-per-address", "media",
		"data", "listen", "tls-listen", "ops-listen", "tls-cert", "tls-key", "tls-domain", "public-url", "media-url",
		"max-photo-bytes", "auth-failure-limit", "webhook-retry-delays", "webhook-timeout", "webhook-allow-private",
		"webhook-ca-file", "webhook-in-flight", "photo-request-expiry", "unused-photo-expiry", "claim-expiry",
		"attempt-retention", "delivery-retention", "photo-retention", "test-event-delay", "event-retention",
		"request-log-retention",
		"secret-overlap", "mail-from",
		"smtp-ca-file",
		"log-format", "shutdown-delay", "trusted-proxies",
		"webhook-ports", "webhook-deny-network", "desk-networks", "require-second-factor",
		"issuer-name", "issuer-address", "issuer-logo", "roles", "otlp-endpoint", "oidc-issuer", "oidc-client-id",
		"security-contact", "strip-location",
	}
	addressSettings = []string{"database", "smtp-url", "redis"} // they may contain passwords
)

// shown returns the settings in force as administrators may see them.
func (s *Settings) shown() []admin.Setting {
	var now Settings
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	now.Bind(fs)
	now = *s // Bind has set the defaults
	var list []admin.Setting
	fs.VisitAll(func(f *flag.Flag) {
		value := f.Value.String()
		x := admin.Setting{Name: f.Name, Value: value, Default: value == f.DefValue}
		switch {
		case slices.Contains(plainSettings, f.Name) || isNumber(f.Value) || isSecretFile(f):
		case slices.Contains(addressSettings, f.Name):
			x.Value = withoutSecrets(value)
		case value != "":
			x.Value = hidden
		}
		list = append(list, x)
	})
	return list
}

// isNumber reports whether a setting is a number, a duration or a switch, which are no secrets.
func isNumber(v flag.Value) bool {
	g, ok := v.(flag.Getter)
	if !ok {
		return false
	}
	switch g.Get().(type) {
	case int, int64, bool, time.Duration:
		return true
	}
	return false
}

const hidden = "***"

// withoutSecrets returns the place that an address names: scheme, host and path.
func withoutSecrets(address string) string {
	if address == "" {
		return ""
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "" || u.Opaque != "" {
		return hidden
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
