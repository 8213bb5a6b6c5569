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

// stateMetrics collects the state of this node that /readyz judges.
type stateMetrics struct{ *Server }

var (
	workerIdleMetric = prometheus.NewDesc("assay_worker_idle_seconds",
		"Time since a background worker last got something done.", []string{"worker"}, nil)
	diskFreeMetric = prometheus.NewDesc("assay_disk_free_bytes",
		"Bytes that can still be written to the file system of --data.", nil, nil)
	connectionsMetric = prometheus.NewDesc("assay_connections",
		"Open connections of clients at the public listeners.", nil, nil)
	refusedMetric = prometheus.NewDesc("assay_connections_refused_total",
		"Connections that were refused because of a limit.", []string{"limit"}, nil)
	replicaUpMetric = prometheus.NewDesc("assay_database_read_up",
		"1 while lists and pages are read from the replica, 0 while it is away or too far behind.", nil, nil)
	replicaLagMetric = prometheus.NewDesc("assay_database_read_lag_seconds",
		"How far the replica is behind at most.", nil, nil)
	replicaReadsMetric = prometheus.NewDesc("assay_database_reads_total",
		"Lists and pages by where they were read from.", []string{"from"}, nil)
	leaseMetric = prometheus.NewDesc("assay_lease_held",
		"1 while this node does a task that one node does at a time.", []string{"task"}, nil)
	transactionsMetric = prometheus.NewDesc("assay_transactions",
		"Transactions of requests that run or wait for their turn.", []string{"state"}, nil)
	overloadMetric = prometheus.NewDesc("assay_transactions_refused_total",
		"Transactions of requests that were refused because too many waited.", nil, nil)
)

// Describe implements prometheus.Collector.
func (s *stateMetrics) Describe(d chan<- *prometheus.Desc) {
	d <- workerIdleMetric
	d <- diskFreeMetric
	d <- connectionsMetric
	d <- refusedMetric
	d <- replicaUpMetric
	d <- replicaLagMetric
	d <- replicaReadsMetric
	d <- leaseMetric
	d <- transactionsMetric
	d <- overloadMetric
}

// Collect implements prometheus.Collector.
func (s *stateMetrics) Collect(m chan<- prometheus.Metric) {
	for _, w := range s.workers {
		if p, ok := w.(progressing); ok {
			age, _ := p.Progress()
			m <- prometheus.MustNewConstMetric(workerIdleMetric, prometheus.GaugeValue, age.Seconds(), w.Name())
		}
	}
	if used, lag, primary, replica, ok := s.app.Store.ReplicaState(); ok {
		up := 0.0
		if used {
			up = 1
		}
		m <- prometheus.MustNewConstMetric(replicaUpMetric, prometheus.GaugeValue, up)
		m <- prometheus.MustNewConstMetric(replicaLagMetric, prometheus.GaugeValue, lag.Seconds())
		m <- prometheus.MustNewConstMetric(replicaReadsMetric, prometheus.CounterValue, float64(primary), "primary")
		m <- prometheus.MustNewConstMetric(replicaReadsMetric, prometheus.CounterValue, float64(replica), "replica")
	}
	for _, l := range s.leases {
		held := 0.0
		if l.Held() {
			held = 1
		}
		m <- prometheus.MustNewConstMetric(leaseMetric, prometheus.GaugeValue, held, l.Task())
	}
	s.clients.collect(m)
	running, waiting, refused := s.app.Store.Load()
	m <- prometheus.MustNewConstMetric(transactionsMetric, prometheus.GaugeValue, float64(running), "running")
	m <- prometheus.MustNewConstMetric(transactionsMetric, prometheus.GaugeValue, float64(waiting), "waiting")
	m <- prometheus.MustNewConstMetric(overloadMetric, prometheus.CounterValue, float64(refused))
	if free, _, err := freeSpace(s.app.Settings.Data); err == nil {
		m <- prometheus.MustNewConstMetric(diskFreeMetric, prometheus.GaugeValue, float64(free))
	}
}

func (c *connections) collect(m chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m <- prometheus.MustNewConstMetric(connectionsMetric, prometheus.GaugeValue, float64(c.open))
	for reason, n := range c.refused {
		m <- prometheus.MustNewConstMetric(refusedMetric, prometheus.CounterValue, float64(n), reason)
	}
}

// maxHeads is how many accounts have their log in the metrics, so that these stay readable.
const maxHeads = 1000

// logHeads shows the newest entry of every log in the metrics: a monitoring system thereby keeps them out of reach of
// who could rewrite the logs.
type logHeads struct {
	read    func(context.Context) ([]audit.Head, error)
	entries *prometheus.Desc
	head    *prometheus.Desc
}

func newLogHeads(read func(context.Context) ([]audit.Head, error)) *logHeads {
	return &logHeads{
		read: read,
		entries: prometheus.NewDesc("assay_audit_entries", "Entries of a log: that of administration, or of an account.",
			[]string{"log"}, nil),
		head: prometheus.NewDesc("assay_audit_head",
			"The first 48 bits of the hash of a log's newest entry, as a number. See assay audit head.", []string{"log"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (h *logHeads) Describe(to chan<- *prometheus.Desc) {
	to <- h.entries
	to <- h.head
}

// Collect implements prometheus.Collector. Where the database is away there are no heads.
func (h *logHeads) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	heads, err := h.read(ctx)
	if err != nil {
		return
	}
	for _, head := range heads[:min(len(heads), maxHeads+1)] {
		log := head.AccountID
		switch head.Chain {
		case audit.Administration:
			log = head.Chain
		case audit.OfThePortal:
			log += " " + head.Chain
		}
		to <- prometheus.MustNewConstMetric(h.entries, prometheus.GaugeValue, float64(head.Number), log)
		to <- prometheus.MustNewConstMetric(h.head, prometheus.GaugeValue, shortHash(head.Hash), log)
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
