package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
)

// InsertOrder adds an order under a fresh order number, which it sets.
func (t *Tx) InsertOrder(o *order.Order) error {
	facts, err := json.Marshal(&o.Recorded)
	if err != nil {
		return err
	}
	for { // a number that is taken is drawn again: one in thousands of millions
		o.Number = order.NewNumber()
		n, err := t.exec(`INSERT INTO orders (id, account_id, environment, api_key_id, seq, number, external_id, status,
			outcome, answer_time, price, due_at, time_left, created_at, updated_at, ended_at, round, certificate_id, facts,
			category_code, brand_code)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)
			ON CONFLICT (number) DO NOTHING`,
			o.ID, o.AccountID, string(o.Environment), o.APIKeyID, o.Seq, o.Number, o.ExternalID, string(o.Status),
			textOrNull(string(o.Outcome)), o.AnswerTime, o.Price, microsOrNull(o.DueAt), leftOrNull(o.TimeLeft),
			micros(o.CreatedAt), micros(o.UpdatedAt), microsOrNull(o.EndedAt), o.Round, textOrNull(o.CertificateID),
			string(facts),
			o.Classification.CategoryCode, o.Classification.BrandCode)
		if err != nil || n == 1 {
			return err
		}
	}
}

// UpdateOrder stores what a move has changed. The caller has read the order in the same transaction with
// OrderForUpdate.
func (t *Tx) UpdateOrder(o *order.Order) error {
	facts, err := json.Marshal(&o.Recorded)
	if err != nil {
		return err
	}
	if err := t.countMove(o); err != nil {
		return err
	}
	return t.one(`UPDATE orders SET status = $1, outcome = $2, due_at = $3, time_left = $4, updated_at = $5, ended_at = $6,
		round = $7, assignee_id = $8, claimed_at = $9, delayed = $10, certificate_id = $11, facts = $12 WHERE id = $13`,
		string(o.Status), textOrNull(string(o.Outcome)), microsOrNull(o.DueAt), leftOrNull(o.TimeLeft), micros(o.UpdatedAt),
		microsOrNull(o.EndedAt), o.Round, textOrNull(o.AssigneeID), microsOrNull(o.ClaimedAt), flag(o.MarkedLate),
		textOrNull(o.CertificateID), string(facts), o.ID)
}

func leftOrNull(d *time.Duration) any {
	if d == nil {
		return nil
	}
	return d.Microseconds()
}

// The columns of an order as orderRow scans them. The shorter lists are the beginning of the longer ones.
var (
	briefColumns = orderColumns{8, "o.id, o.number, o.seq, o.external_id, o.status, o.outcome, o.due_at, o.updated_at"}
	allColumns   = briefColumns.and(14, `o.account_id, o.environment, o.api_key_id, o.answer_time, o.price, o.time_left,
		o.created_at, o.ended_at, o.round, o.assignee_id, o.claimed_at, o.delayed, o.certificate_id, o.facts`)
	summaryColumns = allColumns.and(2, "accounts.name, staff.name")
)

// summaryJoins is what summaryColumns needs beside the orders.
const summaryJoins = " JOIN accounts ON accounts.id = o.account_id LEFT JOIN staff ON staff.id = o.assignee_id"

type orderColumns struct {
	n    int
	text string
}

func (c orderColumns) and(n int, text string) orderColumns {
	return orderColumns{c.n + n, c.text + ", " + text}
}

// orderRow is a row of orders while it is scanned.
type orderRow struct {
	order.Summary
	externalID, facts sql.NullString
	left              sql.NullInt64
	dest              []any
}

func newOrderRow(c orderColumns) *orderRow {
	r := new(orderRow)
	r.dest = []any{
		&r.ID, &r.Number, &r.Seq, &r.externalID, asText(&r.Status), asText(&r.Outcome), asTimeOrNil(&r.DueAt),
		asTime(&r.UpdatedAt),
		&r.AccountID, asText(&r.Environment), &r.APIKeyID, &r.AnswerTime, &r.Price, &r.left, asTime(&r.CreatedAt),
		asTimeOrNil(&r.EndedAt), &r.Round, asText(&r.AssigneeID), asTimeOrNil(&r.ClaimedAt), &r.MarkedLate,
		asText(&r.CertificateID), &r.facts, &r.AccountName, asText(&r.AssigneeName),
	}[:c.n]
	return r
}

// order returns what was scanned.
func (r *orderRow) order() (order.Summary, error) {
	o := r.Summary
	if r.externalID.Valid {
		id := r.externalID.String
		o.ExternalID = &id
	}
	if r.left.Valid {
		d := time.Duration(r.left.Int64) * time.Microsecond
		o.TimeLeft = &d
	}
	if !r.facts.Valid {
		return o, nil
	}
	return o, json.Unmarshal([]byte(r.facts.String), &o.Recorded)
}

