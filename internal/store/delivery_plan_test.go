package store_test

import (
	"strings"
	"testing"
)

// TestQueuePlans proves that finding, taking and ending deliveries costs the same however long the queues are: all go by
// indexes alone.
func TestQueuePlans(t *testing.T) {
	eachQueue(t, 5, func(q *queueTest) {
		q.queue(2000, noon)
		plans, err := q.store.QueuePlans(q.Context())
		if err != nil {
			q.Fatal(err)
		}
		for name, plan := range plans {
			reads := 0
			for line := range strings.Lines(plan) {
				switch {
				case strings.Contains(line, "delivery_queue_due"), strings.Contains(line, "autoindex_delivery_queue"), strings.Contains(line, "delivery_queue_pkey"):
					reads++
				case strings.Contains(line, "Seq Scan"), strings.Contains(line, "SCAN delivery_queue"), strings.Contains(line, "SCAN q"),
					strings.Contains(line, "Sort"), strings.Contains(line, "B-TREE"):
					q.Errorf("%s does more than look into the index: %s", name, line)
				}
			}
			if reads == 0 || (name == "heads" && reads < 2) {
				q.Errorf("%s does not use the index:\n%s", name, plan)
			}
		}
		if q.Failed() {
			q.Logf("%+v", plans)
		}
	})
}
