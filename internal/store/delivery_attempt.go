package store

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/webhook"
)

// AttemptResult is how an attempt ended that a sender made on a delivery in the queue.
type AttemptResult struct {
	webhook.Attempt
	EndpointID string
	DueAt      time.Time  // of the delivery, before the attempt
	Next       *time.Time // when to try again; nil: the delivery has ended, delivered or failed
}

// errMoved says that not all deliveries stood where they did.
var errMoved = errors.New("a delivery has left its place in the queue")

// RecordAttempts writes down the results of a sender in one transaction, each only if the delivery still stands where
// it did, and the sender still has the endpoint's queue: what another has taken over, or what was dropped, does not
// change. Recording a result twice is thus harmless.
func (s *Store) RecordAttempts(ctx context.Context, senderID string, results []AttemptResult) error {
	// To be told which rows a statement has found costs more than finding them, and nearly always it is all of them.
	err := s.Update(ctx, func(tx *Tx) error { return tx.recordAttempts(senderID, results, (*Tx).leaveTogether) })
	if errors.Is(err, errMoved) {
		err = s.Update(ctx, func(tx *Tx) error { return tx.recordAttempts(senderID, results, (*Tx).leave) })
	}
	return err
}

// leaver takes deliveries out of the queue and returns those that were there.
type leaver func(t *Tx, batch []*AttemptResult) ([]*AttemptResult, error)

func (t *Tx) recordAttempts(senderID string, results []AttemptResult, leave leaver) error {
	held, err := t.heldQueues(senderID, results)
	if err != nil {
		return err
	}
	var ended, repeated []*AttemptResult
	for i := range results {
		r := &results[i]
		switch {
		case held != nil && !held[r.EndpointID]:
		case r.Next == nil:
			ended = append(ended, r)
		default:
			repeated = append(repeated, r)
		}
	}
	// In the order of the index: transactions then wait for each other instead of locking each other out.
	slices.SortFunc(ended, func(a, b *AttemptResult) int {
		return cmp.Or(
			strings.Compare(a.EndpointID, b.EndpointID), a.DueAt.Compare(b.DueAt), strings.Compare(a.DeliveryID, b.DeliveryID),
		)
	})
	recorded := make([]*AttemptResult, 0, len(results))
	if err := inBatches(ended, func(batch []*AttemptResult) error {
		standing, err := leave(t, batch)
		if err != nil {
			return err
		}
		recorded = append(recorded, standing...)
		return t.insertAttempts(standing)
	}); err != nil {
		return err
	}
	for _, r := range repeated {
		n, err := t.exec(`UPDATE delivery_queue SET failures = failures + 1, attempts = attempts + 1, due_at = $1
			WHERE endpoint_id = $2 AND due_at = $3 AND delivery_id = $4`,
			micros(*r.Next), r.EndpointID, micros(r.DueAt), r.DeliveryID)
		if err == nil && n == 1 {
			recorded = append(recorded, r)
			err = t.insertAttempts([]*AttemptResult{r})
		}
		if err != nil {
			return err
		}
	}
	return t.countAttempts(recorded)
}

// leaveQueue removes n deliveries from the queue, by their places.
func leaveQueue(n int) string {
	var b strings.Builder
	b.WriteString("DELETE FROM delivery_queue WHERE (endpoint_id, due_at, delivery_id) IN (VALUES ")
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		p := 3*i + 1
		b.WriteString("($" + strconv.Itoa(p) + ",CAST($" + strconv.Itoa(p+1) + " AS BIGINT),$" + strconv.Itoa(p+2) + ")")
	}
	b.WriteByte(')')
	return b.String()
}

func places(batch []*AttemptResult) []any {
	args := make([]any, 0, 3*len(batch))
	for _, r := range batch {
		args = append(args, r.EndpointID, micros(r.DueAt), r.DeliveryID)
	}
	return args
}

// leaveTogether takes all deliveries out of the queue, or returns errMoved.
func (t *Tx) leaveTogether(batch []*AttemptResult) ([]*AttemptResult, error) {
	n, err := t.exec(leaveQueue(len(batch)), places(batch)...)
	if err == nil && int(n) != len(batch) {
		err = errMoved
	}
	return batch, err
}

