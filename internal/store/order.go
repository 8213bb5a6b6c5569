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
	facts, err := json.Marshal(&o.Facts)
	if err != nil {
		return err
	}
	for { // a number that is taken is drawn again: one in thousands of millions
		o.Number = order.NewNumber()
		n, err := t.exec(`INSERT INTO orders (id, account_id, environment, api_key_id, seq, number, external_id, status, outcome, answer_time, price,
			due_at, time_left, created_at, updated_at, ended_at, round, certificate_id, facts, category_code, brand_code)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21) ON CONFLICT (number) DO NOTHING`,
			o.ID, o.AccountID, string(o.Environment), o.APIKeyID, o.Seq, o.Number, o.ExternalID, string(o.Status), textOrNull(string(o.Outcome)),
			o.AnswerTime, o.Price, microsOrNull(o.DueAt), leftOrNull(o.TimeLeft), micros(o.CreatedAt), micros(o.UpdatedAt), microsOrNull(o.EndedAt),
			o.Round, textOrNull(o.CertificateID), string(facts), o.Facts.Classification.CategoryCode, o.Facts.Classification.BrandCode)
		if err != nil || n == 1 {
			return err
		}
	}
}

// UpdateOrder stores what a move has changed. The caller has read the order in the same transaction with OrderForUpdate.
func (t *Tx) UpdateOrder(o *order.Order) error {
	facts, err := json.Marshal(&o.Facts)
	if err != nil {
		return err
	}
	if err := t.countMove(o); err != nil {
		return err
	}
	return t.one(`UPDATE orders SET status = $1, outcome = $2, due_at = $3, time_left = $4, updated_at = $5, ended_at = $6, round = $7,
		assignee_id = $8, claimed_at = $9, delayed = $10, certificate_id = $11, facts = $12 WHERE id = $13`,
		string(o.Status), textOrNull(string(o.Outcome)), microsOrNull(o.DueAt), leftOrNull(o.TimeLeft), micros(o.UpdatedAt), microsOrNull(o.EndedAt),
		o.Round, textOrNull(o.AssigneeID), microsOrNull(o.ClaimedAt), flag(o.Delayed), textOrNull(o.CertificateID), string(facts), o.ID)
}

const orderColumns = `id, account_id, environment, api_key_id, seq, number, external_id, status, outcome, answer_time, price, due_at, time_left,
	created_at, updated_at, ended_at, round, assignee_id, claimed_at, delayed, certificate_id, facts`

// Order returns an order by its id, whoever's it is.
func (q Queries) Order(ctx context.Context, id string) (*order.Order, error) {
	return q.order(ctx, "SELECT "+orderColumns+" FROM orders WHERE id = $1", id)
}

// OrderForUpdate returns an order that the transaction is about to change.
func (t *Tx) OrderForUpdate(id string) (*order.Order, error) {
	return t.order(t.ctx, "SELECT "+orderColumns+" FROM orders WHERE id = $1"+t.d.forUpdate, id)
}

// FindOrder returns the order of an account and environment with the id, or else the newest with the external id.
func (q Queries) FindOrder(ctx context.Context, accountID string, env access.Environment, idOrExternalID string) (*order.Order, error) {
	if id, ok := ParseID(idOrExternalID); ok {
		// The id alone finds the row. With the other conditions in the statement, PostgreSQL may walk through all orders of
		// the account until it has statistics.
		o, err := q.Order(ctx, id)
		if err == nil && o.AccountID == accountID && o.Environment == env {
			return o, nil
		}
		if err != nil && !errors.Is(err, ErrNotFound) {
			return nil, err
		}
	}
	return q.order(ctx, "SELECT "+orderColumns+` FROM orders WHERE account_id = $1 AND environment = CAST($2 AS TEXT) AND external_id = $3
		ORDER BY seq DESC LIMIT 1`, accountID, string(env), idOrExternalID)
}

func (q Queries) order(ctx context.Context, text string, args ...any) (*order.Order, error) {
	o := new(order.Order)
	var externalID, outcome, assignee, certificate sql.NullString
	var due, left, ended, claimed sql.NullInt64
	var created, updated, delayed int64
	var facts string
	if err := q.row(ctx, text, args, &o.ID, &o.AccountID, &o.Environment, &o.APIKeyID, &o.Seq, &o.Number, &externalID, &o.Status, &outcome,
		&o.AnswerTime, &o.Price, &due, &left, &created, &updated, &ended, &o.Round, &assignee, &claimed, &delayed, &certificate, &facts); err != nil {
		return nil, err
	}
	if externalID.Valid {
		o.ExternalID = &externalID.String
	}
	if left.Valid {
		d := time.Duration(left.Int64) * time.Microsecond
		o.TimeLeft = &d
	}
	o.Outcome, o.AssigneeID, o.CertificateID = order.Outcome(outcome.String), assignee.String, certificate.String
	o.DueAt, o.EndedAt, o.ClaimedAt = timeOrNil(due), timeOrNil(ended), timeOrNil(claimed)
	o.CreatedAt, o.UpdatedAt, o.Delayed = timeOf(created), timeOf(updated), delayed == 1
	return o, json.Unmarshal([]byte(facts), &o.Facts)
}

// OrderPage returns the orders of an account and environment newest first, and how many there are. A page is a range of
// the dense sequence: no count, no offset. Only the columns of a list are read; Facts are empty.
func (q Queries) OrderPage(ctx context.Context, accountID string, env access.Environment, page, limit int) ([]order.Order, int64, error) {
	var total int64
	if err := q.row(ctx, "SELECT orders FROM balances WHERE account_id = $1 AND environment = $2", []any{accountID, string(env)}, &total); err != nil {
		return nil, 0, err
	}
	high, low := seqRange(total, page, limit)
	if high <= 0 {
		return nil, total, nil
	}
	orders := make([]order.Order, 0, limit)
	err := q.rows(q.uncancelable(ctx), `SELECT id, number, external_id, status, outcome, due_at, updated_at FROM orders
		WHERE account_id = $1 AND environment = CAST($2 AS TEXT) AND seq <= $3 AND seq > $4 ORDER BY seq DESC`, []any{accountID, string(env), high, low},
		func(scan func(...any) error) error {
			var o order.Order
			var outcome sql.NullString
			var due sql.NullInt64
			var updated int64
			err := scan(&o.ID, &o.Number, &o.ExternalID, &o.Status, &outcome, &due, &updated)
			o.Outcome, o.DueAt, o.UpdatedAt = order.Outcome(outcome.String), timeOrNil(due), timeOf(updated)
			orders = append(orders, o)
			return err
		})
	return orders, total, err
}

func leftOrNull(d *time.Duration) any {
	if d == nil {
		return nil
	}
	return d.Microseconds()
}

// UnansweredOrders returns up to limit Live orders whose photo request has stood since the time, the oldest first.
func (q Queries) UnansweredOrders(ctx context.Context, since time.Time, limit int) ([]string, error) {
	var ids []string
	err := q.rows(ctx, `SELECT id FROM orders WHERE environment = 'live' AND status = 'update-photos' AND updated_at <= $1
		ORDER BY updated_at LIMIT $2`, []any{micros(since), limit}, func(scan func(...any) error) error {
		var id string
		err := scan(&id)
		ids = append(ids, id)
		return err
	})
	return ids, err
}
