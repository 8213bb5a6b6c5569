package service

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/store"
)

const (
	// MaxStatisticsDays is how far back statistics go at most.
	MaxStatisticsDays = 90

	sampleInterval  = 15 * time.Minute
	sampleRetention = (MaxStatisticsDays + 2) * 24 * time.Hour

	// endpointHoursRetention is a day more than the portal shows.
	endpointHoursRetention = 8 * 24 * time.Hour

	// settling is how long after its end the figures of a day become final: a transaction of its last second may still
	// run, and clocks of nodes differ.
	settling = 10 * time.Minute
)

// StatisticsDay is one day of the statistics.
type StatisticsDay struct {
	Date       time.Time // its beginning, in UTC
	Figures    *DayFigures
	Samples    int // of the queue
	MostQueued int64
	MeanQueued float64
	MeanOpen   float64 // queued, in review, or waiting for photos
}

// ReviewerLoad is how much a reviewer did in the period.
type ReviewerLoad struct {
	ID       string
	Name     string // empty when the staff user is unknown
	Verdicts int64
	Claimed  int64 // orders that they have claimed and not judged yet
}

// Statistics is what happened to Live orders in a period.
type Statistics struct {
	Days      []StatisticsDay // the oldest first, today last
	Total     *DayFigures
	Reviewers []ReviewerLoad // who did most first
	Open      map[order.Status]int64
}

// AnswerTimes returns the answer times that had verdicts, the quickest first.
func (s *Statistics) AnswerTimes() []int { return slices.Sorted(maps.Keys(s.Total.Times)) }

// Statistics returns the figures of the last days, today included, MaxStatisticsDays at most. Days that are over are
// read from what SaveStatistics has saved, so it costs a row a day and the orders of today.
func (s *Service) Statistics(ctx context.Context, actor access.Actor, days int) (*Statistics, error) {
	if err := actor.Require(access.Administer); err != nil {
		return nil, err
	}
	days = min(max(days, 1), MaxStatisticsDays)
	today := dayOf(s.now())
	first := today.AddDate(0, 0, 1-days)
	q := s.store.Lists(ctx)
	saved, err := q.DailyStatistics(ctx, first.Format(time.DateOnly), today.Format(time.DateOnly))
	if err != nil {
		return nil, err
	}
	st := &Statistics{Total: newDayFigures()}
	for day := first; !day.After(today); day = day.AddDate(0, 0, 1) {
		d := StatisticsDay{Date: day, Figures: newDayFigures()}
		if text, ok := saved[day.Format(time.DateOnly)]; ok {
			d.Figures, err = ReadDayFigures(text)
		} else if today.Sub(day) <= 24*time.Hour { // earlier ones are saved, or were before there was anybody to save them
			d.Figures, err = s.figuresOf(ctx, day)
		}
		if err != nil {
			return nil, err
		}
		st.Total.add(d.Figures)
		st.Days = append(st.Days, d)
	}
	samples, err := q.QueueSamples(ctx, first)
	if err != nil {
		return nil, err
	}
	st.addQueue(samples)
	if st.Open, err = q.OrderCounts(ctx, access.Live); err != nil {
		return nil, err
	}
	staff, err := q.AllStaff(ctx)
	if err != nil {
		return nil, err
	}
	claimed, err := q.ClaimedOrders(ctx)
	if err != nil {
		return nil, err
	}
	st.addReviewers(staff, claimed)
	return st, nil
}

// addQueue adds how long the queue was on each day.
func (s *Statistics) addQueue(samples []store.QueueSample) {
	for _, x := range samples {
		i := int(x.At.Sub(s.Days[0].Date) / (24 * time.Hour))
		if i >= len(s.Days) {
			break
		}
		d := &s.Days[i]
		d.Samples++
		d.MostQueued = max(d.MostQueued, x.Queued)
		d.MeanQueued += (float64(x.Queued) - d.MeanQueued) / float64(d.Samples)
		d.MeanOpen += (float64(x.Queued+x.Processing+x.UpdatePhotos) - d.MeanOpen) / float64(d.Samples)
	}
}

// addReviewers adds who gave the verdicts, and every active staff user.
func (s *Statistics) addReviewers(all []*access.Staff, claimed map[string]int64) {
	verdicts := maps.Clone(s.Total.Reviewers)
	for _, staff := range all {
		load := ReviewerLoad{ID: staff.ID, Name: staff.Name, Verdicts: verdicts[staff.ID], Claimed: claimed[staff.ID]}
		delete(verdicts, staff.ID)
		if staff.Active() || load.Verdicts > 0 {
			s.Reviewers = append(s.Reviewers, load)
		}
	}
	for id, n := range verdicts {
		s.Reviewers = append(s.Reviewers, ReviewerLoad{ID: id, Verdicts: n})
	}
	slices.SortStableFunc(s.Reviewers, func(a, b ReviewerLoad) int {
		return cmp.Or(cmp.Compare(b.Verdicts, a.Verdicts), cmp.Compare(a.Name, b.Name))
	})
}

