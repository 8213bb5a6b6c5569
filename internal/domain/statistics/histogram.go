package statistics

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/assayhq/assay/internal/domain/order"
)

// Histogram counts durations in buckets that are each 4% wider than the one before, so that a quantile of any number of
// days is at most 2% off and a day takes little room.
type Histogram map[int]int64

const bucketGrowth = 1.04

// Add counts a duration.
func (h Histogram) Add(d time.Duration) { h[bucket(d, 1)]++ }

// bucket is where a duration is counted when every so many buckets are in use; one below a second counts as a second.
func bucket(d time.Duration, every int) int {
	return every * int(math.Round(math.Log(max(1, d.Seconds()))/(float64(every)*math.Log(bucketGrowth))))
}

// resultBuckets is how many buckets the histograms of accounts take together: there are many of them, each day of each
// account has one, so they are smaller and up to 6% off.
const resultBuckets = 3

// ResultBucket is the bucket of the turnaround of an order that has ended, or -1: an order without a verdict has none,
// nor has one whose photo request nobody answered.
func ResultBucket(o *order.Order) int {
	if o.Status != order.Completed || o.Outcome == order.Canceled || o.DueAt == nil {
		return -1
	}
	return bucket(turnaround(o), resultBuckets)
}

// turnaround is how long an order that has ended took on the customer's clock, which is paused while photos are
// requested.
func turnaround(o *order.Order) time.Duration {
	return time.Duration(o.AnswerTime)*time.Minute - o.DueAt.Sub(*o.EndedAt)
}

// Quantile returns the duration that the share q of all durations does not exceed; ok is false when there are none.
func (h Histogram) Quantile(q float64) (d time.Duration, ok bool) {
	var total int64
	for _, n := range h {
		total += n
	}
	if total == 0 {
		return 0, false
	}
	rank := max(1, int64(math.Ceil(q*float64(total))))
	var seen int64
	for _, bucket := range slices.Sorted(maps.Keys(h)) {
		if seen += h[bucket]; seen >= rank {
			return time.Duration(math.Pow(bucketGrowth, float64(bucket)) * float64(time.Second)), true
		}
	}
	return 0, false
}
