// Package statistics counts what became of orders: figures of days, which can be added, and histograms of how long
// verdicts took.
package statistics

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/assayhq/assay/internal/domain/order"
)

// Figures is what is known of the Live orders of one day, in UTC. Figures of several days can be added.
type Figures struct {
	Created   int64                      `json:"created"`
	Ended     map[string]int64           `json:"ended,omitempty"`     // by outcome; orders in error under "error"
	Times     map[int]*AnswerTimeFigures `json:"times,omitempty"`     // verdicts by answer time
	Reviewers map[string]int64           `json:"reviewers,omitempty"` // verdicts by staff id
}

// AnswerTimeFigures is how the verdicts of an answer time came about. Turnaround is the time on the customer's clock,
// which is paused while photos are requested: it is what the due date promises.
type AnswerTimeFigures struct {
	Verdicts   int64     `json:"verdicts"`
	OnTime     int64     `json:"on_time"`
	Turnaround Histogram `json:"turnaround"`
}

// NewFigures returns the figures of a day without orders.
func NewFigures() *Figures {
	return &Figures{
		Ended: make(map[string]int64), Times: make(map[int]*AnswerTimeFigures), Reviewers: make(map[string]int64),
	}
}

// ParseFigures reads figures that were saved as JSON.
func ParseFigures(text string) (*Figures, error) {
	f := NewFigures()
	return f, json.Unmarshal([]byte(text), f)
}

// Count adds an order that has ended. An order that is called off or cannot be processed has no verdict, and neither
// has one whose photo request nobody answered.
func (f *Figures) Count(o *order.Order) {
	if o.Status == order.Failed {
		f.Ended[string(order.Failed)]++
		return
	}
	f.Ended[string(o.Outcome)]++
	if o.Outcome == order.Canceled || o.DueAt == nil {
		return
	}
	t := f.answerTime(o.AnswerTime)
	t.Verdicts++
	if !o.EndedAt.After(*o.DueAt) {
		t.OnTime++
	}
	t.Turnaround.Add(turnaround(o))
	if o.AssigneeID != "" {
		f.Reviewers[o.AssigneeID]++
	}
}

func (f *Figures) answerTime(code int) *AnswerTimeFigures {
	t := f.Times[code]
	if t == nil {
		t = &AnswerTimeFigures{Turnaround: make(Histogram)}
		f.Times[code] = t
	}
	return t
}

// Add adds the figures of another day.
func (f *Figures) Add(other *Figures) {
	f.Created += other.Created
	addCounts(f.Ended, other.Ended)
	addCounts(f.Reviewers, other.Reviewers)
	for code, t := range other.Times {
		mine := f.answerTime(code)
		mine.Verdicts += t.Verdicts
		mine.OnTime += t.OnTime
		addCounts(mine.Turnaround, t.Turnaround)
	}
}

func addCounts[K comparable](to, counts map[K]int64) {
	for key, n := range counts {
		to[key] += n
	}
}

// OnTimeRate returns the share of verdicts that were on time, or NaN when there were none.
func (f *Figures) OnTimeRate() float64 {
	var all AnswerTimeFigures
	for _, t := range f.Times {
		all.Verdicts += t.Verdicts
		all.OnTime += t.OnTime
	}
	return all.OnTimeRate()
}

// OnTimeRate is that of one answer time.
func (t *AnswerTimeFigures) OnTimeRate() float64 {
	if t.Verdicts == 0 {
		return math.NaN()
	}
	return float64(t.OnTime) / float64(t.Verdicts)
}

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
