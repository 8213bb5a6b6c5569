package server

import "github.com/prometheus/client_golang/prometheus"

// stateMetrics collects the state of this node that /readyz judges.
type stateMetrics struct{ *Server }

var (
	workerIdleMetric = prometheus.NewDesc("assay_worker_idle_seconds",
		"Time since a background worker last got something done.", []string{"worker"}, nil)
	diskFreeMetric = prometheus.NewDesc("assay_disk_free_bytes",
		"Bytes that can still be written to the file system of --data.", nil, nil)
)

// Describe implements prometheus.Collector.
func (s *stateMetrics) Describe(d chan<- *prometheus.Desc) {
	d <- workerIdleMetric
	d <- diskFreeMetric
}

// Collect implements prometheus.Collector.
func (s *stateMetrics) Collect(m chan<- prometheus.Metric) {
	for _, w := range s.workers {
		if p, ok := w.(progressing); ok {
			age, _ := p.Progress()
			m <- prometheus.MustNewConstMetric(workerIdleMetric, prometheus.GaugeValue, age.Seconds(), w.Name())
		}
	}
	if free, _, err := freeSpace(s.app.Settings.Data); err == nil {
		m <- prometheus.MustNewConstMetric(diskFreeMetric, prometheus.GaugeValue, float64(free))
	}
}
