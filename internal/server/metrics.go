package server

import (
	"maps"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/assayhq/assay/internal/httpx"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// metrics counts requests by operation, never by anything that a client chooses.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec

	mu    sync.Mutex // for changes of known
	known atomic.Pointer[map[outcome]series]
}

// outcome is what requests are counted by.
type outcome struct {
	route  string
	status int
}

// series are the numbers of an outcome: to look them up by their labels costs more than to count.
type series struct {
	requests prometheus.Counter
	seconds  prometheus.Observer
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "assay_http_requests_total", Help: "HTTP requests by operation and status.",
		}, []string{"route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "assay_http_request_seconds", Help: "Time to answer HTTP requests by operation.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"route"}),
	}
	m.known.Store(new(map[outcome]series))
	m.registry.MustRegister(m.requests, m.seconds, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *metrics) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		rec := httpx.Record(w)
		defer func() {
			route := httpx.RouteFrom(r.Context())
			if route == "" {
				route = "other"
			}
			s := m.series(outcome{route, rec.Status()})
			s.requests.Inc()
			s.seconds.Observe(time.Since(start).Seconds())
		}()
		next.ServeHTTP(rec, r)
	})
}

// series returns the numbers of an outcome. There are few: the routes are ours, and so are the statuses.
func (m *metrics) series(o outcome) series {
	if s, ok := (*m.known.Load())[o]; ok {
		return s
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := series{
		requests: m.requests.WithLabelValues(o.route, strconv.Itoa(o.status)), seconds: m.seconds.WithLabelValues(o.route),
	}
	known := maps.Clone(*m.known.Load())
	if known == nil {
		known = make(map[outcome]series)
	}
	known[o] = s
	m.known.Store(&known)
	return s
}
