package deliver

import (
	"context"
	"time"

	"github.com/assayhq/assay/internal/store"
)

const (
	writePace = 10 * time.Millisecond // that a result may wait for others
	writeLoad = 128                   // results that do not wait
)

// writer is the part of the loop that writes down how attempts went.
type writer struct {
	writing   bool
	results   []store.AttemptResult
	lanes     []*lane   // of the results
	writeFrom time.Time // when to write what there is, by the real clock
	written   []written // to be let go once no reading is under way that may have seen them in the queue
	longPause time.Duration
}

type written struct {
	lane       *lane
	deliveryID string
}

// add takes a result.
func (l *loop) add(lane *lane, r store.AttemptResult) {
	if len(l.results) == 0 && !l.writing && l.longPause == 0 {
		l.writeFrom = time.Now().Add(writePace)
	}
	l.results, l.lanes = append(l.results, r), append(l.lanes, lane)
}

// nextWrite returns when write has to be called, if nothing happens before.
func (l *loop) nextWrite() time.Time {
	if l.writing || len(l.results) == 0 {
		return never
	}
	return l.writeFrom
}

// write begins to write down results, when there are many or one has waited.
func (l *loop) write() {
	full := len(l.results) >= writeLoad && l.longPause == 0
	if l.writing || len(l.results) == 0 || (!full && l.writeFrom.After(time.Now())) {
		return
	}
	results, lanes := l.results, l.lanes
	l.results, l.lanes, l.writing = nil, nil, true
	go func() {
		err := l.Store.RecordAttempts(context.WithoutCancel(l.ctx), l.node, results)
		l.answers <- func() {
			l.writing = false
			if err != nil {
				l.Log.ErrorContext(l.ctx, "results of deliveries could not be written down", "error", err)
				l.results, l.lanes = append(results, l.results...), append(lanes, l.lanes...)
				l.longPause = longer(l.longPause)
				l.writeFrom = time.Now().Add(l.longPause)
				return
			}
			l.longPause = 0
			l.writeFrom = time.Now().Add(writePace)
			now := l.Now()
			for i := range results {
				l.written = append(l.written, written{lanes[i], results[i].DeliveryID})
				if next := results[i].Next; next != nil {
					l.lookBy(*next, now)
				}
			}
			if !l.reading {
				l.letGoWritten()
			}
		}
	}()
}

// letGoWritten lets go of deliveries whose results are written down.
func (l *loop) letGoWritten() {
	for _, w := range l.written {
		l.turns.letGo(w.lane, w.deliveryID)
	}
	l.written = l.written[:0]
}
