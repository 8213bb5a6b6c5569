package store

import (
	"context"
	"database/sql"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/certificate"
	"github.com/assayhq/assay/internal/domain/credit"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/db"
)

// The queries of this file read what internal/proof checks. Each can walk an index in its order, and no result is ever
// completely in memory.

// BalanceProof is what a balance says of its ledger and orders.
type BalanceProof struct {
	Environment access.Environment
	Credits     int64
	Orders      int64
	Entries     int64
}

// BalancesOf returns the balances of an account.
func (q Queries) BalancesOf(ctx context.Context, accountID string) ([]BalanceProof, error) {
	return db.Collect(ctx, q.db, func(scan db.Scanner) (b BalanceProof, err error) {
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

// EachEntry calls f for the ledger entries of a tenant in their sequence. What they refer to is joined by ids alone and
// compared here: given more to join by, PostgreSQL may walk the whole account for each entry.
func (q Queries) EachEntry(ctx context.Context, tenant access.Tenant, f func(*EntryProof) error) error {
	return q.db.Rows(ctx, `SELECT e.id, e.seq, e.kind, e.amount, e.balance_after, e.order_id, e.charge_id,
		o.account_id, o.environment,
		c.kind, c.order_id, c.account_id, c.environment, c.amount FROM ledger_entries AS e
		LEFT JOIN orders AS o ON o.id = e.order_id LEFT JOIN ledger_entries AS c ON c.id = e.charge_id
		WHERE e.`+ofTenant+" ORDER BY e.seq", []any{tenant.AccountID, string(tenant.Environment)},
		func(scan db.Scanner) error {
			e := EntryProof{Entry: credit.Entry{Tenant: tenant}}
			var orderID, chargeID, orderAccount, orderEnv, chargeKind, chargeOrder, chargeAccount, chargeEnv sql.NullString
			var chargeAmount sql.NullInt64
			if err := scan(&e.ID, &e.Seq, &e.Kind, &e.Amount, &e.BalanceAfter, &orderID, &chargeID, &orderAccount, &orderEnv,
				&chargeKind, &chargeOrder, &chargeAccount, &chargeEnv, &chargeAmount); err != nil {
				return err
			}
			e.OrderID, e.ChargeID = orderID.String, chargeID.String
			e.HasOrder = orderAccount.String == tenant.AccountID && orderEnv.String == string(tenant.Environment)
			own := chargeAccount.String == tenant.AccountID && chargeEnv.String == string(tenant.Environment)
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
	Number       string
	Price        int64
	Status       order.Status
	Outcome      order.Outcome
	CategoryCode string
	BrandCode    string
	Facts        string
	Created      error  // why it cannot be read how the order was created; nil: it can
	Verdict      string // details of the last completion in its timeline; empty: there is none
	LastStep     string // of its timeline that moved the order; empty: nothing did
	ChargeID     string // empty: none
	ChargeAmount int64
	RefundID     string // empty: none

	CertificateID string              // empty: none
	Certificate   *certificate.Issued // nil: there is none with that id
	Signature     string              // of the certificate, as it is stored
}

// EachOrder calls f for the orders of a tenant in their sequence.
func (q Queries) EachOrder(ctx context.Context, tenant access.Tenant, f func(*OrderProof) error) error {
	return q.db.Rows(ctx, `SELECT o.id, o.seq, o.number, o.price, o.status, o.outcome, o.category_code, o.brand_code,
			o.facts, o.creation,
			(SELECT e.details FROM order_events AS e WHERE e.order_id = o.id AND e.event = 'completed'
				ORDER BY e.seq DESC LIMIT 1),
			(SELECT e.event FROM order_events AS e WHERE e.order_id = o.id AND e.event <> 'certificate-revoked'
				ORDER BY e.seq DESC LIMIT 1),
			o.certificate_id, c.order_id, c.document, c.signature, c.key_id, l.id, COALESCE(l.amount, 0), r.id
		FROM orders AS o LEFT JOIN ledger_entries AS l ON l.id = o.id AND l.kind = 'charge'
		LEFT JOIN ledger_entries AS r ON r.charge_id = l.id
		LEFT JOIN certificates AS c ON c.id = o.certificate_id
		WHERE o.`+ofTenant+" ORDER BY o.seq", []any{tenant.AccountID, string(tenant.Environment)},
		func(scan db.Scanner) error {
			var o OrderProof
			var created, certified, document, keyID string
			if err := scan(&o.ID, &o.Seq, &o.Number, &o.Price, &o.Status, column.Text(&o.Outcome), &o.CategoryCode,
				&o.BrandCode, &o.Facts, &created, column.Text(&o.Verdict), column.Text(&o.LastStep), column.Text(&o.CertificateID),
				column.Text(&certified), column.Text(&document), column.Text(&o.Signature), column.Text(&keyID),
				column.Text(&o.ChargeID), &o.ChargeAmount, column.Text(&o.RefundID)); err != nil {
				return err
			}
			o.Created = decodeCreation(created, new(creation))
			if certified != "" {
				o.Certificate = &certificate.Issued{ID: o.CertificateID, OrderID: certified}
				o.Certificate.Document, o.Certificate.KeyID = []byte(document), keyID
				if raw, err := column.DecodeBytes(o.Signature); err == nil { // else the signature does not hold
					o.Certificate.Signature = raw
				}
			}
			return f(&o)
		})
}

// TimelineGap is an order whose timeline has other numbers than those from 1 on.
type TimelineGap struct {
	OrderID     string
	Steps, Last int64 // how many steps there are, and the last number
}

// TimelineGaps calls f for every one.
func (q Queries) TimelineGaps(ctx context.Context, f func(TimelineGap)) error {
	return each(ctx, q, func(g *TimelineGap) []any { return []any{&g.OrderID, &g.Steps, &g.Last} }, f,
		`SELECT order_id, COUNT(*), MAX(seq) FROM order_events GROUP BY order_id
		HAVING COUNT(*) <> MAX(seq) OR MIN(seq) <> 1 ORDER BY order_id`)
}

// RoundGap is an order that lacks photos of rounds that its timeline says were answered, or has some of others.
type RoundGap struct {
	OrderID         string
	Answered, Whole int64 // rounds; those are whole whose photos are numbered without a gap
}

// RoundGaps calls f for every one.
func (q Queries) RoundGaps(ctx context.Context, f func(RoundGap)) error {
	return each(ctx, q, func(g *RoundGap) []any { return []any{&g.OrderID, &g.Answered, &g.Whole} }, f,
		`SELECT order_id, CAST(SUM(answered) AS BIGINT), CAST(SUM(whole) AS BIGINT) FROM (
			SELECT order_id, COUNT(*) AS answered, 0 AS whole FROM order_events WHERE event = 'photos-submitted'
				GROUP BY order_id
			UNION ALL SELECT order_id, 0, CASE WHEN COUNT(*) = MAX(position) + 1 THEN 1 ELSE 0 END FROM order_photos
				GROUP BY order_id, round) AS rounds
		GROUP BY order_id HAVING SUM(answered) <> SUM(whole) ORDER BY order_id`)
}

// RevokedProof is a certificate that is revoked, although its order has it still: somebody revoked it, and what the
// timeline says of that last.
type RevokedProof struct {
	ID, OrderID, Reason string
	Step                string // details of the step; empty: there is none
}

// EachRevoked calls f for every certificate that is revoked and that its order has.
func (q Queries) EachRevoked(ctx context.Context, f func(RevokedProof)) error {
	return each(ctx, q, func(r *RevokedProof) []any {
		return []any{&r.ID, &r.OrderID, &r.Reason, column.Text(&r.Step)}
	}, f, `SELECT c.id, c.order_id, c.revoked_reason,
			(SELECT e.details FROM order_events AS e WHERE e.order_id = c.order_id AND e.event = 'certificate-revoked'
				ORDER BY e.seq DESC LIMIT 1)
		FROM certificates AS c JOIN orders AS o ON o.id = c.order_id AND o.certificate_id = c.id
		WHERE c.revoked_at IS NOT NULL ORDER BY c.id`)
}

// StrayProof is a certificate in force that its order does not have, or else that was revoked.
type StrayProof struct {
	ID, OrderID string
	Revoked     bool
}

// StrayCertificates calls f for every certificate in force that its order does not have, and for those of Live orders
// that are in force although the timeline says that they were revoked.
func (q Queries) StrayCertificates(ctx context.Context, f func(StrayProof)) error {
	return each(ctx, q, func(s *StrayProof) []any { return []any{&s.ID, &s.OrderID, &s.Revoked} }, f,
		`SELECT c.id, c.order_id, CASE WHEN o.certificate_id = c.id AND o.outcome = 'authentic' THEN 1 ELSE 0 END
		FROM certificates AS c LEFT JOIN orders AS o ON o.id = c.order_id
		WHERE c.revoked_at IS NULL AND (o.id IS NULL OR o.outcome IS NULL OR o.outcome <> 'authentic'
			OR o.certificate_id IS NULL OR o.certificate_id <> c.id OR o.environment = 'live' AND EXISTS
				(SELECT 1 FROM order_events AS e WHERE e.order_id = o.id AND e.event = 'certificate-revoked'))
		ORDER BY c.id`)
}

// ProofRows returns how many ledger entries, orders and entries of accounts' logs there are, as their counters say.
func (q Queries) ProofRows(ctx context.Context) (int64, error) {
	return db.Value[int64](ctx, q.db, `SELECT (SELECT COALESCE(SUM(entries + orders), 0) FROM balances) +
		(SELECT COALESCE(SUM(audit_count + portal_count - portal_gone), 0) FROM accounts)`)
}

// CertificateCount returns how many certificates there are.
func (q Queries) CertificateCount(ctx context.Context) (int64, error) {
	return db.Value[int64](ctx, q.db, "SELECT COUNT(*) FROM certificates")
}

// LiveResults returns how many Live orders of an account have ended in each result, counted one by one, and what the
// counters of results say.
func (q Queries) LiveResults(ctx context.Context, accountID string) (counted, kept map[string]int64, err error) {
	counted, err = db.Pairs[string, int64](ctx, q.db, `SELECT COALESCE(outcome, status), COUNT(*) FROM orders
		WHERE `+ofLiveTenant+" AND ended_at IS NOT NULL GROUP BY COALESCE(outcome, status)",
		accountID)
	if err != nil {
		return nil, nil, err
	}
	kept, err = db.Pairs[string, int64](ctx, q.db, `SELECT result, CAST(SUM(orders) AS BIGINT) FROM order_results
		WHERE account_id = $1 AND environment = 'live' GROUP BY result`, accountID)
	return counted, kept, err
}

// EachStaffAction calls f for the entries of the log of administration in their sequence, each with the stored text of
// its details.
func (q Queries) EachStaffAction(ctx context.Context, f func(a *audit.Action, details string) error) error {
	return q.db.Rows(ctx, "SELECT "+actionColumns+" FROM staff_actions ORDER BY seq", nil, func(scan db.Scanner) error {
		a, details, err := scanStoredAction(scan)
		if err != nil {
			return err
		}
		return f(a, details)
	})
}

// EntryHash returns the hash of the entry of a chain that has the number of the head, or ErrNotFound.
func (q Queries) EntryHash(ctx context.Context, h audit.Head) (string, error) {
	if h.AccountID == "" {
		return db.Value[string](ctx, q.db, "SELECT hash FROM staff_actions WHERE seq = $1", h.Number)
	}
	table := "audit_events"
	if h.Chain == audit.OfThePortal {
		table = "portal_events"
	}
	return db.Value[string](ctx, q.db, "SELECT hash FROM "+table+" WHERE account_id = $1 AND seq = $2", h.AccountID,
		h.Number)
}

// EachEvent calls f for the events of a log of an account in their sequence, each with the stored text of its metadata,
// which is what its hash was made over.
func (q Queries) EachEvent(
	ctx context.Context, of audit.Log, accountID string, f func(e *audit.Event, metadata string) error,
) error {
	return q.db.Rows(ctx, "SELECT "+auditColumns+" FROM "+accountLogs[of].table+" WHERE account_id = $1 ORDER BY seq",
		[]any{accountID},
		func(scan db.Scanner) error {
			e, metadata, err := scanStoredEvent(scan)
			if err != nil {
				return err
			}
			return f(e, metadata)
		})
}

// LiveOrderCounts returns how many Live orders are in each status, counted one by one, and what the counters say that
// the lists of the desk read; those of due days stand in for others where they are wrong. Queued orders have no
// counter: they are what is in no other status.
func (q Queries) LiveOrderCounts(ctx context.Context) (counted, kept map[order.Status]int64, err error) {
	read := db.Pairs[order.Status, int64]
	counted, err = read(ctx, q.db, "SELECT status, COUNT(*) FROM orders WHERE environment = 'live' GROUP BY status")
	if err != nil {
		return nil, nil, err
	}
	const sums = "SELECT status, CAST(SUM(orders) AS BIGINT) FROM "
	if kept, err = read(ctx, q.db, sums+"live_order_counts GROUP BY status"); err != nil {
		return nil, nil, err
	}
	byDay, err := read(ctx, q.db, sums+"live_ended_due_days GROUP BY status")
	for _, s := range endedStatuses {
		if byDay[s] != counted[s] {
			kept[s] = byDay[s]
		}
	}
	return counted, kept, err
}

// LastOrderID returns the greatest id of an order; empty when there is none.
func (q Queries) LastOrderID(ctx context.Context) (string, error) {
	return db.Value[string](ctx, q.db, "SELECT COALESCE(MAX(id), '') FROM orders")
}

// BrokenReference is a row that refers to a row that does not exist.
type BrokenReference struct {
	Table  string
	RowID  int64 // 0: the table has none
	Parent string
}

// BrokenReferences calls f for every row whose foreign key refers to a row that does not exist. PostgreSQL does not let
// that happen; a SQLite file can be written by any program, which may not have asked for foreign keys.
func (q Queries) BrokenReferences(ctx context.Context, f func(BrokenReference)) error {
	if q.db.Dialect != &db.SQLite {
		return nil
	}
	return each(ctx, q, func(r *BrokenReference) []any { return []any{&r.Table, &r.RowID, &r.Parent} }, f,
		`SELECT "table", COALESCE(rowid, 0), parent FROM pragma_foreign_key_check`)
}
