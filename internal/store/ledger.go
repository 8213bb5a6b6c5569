package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/credit"
)

// Balance returns the credits of an account in an environment.
func (q Queries) Balance(ctx context.Context, accountID string, env access.Environment) (int64, error) {
	var credits int64
	err := q.row(ctx, "SELECT credits FROM balances WHERE account_id = $1 AND environment = $2", []any{accountID, string(env)}, &credits)
	return credits, err
}

// ChargeForOrder takes the price from the balance and gives out the order's number in sequence. It returns
// credit.NotEnough and changes nothing when the balance is too low.
func (t *Tx) ChargeForOrder(accountID string, env access.Environment, orderID string, price int64, at time.Time) (Charge, error) {
	e := &credit.Entry{AccountID: accountID, Environment: env, Kind: credit.Charge, Amount: -price, OrderID: orderID, CreatedAt: at}
	b, err := t.append(e, 1)
	return Charge{OrderSeq: b.Orders, Credits: b.Credits, Before: b.Credits + price, LowCredits: b.LowCredits}, err
}

// Charge is what a charge has done, all of it from the row that it changed.
type Charge struct {
	OrderSeq   int64
	Before     int64 // credits before it
	Credits    int64 // and after it
	LowCredits int64 // below which the owners want to be told
}

// Grant adds an operator's or developer's change of the balance and returns the balance after it.
func (t *Tx) Grant(accountID string, env access.Environment, amount int64, note string, at time.Time) (int64, error) {
	e := &credit.Entry{AccountID: accountID, Environment: env, Kind: credit.Grant, Amount: amount, Note: note, CreatedAt: at}
	_, err := t.append(e, 0)
	return e.BalanceAfter, err
}

// RefundOrder gives back what the order was charged. It is an error to refund an order twice.
func (t *Tx) RefundOrder(orderID, note string, at time.Time) error {
	e := &credit.Entry{Kind: credit.Refund, OrderID: orderID, Note: note, CreatedAt: at}
	if err := t.row(t.ctx, "SELECT id, account_id, environment, -amount FROM ledger_entries WHERE order_id = $1 AND kind = 'charge'",
		[]any{orderID}, &e.ChargeID, &e.AccountID, &e.Environment, &e.Amount); err != nil {
		return err
	}
	_, err := t.append(e, 0)
	return err
}

// append changes the balance and writes the entry that says why. newOrders is added to the counter of orders.
func (t *Tx) append(e *credit.Entry, newOrders int) (b Book, err error) {
	err = t.row(t.ctx, `UPDATE balances SET credits = credits + $1, orders = orders + $2, entries = entries + 1
		WHERE account_id = $3 AND environment = $4 AND credits + $1 >= 0 AND credits + $1 <= $5
		RETURNING credits, orders, entries, low_credits`,
		[]any{e.Amount, newOrders, e.AccountID, string(e.Environment), int64(credit.MaxCredits)}, &b.Credits, &b.Orders, &b.Entries, &b.LowCredits)
	if errors.Is(err, ErrNotFound) {
		available, err := t.Balance(t.ctx, e.AccountID, e.Environment)
		if err != nil {
			return b, err
		}
		return b, credit.NotEnough(-e.Amount, available)
	}
	if err != nil {
		return b, err
	}
	e.ID, e.Seq, e.BalanceAfter = NewID(), b.Entries, b.Credits
	_, err = t.exec(`INSERT INTO ledger_entries (id, account_id, environment, seq, kind, amount, balance_after, order_id, charge_id, note, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
		e.ID, e.AccountID, string(e.Environment), e.Seq, string(e.Kind), e.Amount, e.BalanceAfter, textOrNull(e.OrderID), textOrNull(e.ChargeID),
		e.Note, micros(e.CreatedAt))
	return b, err
}

// LedgerPage returns entries newest first, and how many there are: page p of size limit is a range of the dense
// sequence, so that every page costs the same.
func (q Queries) LedgerPage(ctx context.Context, accountID string, env access.Environment, page, limit int) ([]*credit.Entry, int64, error) {
	var total int64
	if err := q.row(ctx, "SELECT entries FROM balances WHERE account_id = $1 AND environment = $2", []any{accountID, string(env)}, &total); err != nil {
		return nil, 0, err
	}
	high, low := seqRange(total, page, limit)
	entries := []*credit.Entry{}
	err := q.rows(ctx, `SELECT id, account_id, environment, seq, kind, amount, balance_after, order_id, charge_id, note, created_at FROM ledger_entries
		WHERE account_id = $1 AND environment = $2 AND seq <= $3 AND seq > $4 ORDER BY seq DESC`, []any{accountID, string(env), high, low},
		func(scan func(...any) error) error {
			e := new(credit.Entry)
			var orderID, chargeID sql.NullString
			var created int64
			err := scan(&e.ID, &e.AccountID, &e.Environment, &e.Seq, &e.Kind, &e.Amount, &e.BalanceAfter, &orderID, &chargeID, &e.Note, &created)
			e.OrderID, e.ChargeID, e.CreatedAt = orderID.String, chargeID.String, timeOf(created)
			entries = append(entries, e)
			return err
		})
	return entries, total, err
}

// seqRange returns the page as the half-open range (low, high] of a dense sequence that ends with total.
func seqRange(total int64, page, limit int) (high, low int64) {
	if int64(page-1) > total/int64(limit) {
		return 0, 0 // past the end; the product could overflow
	}
	high = total - int64(page-1)*int64(limit)
	return high, high - int64(limit)
}
