// Package proof checks an installation: that ledger, orders, audit log and photos are consistent with each other. The
// rules are here, the SQL is in internal/store/proof.go.
package proof

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/store"
)

// Report is the result of a check: what was checked and what is wrong.
type Report struct {
	OK            bool      `json:"ok"`
	Accounts      int64     `json:"accounts"`
	Orders        int64     `json:"orders"`
	LiveOrders    Counts    `json:"live_orders"` // by status
	LedgerEntries int64     `json:"ledger_entries"`
	AuditEvents   int64     `json:"audit_events"`
	Photos        int64     `json:"photos"` // of orders; a photo in two orders counts twice
	ProblemCount  int64     `json:"problem_count"`
	Problems      []Problem `json:"problems"` // the first MaxProblems
}

// Counts are numbers of orders by status; every status is there.
type Counts map[order.Status]int64

// MaxProblems is how many problems a report lists; it counts all.
const MaxProblems = 1000

// Problem is one thing that is wrong. Fields that do not apply are empty.
type Problem struct {
	Kind        ProblemKind `json:"kind"`
	AccountID   string      `json:"account_id"`
	Environment string      `json:"environment"`
	ID          string      `json:"id"` // of the entry, order, event or photo
	Message     string      `json:"message"`
}

// ProblemKind says which rule is violated.
type ProblemKind string

// The kinds of problems, each with the rule.
const (
	BalanceMissing  ProblemKind = "balance-missing"        // an account has a balance in each environment
	LedgerBalance   ProblemKind = "ledger-balance"         // the balance is the sum of its entries
	LedgerRunning   ProblemKind = "ledger-running-balance" // each entry's balance is the one before plus its amount
	LedgerSequence  ProblemKind = "ledger-sequence"        // entries are numbered from 1 to the balance's counter
	LedgerOrder     ProblemKind = "ledger-order"           // charges and refunds belong to an order of their account
	LedgerRefund    ProblemKind = "ledger-refund"          // a refund gives back the whole of a charge of its order
	OrderSequence   ProblemKind = "order-sequence"         // orders are numbered from 1 to the balance's counter
	OrderCharge     ProblemKind = "order-charge"           // an order has one charge, of its price
	OrderRefund     ProblemKind = "order-refund"           // canceled and failed orders have one refund, others none
	OrderCount      ProblemKind = "order-count"            // the desk's counters of Live orders by status are right
	AuditSequence   ProblemKind = "audit-sequence"         // events are numbered from 1 to the account's counter
	AuditHash       ProblemKind = "audit-hash"             // each event's hash seals it and the one before
	AuditHead       ProblemKind = "audit-head"             // the account knows the hash of the last event
	PhotoRow        ProblemKind = "photo-row"              // a photo of an order is known, as used and as its account's
	PhotoMissing    ProblemKind = "photo-missing"          // its file is in the media store
	PhotoSize       ProblemKind = "photo-size"             // and has the size that was uploaded
	BrokenReference ProblemKind = "broken-reference"       // what a row refers to exists
)

// Check checks the ledger, the audit log, the counters of orders and that every photo of an order is in the media
// store. Servers may write meanwhile: rows are read as they are at one moment. Memory does not grow with the number of
// rows. An error means that the check could not be made; what it finds wrong is in the report.
func Check(ctx context.Context, s *store.Store, files media.Store) (*Report, error) {
	c := &check{report: Report{Problems: []Problem{}}}
	var lastOrder string
	err := s.Snapshot(ctx, func(q store.Queries) (err error) {
		if lastOrder, err = q.LastOrderID(ctx); err != nil {
			return err
		}
		if err := q.BrokenReferences(ctx, func(r store.BrokenReference) error {
			c.add(Problem{
				Kind: BrokenReference, ID: strconv.FormatInt(r.RowID, 10),
				Message: fmt.Sprintf("row %d of %s refers to a row of %s that does not exist", r.RowID, r.Table, r.Parent),
			})
			return nil
		}); err != nil {
			return err
		}
		if err := c.orderCounts(ctx, q); err != nil {
			return err
		}
		return c.accounts(ctx, q)
	})
	if err != nil {
		return nil, fmt.Errorf("check the database: %w", err)
	}
	// Outside the snapshot, which must not wait for a media store: photos of orders are never changed or deleted.
	if err := c.photos(ctx, s.Queries, files, lastOrder); err != nil {
		return nil, fmt.Errorf("check the photos: %w", err)
	}
	c.report.OK = c.report.ProblemCount == 0
	return &c.report, nil
}

