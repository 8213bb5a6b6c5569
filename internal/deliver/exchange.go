package deliver

import (
	"context"
	"time"

	"github.com/assayhq/assay/internal/store"
)

// ask puts the next question to the database, unless one is on its way or there is none.
func (l *loop) ask() {
	start := time.Now()
	if l.asking || l.holdTill.After(start) {
		return
	}
	now := l.Now()
	for _, d := range l.turns.giveBack(l.stopping(), now) {
		l.releases = append(l.releases, release{d, now})
	}
	var wanted map[string]int
	if !l.stopping() {
		if (l.lookNow || !l.lookAt.After(start)) && !l.lookFrom.After(start) {
			l.look(start)
			return
		}
		wanted = l.turns.next(now)
	}
	if len(wanted) > 0 || len(l.results)+len(l.releases) > 0 {
		l.exchange(wanted, now)
	}
}

// question runs beside the loop; what it returns is done in the loop.
func (l *loop) question(f func() (use func())) {
	l.asking = true
	go func() { l.answers <- f() }()
}

// look puts endpoints with due deliveries into the line and finds out when to look next.
func (l *loop) look(start time.Time) {
	l.lookNow = false // what is queued from here on wakes the sender again
	l.question(func() func() {
		heads, err := l.Store.QueueHeads(l.ctx)
		return func() {
			if err != nil {
				if !l.stopping() {
					l.Log.ErrorContext(l.ctx, "due deliveries could not be looked for", "error", err)
				}
				l.lookNow = true
				l.stumble()
				return
			}
			now, end := l.Now(), time.Now()
			l.lookFrom, l.lookAt = start.Add(lookShare*end.Sub(start)), end.Add(l.poll)
			if next := l.turns.see(heads, now); !next.IsZero() {
				l.lookBy(next, now)
			}
		}
	})
}

// lookBy makes sure that a delivery that is due at a time by the injected clock is seen then.
func (l *loop) lookBy(due, now time.Time) {
	if at := time.Now().Add(due.Sub(now)); at.Before(l.lookAt) {
		l.lookAt = at
	}
}

// stumble waits, longer each time, because the database did not do what it was asked.
func (l *loop) stumble() {
	l.pause = min(max(2*l.pause, 50*time.Millisecond), maxPause)
	l.holdTill = time.Now().Add(l.pause)
}

// exchange writes down results and takes deliveries in one transaction.
func (l *loop) exchange(wanted map[string]int, now time.Time) {
	l.holdTill = time.Now().Add(pace)
	results, releases := l.results, l.releases
	l.results, l.releases = nil, nil
	writeDown := func(tx *store.Tx) error {
		for _, r := range releases {
			if err := tx.ReleaseDelivery(r.delivery.ID, r.delivery.ClaimID, r.due); err != nil {
				return err
			}
		}
		return tx.RecordAttempts(results, now)
	}
	request := store.ClaimRequest{ClaimID: store.NewID(), Now: now, LeaseUntil: now.Add(l.Timeout + leaseMargin), Wanted: wanted}
	ctx := context.WithoutCancel(l.ctx)
	l.question(func() func() {
		var got store.Claimed
		err := l.Store.Update(ctx, func(tx *store.Tx) (err error) {
			if err := writeDown(tx); err != nil || len(wanted) == 0 {
				return err
			}
			got, err = tx.ClaimDeliveries(request)
			return err
		})
		written := err == nil
		if err != nil && len(wanted) > 0 { // results must not wait for what keeps deliveries from being taken
			written = l.Store.Update(ctx, writeDown) == nil
		}
		return func() {
			if !written {
				l.results, l.releases = append(results, l.results...), append(releases, l.releases...)
			}
			if err != nil {
				l.Log.ErrorContext(ctx, "results and deliveries could not be exchanged with the database", "error", err)
				l.stumble()
				return
			}
			l.pause = 0
			l.turns.settle(wanted, got.Again)
			for _, d := range got.Deliveries {
				l.turns.take(d)
			}
		}
	})
}
