package store

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/credit"
	"github.com/assayhq/assay/internal/domain/order"
)

// The queries of this file read what internal/proof checks. Each can walk an index in its order, and no result is ever
// completely in memory.

// AccountProof is what an account says of its audit log.
type AccountProof struct {
	ID         string
	AuditCount int64
	AuditHead  string
}

// AccountsAfter returns up to limit accounts whose ids follow the given one, in the order of ids.
func (q Queries) AccountsAfter(ctx context.Context, id string, limit int) ([]AccountProof, error) {
	return collect(ctx, q, func(scan scanner) (a AccountProof, err error) {
		err = scan(&a.ID, &a.AuditCount, &a.AuditHead)
		return a, err
	}, "SELECT id, audit_count, audit_head FROM accounts WHERE id > $1 ORDER BY id LIMIT $2", id, limit)
}

// BalanceProof is what a balance says of its ledger and orders.
type BalanceProof struct {
	Environment access.Environment
	Credits     int64
	Orders      int64
	Entries     int64
}

// BalancesOf returns the balances of an account.
func (q Queries) BalancesOf(ctx context.Context, accountID string) ([]BalanceProof, error) {
	return collect(ctx, q, func(scan scanner) (b BalanceProof, err error) {
		err = scan(&b.Environment, &b.Credits, &b.Orders, &b.Entries)
		return b, err
	}, "SELECT environment, credits, orders, entries FROM balances WHERE account_id = $1", accountID)
}

// EntryProof is a ledger entry with what it refers to, as far as that belongs to the same account and environment.
type EntryProof struct {
	credit.Entry
	HasOrder     bool          // its order exists
	ChargeAmount sql.NullInt64 // of the charge that it gives back: an entry of kind charge for the same order
}

// EachEntry calls f for the ledger entries of an account and environment in their sequence. What they refer to is
// joined by ids alone and compared here: given more to join by, PostgreSQL may walk the whole account for each entry.
func (q Queries) EachEntry(
	ctx context.Context, accountID string, env access.Environment, f func(*EntryProof) error,
) error {
	return q.rows(ctx, `SELECT e.id, e.seq, e.kind, e.amount, e.balance_after, e.order_id, e.charge_id,
		o.account_id, o.environment,
		c.kind, c.order_id, c.account_id, c.environment, c.amount FROM ledger_entries AS e
		LEFT JOIN orders AS o ON o.id = e.order_id LEFT JOIN ledger_entries AS c ON c.id = e.charge_id
		WHERE e.account_id = $1 AND e.environment = $2 ORDER BY e.seq`, []any{accountID, string(env)},
		func(scan scanner) error {
			e := EntryProof{Entry: credit.Entry{AccountID: accountID, Environment: env}}
			var orderID, chargeID, orderAccount, orderEnv, chargeKind, chargeOrder, chargeAccount, chargeEnv sql.NullString
			var chargeAmount sql.NullInt64
			if err := scan(&e.ID, &e.Seq, &e.Kind, &e.Amount, &e.BalanceAfter, &orderID, &chargeID, &orderAccount, &orderEnv,
				&chargeKind, &chargeOrder, &chargeAccount, &chargeEnv, &chargeAmount); err != nil {
				return err
			}
			e.OrderID, e.ChargeID = orderID.String, chargeID.String
			e.HasOrder = orderAccount.String == accountID && orderEnv.String == string(env)
			own := chargeAccount.String == accountID && chargeEnv.String == string(env)
			if own && chargeKind.String == string(credit.Charge) && chargeOrder == orderID {
				e.ChargeAmount = chargeAmount
			}
			return f(&e)
		})
}

// OrderProof is an order with its charge and one of the refunds of that. An order with several comes several times, in
// a row.
type OrderProof struct {
	ID           string
	Seq          int64
	Price        int64
	Status       order.Status
	Outcome      order.Outcome
	ChargeID     string // empty: none
	ChargeAmount int64
	RefundID     string // empty: none
}

// EachOrder calls f for the orders of an account and environment in their sequence.
func (q Queries) EachOrder(
	ctx context.Context, accountID string, env access.Environment, f func(*OrderProof) error,
) error {
	return q.rows(ctx, `SELECT o.id, o.seq, o.price, o.status, o.outcome, c.id, COALESCE(c.amount, 0), r.id
		FROM orders AS o LEFT JOIN ledger_entries AS c ON c.id = o.id AND c.kind = 'charge'
		LEFT JOIN ledger_entries AS r ON r.charge_id = c.id
		WHERE o.account_id = $1 AND o.environment = $2 ORDER BY o.seq`, []any{accountID, string(env)},
		func(scan scanner) error {
			var o OrderProof
			if err := scan(&o.ID, &o.Seq, &o.Price, &o.Status, asText(&o.Outcome), asText(&o.ChargeID), &o.ChargeAmount,
				asText(&o.RefundID)); err != nil {
				return err
			}
			return f(&o)
		})
}