// Order returns an order by its id, whoever's it is.
func (q Queries) Order(ctx context.Context, id string) (*order.Order, error) {
	return q.order(ctx, "o.id = $1", id)
}

// OrderForUpdate returns an order that the transaction is about to change.
func (t *Tx) OrderForUpdate(id string) (*order.Order, error) {
	return t.order(t.ctx, "o.id = $1"+t.d.forUpdate, id)
}

// FindOrder returns the order of a tenant with the id, or else the newest with the external id.
func (q Queries) FindOrder(ctx context.Context, tenant access.Tenant, idOrExternalID string) (*order.Order, error) {
	if id, ok := ParseID(idOrExternalID); ok {
		// The id alone finds the row. With the other conditions in the statement, PostgreSQL may walk through all orders of
		// the account until it has statistics.
		o, err := q.Order(ctx, id)
		if err == nil && o.Tenant() == tenant {
			return o, nil
		}
		if err != nil && !errors.Is(err, ErrNotFound) {
			return nil, err
		}
	}
	return q.order(ctx, `o.account_id = $1 AND o.environment = CAST($2 AS TEXT) AND o.external_id = $3
		ORDER BY o.seq DESC LIMIT 1`, tenant.AccountID, string(tenant.Environment), idOrExternalID)
}

func (q Queries) order(ctx context.Context, where string, args ...any) (*order.Order, error) {
	r := newOrderRow(allColumns)
	if err := q.row(ctx, "SELECT "+allColumns.text+" FROM orders AS o WHERE "+where, args, r.dest...); err != nil {
		return nil, err
	}
	o, err := r.order()
	return &o.Order, err
}

// OrderIDByNumber returns the id of the order with a number, whoever's it is.
func (q Queries) OrderIDByNumber(ctx context.Context, number string) (string, error) {
	return value[string](ctx, q, "SELECT id FROM orders WHERE number = $1", number)
}

// Refunded reports whether an order was refunded.
func (q Queries) Refunded(ctx context.Context, orderID string) (bool, error) {
	return q.exists(ctx, `FROM ledger_entries c JOIN ledger_entries r ON r.charge_id = c.id
		WHERE c.order_id = $1 AND c.kind = 'charge'`, orderID)
}

const nextQueued = `SELECT id FROM orders WHERE environment = 'live' AND status = 'queued'
	ORDER BY ` + dueKey + ", id LIMIT 1"

// NextQueued returns the id of the queued Live order with the earliest due date that no other transaction is about to
// take, or ErrNotFound.
func (t *Tx) NextQueued() (string, error) {
	return value[string](t.ctx, t.Queries, nextQueued+t.d.skipLocked)
}

// StaleClaims returns up to limit Live orders whose assignee has done nothing since the time, the longest idle first.
func (q Queries) StaleClaims(ctx context.Context, since time.Time, limit int) ([]string, error) {
	return column[string](ctx, q, `SELECT id FROM orders WHERE environment = 'live' AND status = 'processing'
		AND claimed_at <= $1 ORDER BY claimed_at LIMIT $2`, micros(since), limit)
}

// ClaimsOf returns the Live orders that a staff user holds.
func (q Queries) ClaimsOf(ctx context.Context, staffID string) ([]string, error) {
	return column[string](ctx, q, `SELECT id FROM orders WHERE assignee_id = $1 AND environment = 'live'
		AND status = 'processing' ORDER BY `+dueKey+", id", staffID)
}

// CountClaims returns how many Live orders a staff user holds.
func (q Queries) CountClaims(ctx context.Context, staffID string) (int, error) {
	return value[int](ctx, q, `SELECT COUNT(*) FROM orders WHERE assignee_id = $1 AND environment = 'live'
		AND status = 'processing'`, staffID)
}

// TouchClaim records activity of the assignee of an order, unless some was recorded after the time noted.
func (t *Tx) TouchClaim(orderID, staffID string, now, noted time.Time) error {
	err := t.one(`UPDATE orders SET claimed_at = $1 WHERE id = $2 AND assignee_id = $3 AND status = 'processing'
		AND claimed_at <= $4`, micros(now), orderID, staffID, micros(noted))
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// UnansweredOrders returns up to limit Live orders whose photo request has stood since the time, the oldest first.
func (q Queries) UnansweredOrders(ctx context.Context, since time.Time, limit int) ([]string, error) {
	return column[string](ctx, q, `SELECT id FROM orders WHERE environment = 'live' AND status = 'update-photos'
		AND updated_at <= $1 ORDER BY updated_at LIMIT $2`, micros(since), limit)
}
