package service

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/store"
)

// DayFigures is what is known of the Live orders of one day, in UTC. Figures of several days can be added.
type DayFigures struct {
	Created   int64                `json:"created"`
	Ended     map[string]int64     `json:"ended,omitempty"`     // by outcome; orders in error under "error"
	Times     map[int]*TimeFigures `json:"times,omitempty"`     // verdicts by answer time
	Reviewers map[string]int64     `json:"reviewers,omitempty"` // verdicts by staff id
}

// TimeFigures is how the verdicts of an answer time came about. Turnaround is the time on the customer's clock, which
// is paused while photos are requested: it is what the due date promises.
type TimeFigures struct {
	Verdicts   int64     `json:"verdicts"`
	OnTime     int64     `json:"on_time"`
	Turnaround Histogram `json:"turnaround"`
}

func newDayFigures() *DayFigures {
	return &DayFigures{Ended: make(map[string]int64), Times: make(map[int]*TimeFigures), Reviewers: make(map[string]int64)}
}

// count adds an order that has ended. An order that is called off or cannot be processed has no verdict, and neither
// has one whose photo request nobody answered.
func (f *DayFigures) count(o *store.EndedOrder) {
	if o.Status == order.Failed {
		f.Ended[string(order.Failed)]++
		return
	}
	f.Ended[string(o.Outcome)]++
	if o.Outcome == order.Canceled || o.DueAt == nil {
		return
	}
	t := f.time(o.AnswerTime)
	t.Verdicts++
	if !o.EndedAt.After(*o.DueAt) {
		t.OnTime++
	}
	t.Turnaround.Add(turnaround(o.AnswerTime, *o.DueAt, o.EndedAt))
	if o.AssigneeID != "" {
		f.Reviewers[o.AssigneeID]++
	}
}

func (f *DayFigures) time(code int) *TimeFigures {
	t := f.Times[code]
	if t == nil {
		t = &TimeFigures{Turnaround: make(Histogram)}
		f.Times[code] = t
	}
	return t
}

// add adds the figures of another day.
func (f *DayFigures) add(other *DayFigures) {
	f.Created += other.Created
	for outcome, n := range other.Ended {
		f.Ended[outcome] += n
	}
	for staffID, n := range other.Reviewers {
		f.Reviewers[staffID] += n
	}
	for code, t := range other.Times {
		mine := f.time(code)
		mine.Verdicts += t.Verdicts
		mine.OnTime += t.OnTime
		for bucket, n := range t.Turnaround {
			mine.Turnaround[bucket] += n
		}
	}
}

// OnTimeRate returns the share of verdicts that were on time, or NaN when there were none.
func (f *DayFigures) OnTimeRate() float64 {
	var verdicts, onTime int64
	for _, t := range f.Times {
		verdicts += t.Verdicts
		onTime += t.OnTime
	}
	return share(onTime, verdicts)
}

// OnTimeRate is that of one answer time.
func (t *TimeFigures) OnTimeRate() float64 { return share(t.OnTime, t.Verdicts) }

func share(part, whole int64) float64 {
	if whole == 0 {
		return math.NaN()
	}
	return float64(part) / float64(whole)
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

// turnaround is how long an order took on the customer's clock, which is paused while photos are requested.
func turnaround(answerTime int, due, ended time.Time) time.Duration {
	return time.Duration(answerTime)*time.Minute - due.Sub(ended)
}

// bucketOfResult is the bucket of the turnaround of an order that has ended, or -1: an order without a verdict has
// none, nor has one whose photo request nobody answered.
func bucketOfResult(o *order.Order) int {
	if o.Status != order.Completed || o.Outcome == order.Canceled || o.DueAt == nil {
		return -1
	}
	return bucket(turnaround(o.AnswerTime, *o.DueAt, *o.EndedAt), resultBuckets)
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
