package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/credit"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/db"
)

// Creation is an order to be stored with all that belongs to it: its photos are marked as used, its price is taken from
// the balance, and the answer is remembered.
type Creation struct {
	Order   *order.Order // its number and its place in the sequence are given by the store
	Photos  []order.Photo
	KeyName string // of the API key that creates it

	// Answer returns what the customer is told of the order, which has its number: no two orders have the same.
	Answer func() ([]byte, error)

	// Idempotency is nil without a key.
	Idempotency *Idempotency

	// Before is run first in the transaction, where it may refuse the order; nil: nothing. An order with it is not written
	// in one go with others.
	Before func(*Tx) error

	// After returns what else is to be done in the transaction, once the order is stored; nil: nothing. It may be nil
	// itself.
	After func(Charge) func(*Tx) error

	row, charge, key []any // of orders, ledger_entries and idempotency_keys
	repeated         bool  // the idempotency key was used
	tries            int
	tenant           *groupTenant
	refusal          error
	after            func(*Tx) error
}

// UnknownPhotoError refuses an order with a photo that its account does not have.
type UnknownPhotoError struct{ Position int }

func (e *UnknownPhotoError) Error() string { return fmt.Sprintf("photo %d is unknown", e.Position) }

// maxTries is how often a creation is tried that meets rows which exist.
const maxTries = 8

// CreateOrder stores an order, together with others that are created at the same time: row names what all orders of a
// group change. It returns ErrExists when the idempotency key was used.
func (s *Store) CreateOrder(ctx context.Context, row string, c *Creation) error {
	if c.Before != nil && c.Idempotency != nil {
		// A repetition that Before had written for would undo its group.
		if err := s.unused(ctx, c); err != nil {
			return err
		}
	}
	tenant, err := s.tenantNumber(ctx, c.Order.Tenant())
	if err != nil {
		return err
	}
	m := mergeableCreation{c, s.Chain()}
	for {
		if err := c.prepare(s.db.Dialect, tenant); err != nil {
			return err
		}
		var err error
		if c.Before == nil {
			err = s.db.UpdateMerged(ctx, row, m)
		} else {
			err = s.db.UpdateGrouped(ctx, row, m.Run)
		}
		if !errors.Is(err, ErrExists) || c.tries == maxTries {
			return err
		}
		if err := s.resolveConflict(ctx, c); err != nil {
			return err
		}
	}
}

// mergeableCreation is a creation that is stored together with others of its group.
type mergeableCreation struct {
	*Creation
	chain audit.Chain
}

// Run implements db.Mergeable.
func (m mergeableCreation) Run(tx *db.Tx) error { return m.runAlone(newTx(tx, m.chain)) }

// RunGroup implements db.Mergeable.
func (m mergeableCreation) RunGroup(tx *db.Tx, group []db.Mergeable, ends bool) error {
	creations := make([]*Creation, len(group))
	for i, other := range group {
		creations[i] = other.(mergeableCreation).Creation
	}
	return newTx(tx, m.chain).createOrders(creations, ends)
}

// Refusal implements db.Mergeable.
func (m mergeableCreation) Refusal() error { return m.refusal }

// CreateOrder stores an order in a transaction that does more.
func (t *Tx) CreateOrder(c *Creation) error {
	tenant, err := t.tenantNumber(t.Context(), c.Order.Tenant())
	if err != nil {
		return err
	}
	if err := c.prepare(t.db.Dialect, tenant); err != nil {
		return err
	}
	return c.runAlone(t)
}

// runAlone stores the order in a transaction, as a group of one.
func (c *Creation) runAlone(tx *Tx) error {
	if c.Before != nil {
		if err := c.Before(tx); err != nil {
			return err
		}
	}
	if err := tx.createOrders([]*Creation{c}, false); err != nil {
		return err
	}
	return c.refusal
}

const inserted = `id, account_id, environment, tenant, api_key_id, seq, number, external_id, status, outcome,
	answer_time, price, due_at, time_left, created_at, updated_at, ended_at, round, certificate_id, category_code,
	brand_code, facts, creation`

const (
	orderInsert      = "orders (" + inserted + ")"
	orderInsertRowID = "orders (" + inserted + ", rowid)"
)

// The indexes of the columns whose values are known only in the transaction.
var (
	orderSeq      = columnIndex(orderInsert, "seq")
	ledgerSeq     = columnIndex(ledgerColumns, "seq")
	ledgerBalance = columnIndex(ledgerColumns, "balance_after")
)

// columnIndex returns which column of a table a name is; into is the table with its columns.
func columnIndex(into, name string) int {
	_, columns, _ := strings.Cut(into, "(")
	return slices.Index(strings.FieldsFunc(columns, func(r rune) bool { return !unicode.IsLetter(r) && r != '_' }), name)
}

