package store

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/credit"
	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/db"
	"github.com/assayhq/assay/internal/store/uuid7"
)

// AccountTotals returns the balance of a tenant with its counters.
func (q Queries) AccountTotals(ctx context.Context, tenant access.Tenant) (b credit.AccountTotals, err error) {
	err = q.db.Row(ctx, selectTotals, []any{tenant.AccountID, string(tenant.Environment)},
		&b.Credits, &b.Orders, &b.Entries, &b.LowCredits)
	return b, err
}

const selectTotals = `SELECT credits, orders, entries, low_credits FROM balances
	WHERE account_id = $1 AND environment = $2`

// Balance returns the credits of a tenant.
func (q Queries) Balance(ctx context.Context, tenant access.Tenant) (int64, error) {
	var credits int64
	err := q.db.Record(ctx, selectBalance, []any{tenant.AccountID, string(tenant.Environment)}, func(r *db.Record) error {
		credits = r.Integer(0)
		return nil
	})
	return credits, err
}

const selectBalance = "SELECT credits FROM balances WHERE account_id = $1 AND environment = $2"

// Charge is what the charge of an order has done to the balance.
type Charge struct {
	Before     int64 // credits before it
	Credits    int64 // and after it
	LowCredits int64 // below which the owners want to be told
}

// Grant adds an operator's or developer's change of the balance and returns the balance after it.
func (t *Tx) Grant(tenant access.Tenant, amount int64, note string, at time.Time) (int64, error) {
	return t.GrantOnce(uuid7.New(), tenant, amount, note, at)
}

// GrantOnce is Grant with the id of the entry, or ErrExists where there is one with it.
func (t *Tx) GrantOnce(id string, tenant access.Tenant, amount int64, note string, at time.Time) (int64, error) {
	e := &credit.Entry{
		ID: id, Tenant: tenant, Kind: credit.Grant, Amount: amount, Note: note, CreatedAt: at,
	}
	err := t.append(e)
	return e.BalanceAfter, err
}

// RefundOrder gives back what the order was charged. It is an error to refund an order twice.
func (t *Tx) RefundOrder(orderID, note string, at time.Time) error {
	e := &credit.Entry{ID: uuid7.New(), Kind: credit.Refund, OrderID: orderID, Note: note, CreatedAt: at}
	if err := t.db.Row(t.Context(), `SELECT id, account_id, environment, -amount FROM ledger_entries
			WHERE id = $1 AND kind = 'charge'`,
		[]any{orderID}, &e.ChargeID, &e.AccountID, &e.Environment, &e.Amount); err != nil {
		return err
	}
	return t.append(e)
}

// append changes the balance and writes the entry that says why. Balances have a bound so that sums cannot overflow: it
// is for what is added to them. A refund gives back what was there, and must not keep an order from its end.
func (t *Tx) append(e *credit.Entry) error {
	bound := int64(math.MaxInt64)
	if e.Kind == credit.Grant && e.Amount > 0 {
		bound = credit.MaxCredits
	}
	var tenant int64
	err := t.db.Row(t.Context(), `UPDATE balances SET credits = credits + $1, entries = entries + 1
		WHERE account_id = $2 AND environment = $3 AND credits + $1 >= 0 AND credits + $1 <= $4
		RETURNING credits, entries, tenant`,
		[]any{e.Amount, e.AccountID, string(e.Environment), bound}, &e.BalanceAfter, &e.Seq,
		&tenant)
	if errors.Is(err, ErrNotFound) {
		available, err := t.Balance(t.Context(), e.Tenant)
		if err != nil {
			return err
		}
		return credit.NotEnough(-e.Amount, available)
	}
	if err != nil {
		return err
	}
	return t.db.Insert(ledgerColumns, ledgerRow(e, tenant)...)
}

const ledgerColumns = `ledger_entries (id, account_id, environment, tenant, seq, kind, amount, balance_after,
	order_id, charge_id, note, created_at)`

func ledgerRow(e *credit.Entry, tenant int64) []any {
	return []any{
		e.ID, e.AccountID, string(e.Environment), tenant, e.Seq, string(e.Kind), e.Amount, e.BalanceAfter,
		column.TextOrNull(e.OrderID), column.TextOrNull(e.ChargeID), e.Note, column.Micros(e.CreatedAt),
	}
}

// Entry returns the tenant, the kind and the amount of the ledger entry with an id, or ErrNotFound.
func (q Queries) Entry(ctx context.Context, id string) (e credit.Entry, err error) {
	err = q.db.Row(ctx, "SELECT id, account_id, environment, kind, amount FROM ledger_entries WHERE id = $1", []any{id},
		&e.ID, &e.AccountID, &e.Environment, &e.Kind, &e.Amount)
	return e, err
}

// LedgerPage returns entries newest first, and the totals of the tenant: page p of size limit is a range of the dense
// sequence, so that every page costs the same.
func (q Queries) LedgerPage(
	ctx context.Context, tenant access.Tenant, page, limit int,
) ([]*credit.Entry, credit.AccountTotals, error) {
	totals, err := q.AccountTotals(ctx, tenant)
	if err != nil {
		return nil, totals, err
	}
	high, low := seqRange(totals.Entries, page, limit)
	entries, err := q.LedgerBelow(ctx, tenant, high, int(high-low))
	return entries, totals, err
}

// LedgerBelow returns up to limit entries of a tenant whose sequence number is not above seq, newest first: with dense
// numbers that is one range.
func (q Queries) LedgerBelow(ctx context.Context, tenant access.Tenant, seq int64, limit int) ([]*credit.Entry, error) {
	return q.ledger(ctx, "l.seq <= $3 AND l.seq > $4 ORDER BY l.seq DESC", tenant, seq, seq-int64(limit))
}

// seqRange returns the page as the half-open range (low, high] of a dense sequence that ends with total.
func seqRange(total int64, page, limit int) (high, low int64) {
	if int64(page-1) > total/int64(limit) {
		return 0, 0 // past the end; the product could overflow
	}
	high = total - int64(page-1)*int64(limit)
	return high, high - int64(limit)
}

// BalanceForUpdate returns a balance that the transaction is about to change.
func (t *Tx) BalanceForUpdate(tenant access.Tenant) (int64, error) {
	return db.Value[int64](t.Context(), t.db.Queries, selectBalance+t.db.Dialect.ForUpdate,
		tenant.AccountID, string(tenant.Environment))
}

// SetLowCredits replaces the credits of a tenant below which the owners want to be told.
func (t *Tx) SetLowCredits(tenant access.Tenant, below int64) error {
	return t.db.One("UPDATE balances SET low_credits = $1 WHERE account_id = $2 AND environment = $3",
		below, tenant.AccountID, string(tenant.Environment))
}

// LedgerChanges returns up to limit grants and refunds of a tenant whose sequence number is below before, newest first.
// They are few among the charges and have an index of their own.
func (q Queries) LedgerChanges(
	ctx context.Context, tenant access.Tenant, before int64, limit int,
) ([]*credit.Entry, error) {
	const changes = "l.kind <> 'charge' AND l.seq < $3 ORDER BY l.seq DESC LIMIT $4"
	return q.ledger(ctx, changes, tenant, before, int64(limit))
}

func (q Queries) ledger(ctx context.Context, where string, tenant access.Tenant, args ...any) ([]*credit.Entry, error) {
	return db.Collect(ctx, q.db, func(scan db.Scanner) (*credit.Entry, error) {
		e := &credit.Entry{Tenant: tenant}
		return e, scan(&e.ID, &e.Seq, &e.Kind, &e.Amount, &e.BalanceAfter, column.Text(&e.OrderID),
			column.Text(&e.ChargeID), &e.Note, column.Time(&e.CreatedAt), column.Text(&e.OrderNumber))
	}, `SELECT l.id, l.seq, l.kind, l.amount, l.balance_after, l.order_id, l.charge_id, l.note, l.created_at, o.number
		FROM ledger_entries l LEFT JOIN orders o ON o.id = l.order_id
		WHERE l.`+ofTenant+" AND "+where, append([]any{tenant.AccountID, string(tenant.Environment)}, args...)...)
}
