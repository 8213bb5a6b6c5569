package store

import (
	"context"
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
	var acknowledged, failed []*AttemptResult
	for i := range results {
		if r := &results[i]; r.Acknowledged() {
			acknowledged = append(acknowledged, r)
		} else {
			failed = append(failed, r)
		}
	}
	if err := inBatches(acknowledged, func(batch []*AttemptResult) error { return t.recordDelivered(batch, now) }); err != nil {
		return err
	}
	for _, r := range failed {
		if err := t.recordFailed(r, now); err != nil {
			return err
		}
	}
	return nil
}

// recordDelivered ends deliveries that were acknowledged. It is what happens most, so it takes three statements for all
// of them.
func (t *Tx) recordDelivered(batch []*AttemptResult, now time.Time) error {
	claims := make([]any, 0, 2*len(batch))
	byID := make(map[string]*AttemptResult, len(batch))
	for _, r := range batch {
		claims = append(claims, r.DeliveryID, r.ClaimID)
		byID[r.DeliveryID] = r
	}
	standing, err := t.idList(t.ctx, "DELETE FROM delivery_queue WHERE (delivery_id, claim_id) IN (VALUES "+tuples(len(batch), 2)+
		") RETURNING delivery_id", claims)
	if err != nil {
		return err
	}
	return inBatches(standing, func(ids []string) error {
		attempts := make([]*AttemptResult, 0, len(ids))
		err := t.rows(t.ctx, "UPDATE deliveries SET status = 'delivered', attempts = attempts + 1, ended_at = $1 WHERE id IN "+list(2, len(ids))+
			" RETURNING id, attempts", append([]any{micros(now)}, anys(ids)...), func(scan func(...any) error) error {
			var id string
			var number int
			err := scan(&id, &number)
			r := byID[id]
			r.Number = number
			attempts = append(attempts, r)
			return err
		})
		if err != nil {
			return err
		}
		return t.insertAttempts(attempts)
	})
}

// recordFailed puts the delivery back into its queue for the next attempt, or ends it.
func (t *Tx) recordFailed(r *AttemptResult, now time.Time) error {
	text, args := "DELETE FROM delivery_queue WHERE delivery_id = $1 AND claim_id = $2", []any{r.DeliveryID, r.ClaimID}
	status, ended := webhook.Failed, any(micros(now))
	if r.Next != nil {
		text = "UPDATE delivery_queue SET claim_id = NULL, failures = failures + 1, due_at = $3 WHERE delivery_id = $1 AND claim_id = $2"
		args = append(args, micros(*r.Next))
		status, ended = webhook.Pending, nil
	}
	if n, err := t.exec(text, args...); err != nil || n == 0 {
		return err
	}
	if err := t.row(t.ctx, "UPDATE deliveries SET status = $1, attempts = attempts + 1, ended_at = CAST($2 AS BIGINT) WHERE id = $3 RETURNING attempts",
		[]any{string(status), ended, r.DeliveryID}, &r.Number); err != nil {
		return err
	}
	return t.insertAttempts([]*AttemptResult{r})
}

const attemptColumns = "delivery_id, number, at, duration, http_status, failure, answer"

func (t *Tx) insertAttempts(batch []*AttemptResult) error {
	return inBatches(batch, func(batch []*AttemptResult) error {
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