// prepare makes all that does not depend on the database, before the transaction, in which others would wait for it.
func (c *Creation) prepare(d *db.Dialect, tenant int64) error {
	c.tries++
	o := c.Order
	o.Number = order.NewNumber()
	facts, err := json.Marshal(&o.Recorded)
	if err != nil {
		return err
	}
	creation, err := encodeCreation(c.KeyName, c.Photos)
	if err != nil {
		return err
	}
	var externalID any
	if o.ExternalID != nil {
		externalID = *o.ExternalID
	}
	env := string(o.Environment)
	c.row = append(make([]any, 0, 24), // with a rowid
		o.ID, o.AccountID, env, tenant, o.APIKeyID, nil, o.Number, externalID, string(o.Status),
		column.TextOrNull(string(o.Outcome)), int64(o.AnswerTime), o.Price, column.MicrosOrNull(o.DueAt),
		leftOrNull(o.TimeLeft), column.Micros(o.CreatedAt), column.Millis(o.UpdatedAt), column.MicrosOrNull(o.EndedAt),
		int64(o.Round), column.TextOrNull(o.CertificateID), o.Classification.CategoryCode, o.Classification.BrandCode,
		string(facts), creation)
	switch {
	case d != &db.SQLite:
	case c.tries == 1:
		c.row = append(c.row, RowID(o.ID))
	default:
		c.row = append(c.row, nil) // one that is free
	}
	c.charge = ledgerRow(&credit.Entry{
		ID: o.ID, Tenant: o.Tenant(), Kind: credit.Charge, Amount: -o.Price, OrderID: o.ID,
		CreatedAt: o.CreatedAt,
	}, tenant)
	if c.Answer == nil {
		return nil
	}
	answer, err := c.Answer()
	if i := c.Idempotency; i != nil {
		c.key = []any{tenant, i.Key, i.BodyHash, string(answer), column.Micros(o.CreatedAt)}
	}
	return err
}

// assignNumbers gives the order the next number of its account, and its charge the next one of the ledger.
func (c *Creation) assignNumbers(b *credit.AccountTotals) {
	before := b.Credits
	b.Credits -= c.Order.Price
	b.Orders++
	b.Entries++
	c.Order.Seq = b.Orders
	c.row[orderSeq], c.charge[ledgerSeq], c.charge[ledgerBalance] = b.Orders, b.Entries, b.Credits
	c.after = nil
	if c.After != nil {
		c.after = c.After(Charge{Before: before, Credits: b.Credits, LowCredits: b.LowCredits})
	}
}

// createOrders stores the orders of a group. First it reads what it needs to know and takes the idempotency keys, for
// all of them; those that are refused get their refusal and are left out; then the rows of the others are written. So
// it takes few statements, and on PostgreSQL two round trips, or three where a key was used, however many orders there
// are; ends says that the transaction ends with it.
func (t *Tx) createOrders(group []*Creation, ends bool) error {
	if len(group) == 0 {
		return nil
	}
	known := make(map[string]*knownPhoto)
	tenants := byTenant(group)
	reads := make([]db.Command, 0, len(tenants)+8)
	for _, tenant := range tenants { // before the photos: whatever changes both locks this row first
		reads = append(reads, tenant.totals(t.db.Dialect))
	}
	reads = t.photoReads(reads, group, known)
	if err := t.readAndTakeKeys(group, reads); err != nil {
		return err
	}
	accepted := make([]*Creation, 0, len(group))
	var fresh []string
	writes := make([]db.Command, 0, 8)
	for _, c := range group {
		if c.refusal = c.check(known); c.refusal != nil {
			writes = c.returnKey(writes)
			continue
		}
		c.assignNumbers(&c.tenant.AccountTotals)
		accepted = append(accepted, c)
		some, again := c.markPhotos(known)
		fresh = append(fresh, some...)
		if len(again) > 0 {
			writes = noteReuse(writes, again, column.Micros(c.Order.CreatedAt))
		}
	}
	if len(accepted) == 0 {
		return t.db.Batch(writes, false)
	}
	if len(tenants) > 1 { // rows that become neighbours in most indexes are written one after the other
		slices.SortStableFunc(accepted, func(a, b *Creation) int {
			return strings.Compare(a.Order.AccountID, b.Order.AccountID)
		})
	}
	return t.write(writes, accepted, fresh, ends)
}

// groupTenant is an account and environment with what its orders in a group depend on and change.
type groupTenant struct {
	access.Tenant
	credit.AccountTotals
	changed bool
}

// byTenant returns the tenants of a group, and tells each creation its own.
func byTenant(group []*Creation) []*groupTenant {
	var all []*groupTenant
	for _, c := range group {
		tenant := c.Order.Tenant()
		i := slices.IndexFunc(all, func(t *groupTenant) bool { return t.Tenant == tenant })
		if i < 0 {
			i, all = len(all), append(all, &groupTenant{Tenant: tenant})
		}
		c.tenant = all[i]
	}
	return all
}

