package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
)

// DeskFilter says which orders a list of the desk shows.
type DeskFilter struct {
	Environment access.Environment
	Status      order.Status // empty: any
	AssigneeID  string       // empty: anybody's and nobody's
}

func (f *DeskFilter) statuses() []order.Status {
	if f.Status != "" {
		return []order.Status{f.Status}
	}
	return order.Statuses
}

// DeskRow is an order in a list of the desk, with the name of who holds it.
type DeskRow struct {
	order.Order
	AssigneeName string
}

// dueKey sorts the earliest due first and orders without a due date last, on both engines. It is also what the indexes
// hold, word for word.
const dueKey = "COALESCE(due_at, 9223372036854775807)"

// neverDue is the dueKey of an order without a due date.
const neverDue = math.MaxInt64

// DeskPage returns a page of the orders that match, the earliest due first and those without a due date last, and how
// many match. The first pages cost the same however many orders there are: each status is a range of an index, and
// nothing is counted but what one reviewer holds. Of the order, what a list shows is read.
func (q Queries) DeskPage(ctx context.Context, f DeskFilter, page, limit int) ([]DeskRow, int64, error) {
	total, err := q.deskTotal(ctx, &f)
	offset := int64(page-1) * int64(limit)
	if err != nil || offset >= total {
		return nil, total, err
	}
	text, args := deskPageQuery(&f, offset, limit)
	orders := make([]DeskRow, 0, limit)
	err = q.rows(ctx, text, args, func(scan func(...any) error) error {
		o, err := scanDeskRow(scan)
		orders = append(orders, o)
		return err
	})
	return orders, total, err
}

// deskPageQuery takes as many orders of each status as could be on the page, in order, and merges them. Statuses and
// environment are words of the program, so they stand in the text, where both planners see them.
func deskPageQuery(f *DeskFilter, offset int64, limit int) (text string, args []any) {
	args = []any{offset + int64(limit), limit, offset}
	mine := ""
	if f.AssigneeID != "" {
		args = append(args, f.AssigneeID)
		mine = " AND assignee_id = $4"
	}
	statuses := f.statuses()
	parts := make([]string, len(statuses))
	for i, s := range statuses {
		parts[i] = fmt.Sprintf(`SELECT * FROM (SELECT id, %s AS due FROM orders WHERE environment = '%s' AND status = '%s'%s ORDER BY %s, id LIMIT $1) AS s%d`,
			dueKey, f.Environment, s, mine, dueKey, i)
	}
	return `SELECT o.id, o.environment, o.number, o.external_id, o.status, o.outcome, o.answer_time, o.due_at, o.time_left, o.updated_at, o.ended_at,
		o.delayed, o.facts, o.assignee_id, staff.name
		FROM (SELECT id, due FROM (` + strings.Join(parts, " UNION ALL ") + `) AS candidates ORDER BY due, id LIMIT $2 OFFSET $3) AS page
		JOIN orders AS o ON o.id = page.id LEFT JOIN staff ON staff.id = o.assignee_id ORDER BY page.due, page.id`, args
}

func scanDeskRow(scan func(...any) error) (DeskRow, error) {
	var o DeskRow
	var outcome, assignee, name sql.NullString
	var due, left, ended sql.NullInt64
	var updated, delayed int64
	var facts string
	if err := scan(&o.ID, &o.Environment, &o.Number, &o.ExternalID, &o.Status, &outcome, &o.AnswerTime, &due, &left, &updated, &ended,
		&delayed, &facts, &assignee, &name); err != nil {
		return o, err
	}
	if left.Valid {
		d := time.Duration(left.Int64) * time.Microsecond
		o.TimeLeft = &d
	}
	o.Outcome, o.AssigneeID, o.AssigneeName = order.Outcome(outcome.String), assignee.String, name.String
	o.DueAt, o.EndedAt, o.UpdatedAt, o.Delayed = timeOrNil(due), timeOrNil(ended), timeOf(updated), delayed == 1
	return o, json.Unmarshal([]byte(facts), &o.Facts)
}

func (q Queries) deskTotal(ctx context.Context, f *DeskFilter) (total int64, err error) {
	if f.AssigneeID != "" {
		err = q.row(ctx, fmt.Sprintf("SELECT COUNT(*) FROM orders WHERE assignee_id = $1 AND environment = '%s' AND status IN %s", f.Environment,
			quoted(f.statuses())), []any{f.AssigneeID}, &total)
		return total, err
	}
	counts, err := q.OrderCounts(ctx, f.Environment)
	for _, s := range f.statuses() {
		total += counts[s]
	}
	return total, err
}

