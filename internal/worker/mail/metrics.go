package mail

import (
	"context"
	"time"

	"github.com/assayhq/assay/internal/service"
	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	sent, putOff, failed prometheus.Counter
}

func newMetrics(s *service.Service) (*metrics, []prometheus.Collector) {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	m := &metrics{
		sent:   counter("assay_mail_sent_total", "Mails that the mail server took."),
		putOff: counter("assay_mail_put_off_total", "Attempts to send a mail that failed for now."),
		failed: counter("assay_mail_failed_total",
			"Mails that the mail server refused for good, or that could not be sent for a day."),
	}
	return m, []prometheus.Collector{m.sent, m.putOff, m.failed, &queueState{s}}
}

// queueState collects the number of queued mails in the database, over all nodes.
type queueState struct{ service *service.Service }

const queueStateTimeout = 2 * time.Second

var queuedMetric = prometheus.NewDesc("assay_mail_queued", "Mails that wait to be sent, or to be tried again.", nil,
	nil)

// Describe implements prometheus.Collector.
func (q *queueState) Describe(d chan<- *prometheus.Desc) { d <- queuedMetric }

// Collect implements prometheus.Collector. If the database cannot be read, the metric is omitted.
func (q *queueState) Collect(m chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), queueStateTimeout)
	defer cancel()
	if queued, _, err := q.service.MailCounts(ctx); err == nil {
		m <- prometheus.MustNewConstMetric(queuedMetric, prometheus.GaugeValue, float64(queued))
	}
}
