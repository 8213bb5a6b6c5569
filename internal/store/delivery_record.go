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
	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/db"
)

// AttemptResult is how an attempt ended that a sender made on a delivery in the queue.
type AttemptResult struct {
	webhook.Attempt
	EndpointID string
	DueAt      time.Time  // of the delivery, before the attempt
	Row        string     // of the delivery, as QueuedDelivery has it; found by its place where it is empty
	Next       *time.Time // when to try again; nil: the delivery has ended, delivered or failed
}

// errMoved says that not all deliveries stood where they did.
var errMoved = errors.New("a delivery has left its place in the queue")

// RecordAttempts writes down the results of a sender in one transaction, each only if the delivery still stands where
// it did, and the sender still has the endpoint's queue: what another has taken over, or what was dropped, does not
// change. Recording a result twice is thus harmless.
func (s *Store) RecordAttempts(ctx context.Context, senderID string, results []AttemptResult) error {
	// Nearly always all stand where they did, and then all go together.
	err := s.Update(ctx, func(tx *Tx) error { return tx.recordAttempts(senderID, results, (*Tx).recordTogether) })
	if errors.Is(err, errMoved) {
		err = s.Update(ctx, func(tx *Tx) error { return tx.recordAttempts(senderID, results, (*Tx).recordApart) })
	}
	return err
}

// EndDeliveries writes down how deliveries ended that no sender works on, those of them that still wait.
func (t *Tx) EndDeliveries(results []AttemptResult) error {
	for i := range results {
		if _, err := t.recordStanding(&results[i]); err != nil {
			return err
		}
	}
	return nil
}

func (t *Tx) recordAttempts(
	senderID string, results []AttemptResult, record func(t *Tx, results []*AttemptResult) error,
) error {
	held, err := t.heldQueues(senderID, results)
	if err != nil {
		return err
	}
	mine := make([]*AttemptResult, 0, len(results))
	for i := range results {
		if r := &results[i]; held == nil || held[r.EndpointID] {
			mine = append(mine, r)
		}
	}
	// In the order of the index, which is the cheapest. Those of other senders are kept out by the leases.
	slices.SortFunc(mine, func(a, b *AttemptResult) int {
		return cmp.Or(cmp.Compare(a.EndpointID, b.EndpointID), a.DueAt.Compare(b.DueAt),
			cmp.Compare(a.DeliveryID, b.DeliveryID))
	})
	return record(t, mine)
}

// recordTogether records results if all deliveries stand where they did, else it returns errMoved.
func (t *Tx) recordTogether(results []*AttemptResult) error {
	var repeated []db.Command
	ended := make([]*AttemptResult, 0, len(results))
	for _, r := range results {
		if r.Next == nil {
			ended = append(ended, r)
		} else {
			repeated = append(repeated, postpone(r))
		}
	}
	commands := append(t.leaveQueue(ended), repeated...)
	commands = append(commands, t.insertAttempts(results)...)
	return t.db.Batch(countAttempts(commands, results), false)
}

// recordApart records those results whose deliveries stand where they did.
func (t *Tx) recordApart(results []*AttemptResult) error {
	recorded := make([]*AttemptResult, 0, len(results))
	for _, r := range results {
		standing, err := t.recordStanding(r)
		if err != nil {
			return err
		}
		if standing {
			recorded = append(recorded, r)
		}
	}
	return t.db.Batch(countAttempts(nil, recorded), false)
}

// recordStanding records a result if the delivery stands where it did, and reports whether.
func (t *Tx) recordStanding(r *AttemptResult) (standing bool, err error) {
	one := []*AttemptResult{r}
	command := leave(r)
	if r.Next != nil {
		command = postpone(r)
	}
	err = t.db.Batch([]db.Command{command}, false)
	if errors.Is(err, errMoved) {
		return false, nil
	}
	if err == nil {
		err = t.db.Batch(t.insertAttempts(one), false)
	}
	return true, err
}

// expectChanged checks that a statement has changed n rows.
func expectChanged(n int) func(int64) error {
	return func(changed int64) error {
		if changed != int64(n) {
			return errMoved
		}
		return nil
	}
}

// postpone moves a delivery back in the queue after an attempt that failed.
func postpone(r *AttemptResult) db.Command {
	return db.Command{
		Text: `UPDATE delivery_queue SET failures = failures + 1, attempts = attempts + 1, due_at = $1
			WHERE endpoint_id = $2 AND due_at = $3 AND delivery_id = $4`,
		Args:    []any{column.Micros(*r.Next), r.EndpointID, column.Micros(r.DueAt), r.DeliveryID},
		Changed: expectChanged(1),
	}
}

// leave removes a delivery from the queue, by its place.
func leave(r *AttemptResult) db.Command {
	return db.Command{
		Text:    "DELETE FROM delivery_queue WHERE endpoint_id = $1 AND due_at = $2 AND delivery_id = $3",
		Args:    []any{r.EndpointID, column.Micros(r.DueAt), r.DeliveryID},
		Changed: expectChanged(1),
	}
}

// leaveQueue removes deliveries from the queue.
func (t *Tx) leaveQueue(ended []*AttemptResult) (commands []db.Command) {
	if t.db.Dialect == &db.Postgres {
		return leaveByRow(ended)
	}
	for batch := range db.Batches(ended) {
		args := make([]any, 0, 3*len(batch))
		for _, r := range batch {
			args = append(args, r.EndpointID, column.Micros(r.DueAt), r.DeliveryID)
		}
		commands = append(commands, db.Command{Text: leaveText(len(batch)), Args: args, Changed: expectChanged(len(batch))})
	}
	return commands
}

var leaveText = db.ByLength(func(n int) string {
	return "DELETE FROM delivery_queue WHERE (endpoint_id, due_at, delivery_id) IN (VALUES " + db.Tuples(n, 3) + ")"
})

// leaveRows is leaveText for PostgreSQL, which reads an array for much less than as many parameters, and goes to a row
// that was read before for half as much as through the index. A row may have been moved or taken by another delivery
// since. The conditions are ones that no index serves: PostgreSQL is not to look for a better plan while the queue is
// short, and then keep it.
const leaveRows = `DELETE FROM delivery_queue q
	USING unnest($1::text[], $2::bigint[], $3::text[]) AS ended (place, due_at, delivery_id)
	WHERE q.ctid = ended.place::tid AND q.due_at IS NOT DISTINCT FROM ended.due_at
		AND q.delivery_id IS NOT DISTINCT FROM ended.delivery_id`

func leaveByRow(ended []*AttemptResult) (commands []db.Command) {
	rows, due, ids := make([]string, 0, len(ended)), make([]int64, 0, len(ended)), make([]string, 0, len(ended))
	for _, r := range ended {
		if r.Row == "" {
			commands = append(commands, leave(r))
			continue
		}
		rows, due, ids = append(rows, r.Row), append(due, column.Micros(r.DueAt)), append(ids, r.DeliveryID)
	}
	if len(rows) > 0 {
		commands = append(commands, db.Command{
			Text: leaveRows, Args: []any{rows, due, ids}, Changed: expectChanged(len(rows)),
		})
	}
	return commands
}

const attemptColumns = "delivery_id, number, at, duration, http_status, failure, answer"

// insertAttempts adds attempts to the log. Most are plain: acknowledged with an empty answer.
func (t *Tx) insertAttempts(attempts []*AttemptResult) (commands []db.Command) {
	var plain, failed, others []*AttemptResult
	for _, r := range attempts {
		switch {
		case r.Acknowledged() && r.Answer == "":
			plain = append(plain, r)
		case r.Next == nil && !r.Acknowledged():
			failed = append(failed, r)
		default:
			others = append(others, r)
		}
	}
	if t.db.Dialect == &db.Postgres {
		commands = insertPlainInArrays(plain)
	} else {
		commands = insertPlain(plain)
	}
	return append(append(commands, insertOthers(others)...), insertFailed(failed)...)
}

// insertOthers adds attempts that are to be repeated, or were acknowledged with an answer.
func insertOthers(attempts []*AttemptResult) (commands []db.Command) {
	for batch := range db.Batches(attempts) {
		args := make([]any, 0, 11*len(batch))
		for _, r := range batch {
			ended := ""
			if r.Next == nil {
				ended = string(webhook.Delivered)
			}
			args = append(args, r.DeliveryID, r.Number, column.Micros(r.At), r.Duration.Microseconds(), r.HTTPStatus,
				string(r.Failure), r.Answer, r.Headers, ended, column.MicrosOrNull(r.Next), 1)
		}
		commands = append(commands, db.Command{
			Text: "INSERT INTO delivery_attempts (" + attemptColumns + ", headers, ended, next_at, kept) VALUES " +
				db.Tuples(len(batch), 11),
			Args: args,
		})
	}
	return commands
}

const failedColumns = 9 // in which attempts differ with which deliveries have failed

// insertFailed adds the last attempts on deliveries that have failed, under their tenants and endpoints.
func insertFailed(attempts []*AttemptResult) (commands []db.Command) {
	for batch := range db.Batches(attempts) {
		args := make([]any, 0, failedColumns*len(batch))
		for _, r := range batch {
			args = append(args, r.DeliveryID, r.Number, column.Micros(r.At), r.Duration.Microseconds(), r.HTTPStatus,
				string(r.Failure), r.Answer, r.Headers, r.EndpointID)
		}
		commands = append(commands, db.Command{Text: failedText(len(batch)), Args: args})
	}
	return commands
}

var failedText = db.ByLength(func(n int) string {
	rows := make([]string, n)
	for i := range rows {
		first := failedColumns*i + 1
		rows[i] = strings.TrimSuffix(db.List(first, failedColumns), ")") + `, 'failed', 1, (SELECT b.tenant FROM deliveries d
			JOIN balances b ON b.account_id = d.account_id AND b.environment = d.environment
			WHERE d.id = $` + strconv.Itoa(first) + "))"
	}
	return "INSERT INTO delivery_attempts (" + attemptColumns + `, headers, failed_endpoint, ended, kept, failed_tenant)
		VALUES ` + strings.Join(rows, ", ")
})

const (
	plainColumns = 5 // in which plain attempts differ
	plainValues  = "'', '', 'delivered', NULL, 1"
	insertInto   = "INSERT INTO delivery_attempts (" + attemptColumns + ", ended, next_at, kept) "
)

func insertPlain(attempts []*AttemptResult) (commands []db.Command) {
	for batch := range db.Batches(attempts) {
		args := make([]any, 0, plainColumns*len(batch))
		for _, r := range batch {
			args = append(args, r.DeliveryID, r.Number, column.Micros(r.At), r.Duration.Microseconds(), r.HTTPStatus)
		}
		commands = append(commands, db.Command{Text: plainText(len(batch)), Args: args})
	}
	return commands
}

// plainText inserts plain attempts at half the price of others.
var plainText = db.ByLength(func(n int) string {
	rows := make([]string, n)
	for i := range rows {
		rows[i] = strings.TrimSuffix(db.List(plainColumns*i+1, plainColumns), ")") + ", " + plainValues + ")"
	}
	return insertInto + "VALUES " + strings.Join(rows, ", ")
})

// plainArrays is plainText for PostgreSQL.
const plainArrays = insertInto + `SELECT delivery_id, number, at, duration, http_status, ` + plainValues + `
	FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])
	AS made (delivery_id, number, at, duration, http_status)`

func insertPlainInArrays(attempts []*AttemptResult) []db.Command {
	if len(attempts) == 0 {
		return nil
	}
	n := len(attempts)
	ids, numbers, times := make([]string, n), make([]int64, n), make([]int64, n)
	durations, statuses := make([]int64, n), make([]int64, n)
	for i, r := range attempts {
		ids[i], numbers[i], times[i] = r.DeliveryID, int64(r.Number), column.Micros(r.At)
		durations[i], statuses[i] = r.Duration.Microseconds(), int64(r.HTTPStatus)
	}
	return []db.Command{{Text: plainArrays, Args: []any{ids, numbers, times, durations, statuses}}}
}
