package server

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/httpx"
	"github.com/assayhq/assay/internal/tracing"
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
			Name: "assay_http_request_seconds", Help: "Time to answer HTTP requests by operation, without event streams.",
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
			if rec.Header().Get("Content-Type") != "text/event-stream" { // it lasts as long as somebody looks
				s.seconds.Observe(time.Since(start).Seconds())
			}
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

// stateMetrics collects the state of this node that /readyz judges.
type stateMetrics struct{ *Server }

var (
	workerIdleMetric = stateMetric("assay_worker_idle_seconds",
		"Time since a background worker last got something done.", "worker")
	readyMetric = stateMetric("assay_ready",
		"1 while a check of /readyz succeeds, 0 while it fails.", "check")
	diskFreeMetric = stateMetric("assay_disk_free_bytes",
		"Bytes that can still be written to the file system of --data.")
	connectionsMetric = stateMetric("assay_connections",
		"Open connections of clients at the public listeners.")
	refusedMetric = stateMetric("assay_connections_refused_total",
		"Connections that were refused because of a limit.", "limit")
	replicaUpMetric = stateMetric("assay_database_read_up",
		"1 while lists and pages are read from the replica, 0 while it is away or too far behind.")
	replicaLagMetric = stateMetric("assay_database_read_lag_seconds",
		"How far the replica is behind at most.")
	replicaReadsMetric = stateMetric("assay_database_reads_total",
		"Lists and pages by where they were read from.", "from")
	leaseMetric = stateMetric("assay_lease_held",
		"1 while this node does a task that one node does at a time.", "task")
	transactionsMetric = stateMetric("assay_transactions",
		"Transactions of requests that run or wait for their turn.", "state")
	overloadMetric = stateMetric("assay_transactions_refused_total",
		"Transactions of requests that were refused because too many waited.")
	headEntriesMetric = stateMetric("assay_audit_entries",
		"Entries of a log: that of administration, or of an account.", "log")
	headMetric = stateMetric("assay_audit_head",
		"The first 48 bits of the hash of a log's newest entry, as a number. See assay audit head.", "log")
)

func stateMetric(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// Describe implements prometheus.Collector.
func (s *stateMetrics) Describe(d chan<- *prometheus.Desc) {
	for _, metric := range []*prometheus.Desc{
		workerIdleMetric, readyMetric, diskFreeMetric, connectionsMetric, refusedMetric, replicaUpMetric,
		replicaLagMetric, replicaReadsMetric, leaseMetric, transactionsMetric, overloadMetric, headEntriesMetric, headMetric,
	} {
		d <- metric
	}
}

func gauge(m chan<- prometheus.Metric, d *prometheus.Desc, value float64, labels ...string) {
	m <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}

func counter(m chan<- prometheus.Metric, d *prometheus.Desc, value int64, labels ...string) {
	m <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(value), labels...)
}

func oneIf(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// Collect implements prometheus.Collector.
func (s *stateMetrics) Collect(m chan<- prometheus.Metric) {
	var checks sync.WaitGroup // beside what else is collected
	defer checks.Wait()
	for _, c := range s.checks {
		checks.Go(func() {
			if ok, known := c.lately(); known {
				gauge(m, readyMetric, oneIf(ok), c.name)
			}
		})
	}
	for _, w := range s.workers {
		if p, ok := w.(progressing); ok {
			age, _ := p.Progress()
			gauge(m, workerIdleMetric, age.Seconds(), w.Name())
		}
	}
	if r := s.app.Store.ReplicaStatus(); r != nil {
		gauge(m, replicaUpMetric, oneIf(r.Used))
		gauge(m, replicaLagMetric, r.Lag.Seconds())
		counter(m, replicaReadsMetric, r.PrimaryReads, "primary")
		counter(m, replicaReadsMetric, r.ReplicaReads, "replica")
	}
	for _, l := range s.leases {
		gauge(m, leaseMetric, oneIf(l.Held()), l.Task())
	}
	s.clients.collect(m)
	running, waiting, refused := s.app.Store.Load()
	gauge(m, transactionsMetric, float64(running), "running")
	gauge(m, transactionsMetric, float64(waiting), "waiting")
	counter(m, overloadMetric, refused)
	if free, _, err := freeSpace(s.app.Settings.Data); err == nil {
		gauge(m, diskFreeMetric, float64(free))
	}
	s.collectHeads(m)
}

func (c *connections) collect(m chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	gauge(m, connectionsMetric, float64(c.open))
	for reason, n := range c.refused {
		counter(m, refusedMetric, n, reason)
	}
}

// maxHeads is how many logs of accounts are in the metrics, so that these stay readable.
const maxHeads = 1000

// collectHeads shows the newest entry of every log: a monitoring system thereby keeps them out of reach of who could
// rewrite the logs. Where the database is away there are no heads.
func (s *stateMetrics) collectHeads(m chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	heads, err := s.app.Store.FirstLogHeads(ctx, maxHeads+1)
	if err != nil {
		return
	}
	for _, head := range heads {
		log := head.AccountID
		switch head.Chain {
		case audit.Administration:
			log = head.Chain
		case audit.OfThePortal:
			log += " " + head.Chain
		}
		gauge(m, headEntriesMetric, float64(head.Number), log)
		gauge(m, headMetric, shortHash(head.Hash), log)
	}
}

// shortHash is what a metric can hold of a hash exactly.
func shortHash(hash string) float64 {
	raw, err := hex.DecodeString(hash)
	if err != nil || len(raw) < 8 {
		return 0
	}
	return float64(binary.BigEndian.Uint64(raw) >> 16)
}

// lastSpans is how long a server that stops waits for the collector.
const lastSpans = 2 * time.Second

// startTracing turns tracing on where --otlp-endpoint is set.
func (s *Server) startTracing(ctx context.Context) (err error) {
	set := &s.app.Settings
	if set.OTLPEndpoint == "" {
		return nil
	}
	s.tracer, err = tracing.New(ctx, tracing.Config{
		Endpoint: set.OTLPEndpoint, Roles: set.Roles.String(), Log: s.app.Log,
	})
	return err
}

// traced returns next with a span for each request, or next itself where tracing is off.
func (s *Server) traced(next http.Handler) http.Handler {
	if s.tracer == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, span := s.tracer.Request(r.Context(), r.Header)
		rec := httpx.Record(w)
		defer func() {
			tracing.EndRequest(span, httpx.RouteFrom(ctx), httpx.RequestIDFrom(ctx), rec.Status())
		}()
		next.ServeHTTP(rec, r.WithContext(ctx))
	})
}

// stopTracing sends the last spans.
func (s *Server) stopTracing() {
	if s.tracer == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastSpans)
	defer cancel()
	if err := s.tracer.Close(ctx); err != nil {
		s.app.Log.WarnContext(ctx, "the last spans could not be sent", "error", err)
	}
	s.tracer = nil
}
