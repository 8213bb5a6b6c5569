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
	"github.com/assayhq/assay/internal/store"
)

const (
	// MaxStatisticsDays is how far back statistics go at most.
	MaxStatisticsDays = 90

	sampleInterval  = 15 * time.Minute
	sampleRetention = (MaxStatisticsDays + 2) * 24 * time.Hour

	// endpointHoursRetention is a day more than the portal shows.
	endpointHoursRetention = 8 * 24 * time.Hour

	// settling is how long after its end the figures of a day are taken for good: a transaction of its last second may be on
	// its way, and clocks of nodes differ.
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
	Holds    int64 // orders in their hands now
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

// Statistics returns the figures of the last days, today included, MaxStatisticsDays at most. Days that are over are read
// from what KeepStatistics has kept, so it costs a row a day and the orders of today.
func (a *Administration) Statistics(ctx context.Context, who *access.Staff, days int) (*Statistics, error) {
	if err := a.allow(who); err != nil {
		return nil, err
	}
	days = min(max(days, 1), MaxStatisticsDays)
	today := dayOf(a.service.now())
	first := today.AddDate(0, 0, 1-days)
	kept, err := a.store().DailyStatistics(ctx, first.Format(time.DateOnly), today.Format(time.DateOnly))
	if err != nil {
		return nil, err
	}
	s := &Statistics{Total: newDayFigures()}
	for day := first; !day.After(today); day = day.AddDate(0, 0, 1) {
		d := StatisticsDay{Date: day, Figures: newDayFigures()}
		if text, ok := kept[day.Format(time.DateOnly)]; ok {
			err = json.Unmarshal([]byte(text), d.Figures)
		} else if today.Sub(day) <= 24*time.Hour { // earlier ones are kept, or were before there was anybody to keep them
			d.Figures, err = a.service.figuresOf(ctx, day)
		}
		if err != nil {
			return nil, err
		}
		s.Total.add(d.Figures)
		s.Days = append(s.Days, d)
	}
	if err := a.addQueue(ctx, s, first); err != nil {
		return nil, err
	}
	if s.Open, err = a.store().OrderCounts(ctx, access.Live); err != nil {
		return nil, err
	}
	return s, a.addReviewers(ctx, s)
}

// addQueue adds how long the queue was on each day.
func (a *Administration) addQueue(ctx context.Context, s *Statistics, first time.Time) error {
	samples, err := a.store().QueueSamples(ctx, first)
	if err != nil {
		return err
	}
	for _, x := range samples {
		i := int(x.At.Sub(first) / (24 * time.Hour))
		if i >= len(s.Days) {
			break
		}
		d := &s.Days[i]
		d.Samples++
		d.MostQueued = max(d.MostQueued, x.Queued)
		d.MeanQueued += (float64(x.Queued) - d.MeanQueued) / float64(d.Samples)
		d.MeanOpen += (float64(x.Queued+x.Processing+x.UpdatePhotos) - d.MeanOpen) / float64(d.Samples)
	}
	return nil
}

// addReviewers adds who gave the verdicts, and everybody who is there to give some.
func (a *Administration) addReviewers(ctx context.Context, s *Statistics) error {
	all, err := a.store().AllStaff(ctx)
	if err != nil {
		return err
	}
	verdicts := maps.Clone(s.Total.Reviewers)
	for _, staff := range all {
		load := ReviewerLoad{ID: staff.ID, Name: staff.Name, Verdicts: verdicts[staff.ID]}
		delete(verdicts, staff.ID)
		if !staff.Active() && load.Verdicts == 0 {
			continue
		}
		counts, err := a.store().ClaimCounts(ctx, staff.ID)
		if err != nil {
			return err
		}
		load.Holds = counts[order.Processing]
		s.Reviewers = append(s.Reviewers, load)
	}
	for id, n := range verdicts {
		s.Reviewers = append(s.Reviewers, ReviewerLoad{ID: id, Verdicts: n})
	}
	slices.SortStableFunc(s.Reviewers, func(a, b ReviewerLoad) int {
		return cmp.Or(cmp.Compare(b.Verdicts, a.Verdicts), cmp.Compare(a.Name, b.Name))
	})
	return nil
}

// KeepStatistics keeps the length of the queue every quarter of an hour, and the figures of days that are over. It returns
// how many days it kept. Housekeeping of any number of nodes calls it.
func (s *Service) KeepStatistics(ctx context.Context) (int, error) {
	now := s.now()
	if err := s.sampleQueue(ctx, now); err != nil {
		return 0, err
	}
	day, err := s.firstDayToKeep(ctx, now)
	if err != nil {
		return 0, err
	}
	kept := make(map[string]string)
	for ; !now.Before(day.AddDate(0, 0, 1).Add(settling)); day = day.AddDate(0, 0, 1) {
		figures, err := s.figuresOf(ctx, day)
		if err != nil {
			return 0, err
		}
		text, err := json.Marshal(figures)
		if err != nil {
			return 0, err
		}
		kept[day.Format(time.DateOnly)] = string(text)
	}
	if len(kept) == 0 {
		return 0, nil
	}
	err = s.Store.Update(ctx, func(tx *store.Tx) error {
		for _, name := range slices.Sorted(maps.Keys(kept)) {
			if err := tx.KeepDailyStatistics(name, kept[name]); err != nil {
				return err
			}
		}
		return nil
	})
	return len(kept), err
}

// firstDayToKeep returns the day after the last one that is kept, or that of the first order, and no day that is too long
// ago to be shown.
func (s *Service) firstDayToKeep(ctx context.Context, now time.Time) (time.Time, error) {
	earliest := dayOf(now).AddDate(0, 0, -MaxStatisticsDays)
	last, err := s.Store.LastStatisticsDay(ctx)
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
		first, err := s.Store.FirstOrderAt(ctx)
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

// sampleQueue keeps the length of the queue, once for each quarter of an hour, and forgets counts that nobody looks at any more.
func (s *Service) sampleQueue(ctx context.Context, now time.Time) error {
	at := now.Truncate(sampleInterval)
	if there, err := s.Store.HasQueueSample(ctx, at); err != nil || there {
		return err
	}
	counts, err := s.Store.OrderCounts(ctx, access.Live)
	if err != nil {
		return err
	}
	sample := &store.QueueSample{At: at, Queued: counts[order.Queued], Processing: counts[order.Processing], UpdatePhotos: counts[order.UpdatePhotos]}
	return s.Store.Update(ctx, func(tx *store.Tx) error {
		if err := tx.ForgetEndpointHours(now.Add(-endpointHoursRetention)); err != nil {
			return err
		}
		return tx.KeepQueueSample(sample, now.Add(-sampleRetention))
	})
}

// figuresOf reads the figures of one day from its orders.
func (s *Service) figuresOf(ctx context.Context, day time.Time) (*DayFigures, error) {
	f := newDayFigures()
	end := day.AddDate(0, 0, 1)
	if err := s.Store.EachEndedOrder(ctx, day, end, f.count); err != nil {
		return nil, err
	}
	var err error
	f.Created, err = s.Store.CountCreatedOrders(ctx, day, end)
	return f, err
}

func dayOf(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }
