// Package proof checks an installation: that ledger, orders, audit log and photos are consistent with each other. The
// rules are here, the SQL is in internal/store/proof.go.
package proof

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/certificate"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/progress"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/schema"
)

// Report is the result of a check: what was checked and what is wrong.
type Report struct {
	OK            bool      `json:"ok"`
	Accounts      int64     `json:"accounts"`
	Orders        int64     `json:"orders"`
	LiveOrders    Counts    `json:"live_orders"` // by status
	LedgerEntries int64     `json:"ledger_entries"`
	AuditEvents   int64     `json:"audit_events"`
	PortalEvents  int64     `json:"portal_events"`
	Photos        int64     `json:"photos"`          // of orders; a photo in two orders counts twice
	Notes         []string  `json:"notes,omitempty"` // what could not be checked, and why
	Deep          *Deep     `json:"deep,omitempty"`  // nil: the check was not deep
	ProblemCount  int64     `json:"problem_count"`
	Problems      []Problem `json:"problems"` // the first MaxProblems
}

// Deep is what a deep check tells besides.
type Deep struct {
	StaffActions int64 `json:"staff_actions"`
	Certificates int64 `json:"certificates"`
	PhotosRead   int64 `json:"photos_read"`
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
	OrderFacts      ProblemKind = "order-facts"            // what was recorded of an order can be read
	OrderOutcome    ProblemKind = "order-outcome"          // outcome and reasons are the last ones of its timeline
	TimelineSeq     ProblemKind = "timeline-sequence"      // whose steps have no gaps and lead to its status
	OrderResults    ProblemKind = "order-results"          // the counters of results agree with the orders
	CertMissing     ProblemKind = "certificate-missing"    // an authentic order has its certificate
	CertChanged     ProblemKind = "certificate-changed"    // which is as it was signed, for that order
	CertDiffers     ProblemKind = "certificate-differs"    // and tells of its item and, deep, of its photos
	CertStray       ProblemKind = "certificate-stray"      // one in force belongs to an authentic order
	CertRevoked     ProblemKind = "certificate-revoked"    // it is revoked if, and as, its timeline says so
	AuditSequence   ProblemKind = "audit-sequence"         // events are numbered from 1 to the account's counter
	AuditHash       ProblemKind = "audit-hash"             // each event's hash seals it and the one before
	AuditHead       ProblemKind = "audit-head"             // the account knows the hash of the last event
	AuditKept       ProblemKind = "audit-kept-head"        // a head that was kept elsewhere is still in its chain
	PortalSequence  ProblemKind = "portal-log-sequence"    // entries that are kept are numbered up to the counter
	PortalHash      ProblemKind = "portal-log-hash"        // each entry's hash seals it and the one before
	PortalHead      ProblemKind = "portal-log-head"        // the account knows the hash of the last entry
	PortalTrimmed   ProblemKind = "portal-log-trimmed"     // what is not kept any more was removed by the program
	StaffSequence   ProblemKind = "staff-log-sequence"     // entries are numbered from 1 to the counter
	StaffHash       ProblemKind = "staff-log-hash"         // each entry's hash seals it and the one before
	StaffHead       ProblemKind = "staff-log-head"         // the hash of the last entry is known
	PhotoRow        ProblemKind = "photo-row"              // an order has its photos, known, used and its account's
	PhotoMissing    ProblemKind = "photo-missing"          // its file is in the media store
	PhotoSize       ProblemKind = "photo-size"             // and has the size that was uploaded
	PhotoHash       ProblemKind = "photo-hash"             // and the bytes (deep)
	PhotoErased     ProblemKind = "photo-erased"           // the file of an erased one is gone
	PhotoTotals     ProblemKind = "photo-totals"           // the totals of accounts are those of their photos (deep)
	RecordBroken    ProblemKind = "record-unreadable"      // days, keys, approvals and, deep, events can be read
	SecretBroken    ProblemKind = "secret-unreadable"      // what is sealed is there and can be opened
	BrokenReference ProblemKind = "broken-reference"       // what a row refers to exists
	CatalogBroken   ProblemKind = "catalog-unreadable"     // the catalog can be read
	Schema          ProblemKind = "schema"                 // tables, indexes and constraints are those of the program
	DatabaseCorrupt ProblemKind = "database-corrupt"       // the engine can read its own files
)