// EachAuditEvent calls f for the audit events of an account in their sequence, each with the stored text of its
// metadata, which is what its hash was made over.
func (q Queries) EachAuditEvent(
	ctx context.Context, accountID string, f func(e *audit.Event, metadata string) error,
) error {
	return q.rows(ctx, "SELECT "+auditColumns+" FROM audit_events WHERE account_id = $1 ORDER BY seq", []any{accountID},
		func(scan scanner) error {
			e, metadata, err := scanStoredEvent(scan)
			if err != nil {
				return err
			}
			return f(e, metadata)
		})
}

// LiveOrderCounts returns how many Live orders are in each status, counted one by one, and what the counters say that
// the lists of the desk read; those of due days stand in for others where they are wrong. Queued orders have no
// counter: they
// are what is in no other status.
func (q Queries) LiveOrderCounts(ctx context.Context) (counted, kept map[order.Status]int64, err error) {
	read := pairs[order.Status, int64]
	counted, err = read(ctx, q, "SELECT status, COUNT(*) FROM orders WHERE environment = 'live' GROUP BY status")
	if err != nil {
		return nil, nil, err
	}
	const sums = "SELECT status, CAST(SUM(orders) AS BIGINT) FROM "
	if kept, err = read(ctx, q, sums+"live_order_counts GROUP BY status"); err != nil {
		return nil, nil, err
	}
	byDay, err := read(ctx, q, sums+"live_ended_due_days GROUP BY status")
	for _, s := range endedStatuses {
		if byDay[s] != counted[s] {
			kept[s] = byDay[s]
		}
	}
	return counted, kept, err
}

// LastOrderID returns the greatest id of an order; empty when there is none.
func (q Queries) LastOrderID(ctx context.Context) (string, error) {
	return value[string](ctx, q, "SELECT COALESCE(MAX(id), '') FROM orders")
}

// OrderPhotoProof is a photo of an order with what is known of it.
type OrderPhotoProof struct {
	OrderID     string
	AccountID   string
	Environment access.Environment
	Name        string
	Known       bool // the photo has a row
	Used        bool // and is marked as used by an order
	Owned       bool // and belongs to the account and environment of the order
	Bytes       int64
}

// OrderPhotosAfter returns the photos of up to limit orders whose ids follow the one given, as far as the id last, and
// the id of the last of these orders, empty when there are no more.
func (q Queries) OrderPhotosAfter(
	ctx context.Context, id, last string, limit int,
) (photos []OrderPhotoProof, next string, err error) {
	var names []string
	owner := make(map[string]OrderPhotoProof) // of an order
	add := func(orderID, name string) {
		p := owner[orderID]
		p.OrderID, p.Name = orderID, name
		photos, names = append(photos, p), append(names, name)
	}
	if err := q.rows(ctx, `SELECT id, account_id, environment, creation FROM orders
		WHERE id > $1 AND id <= $2 ORDER BY id LIMIT $3`, []any{id, last, limit}, func(scan scanner) error {
		var p OrderPhotoProof
		var text string
		if err := scan(&next, &p.AccountID, &p.Environment, &text); err != nil {
			return err
		}
		owner[next] = p
		var c creation
		err := json.Unmarshal([]byte(text), &c)
		for _, sent := range c.Photos {
			add(next, sent.Name)
		}
		return err
	}); err != nil {
		return nil, "", err
	}
	if err := q.rows(ctx, `SELECT order_id, photo FROM order_photos WHERE order_id > $1 AND order_id <= $2
		AND photo IS NOT NULL ORDER BY order_id, round, position`, []any{id, next}, func(scan scanner) error {
		var orderID, name string
		err := scan(&orderID, &name)
		add(orderID, name)
		return err
	}); err != nil {
		return nil, "", err
	}
	stored, err := q.photos(ctx, names)
	for i := range photos {
		p := &photos[i]
		s, known := stored[p.Name]
		p.Known, p.Used, p.Bytes = known, s.Used, s.Bytes
		p.Owned = s.Tenant == access.Tenant{AccountID: p.AccountID, Environment: p.Environment}
	}
	return photos, next, err
}

// BrokenReference is a row that refers to a row that does not exist.
type BrokenReference struct {
	Table  string
	RowID  int64
	Parent string
}

// BrokenReferences calls f for every row whose foreign key refers to a row that does not exist. PostgreSQL does not let
// that happen; a SQLite file can be written by any program, which may not have asked for foreign keys.
func (q Queries) BrokenReferences(ctx context.Context, f func(BrokenReference) error) error {
	if q.d != &sqliteDialect {
		return nil
	}
	return q.rows(ctx, "PRAGMA foreign_key_check", nil, func(scan scanner) error {
		var r BrokenReference
		var id, key sql.NullInt64
		if err := scan(&r.Table, &id, &r.Parent, &key); err != nil {
			return err
		}
		r.RowID = id.Int64
		return f(r)
	})
}
