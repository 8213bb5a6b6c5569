package store

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/enum"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/db"
	"github.com/assayhq/assay/internal/store/uuid7"
)

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
	return t.db.One(`UPDATE orders SET status = $1, outcome = $2, due_at = $3, time_left = $4, updated_at = $5,
		ended_at = $6, round = $7, assignee_id = $8, claimed_at = $9, delayed = $10, certificate_id = $11, facts = $12
		WHERE id = $13`, string(o.Status), column.TextOrNull(string(o.Outcome)), column.MicrosOrNull(o.DueAt),
		leftOrNull(o.TimeLeft), column.Millis(o.UpdatedAt), column.MicrosOrNull(o.EndedAt), o.Round,
		column.TextOrNull(o.AssigneeID), column.MicrosOrNull(o.ClaimedAt),
		column.Flag(o.MarkedLate), column.TextOrNull(o.CertificateID), string(facts), o.ID)
}

func leftOrNull(d *time.Duration) any {
	if d == nil {
		return nil
	}
	return d.Microseconds()
}

// The columns of an order as orderRecord takes them. The shorter lists are the beginning of the longer ones.
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

// states are the states of orders, which are not made anew for every row.
var states = func() map[string]string {
	all := make(map[string]string)
	for _, w := range append(enum.Names(order.Statuses), enum.Names(order.Outcomes)...) {
		all[w] = w
	}
	return all
}()

// orderRecord puts a row with the columns into an order.
func orderRecord(c orderColumns, r *db.Record, o *order.Summary) (err error) {
	var externalID string
	o.ID, o.Number, externalID = r.Texts(0, 1, 3)
	if o.Seq = r.Integer(2); !r.Null(3) {
		o.ExternalID = r.Keep(externalID)
	}
	o.Status, o.Outcome = order.Status(r.Word(4, states)), order.Outcome(r.Word(5, states))
	o.DueAt, o.UpdatedAt = r.TimeOrNil(6), r.Time(7)
	if c.n == briefColumns.n {
		return nil
	}
	o.AccountID, o.Environment, o.APIKeyID = r.Text(8), access.Environment(r.Text(9)), r.Text(10)
	o.AnswerTime, o.Price, o.TimeLeft = int(r.Integer(11)), r.Integer(12), leftOrNil(r, 13)
	o.CreatedAt, o.EndedAt, o.Round = r.Time(14), r.TimeOrNil(15), int(r.Integer(16))
	o.AssigneeID, o.ClaimedAt, o.MarkedLate = r.Text(17), r.TimeOrNil(18), r.Integer(19) == 1
	o.CertificateID = r.Text(20)
	o.Recorded, err = order.DecodeRecorded(r.Text(21))
	if c.n > allColumns.n {
		o.AccountName, o.AssigneeName = r.Text(22), r.Text(23)
	}
	return readable(o.ID, err)
}

func leftOrNil(r *db.Record, i int) *time.Duration {
	if r.Null(i) {
		return nil
	}
	d := time.Duration(r.Integer(i)) * time.Microsecond
	return &d
}

// Order returns an order by its id, whoever's it is.
func (q Queries) Order(ctx context.Context, id string) (*order.Order, error) {
	return q.order(ctx, "o.id = $1", id)
}

// OrderForUpdate returns an order that the transaction is about to change.
func (t *Tx) OrderForUpdate(id string) (*order.Order, error) {
	return t.order(t.Context(), "o.id = $1"+t.db.Dialect.ForUpdate, id)
}

// FindOrder returns the order of a tenant with the id, or else the newest with the external id.
func (q Queries) FindOrder(ctx context.Context, tenant access.Tenant, idOrExternalID string) (*order.Order, error) {
	if id, ok := uuid7.Parse(idOrExternalID); ok {
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
	return q.order(ctx, ownExternalID, tenant.AccountID, string(tenant.Environment), idOrExternalID)
}

// ownExternalID finds the newest order of a tenant with an external id.
const ownExternalID = "o." + ofTenant + " AND o.external_id = $3 ORDER BY o.seq DESC LIMIT 1"

// ShownOrder is FindOrder with no more than what the customer is shown: it is read more often than anything else. The
// id is the order's.
func (q Queries) ShownOrder(ctx context.Context, tenant access.Tenant, idOrExternalID string) (*order.Order, error) {
	args := append(make([]any, 0, 4), tenant.AccountID, string(tenant.Environment), idOrExternalID)
	var o *order.Order
	take := func(r *db.Record) (err error) {
		if r.Integer(0) == 1 {
			o, err = shownOrder(r)
		}
		return err
	}
	if id, ok := uuid7.Parse(idOrExternalID); ok {
		args[2] = id
		err := ErrNotFound
		if q.db.Dialect == &db.SQLite {
			err = q.db.Record(ctx, shownByRowID, append(args, RowID(id)), take)
		}
		if errors.Is(err, ErrNotFound) { // also where a row of SQLite has another rowid
			err = q.db.Record(ctx, shownByID, args, take)
		}
		if o != nil && err == nil || err != nil && !errors.Is(err, ErrNotFound) {
			return o, err
		}
		args[2] = idOrExternalID
	}
	return o, q.db.Record(ctx, shownByExternalID, args, take)
}

const (
	shownText = `, o.id, o.status, o.outcome, o.due_at, o.time_left, o.updated_at, o.ended_at, o.delayed,
		o.certificate_id, o.facts FROM orders AS o WHERE `
	shownIfOwn = "SELECT CASE WHEN o.account_id = $1 AND o.environment = $2 THEN 1 ELSE 0 END" + shownText
	shownByID  = shownIfOwn + "o.id = $3" // which alone finds the row: see FindOrder

	shownByRowID      = shownIfOwn + "o.id = $3 AND o.rowid = $4"
	shownByExternalID = "SELECT 1" + shownText + ownExternalID
)

func shownOrder(r *db.Record) (*order.Order, error) {
	o := &order.Order{
		ID: r.Text(1), Status: order.Status(r.Word(2, states)), Outcome: order.Outcome(r.Word(3, states)),
		DueAt:    r.TimeOrNil(4),
		TimeLeft: leftOrNil(r, 5), UpdatedAt: r.Time(6), EndedAt: r.TimeOrNil(7), MarkedLate: r.Integer(8) == 1,
		CertificateID: r.Text(9),
	}
	var err error
	o.Recorded, err = order.DecodeRecorded(r.Text(10))
	return o, readable(o.ID, err)
}

func (q Queries) order(ctx context.Context, where string, args ...any) (*order.Order, error) {
	var o order.Summary
	err := q.db.Record(ctx, "SELECT "+allColumns.text+" FROM orders AS o WHERE "+where, args,
		func(r *db.Record) error { return orderRecord(allColumns, r, &o) })
	if err != nil {
		return nil, err
	}
	return &o.Order, nil
}

// OrderIDByNumber returns the id of the order with a number, whoever's it is.
func (q Queries) OrderIDByNumber(ctx context.Context, number string) (string, error) {
	return db.Value[string](ctx, q.db, "SELECT id FROM orders WHERE number = $1", number)
}

// Refunded reports whether an order was refunded.
func (q Queries) Refunded(ctx context.Context, orderID string) (bool, error) {
	return q.db.Exists(ctx, "FROM ledger_entries WHERE charge_id = $1", orderID) // whose id is the order's
}

// nextQueued is the query of NextQueued, without the clause that skips locked rows.
func nextQueued(part order.QueueFilter, exclude []string) (text string, args []any) {
	text = "SELECT id FROM orders WHERE environment = 'live' AND status = 'queued' AND ended_at IS NULL"
	for _, c := range []struct{ column, code string }{
		{"brand_code", part.BrandCode}, {"category_code", part.CategoryCode},
	} {
		if c.code != "" {
			args = append(args, c.code)
			text += fmt.Sprintf(" AND %s = $%d", c.column, len(args))
		}
	}
	for _, id := range exclude {
		args = append(args, id)
		text += fmt.Sprintf(" AND id <> $%d", len(args))
	}
	return text + " ORDER BY " + dueKey + ", id LIMIT 1", args
}

// NextQueued returns the id of the queued Live order with the earliest due date, in a part of the queue and without
// those to exclude, that no other transaction is about to take, or ErrNotFound.
func (t *Tx) NextQueued(part order.QueueFilter, exclude []string) (string, error) {
	text, args := nextQueued(part, exclude)
	return db.Value[string](t.Context(), t.db.Queries, text+t.db.Dialect.SkipLocked, args...)
}

// ordersByReference asks each account for what the customer calls so: there are few accounts beside many orders.
const ordersByReference = `SELECT o.id FROM balances b CROSS JOIN orders o
	WHERE b.environment = 'live' AND o.tenant = b.tenant AND o.external_id = $1 ORDER BY o.created_at DESC, o.id LIMIT $2`

// OrdersByReference returns up to limit Live orders that customers call by a reference, the newest first.
func (q Queries) OrdersByReference(ctx context.Context, reference string, limit int) ([]string, error) {
	return db.Column[string](ctx, q.db, ordersByReference, reference, limit)
}

// OrderAt is the place of an order in a list by time; the zero place is before all.
type OrderAt struct {
	At time.Time
	ID string
}

// StaleClaims returns up to limit Live orders whose assignee has done nothing since the time and that stand after a
// place, the longest idle first.
func (q Queries) StaleClaims(ctx context.Context, since time.Time, after OrderAt, limit int) ([]OrderAt, error) {
	return q.ordersBy(ctx, "claimed_at", order.Processing, since, after, limit)
}

// UnansweredOrders returns up to limit Live orders whose photo request has stood since the time and that stand after a
// place, the oldest first.
func (q Queries) UnansweredOrders(ctx context.Context, since time.Time, after OrderAt, limit int) ([]OrderAt, error) {
	return q.ordersBy(ctx, "updated_at", order.UpdatePhotos, since, after, limit)
}

func (q Queries) ordersBy(
	ctx context.Context, at string, s order.Status, since time.Time, after OrderAt, limit int,
) ([]OrderAt, error) {
	from := int64(-1)
	if after.ID != "" {
		from = column.Micros(after.At)
	}
	return db.Collect(ctx, q.db, func(scan db.Scanner) (o OrderAt, err error) {
		err = scan(column.Time(&o.At), &o.ID)
		return o, err
	}, "SELECT "+at+", id FROM orders WHERE environment = 'live' AND status = '"+string(s)+"' AND "+at+" <= $1"+
		" AND ("+at+", id) > ($2, $3) ORDER BY "+at+", id LIMIT $4", column.Micros(since), from, after.ID, limit)
}

// ClaimsOf returns the Live orders that a staff user holds.
func (q Queries) ClaimsOf(ctx context.Context, staffID string) ([]string, error) {
	return db.Column[string](ctx, q.db, `SELECT id FROM orders WHERE assignee_id = $1 AND environment = 'live'
		AND status = 'processing' ORDER BY `+dueKey+", id", staffID)
}

// CountClaims returns how many Live orders a staff user holds.
func (q Queries) CountClaims(ctx context.Context, staffID string) (int, error) {
	return db.Value[int](ctx, q.db, `SELECT COUNT(*) FROM orders WHERE assignee_id = $1 AND environment = 'live'
		AND status = 'processing'`, staffID)
}

// TouchClaim records activity of the assignee of an order, unless some was recorded after the time noted.
func (t *Tx) TouchClaim(orderID, staffID string, now, noted time.Time) error {
	return t.exec(`UPDATE orders SET claimed_at = $1 WHERE id = $2 AND assignee_id = $3 AND status = 'processing'
		AND claimed_at <= $4`, column.Micros(now), orderID, staffID, column.Micros(noted))
}

// RowID returns the rowid that the order with an id gets in SQLite: the bits of the id's time and counter, and three
// more. An order is read by it without a descent of the index of ids, as long as it has it: see ShownOrder.
func RowID(id string) int64 {
	u, err := uuid.Parse(id)
	if err != nil {
		return 0 // which no row has
	}
	made, random := binary.BigEndian.Uint64(u[:8]), binary.BigEndian.Uint64(u[8:])
	return int64(made>>16<<15 | made&0xfff<<3 | random>>59&7) //nolint:gosec // 63 bits
}

// UnreadableOrder is the error of an order whose stored form is broken.
type UnreadableOrder struct {
	ID    string
	cause error
}

func (e *UnreadableOrder) Error() string {
	return fmt.Sprintf("order %s cannot be read: %v", e.ID, e.cause)
}

// Unwrap returns what is wrong with the stored form.
func (e *UnreadableOrder) Unwrap() error { return e.cause }

// readable names the order of an error in its stored form; nil is none.
func readable(orderID string, err error) error {
	if err == nil {
		return nil
	}
	return &UnreadableOrder{ID: orderID, cause: err}
}

// OrderColumns returns what the columns of an order tell, whether or not the rest can be read.
func (q Queries) OrderColumns(ctx context.Context, id string) (*order.Order, error) {
	var o order.Summary
	err := q.db.Record(ctx, "SELECT "+allColumns.text+" FROM orders AS o WHERE o.id = $1", []any{id},
		func(r *db.Record) error { return listed(allColumns, r, &o) })
	return &o.Order, err
}

// RepairOrder replaces what cannot be read of an order by what its columns tell, and returns what was there, by the
// name of its place. classify names what the columns have codes of. The caller is about to change the order.
func (t *Tx) RepairOrder(
	id string, classify func(categoryCode, brandCode string) order.Classification,
) (was map[string]string, err error) {
	var category, brand, facts, created, keyName string
	err = t.db.Row(t.Context(), `SELECT category_code, brand_code, facts, creation,
		(SELECT name FROM api_keys WHERE api_keys.id = orders.api_key_id) FROM orders WHERE id = $1`+t.db.Dialect.ForUpdate,
		[]any{id}, &category, &brand, &facts, &created, &keyName)
	if err != nil {
		return nil, err
	}
	was = make(map[string]string)
	replace := func(place, from, to, where string, args ...any) error {
		was[place] = from
		return t.db.One("UPDATE "+where, append([]any{to, id}, args...)...)
	}
	if recorded, broken := order.DecodeRecorded(facts); broken != nil || recorded.Classification.CategoryCode == "" {
		rest, err := json.Marshal(&order.Recorded{Classification: classify(category, brand)})
		if err != nil {
			return nil, err
		}
		if err := replace("facts", facts, string(rest), "orders SET facts = $1 WHERE id = $2"); err != nil {
			return nil, err
		}
	}
	if decodeCreation(created, new(creation)) != nil {
		rest, err := encodeCreation(keyName, nil)
		if err != nil {
			return nil, err
		}
		if err := replace("creation", created, rest, "orders SET creation = $1 WHERE id = $2"); err != nil {
			return nil, err
		}
	}
	events, err := db.Pairs[int64, string](t.Context(), t.db.Queries,
		"SELECT seq, details FROM order_events WHERE order_id = $1", id)
	if err != nil {
		return nil, err
	}
	for seq, details := range events {
		if _, broken := decodeDetails(details); broken == nil {
			continue
		}
		if err := replace(fmt.Sprintf("timeline %d", seq), details, "{}",
			"order_events SET details = $1 WHERE order_id = $2 AND seq = $3", seq); err != nil {
			return nil, err
		}
	}
	return was, nil
}
