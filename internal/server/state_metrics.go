package server

import "github.com/prometheus/client_golang/prometheus"

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