// totals reads what the orders depend on and change.
func (t *groupTenant) totals(d *db.Dialect) db.Command {
	scope := []any{t.AccountID, string(t.Environment)}
	return db.Command{Text: selectTotals + d.ForUpdate, Args: scope, Each: func(r *db.Record) error {
		t.Credits, t.Orders, t.Entries, t.LowCredits = r.Integer(0), r.Integer(1), r.Integer(2), r.Integer(3)
		return nil
	}}
}

// check refuses an order in the order of the rules: an idempotency key that was used goes first, and a photo that is
// not the account's before the credits.
func (c *Creation) check(known map[string]*knownPhoto) error {
	if c.repeated {
		return ErrExists
	}
	for i, p := range c.Photos {
		if k := known[p.Name]; k == nil || k.Tenant != c.Order.Tenant() {
			return &UnknownPhotoError{i}
		}
	}
	if c.tenant.Credits < c.Order.Price {
		return credit.NotEnough(c.Order.Price, c.tenant.Credits)
	}
	return nil
}

// knownPhoto is a photo that exists.
type knownPhoto struct {
	access.Tenant
	used   bool
	reused int64 // what is noted of the youngest order that has it, in microseconds; 0: nothing
}

// markPhotos marks the photos of an order as used in what is known. It returns those that no order had used, and those
// of which it is to be noted that another order has them.
func (c *Creation) markPhotos(known map[string]*knownPhoto) (fresh, again []string) {
	since := column.Micros(c.Order.CreatedAt)
	for _, p := range c.Photos {
		switch k := known[p.Name]; {
		case !k.used:
			k.used = true
			fresh = append(fresh, p.Name)
		case since-k.reused >= ReuseNoted.Microseconds():
			k.reused = since
			again = append(again, p.Name)
		}
	}
	return fresh, again
}

// photoReads adds what looks up the photos of a group. A photo that is in use stays so for good and is only kept from
// being erased meanwhile, so that orders with the same photos do not wait for each other; one that is not must not be
// deleted.
func (t *Tx) photoReads(reads []db.Command, group []*Creation, known map[string]*knownPhoto) []db.Command {
	var names []string
	for _, c := range group {
		for _, p := range c.Photos {
			if _, ok := known[p.Name]; !ok {
				known[p.Name] = nil
				names = append(names, p.Name)
			}
		}
	}
	each := func(r *db.Record) error {
		tenant := access.Tenant{AccountID: r.Text(1), Environment: access.Environment(r.Text(2))}
		known[r.Text(0)] = &knownPhoto{Tenant: tenant, used: r.Integer(3) == 1, reused: r.Integer(4)}
		return nil
	}
	const text = `SELECT name, account_id, environment, used, reused_at FROM photos
		WHERE erased_at IS NULL AND name IN `
	for names := range db.Batches(names) {
		in, args := text+db.List(1, len(names)), db.Anys(names)
		if t.db.Dialect.ForUpdate != "" {
			unused := in + " AND used = 0 ORDER BY name" + t.db.Dialect.ForUpdate
			reads = append(reads, db.Command{Text: unused, Args: args, Each: each})
			in += " AND used = 1 ORDER BY name" + t.db.Dialect.ForKeyShare
		}
		reads = append(reads, db.Command{Text: in, Args: args, Each: each})
	}
	return reads
}

// write stores the orders that were accepted, after other writes.
func (t *Tx) write(writes []db.Command, accepted []*Creation, fresh []string, ends bool) error {
	for names := range db.Batches(fresh) {
		use := "UPDATE photos SET used = 1 WHERE name IN " + db.List(1, len(names))
		writes = append(writes, db.Command{Text: use, Args: db.Anys(names)})
	}
	var orders, charges [][]any
	done := true
	for _, c := range accepted {
		if b := c.tenant; !b.changed {
			b.changed = true
			writes = append(writes, db.Command{
				Text: "UPDATE balances SET credits = $1, orders = $2, entries = $3 WHERE account_id = $4 AND environment = $5",
				Args: []any{b.Credits, b.Orders, b.Entries, b.AccountID, string(b.Environment)},
			})
		}
		orders, charges = append(orders, c.row), append(charges, c.charge)
		done = done && c.after == nil
	}
	writes = inserts(writes, ledgerColumns, charges)
	into := orderInsert
	if t.db.Dialect == &db.SQLite {
		into = orderInsertRowID
	}
	writes = inserts(writes, into, orders)
	if err := t.db.Batch(writes, ends && done); err != nil {
		return err
	}
	for _, c := range accepted {
		if c.after == nil {
			continue
		}
		if err := c.after(t); err != nil {
			return err
		}
	}
	return nil
}

// inserts adds the statements that insert rows; into is the table with its columns.
func inserts(to []db.Command, into string, rows [][]any) []db.Command {
	for rows := range db.Batches(rows) {
		args := make([]any, 0, len(rows)*len(rows[0]))
		for _, row := range rows {
			args = append(args, row...)
		}
		insert := "INSERT INTO " + into + " VALUES " + db.Tuples(len(rows), len(rows[0]))
		to = append(to, db.Command{Text: insert, Args: args})
	}
	return to
}
