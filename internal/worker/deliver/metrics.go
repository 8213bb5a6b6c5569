package deliver

import (
	"context"
	"time"

	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/store"
	"github.com/prometheus/client_golang/prometheus"
)

// Results of attempts that are not a webhook.Failure.
const (
	resultDelivered = "delivered"
	resultRejected  = "rejected" // a response other than 2xx
)

// metrics have no labels with customer data: the only label has a handful of values.
type metrics struct {
	attempts   *prometheus.CounterVec
	acked      prometheus.Counter // those of attempts that were acknowledged: nearly all
	seconds    prometheus.Histogram
	inFlight   prometheus.Gauge
	givenUp    prometheus.Counter
	unreadable prometheus.Counter
}

func newMetrics(queue *queueState) (*metrics, []prometheus.Collector) {
	m := &metrics{
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "assay_webhook_attempts_total", Help: "Webhook delivery attempts by result.",
		}, []string{"result"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "assay_webhook_attempt_seconds", Help: "Time of webhook delivery attempts, the access token included.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "assay_webhook_attempts_in_flight", Help: "Webhook delivery attempts that run on this node.",
		}),
		givenUp: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "assay_webhook_deliveries_failed_total", Help: "Webhook deliveries that failed in every attempt.",
		}),
		unreadable: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "assay_webhook_queue_read_failures_total",
			Help: "Reads of the webhook deliveries to an endpoint that failed: they wait, others are sent.",
		}),
	}
	for _, result := range []string{
		resultDelivered, resultRejected, string(webhook.FailureTimeout), string(webhook.FailureUnresolvable),
		string(webhook.FailureUnsafe), string(webhook.FailureConnection), string(webhook.FailureTLS),
		string(webhook.FailureToken),
	} {
		m.attempts.WithLabelValues(result)
	}
	m.acked = m.attempts.WithLabelValues(resultDelivered)
	return m, []prometheus.Collector{m.attempts, m.seconds, m.inFlight, m.givenUp, m.unreadable, queue}
}

func (m *metrics) observe(a *webhook.Attempt) {
	switch {
	case a.Acknowledged():
		m.acked.Inc()
	case a.HTTPStatus != 0:
		m.attempts.WithLabelValues(resultRejected).Inc()
	default:
		m.attempts.WithLabelValues(string(a.Failure)).Inc()
	}
	m.seconds.Observe(a.Duration.Seconds())
}

// queueState collects the state of the queue in the database, over all nodes.
type queueState struct {
	store *store.Store
	now   func() time.Time
}

const queueStateTimeout = 2 * time.Second

var (
	pendingMetric = prometheus.NewDesc("assay_webhook_queue_deliveries",
		"Webhook deliveries that are pending, waiting for a repeated attempt included.", nil, nil)
	overdueMetric = prometheus.NewDesc("assay_webhook_queue_oldest_due_seconds",
		"For how long the webhook delivery that is most overdue could have been under way; 0 when none is due.", nil, nil)
)

// Describe implements prometheus.Collector.
func (q *queueState) Describe(d chan<- *prometheus.Desc) {
	d <- pendingMetric
	d <- overdueMetric
}

// Collect implements prometheus.Collector. If the database cannot be read, the metrics are omitted.
func (q *queueState) Collect(m chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), queueStateTimeout)
	defer cancel()
	now := q.now()
	pending, oldest, err := q.store.QueueState(ctx, now)
	if err != nil {
		return
	}
	overdue := time.Duration(0)
	if !oldest.IsZero() {
		overdue = now.Sub(oldest)
	}
	m <- prometheus.MustNewConstMetric(pendingMetric, prometheus.GaugeValue, float64(pending))
	m <- prometheus.MustNewConstMetric(overdueMetric, prometheus.GaugeValue, overdue.Seconds())
}
