package service

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/statistics"
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
	Figures    *statistics.Figures
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
	Total     *statistics.Figures
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
	now := s.now()
	today := dayOf(now)
	first := today.AddDate(0, 0, 1-days)
	q := s.store.Lists(ctx)
	final := openDay(now).AddDate(0, 0, -1)
	saved, err := q.DailyStatistics(ctx, first.Format(time.DateOnly), final.Format(time.DateOnly))
	if err != nil {
		return nil, err
	}
	st := &Statistics{Total: statistics.NewFigures()}
	for day := first; !day.After(today); day = day.AddDate(0, 0, 1) {
		d := StatisticsDay{Date: day, Figures: statistics.NewFigures()}
		if text, ok := saved[day.Format(time.DateOnly)]; ok {
			d.Figures, err = statistics.ParseFigures(text)
		} else if today.Sub(day) <= 24*time.Hour { // earlier ones are saved, or were before there was anybody to save them
			d.Figures, err = s.figuresOf(ctx, day)
		}
		if err != nil {
			return nil, err
		}
		st.Total.Add(d.Figures)
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
	saved := 0
	for open := openDay(now); day.Before(open); day = day.AddDate(0, 0, 1) {
		figures, err := s.figuresOf(ctx, day)
		if err != nil {
			return saved, err
		}
		text, err := json.Marshal(figures)
		if err != nil {
			return saved, err
		}
		if err := s.store.Update(ctx, func(tx *store.Tx) error {
			return tx.SaveDailyStatistics(day.Format(time.DateOnly), string(text))
		}); err != nil {
			return saved, err
		}
		saved++
	}
	return saved, nil
}

// firstUnsavedDay returns the day after the last one that is saved, or that of the first order, and no day that is too
// long ago to be shown.
func (s *Service) firstUnsavedDay(ctx context.Context, now time.Time) (time.Time, error) {
	earliest := dayOf(now).AddDate(0, 0, -MaxStatisticsDays)
	last, err := s.lastSavedDay(ctx, now)
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

// lastSavedDay returns the newest day whose figures are saved; empty when there is none. Where a clock was ahead there
// are figures of days that are not over: they are deleted, since they would stand for those days when they are.
func (s *Service) lastSavedDay(ctx context.Context, now time.Time) (string, error) {
	last, err := s.store.LastStatisticsDay(ctx)
	open := openDay(now).Format(time.DateOnly)
	if err != nil || last < open {
		return last, err
	}
	if err := s.store.Update(ctx, func(tx *store.Tx) error { return tx.DeleteDailyStatistics(open) }); err != nil {
		return "", err
	}
	return s.store.LastStatisticsDay(ctx)
}

// sampleQueue saves the length of the queue, once for each quarter of an hour, and deletes counts that nobody looks at
// any more, or that a clock which was ahead has left: they would stand for their times when these come.
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
		return tx.SaveQueueSample(sample, now.Add(-sampleRetention), at)
	})
}

// figuresOf reads the figures of one day from its orders.
func (s *Service) figuresOf(ctx context.Context, day time.Time) (*statistics.Figures, error) {
	f := statistics.NewFigures()
	end := day.AddDate(0, 0, 1)
	if err := s.store.EachEndedOrder(ctx, day, end, f.Count); err != nil {
		return nil, err
	}
	var err error
	f.Created, err = s.store.CountCreatedOrders(ctx, day, end)
	return f, err
}

// openDay returns the first day whose figures are not final.
func openDay(now time.Time) time.Time { return dayOf(now.Add(-settling)) }

func dayOf(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }
