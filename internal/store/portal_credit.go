package store

import (
	"context"
	"database/sql"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/credit"
)

// BalanceForUpdate returns a balance that the transaction is about to change.
func (t *Tx) BalanceForUpdate(accountID string, env access.Environment) (int64, error) {
	var credits int64
	err := t.row(t.ctx, "SELECT credits FROM balances WHERE account_id = $1 AND environment = $2"+t.d.forUpdate, []any{accountID, string(env)}, &credits)
	return credits, err
}

// SetLowCredits replaces the credits below which the owners of an account want to be told.
func (t *Tx) SetLowCredits(accountID string, env access.Environment, below int64) error {
	return t.one("UPDATE balances SET low_credits = $1 WHERE account_id = $2 AND environment = $3", below, accountID, string(env))
}

// LedgerLine is an entry with the number of its order.
type LedgerLine struct {
	credit.Entry
	OrderNumber string
}

// LedgerBelow returns up to limit entries of an account and environment whose sequence number is not above seq, newest
// first: with dense numbers a page is one such range.
func (q Queries) LedgerBelow(ctx context.Context, accountID string, env access.Environment, seq int64, limit int) ([]LedgerLine, error) {
	return q.ledgerLines(ctx, "l.seq <= $3 AND l.seq > $4 ORDER BY l.seq DESC", accountID, env, seq, seq-int64(limit))
}

// LedgerWithoutCharges returns up to limit grants and refunds of an account and environment whose sequence number is below
// before, newest first. They are few among the charges and have an index of their own.
func (q Queries) LedgerWithoutCharges(ctx context.Context, accountID string, env access.Environment, before int64, limit int) ([]LedgerLine, error) {
	return q.ledgerLines(ctx, "l.kind <> 'charge' AND l.seq < $3 ORDER BY l.seq DESC LIMIT $4", accountID, env, before, int64(limit))
}

func (q Queries) ledgerLines(ctx context.Context, where, accountID string, env access.Environment, args ...any) ([]LedgerLine, error) {
	var lines []LedgerLine
	err := q.rows(ctx, `SELECT l.id, l.seq, l.kind, l.amount, l.balance_after, l.order_id, l.note, l.created_at, o.number
		FROM ledger_entries l LEFT JOIN orders o ON o.id = l.order_id WHERE l.account_id = $1 AND l.environment = $2 AND `+where,
		append([]any{accountID, string(env)}, args...), func(scan func(...any) error) error {
			var l LedgerLine
			var orderID, number sql.NullString
			var created int64
			err := scan(&l.ID, &l.Seq, &l.Kind, &l.Amount, &l.BalanceAfter, &orderID, &l.Note, &created, &number)
			l.AccountID, l.Environment, l.OrderID, l.OrderNumber, l.CreatedAt = accountID, env, orderID.String, number.String, timeOf(created)
			lines = append(lines, l)
			return err
		})
	return lines, err
}