// check is a check in progress.
type check struct {
	mu     sync.Mutex // photos are checked in parallel
	report Report
}

func (c *check) add(p Problem) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.report.ProblemCount++; c.report.ProblemCount <= MaxProblems {
		c.report.Problems = append(c.report.Problems, p)
	}
}

// pageSize is how many accounts or photos are read at once.
const pageSize = 500

func (c *check) accounts(ctx context.Context, q store.Queries) error {
	last := ""
	for {
		page, err := q.AccountsAfter(ctx, last, pageSize)
		if err != nil || len(page) == 0 {
			return err
		}
		for i := range page {
			if err := c.account(ctx, q, &page[i]); err != nil {
				return err
			}
		}
		last = page[len(page)-1].ID
		c.report.Accounts += int64(len(page))
	}
}

// orderCounts counts the Live orders in each status.
func (c *check) orderCounts(ctx context.Context, q store.Queries) error {
	problem := func(format string, args ...any) {
		c.add(Problem{Kind: OrderCount, Environment: string(access.Live), Message: fmt.Sprintf(format, args...)})
	}
	counted, kept, err := q.LiveOrderCounts(ctx)
	c.report.LiveOrders = make(Counts, len(order.Statuses))
	for _, s := range order.Statuses {
		c.report.LiveOrders[s] = counted[s]
		n, ok := kept[s]
		switch {
		case s == order.Queued: // no counter: what is in no other status
		case !ok:
			problem("there is no counter of orders in %s", s)
		case n != counted[s]:
			problem("%d orders are in %s, the counter says %d", counted[s], s, n)
		}
	}
	return err
}

func (c *check) account(ctx context.Context, q store.Queries, a *store.AccountProof) error {
	balances, err := q.BalancesOf(ctx, a.ID)
	if err != nil {
		return err
	}
	for _, env := range access.Environments {
		i := slices.IndexFunc(balances, func(b store.BalanceProof) bool { return b.Environment == env })
		if i < 0 {
			c.add(Problem{
				Kind: BalanceMissing, AccountID: a.ID, Environment: string(env),
				Message: "the account has no balance in this environment",
			})
			continue
		}
		t := &tenant{check: c, accountID: a.ID, balance: balances[i]}
		if err := t.ledger(ctx, q); err != nil {
			return err
		}
		if err := t.orders(ctx, q); err != nil {
			return err
		}
	}
	return c.auditLog(ctx, q, a)
}

// auditLog computes the hash of every event. After an event with a wrong hash the chain continues with the stored hash,
// so that one change is reported once.
func (c *check) auditLog(ctx context.Context, q store.Queries, a *store.AccountProof) error {
	problem := func(kind ProblemKind, id, format string, args ...any) {
		c.add(Problem{Kind: kind, AccountID: a.ID, ID: id, Message: fmt.Sprintf(format, args...)})
	}
	var seq, count int64
	previous := ""
	err := q.EachAuditEvent(ctx, a.ID, func(e *audit.Event, metadata string) error {
		count++
		if e.Seq != seq+1 {
			problem(AuditSequence, e.ID, "event %d follows event %d", e.Seq, seq)
		}
		if audit.ChainHash(previous, e, metadata) != e.Hash {
			problem(AuditHash, e.ID, "event %d, or the one before it, was changed: its hash does not hold", e.Seq)
		}
		seq, previous = e.Seq, e.Hash
		return nil
	})
	if err != nil {
		return err
	}
	if count != a.AuditCount {
		problem(AuditSequence, "", "the log has %d events, the account counts %d", count, a.AuditCount)
	}
	if previous != a.AuditHead {
		problem(AuditHead, "", "the last event is not the one that the account has as its last")
	}
	c.report.AuditEvents += count
	return nil
}
