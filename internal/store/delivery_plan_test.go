package store_test

import (
	"strings"
	"testing"
)

// TestQueuePlans proves that finding, reading and ending deliveries costs the same however long the queues are: all go
// by the index alone, with and without statistics.
func TestQueuePlans(t *testing.T) {
	eachQueue(t, 5, func(q *queueTest) {
		q.queue(2000, noon)
		checkPlans(q, "without statistics")
		if q.store.Shared() {
			if err := q.store.Analyze(q.Context(), "delivery_queue"); err != nil {
				q.Fatal(err)
			}
			checkPlans(q, "with statistics")
		}
	})
}

func checkPlans(q *queueTest, when string) {
	q.Helper()
	plans, err := q.store.QueuePlans(q.Context())
	if err != nil {
		q.Fatal(err)
	}
	for name, plan := range plans {
		reads, more := 0, false
		for line := range strings.Lines(plan) {
			switch {
			case strings.Contains(line, "autoindex_delivery_queue"), strings.Contains(line, "delivery_queue_pkey"):
				reads++
			case strings.Contains(line, "Seq Scan"), strings.Contains(line, "SCAN delivery_queue"), strings.Contains(line,
				"SCAN q"),
				strings.Contains(line, "Sort"), strings.Contains(line, "B-TREE"):
				more = true
			}
		}
		if more || reads == 0 || (name == "heads" && reads < 2) {
			q.Errorf("%s, %s does not go by the index alone:\n%s", when, name, plan)
		}
	}
}