// Options say what is checked.
type Options struct {
	Store *store.Store // with the chain of its logs
	Media media.Store

	CertificateKeys certificate.KeySet
	Heads           []audit.Head // that were kept elsewhere
	Deep            bool         // also read every photo, event and delivery, and compare indexes with their tables

	// Unreadable calls f for every sealed value that cannot be opened; nil: they are not checked.
	Unreadable func(ctx context.Context, f func(table, id string)) error
}

// Check checks the database itself, the ledger, the logs, orders with their outcomes and certificates, and that every
// photo of an order is in the media store. Servers may write meanwhile: rows are read as they are at one moment. Memory
// does not grow with the number of rows. An error means that the check could not be made; what it finds wrong is in the
// report.
func Check(ctx context.Context, o Options) (*Report, error) {
	c := &check{Options: o, report: Report{Problems: []Problem{}}}
	err := c.structure(ctx)
	if err == nil {
		err = c.rows(ctx)
	}
	if err = c.excused(err); err != nil {
		return nil, err
	}
	if c.report.OK = c.report.ProblemCount == 0; o.Deep {
		c.found.PhotosRead = c.report.Photos
		c.report.Deep = &c.found
	}
	return &c.report, nil
}

// Broken returns the report on an installation that could not be opened with an error, and what whoever tried knows of
// the cause: nil where that is not the fault of the database. db is nil where the database itself could not be opened.
func Broken(ctx context.Context, db *store.Store, err error, known ...Problem) *Report {
	c := &check{Options: Options{Store: db}, report: Report{Problems: []Problem{}}}
	if db != nil && c.excused(c.structure(ctx)) != nil {
		return nil
	}
	if message, corrupt := store.Corrupt(err); corrupt {
		c.add(Problem{Kind: DatabaseCorrupt, Message: message})
	}
	if errors.Is(err, schema.ErrNoVersion) {
		c.add(Problem{Kind: Schema, ID: schema.VersionTable, Message: schema.ErrNoVersion.Error()})
	}
	for _, p := range known {
		c.add(p)
	}
	if c.report.ProblemCount == 0 {
		return nil
	}
	c.note("The installation could not be opened, and nothing else was checked: " + err.Error())
	c.report.LiveOrders = make(Counts)
	return &c.report
}

// structure checks the files of the database and its schema.
func (c *check) structure(ctx context.Context) error {
	progress.Step(ctx, "files of the database")
	add := func(kind ProblemKind) func(id, message string) {
		return func(id, message string) { c.add(Problem{Kind: kind, ID: id, Message: message}) }
	}
	note, err := c.Store.Integrity(ctx, c.Deep, add(DatabaseCorrupt))
	c.note(note)
	if err != nil {
		return err
	}
	progress.Step(ctx, "schema")
	note, err = c.Store.SchemaProblems(ctx, add(Schema))
	c.note(note)
	return err
}

func (c *check) note(text string) {
	if text != "" {
		c.report.Notes = append(c.report.Notes, text)
	}
}

// excused returns an error that ends a check unless it follows from what was found: then the report says so.
func (c *check) excused(err error) error {
	if err == nil {
		return nil
	}
	if message, corrupt := store.Corrupt(err); corrupt {
		c.add(Problem{Kind: DatabaseCorrupt, Message: message})
		c.note("The database is corrupt: not everything could be checked.")
		return nil
	}
	if slices.ContainsFunc(c.report.Problems, func(p Problem) bool { return p.Kind == Schema }) {
		c.note("The schema is not whole: not everything could be checked: " + err.Error())
		return nil
	}
	return err
}