// leave takes those deliveries out of the queue that are there.
func (t *Tx) leave(batch []*AttemptResult) ([]*AttemptResult, error) {
	byID := make(map[string]*AttemptResult, len(batch))
	for _, r := range batch {
		byID[r.DeliveryID] = r
	}
	found, err := t.idList(t.ctx, leaveQueue(len(batch))+" RETURNING delivery_id", places(batch))
	standing := make([]*AttemptResult, len(found))
	for i, id := range found {
		standing[i] = byID[id]
	}
	return standing, err
}

const attemptColumns = "delivery_id, number, at, duration, http_status, failure, answer"

func (t *Tx) insertAttempts(attempts []*AttemptResult) error {
	var plain, others []*AttemptResult
	for _, r := range attempts {
		if r.Acknowledged() && r.Answer == "" {
			plain = append(plain, r)
		} else {
			others = append(others, r)
		}
	}
	if err := inBatches(plain, t.insertPlain); err != nil {
		return err
	}
	return inBatches(others, func(batch []*AttemptResult) error {
		args := make([]any, 0, 10*len(batch))
		for _, r := range batch {
			ended := ""
			switch {
			case r.Next != nil:
			case r.Acknowledged():
				ended = string(webhook.Delivered)
			default:
				ended = string(webhook.Failed)
			}
			args = append(args, r.DeliveryID, r.Number, micros(r.At), r.Duration.Microseconds(), r.HTTPStatus,
				string(r.Failure), r.Answer,
				ended, microsOrNull(r.Next), 1)
		}
		_, err := t.exec(
			"INSERT INTO delivery_attempts ("+attemptColumns+", ended, next_at, kept) VALUES "+tuples(len(batch), 10), args...,
		)
		return err
	})
}

// insertPlain inserts what most attempts are, acknowledged with an empty answer, at half the price.
func (t *Tx) insertPlain(batch []*AttemptResult) error {
	const each = 5
	var b strings.Builder
	b.WriteString("INSERT INTO delivery_attempts (" + attemptColumns + ", ended, next_at, kept) VALUES ")
	args := make([]any, 0, each*len(batch))
	for i, r := range batch {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strings.TrimSuffix(list(each*i+1, each), ")") + ",'','','delivered',NULL,1)")
		args = append(args, r.DeliveryID, r.Number, micros(r.At), r.Duration.Microseconds(), r.HTTPStatus)
	}
	_, err := t.exec(b.String(), args...)
	return err
}

// Attempts returns the attempts on a delivery that are still kept, in their order.
func (q Queries) Attempts(ctx context.Context, deliveryID string) ([]webhook.Attempt, error) {
	var attempts []webhook.Attempt
	err := q.rows(ctx, "SELECT "+attemptColumns+` FROM delivery_attempts
			WHERE delivery_id = $1 AND kept = 1 ORDER BY number`, []any{deliveryID},
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

// HasAttempts reports whether there are attempts in the log that were made before the time.
func (q Queries) HasAttempts(ctx context.Context, before time.Time) (bool, error) {
	var n int
	err := q.row(
		ctx, "SELECT COUNT(*) FROM (SELECT 1 FROM delivery_attempts WHERE kept = 1 AND at < $1 LIMIT 1) AS found",
		[]any{micros(before)}, &n,
	)
	return n > 0, err
}

// DeleteOldAttempts deletes up to limit attempts that were made before the time, the oldest first, and returns how
// many. Of the attempt that ended a delivery it remains that it did.
func (t *Tx) DeleteOldAttempts(before time.Time, limit int) (int, error) {
	const oldest = `kept = 1 AND (delivery_id, number) IN (SELECT delivery_id, number FROM delivery_attempts
		WHERE kept = 1 AND at < $1 ORDER BY at LIMIT $2)`
	ends, err := t.exec(`UPDATE delivery_attempts SET kept = 0, duration = 0, http_status = 0, failure = '',
			answer = '' WHERE ended <> '' AND `+oldest,
		micros(before), limit)
	if err != nil || int(ends) == limit {
		return int(ends), err
	}
	others, err := t.exec("DELETE FROM delivery_attempts WHERE ended = '' AND "+oldest, micros(before), limit-int(ends))
	return int(ends + others), err
}
