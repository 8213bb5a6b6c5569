package deliver

import (
	"context"
	"time"

	"github.com/assayhq/assay/internal/store"
)

const (
	writeDelay = 10 * time.Millisecond // how long a result may wait for others
	writeBatch = 256                   // results that are written at once
)

// writer is the part of the loop that records results.
type writer struct {
	writing    int // results that are being written
	results    []store.AttemptResult
	queues     []*endpointQueue // of results, by index
	writeFrom  time.Time        // earliest time of the next write, by the real clock
	written    []written        // to be dropped once no running read may have seen them in the queue
	retryPause time.Duration
}

type written struct {
	queue      *endpointQueue
	deliveryID string
}

// addResult queues a result to be recorded.
func (l *loop) addResult(queue *endpointQueue, r store.AttemptResult) {
	if len(l.results) == 0 && l.writing == 0 && l.retryPause == 0 {
		l.writeFrom = time.Now().Add(writeDelay)
	}
	l.results, l.queues = append(l.results, r), append(l.queues, queue)
}

// nextWrite returns when write has to be called at the latest.
func (l *loop) nextWrite() time.Time {
	if l.writing > 0 || len(l.results) == 0 {
		return farFuture
	}
	return l.writeFrom
}

// write starts recording results if there are many or one has waited.
func (l *loop) write(now time.Time) {
	full := len(l.results) >= writeBatch && l.retryPause == 0
	if l.writing > 0 || len(l.results) == 0 || (!full && l.writeFrom.After(now)) {
		return
	}
	results, queues := l.results, l.queues
	l.results, l.queues, l.writing = nil, nil, len(results)
	l.start(func() {
		err := l.Store.RecordAttempts(context.WithoutCancel(l.ctx), l.node, results)
		l.update(func() {
			l.writing = 0
			if err != nil {
				l.rounds.Ended(err)
				l.Log.ErrorContext(l.ctx, "delivery results could not be recorded", "error", err)
				l.results, l.queues = append(results, l.results...), append(queues, l.queues...)
				l.retryPause = backoff(l.retryPause)
				l.writeFrom = time.Now().Add(l.retryPause)
				return
			}
			l.retryPause = 0
			l.writeFrom = time.Now().Add(writeDelay)
			now := l.Now()
			for i := range results {
				l.written = append(l.written, written{queues[i], results[i].DeliveryID})
				if next := results[i].Next; next != nil {
					l.scanBy(*next, now)
				}
			}
			if !l.reading {
				l.dropWritten()
			}
		})
	})
}

// dropWritten drops deliveries whose results are recorded.
func (l *loop) dropWritten() {
	for _, w := range l.written {
		l.scheduler.drop(w.queue, w.deliveryID)
	}
	l.written = l.written[:0]
}
