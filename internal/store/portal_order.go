package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
)

// OrderRow is an order as lists of the portal show it.
type OrderRow struct {
	ID         string
	Seq        int64
	Number     string
	ExternalID string
	Status     order.Status
	Outcome    order.Outcome
	AnswerTime int
	Price      int64
	DueAt      *time.Time
	CreatedAt  time.Time
	UpdatedAt  time.Time
	EndedAt    *time.Time
	Item       order.Classification
}

const orderRowColumns = "id, seq, number, external_id, status, outcome, answer_time, price, due_at, created_at, updated_at, ended_at, facts"

// OrdersBelow returns up to limit orders of an account and environment whose sequence number is not above seq, newest
// first. With dense numbers a page is one such range, at the same cost at any depth.
func (q Queries) OrdersBelow(ctx context.Context, accountID string, env access.Environment, seq int64, limit int) ([]OrderRow, error) {
	return q.orderRows(ctx, "SELECT "+orderRowColumns+` FROM orders WHERE account_id = $1 AND environment = CAST($2 AS TEXT) AND seq <= $3 AND seq > $4
		ORDER BY seq DESC`, accountID, string(env), seq, seq-int64(limit))
}

// OrdersInStates returns up to limit orders in any of the states, whose sequence number is below before, newest first. A state is
// the outcome of an order that has one, else its status. Each state is a range of an index, of which no more than a page is read.
func (q Queries) OrdersInStates(ctx context.Context, accountID string, env access.Environment, states []string, before int64, limit int) ([]OrderRow, error) {
	var found []OrderRow
	for _, state := range states {
		rows, err := q.orderRows(ctx, ordersInState, accountID, string(env), state, before, limit)
		if err != nil {
			return nil, err
		}
		found = append(found, rows...)
	}
	slices.SortFunc(found, func(a, b OrderRow) int { return cmp.Compare(b.Seq, a.Seq) })
	return found[:min(limit, len(found))], nil
}

const ordersInState = "SELECT " + orderRowColumns + ` FROM orders WHERE account_id = $1 AND environment = $2 AND COALESCE(outcome, status) = $3 AND seq < $4
	ORDER BY seq DESC LIMIT $5`

// CountWaiting counts the orders that wait for photos, as far as limit.
func (q Queries) CountWaiting(ctx context.Context, accountID string, env access.Environment, limit int) (int, error) {
	var n int
	err := q.row(ctx, `SELECT COUNT(*) FROM (SELECT 1 FROM orders WHERE account_id = $1 AND environment = $2 AND COALESCE(outcome, status) = 'update-photos' LIMIT $3) AS found`,
		[]any{accountID, string(env), limit}, &n)
	return n, err
}

// FindOrders returns the order of an account and environment with the id or order number, or else up to limit orders with
// the external id, newest first.
func (q Queries) FindOrders(ctx context.Context, accountID string, env access.Environment, id, number, externalID string, limit int) ([]OrderRow, error) {
	const where = " FROM orders WHERE account_id = $1 AND environment = CAST($2 AS TEXT) AND "
	for _, exact := range []struct{ column, value string }{{"id", id}, {"number", number}} {
		if exact.value == "" {
			continue
		}
		found, err := q.orderRows(ctx, "SELECT "+orderRowColumns+where+exact.column+" = $3", accountID, string(env), exact.value)
		if err != nil || len(found) > 0 {
			return found, err
		}
	}
	return q.orderRows(ctx, "SELECT "+orderRowColumns+where+"external_id = $3 ORDER BY seq DESC LIMIT $4", accountID, string(env), externalID, limit)
}

func (q Queries) orderRows(ctx context.Context, text string, args ...any) ([]OrderRow, error) {
	var found []OrderRow
	err := q.rows(ctx, text, args, func(scan func(...any) error) error {
		var o OrderRow
		var externalID, outcome sql.NullString
		var due, ended sql.NullInt64
		var created, updated int64
		var stored string
		if err := scan(&o.ID, &o.Seq, &o.Number, &externalID, &o.Status, &outcome, &o.AnswerTime, &o.Price, &due, &created, &updated, &ended,
			&stored); err != nil {
			return err
		}
		o.ExternalID, o.Outcome = externalID.String, order.Outcome(outcome.String)
		o.DueAt, o.CreatedAt, o.UpdatedAt, o.EndedAt = timeOrNil(due), timeOf(created), timeOf(updated), timeOrNil(ended)
		var facts struct {
			Classification order.Classification `json:"classification"`
		}
		err := json.Unmarshal([]byte(stored), &facts)
		o.Item = facts.Classification
		found = append(found, o)
		return err
	})
	return found, err
}

// OrderOf returns an order of the account and environment, whole.
func (q Queries) OrderOf(ctx context.Context, accountID string, env access.Environment, id string) (*order.Order, error) {
	return q.order(ctx, "SELECT "+orderColumns+" FROM orders WHERE id = $1 AND account_id = $2 AND environment = $3", id, accountID, string(env))
}

// OrderTimes returns when orders were created, by sequence number.
func (q Queries) OrderTimes(ctx context.Context, accountID string, env access.Environment, seqs []int64) (map[int64]time.Time, error) {
	times := make(map[int64]time.Time, len(seqs))
	for len(seqs)%batchSizes[0] != 0 { // one long list instead of several short ones
		seqs = append(seqs, seqs[len(seqs)-1])
	}
	err := inBatches(seqs, func(seqs []int64) error {
		args := []any{accountID, string(env)}
		for _, s := range seqs {
			args = append(args, s)
		}
		return q.rows(ctx, "SELECT seq, created_at FROM orders WHERE account_id = $1 AND environment = $2 AND seq IN "+list(3, len(seqs)), args,
			func(scan func(...any) error) error {
				var seq, at int64
				err := scan(&seq, &at)
				times[seq] = timeOf(at)
				return err
			})
	})
	return times, err
}

// Refunded reports whether an order was refunded.
func (q Queries) Refunded(ctx context.Context, orderID string) (bool, error) {
	var n int
	err := q.row(ctx, `SELECT COUNT(*) FROM ledger_entries c JOIN ledger_entries r ON r.charge_id = c.id WHERE c.order_id = $1 AND c.kind = 'charge'`,
		[]any{orderID}, &n)
	return n > 0, err
}

// PhotoOf reports whether a photo belongs to the account, in whichever environment.
func (q Queries) PhotoOf(ctx context.Context, accountID, name string) (bool, error) {
	var n int
	err := q.row(ctx, "SELECT COUNT(*) FROM photos WHERE name = $1 AND account_id = $2", []any{name, accountID}, &n)
	return n > 0, err
}