// OrderCounts returns how many orders of an environment are in each status, in one consistent look. In Live nothing is
// counted: the moves keep the numbers. In Test, where a move is as frequent as a creation, all but the completed orders
// are counted.
func (q Queries) OrderCounts(ctx context.Context, env access.Environment) (map[order.Status]int64, error) {
	const all = "SELECT 'all', CAST(COALESCE(SUM(orders), 0) AS BIGINT) FROM balances WHERE environment = $1"
	rest, text := order.Queued, "SELECT status, orders FROM live_order_counts UNION ALL "+all
	if env == access.Test {
		rest = order.Completed
		text = "SELECT status, COUNT(*) FROM orders WHERE environment = $1 AND status IN ('queued', 'processing', 'update-photos', 'error') GROUP BY status UNION ALL " + all
	}
	counts := make(map[order.Status]int64, len(order.Statuses))
	err := q.rows(ctx, text, []any{string(env)}, func(scan func(...any) error) error {
		var status string
		var n int64
		err := scan(&status, &n)
		if status == "all" {
			counts[rest] += n
		} else {
			counts[order.Status(status)] = n
			counts[rest] -= n
		}
		return err
	})
	return counts, err
}

// countMove keeps the numbers of Live orders by status when an order is about to be stored in another one. The rows are
// changed in one order by everybody, so that no two moves wait for each other.
func (t *Tx) countMove(o *order.Order) error {
	if o.Environment != access.Live {
		return nil
	}
	var from order.Status
	if err := t.row(t.ctx, "SELECT status FROM orders WHERE id = $1", []any{o.ID}, &from); err != nil || from == o.Status {
		return err
	}
	for _, s := range order.Statuses {
		if s == order.Queued || s != from && s != o.Status { // queued is what is in no other status
			continue
		}
		change := 1
		if s == from {
			change = -1
		}
		if err := t.one("UPDATE live_order_counts SET orders = orders + $1 WHERE status = $2", change, string(s)); err != nil {
			return err
		}
	}
	return nil
}

const nextQueued = "SELECT id FROM orders WHERE environment = 'live' AND status = 'queued' ORDER BY " + dueKey + ", id LIMIT 1"

// NextQueued returns the id of the queued Live order with the earliest due date that no other transaction is about to
// take, or ErrNotFound.
func (t *Tx) NextQueued() (string, error) {
	var id string
	err := t.row(t.ctx, nextQueued+t.d.skipLocked, nil, &id)
	return id, err
}

// StaleClaims returns up to limit Live orders whose assignee has done nothing since the time, the longest idle first.
func (q Queries) StaleClaims(ctx context.Context, since time.Time, limit int) ([]string, error) {
	return q.orderIDs(ctx, "SELECT id FROM orders WHERE environment = 'live' AND status = 'processing' AND claimed_at <= $1 ORDER BY claimed_at LIMIT $2",
		micros(since), limit)
}

// ClaimsOf returns the Live orders that a staff user holds.
func (q Queries) ClaimsOf(ctx context.Context, staffID string) ([]string, error) {
	return q.orderIDs(ctx, "SELECT id FROM orders WHERE assignee_id = $1 AND environment = 'live' AND status = 'processing' ORDER BY "+dueKey+", id", staffID)
}

func (q Queries) orderIDs(ctx context.Context, text string, args ...any) ([]string, error) {
	var ids []string
	err := q.rows(ctx, text, args, func(scan func(...any) error) error {
		var id string
		err := scan(&id)
		ids = append(ids, id)
		return err
	})
	return ids, err
}

// TouchClaim notes that the assignee is at work on an order, unless that was noted after the time noted.
func (t *Tx) TouchClaim(orderID, staffID string, now, noted time.Time) error {
	err := t.one("UPDATE orders SET claimed_at = $1 WHERE id = $2 AND assignee_id = $3 AND status = 'processing' AND claimed_at <= $4",
		micros(now), orderID, staffID, micros(noted))
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// quoted returns "('a','b')" for words of the program.
func quoted[S ~string](words []S) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("'" + string(w) + "'")
	}
	return "(" + b.String() + ")"
}
