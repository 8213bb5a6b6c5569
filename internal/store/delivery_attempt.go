package store

import (
	"context"
	"errors"
	"time"

	"github.com/assayhq/assay/internal/domain/webhook"
)

// AttemptResult is how an attempt on a claimed delivery ended. The attempt's number is given by the store.
type AttemptResult struct {
	webhook.Attempt
	ClaimID string
	Next    *time.Time // when to try again; nil: the delivery has ended, delivered or failed
}

// RecordAttempts writes down results, each only if its claim still stands: a result whose lease was taken over, or whose
// delivery was dropped, changes nothing. Recording a result twice is thus harmless.
func (t *Tx) RecordAttempts(results []AttemptResult, now time.Time) error {
	var ended, repeated []*AttemptResult
	for i := range results {
		if r := &results[i]; r.Next == nil {
			ended = append(ended, r)
		} else {
			repeated = append(repeated, r)
		}
	}
	if err := inBatches(ended, func(batch []*AttemptResult) error { return t.recordEnds(batch, now) }); err != nil {
		return err
	}
	for _, r := range repeated {
		err := t.row(t.ctx, `UPDATE delivery_queue SET claim_id = NULL, failures = failures + 1, attempts = attempts + 1, due_at = $1
			WHERE delivery_id = $2 AND claim_id = $3 RETURNING attempts`, []any{micros(*r.Next), r.DeliveryID, r.ClaimID}, &r.Number)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err == nil {
			err = t.insertAttempts([]*AttemptResult{r})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// leaveQueue removes n rows by their deliveries, if delivery and claim belong together. PostgreSQL would compare the two as
// pairs only by reading the whole queue.
func leaveQueue(n int) string {
	return "DELETE FROM delivery_queue WHERE delivery_id IN " + list(1, n) + " AND delivery_id || claim_id IN " + list(n+1, n) + " RETURNING delivery_id, attempts + 1"
}

// recordEnds moves deliveries from the queue to those that have ended. It is what happens most, so it takes three
// statements for many.
func (t *Tx) recordEnds(batch []*AttemptResult, now time.Time) error {
	claims := make([]any, 2*len(batch))
	byID := make(map[string]*AttemptResult, len(batch))
	for i, r := range batch {
		claims[i], claims[len(batch)+i] = r.DeliveryID, r.DeliveryID+r.ClaimID
		byID[r.DeliveryID] = r
	}
	standing := make([]*AttemptResult, 0, len(batch))
	err := t.rows(t.ctx, leaveQueue(len(batch)), claims, func(scan func(...any) error) error {
		var id string
		var number int
		err := scan(&id, &number)
		r := byID[id]
		r.Number = number
		standing = append(standing, r)
		return err
	})
	if err != nil {
		return err
	}
	if err := inBatches(standing, func(batch []*AttemptResult) error {
		args := make([]any, 0, 4*len(batch))
		for _, r := range batch {
			status := webhook.Failed
			if r.Acknowledged() {
				status = webhook.Delivered
			}
			args = append(args, r.DeliveryID, string(status), r.Number, micros(now))
		}
		_, err := t.exec("INSERT INTO delivery_ends (delivery_id, status, attempts, ended_at) VALUES "+tuples(len(batch), 4), args...)
		return err
	}); err != nil {
		return err
	}
	return t.insertAttempts(standing)
}

const attemptColumns = "delivery_id, number, at, duration, http_status, failure, answer"

func (t *Tx) insertAttempts(attempts []*AttemptResult) error {
	return inBatches(attempts, func(batch []*AttemptResult) error {
		args := make([]any, 0, 7*len(batch))
		for _, r := range batch {
			args = append(args, r.DeliveryID, r.Number, micros(r.At), r.Duration.Microseconds(), r.HTTPStatus, string(r.Failure), r.Answer)
		}
		_, err := t.exec("INSERT INTO delivery_attempts ("+attemptColumns+") VALUES "+tuples(len(batch), 7), args...)
		return err
	})
}

// Attempts returns the attempts on a delivery that are still kept, in their order.
func (q Queries) Attempts(ctx context.Context, deliveryID string) ([]webhook.Attempt, error) {
	var attempts []webhook.Attempt
	err := q.rows(ctx, "SELECT "+attemptColumns+" FROM delivery_attempts WHERE delivery_id = $1 ORDER BY number", []any{deliveryID},
		func(scan func(...any) error) error {
			var a webhook.Attempt
			var at, duration int64
			err := scan(&a.DeliveryID, &a.Number, &at, &duration, &a.HTTPStatus, &a.Failure, &a.Answer)
			a.At, a.Duration = timeOf(at), time.Duration(duration)*time.Microsecond
			attempts = append(attempts, a)
			return err
		})
	return attempts, err
}

// PruneAttempts forgets up to limit attempts that were made before the time, the oldest first, and returns how many.
func (t *Tx) PruneAttempts(before time.Time, limit int) (int, error) {
	n, err := t.exec(`DELETE FROM delivery_attempts WHERE (delivery_id, number) IN (
		SELECT delivery_id, number FROM delivery_attempts WHERE at < $1 ORDER BY at LIMIT $2)`, micros(before), limit)
	return int(n), err
}