// rows checks what is stored.
func (c *check) rows(ctx context.Context) error {
	var lastOrder string
	err := c.Store.Snapshot(ctx, func(q store.Queries) (err error) {
		if lastOrder, err = q.LastOrderID(ctx); err != nil {
			return err
		}
		for _, part := range []struct {
			what  string
			check func(context.Context, store.Queries) error
		}{
			{"references between rows", c.references},
			{"counters of orders", c.orderCounts},
			{"ledger, orders and logs", c.accounts},
			{"log of administration", c.staffLog},
			{"heads kept elsewhere", c.keptHeads},
			{"certificates", c.strayCertificates},
			{"timelines", c.timelines},
			{"records", c.records},
			{"catalog", c.catalog},
		} {
			progress.Step(ctx, part.what)
			if err := part.check(ctx, q); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("check the database: %w", err)
	}
	if c.Unreadable != nil {
		if err := c.Unreadable(ctx, func(table, id string) {
			c.add(Problem{Kind: SecretBroken, ID: id, Message: "the secret in " + table + " cannot be opened with this key"})
		}); err != nil {
			return fmt.Errorf("check the secrets: %w", err)
		}
	}
	// Outside the snapshot, which must not wait for a media store: photos of orders are never changed, only erased, the
	// row first.
	if err := c.photos(ctx, c.Store.Queries, c.Media, lastOrder); err != nil {
		return fmt.Errorf("check the photos: %w", err)
	}
	return nil
}

func (c *check) references(ctx context.Context, q store.Queries) error {
	return q.BrokenReferences(ctx, func(r store.BrokenReference) {
		c.problem(BrokenReference, strconv.FormatInt(r.RowID, 10), "row %d of %s refers to a row of %s that does not exist",
			r.RowID, r.Table, r.Parent)
	})
}

// check is a check in progress.
type check struct {
	Options
	mu     sync.Mutex // photos are checked in parallel
	report Report
	found  Deep
	left   []leftover
	done   func(int64) // takes the ledger entries, orders and events that were read
}

func (c *check) add(p Problem) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.report.ProblemCount++; c.report.ProblemCount <= MaxProblems {
		c.report.Problems = append(c.report.Problems, p)
	}
}

// problem adds one of no account.
func (c *check) problem(kind ProblemKind, id, format string, args ...any) {
	c.add(Problem{Kind: kind, ID: id, Message: fmt.Sprintf(format, args...)})
}

// pageSize is how many accounts or photos are read at once.
const pageSize = 500

func (c *check) accounts(ctx context.Context, q store.Queries) error {
	var total int64
	if progress.On(ctx) {
		var err error
		if total, err = q.ProofRows(ctx); err != nil {
			return err
		}
	}
	c.done = progress.Begin(ctx, "ledger, orders and logs", progress.Items, total)
	last := ""
	for {
		page, err := q.AuditHeads(ctx, last, pageSize)
		if err != nil || len(page) == 0 {
			return err
		}
		for i := range page {
			if err := c.account(ctx, q, &page[i]); err != nil {
				return err
			}
		}
		last = page[len(page)-1].AccountID
		c.report.Accounts += int64(len(page))
	}
}

// orderCounts counts the Live orders in each status.
func (c *check) orderCounts(ctx context.Context, q store.Queries) error {
	live := &tenant{check: c, balance: store.BalanceProof{Environment: access.Live}}
	counted, kept, err := q.LiveOrderCounts(ctx)
	c.report.LiveOrders = make(Counts, len(order.Statuses))
	for _, s := range order.Statuses {
		c.report.LiveOrders[s] = counted[s]
		n, ok := kept[s]
		switch {
		case s == order.Queued: // no counter: what is in no other status
		case !ok:
			live.problem(OrderCount, "", "there is no counter of orders in %s", s)
		case n != counted[s]:
			live.problem(OrderCount, "", "%d orders are in %s, the counter says %d", counted[s], s, n)
		}
	}
	return err
}

func (c *check) account(ctx context.Context, q store.Queries, a *audit.Head) error {
	balances, err := q.BalancesOf(ctx, a.AccountID)
	if err != nil {
		return err
	}
	for _, env := range access.Environments {
		t := &tenant{check: c, accountID: a.AccountID, balance: store.BalanceProof{Environment: env}}
		i := slices.IndexFunc(balances, func(b store.BalanceProof) bool { return b.Environment == env })
		if i < 0 {
			t.problem(BalanceMissing, "", "the account has no balance in this environment")
			continue
		}
		t.balance = balances[i]
		if err := t.ledger(ctx, q); err != nil {
			return err
		}
		if err := t.orders(ctx, q); err != nil {
			return err
		}
	}
	if err := c.results(ctx, q, a.AccountID); err != nil {
		return err
	}
	if err := c.auditLog(ctx, q, a); err != nil {
		return err
	}
	return c.portalLog(ctx, q, a.AccountID)
}