// SaveStatistics saves the length of the queue every quarter of an hour, and the figures of days that are over. It
// returns how many days it saved. Housekeeping of any number of nodes calls it.
func (s *Service) SaveStatistics(ctx context.Context) (int, error) {
	now := s.now()
	if err := s.sampleQueue(ctx, now); err != nil {
		return 0, err
	}
	day, err := s.firstUnsavedDay(ctx, now)
	if err != nil {
		return 0, err
	}
	saved := make(map[string]string)
	for ; !now.Before(day.AddDate(0, 0, 1).Add(settling)); day = day.AddDate(0, 0, 1) {
		figures, err := s.figuresOf(ctx, day)
		if err != nil {
			return 0, err
		}
		text, err := json.Marshal(figures)
		if err != nil {
			return 0, err
		}
		saved[day.Format(time.DateOnly)] = string(text)
	}
	if len(saved) == 0 {
		return 0, nil
	}
	err = s.store.Update(ctx, func(tx *store.Tx) error {
		for _, name := range slices.Sorted(maps.Keys(saved)) {
			if err := tx.SaveDailyStatistics(name, saved[name]); err != nil {
				return err
			}
		}
		return nil
	})
	return len(saved), err
}

// firstUnsavedDay returns the day after the last one that is saved, or that of the first order, and no day that is too
// long ago to be shown.
func (s *Service) firstUnsavedDay(ctx context.Context, now time.Time) (time.Time, error) {
	earliest := dayOf(now).AddDate(0, 0, -MaxStatisticsDays)
	last, err := s.store.LastStatisticsDay(ctx)
	if err != nil {
		return now, err
	}
	var day time.Time
	if last != "" {
		if day, err = time.Parse(time.DateOnly, last); err != nil {
			return now, err
		}
		day = day.AddDate(0, 0, 1)
	} else {
		first, err := s.store.FirstOrderAt(ctx)
		if errors.Is(err, store.ErrNotFound) {
			return dayOf(now), nil
		}
		if err != nil {
			return now, err
		}
		day = dayOf(first)
	}
	if day.Before(earliest) {
		return earliest, nil
	}
	return day, nil
}

// sampleQueue saves the length of the queue, once for each quarter of an hour, and deletes counts that nobody looks at
// any more.
func (s *Service) sampleQueue(ctx context.Context, now time.Time) error {
	at := now.Truncate(sampleInterval)
	if there, err := s.store.HasQueueSample(ctx, at); err != nil || there {
		return err
	}
	counts, err := s.store.OrderCounts(ctx, access.Live)
	if err != nil {
		return err
	}
	sample := &store.QueueSample{
		At: at, Queued: counts[order.Queued], Processing: counts[order.Processing],
		UpdatePhotos: counts[order.UpdatePhotos],
	}
	return s.store.Update(ctx, func(tx *store.Tx) error {
		if err := tx.DeleteOldEndpointHours(now.Add(-endpointHoursRetention)); err != nil {
			return err
		}
		return tx.SaveQueueSample(sample, now.Add(-sampleRetention))
	})
}

// figuresOf reads the figures of one day from its orders.
func (s *Service) figuresOf(ctx context.Context, day time.Time) (*DayFigures, error) {
	f := newDayFigures()
	end := day.AddDate(0, 0, 1)
	if err := s.store.EachEndedOrder(ctx, day, end, f.count); err != nil {
		return nil, err
	}
	var err error
	f.Created, err = s.store.CountCreatedOrders(ctx, day, end)
	return f, err
}

func dayOf(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

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

// ReadDayFigures reads those of a day that were saved.
func ReadDayFigures(text string) (*DayFigures, error) {
	f := newDayFigures()
	return f, json.Unmarshal([]byte(text), f)
}

func newDayFigures() *DayFigures {
	return &DayFigures{Ended: make(map[string]int64), Times: make(map[int]*TimeFigures), Reviewers: make(map[string]int64)}
}

// count adds an order that has ended. An order that is called off or cannot be processed has no verdict, and neither
// has one whose photo request nobody answered.
func (f *DayFigures) count(o *order.Order) {
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
	t.Turnaround.Add(turnaround(o.AnswerTime, *o.DueAt, *o.EndedAt))
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
