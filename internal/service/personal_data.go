package service

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/progress"
	"github.com/assayhq/assay/internal/store"
)

// ErasureReport tells what was erased, or would be, and what stays.
type ErasureReport struct {
	AccountID string        `json:"account_id"`
	OrderID   string        `json:"order_id,omitempty"` // empty: the whole account
	DryRun    bool          `json:"dry_run"`
	Orders    int64         `json:"orders"`
	Photos    int64         `json:"photos"` // whose files are deleted
	Bytes     int64         `json:"bytes"`  // of these
	Rows      store.Erasure `json:"rows"`   // deleted or emptied, by what they are
	Stays     []Kept        `json:"stays"`
}

// Kept is what an erasure leaves, and why.
type Kept struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

var (
	keptOfOrder = []Kept{
		{"the order with its number, item, outcome, price and times", "it was paid for: ledger and counters refer to it"},
		{"the ledger", "it proves the balance; it names orders by their id"},
		{"the certificate", "it is signed, public and names no person; revoke it if it should not be shown as valid"},
		{"hashes of the erased photos", "the certificate and the order refer to them; a photo cannot be made from its hash"},
		{"entries of the logs", "each is sealed with the one before it; an order's name there is its number"},
		{"backups made before", "they are not changed; delete them when their time is over"},
	}
	keptOfAccount = append([]Kept{
		{"the account and its users, as numbers without a name or an email", "orders, keys and logs refer to them"},
		{"API keys, revoked and without their names", "orders refer to them"},
		{"notes of the ledger", "they are the books of the service, which are kept by law"},
		{"who of the staff did what for the account, when and from where", "it is about those who run the service"},
	}, keptOfOrder...)
)

// OrdersOpen is the refusal to erase what the desk still works on.
func OrdersOpen(n int) *fault.Error {
	return fault.New(fault.Conflict, "orders-open",
		"Live orders that have not ended cannot be erased: cancel them or wait for their end, then erase again.").
		With("orders", n)
}

const (
	eraseBatch = 50  // orders, photos or entries
	eraseRows  = 200 // of a table in which there may be many

	// closingTime is how long it takes until no node knows a key, a session or an endpoint of a closed account any more,
	// and what it had begun has ended: what nodes know of them without a look at the database is half a second old.
	closingTime = time.Second
)

// errDryRun takes back what a dry run has counted.
var errDryRun = errors.New("dry run")

// eraser is an erasure in progress.
type eraser struct {
	*Service
	report ErasureReport
	seen   map[string]bool // photos of a dry run: it finds one again with the next order that has it
}

func (s *Service) eraser(accountID string, dry bool, stays []Kept) *eraser {
	report := ErasureReport{AccountID: accountID, DryRun: dry, Rows: store.Erasure{}, Stays: stays}
	return &eraser{s, report, make(map[string]bool)}
}

// step runs a part in a transaction, which a dry run takes back. The files of the photos that it returns are deleted
// after it: what stays behind goes when the erasure is run again, or with the next sweep.
func (e *eraser) step(ctx context.Context, run func(*store.Tx, store.Erasure) ([]photo.Stored, error)) error {
	var gone []photo.Stored
	var rows store.Erasure
	err := e.store.Update(ctx, func(tx *store.Tx) (err error) {
		rows = store.Erasure{} // the transaction may be run again
		gone, err = run(tx, rows)
		if err == nil && e.report.DryRun {
			err = errDryRun
		}
		return err
	})
	if err != nil && !errors.Is(err, errDryRun) {
		return err
	}
	for what, n := range rows {
		e.report.Rows[what] += n
	}
	return e.files(ctx, gone)
}

// files deletes the files of photos and counts them; a dry run only counts. Of a photo that was erased before it counts
// a file that was left.
func (e *eraser) files(ctx context.Context, photos []photo.Stored) (failed error) {
	for i := range photos {
		p := &photos[i]
		if e.report.DryRun && e.seen[p.Name] {
			continue
		}
		there := true
		if p.Erased {
			_, err := e.media.Stat(ctx, p.Name)
			if err != nil && !errors.Is(err, media.ErrNotFound) {
				failed = errors.Join(failed, err)
				continue
			}
			there = err == nil
		}
		if e.report.DryRun {
			e.seen[p.Name] = true
		} else if err := e.media.Delete(ctx, p.Name); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		if there {
			e.report.Photos++
			e.report.Bytes += p.Bytes
		}
	}
	return failed
}

// orders erases photos and texts of orders.
func (e *eraser) orders(
	ctx context.Context, ids []string, texts func(*store.Tx, store.Erasure, string) error,
) error {
	err := e.step(ctx, func(tx *store.Tx, rows store.Erasure) (gone []photo.Stored, err error) {
		for _, id := range ids {
			if err := texts(tx, rows, id); err != nil {
				return nil, err
			}
		}
		gone, unreadable, err := tx.ErasePhotosOf(ids, e.now())
		for _, id := range slices.Sorted(maps.Keys(unreadable)) {
			err = errors.Join(err, unreadable[id])
		}
		return gone, err
	})
	e.report.Orders += int64(len(ids))
	return err
}

// EraseOrder erases the photos of an order and what people wrote for it. A photo that an open order of the account has
// as well stays.
func (s *Service) EraseOrder(ctx context.Context, actor access.Actor, id string, dry bool) (*ErasureReport, error) {
	if err := actor.Require(access.Administer); err != nil {
		return nil, err
	}
	o, err := byID(ctx, id, s.store.Order, fault.Missing("order"))
	if err != nil {
		return nil, err
	}
	if o.Environment == access.Live && o.EndedAt == nil {
		return nil, OrdersOpen(1)
	}
	e := s.eraser(o.AccountID, dry, keptOfOrder)
	e.report.OrderID = o.ID
	if err := e.step(ctx, func(tx *store.Tx, _ store.Erasure) ([]photo.Stored, error) {
		return nil, s.recordStaffAction(tx, actor, orderAction(audit.OrderErased, o, nil))
	}); err != nil {
		return nil, err
	}
	if err := e.captureLinks(ctx, o.ID); err != nil {
		return nil, err
	}
	if err := e.orders(ctx, []string{o.ID}, (*store.Tx).EraseOrderTexts); err != nil {
		return nil, err
	}
	return &e.report, nil
}

// captureLinks erases the links for photo requests of an order, and the photos that were sent through them and not
// submitted: no order has them, so their rows go as well.
func (e *eraser) captureLinks(ctx context.Context, orderID string) error {
	var gone []photo.Stored
	if err := e.step(ctx, func(tx *store.Tx, rows store.Erasure) (_ []photo.Stored, err error) {
		gone, err = tx.EraseCaptureLinks(rows, orderID, e.now())
		return gone, err
	}); err != nil {
		return err
	}
	return e.step(ctx, func(tx *store.Tx, _ store.Erasure) ([]photo.Stored, error) {
		return nil, tx.DropErasedPhotos(gone)
	})
}

// EraseAccount closes an account and erases what is known of its users, its photos, what people wrote for its orders,
// and what the logs say of people. What is interrupted is run again. So is one that returns its report with OrdersOpen:
// Live orders came in while the account was closed.
func (s *Service) EraseAccount(
	ctx context.Context, actor access.Actor, accountID string, dry bool,
) (*ErasureReport, error) {
	if err := actor.Require(access.Administer); err != nil {
		return nil, err
	}
	e := s.eraser(accountID, dry, keptOfAccount)
	if err := e.account(ctx, actor); err != nil {
		return nil, err
	}
	if err := e.awaitClosed(ctx); err != nil {
		return nil, err
	}
	if err := e.accountRows(ctx); err != nil {
		return nil, err
	}
	done, err := e.beginOrders(ctx)
	if err != nil {
		return nil, err
	}
	erased := make(map[access.Tenant]int64) // the number of the last order
	for late := true; late; {
		if err := e.ordersAfter(ctx, erased, done); err != nil {
			return nil, err
		}
		if err := e.unusedPhotos(ctx); err != nil {
			return nil, err
		}
		if !dry { // what was on its way when the account was closed
			if err := e.accountRows(ctx); err != nil {
				return nil, err
			}
		}
		if err := errors.Join(e.log(ctx, audit.AuditLog), e.log(ctx, audit.PortalLog)); err != nil {
			return nil, err
		}
		if late, err = e.lateOrders(ctx, erased); err != nil {
			return nil, err
		}
	}
	open, err := s.store.LiveOpenOrders(ctx, accountID)
	if err == nil && len(open) > 0 {
		err = OrdersOpen(len(open))
	}
	return &e.report, err
}

// ordersAfter erases the orders of the account that follow those which are erased, and notes how far it has come.
func (e *eraser) ordersAfter(ctx context.Context, erased map[access.Tenant]int64, done func(int64)) error {
	for _, env := range access.Environments {
		tenant := access.Tenant{AccountID: e.report.AccountID, Environment: env}
		for {
			ids, last, err := e.store.OrdersOf(ctx, tenant, erased[tenant], eraseBatch)
			if err != nil {
				return err
			}
			if len(ids) == 0 {
				break
			}
			if err := e.orders(ctx, ids, (*store.Tx).EraseAccountOrderTexts); err != nil {
				return err
			}
			done(int64(len(ids)))
			erased[tenant] = last
		}
	}
	return nil
}

// lateOrders reports whether orders have come in after those which are erased: a node may have held one up for longer
// than the account was waited for. Balances are locked: one that is being stored is waited for. Orders are numbered
// without gaps.
func (e *eraser) lateOrders(ctx context.Context, erased map[access.Tenant]int64) (late bool, err error) {
	if e.report.DryRun {
		return false, nil
	}
	err = e.store.Update(ctx, func(tx *store.Tx) error {
		late = false
		for _, env := range access.Environments {
			tenant := access.Tenant{AccountID: e.report.AccountID, Environment: env}
			if _, err := tx.BalanceForUpdate(tenant); err != nil {
				return err
			}
			totals, err := tx.AccountTotals(tx.Context(), tenant)
			if err != nil {
				return err
			}
			late = late || totals.Orders > erased[tenant]
		}
		return nil
	})
	return late, err
}

// awaitClosed has all nodes look again at the keys, sessions and endpoints of the account, which is closed, and waits
// until none takes requests for it any more. What was made of them meanwhile is erased as well.
func (e *eraser) awaitClosed(ctx context.Context) error {
	if e.report.DryRun {
		return nil
	}
	e.ForgetSessions()
	e.keysChanged(nil)
	e.onChange(EndpointChange)
	if err := e.wait(ctx, closingTime); err != nil {
		return err
	}
	return e.step(ctx, func(tx *store.Tx, rows store.Erasure) ([]photo.Stored, error) {
		return nil, tx.EraseAccount(rows, e.report.AccountID, e.now())
	})
}

// account erases what is known of the account itself, and its agreed prices: again where the catalog has changed since
// they were looked for.
func (e *eraser) account(ctx context.Context, actor access.Actor) error {
	for {
		prices, err := e.agreedPrices(ctx)
		if err != nil {
			return err
		}
		err = e.step(ctx, func(tx *store.Tx, rows store.Erasure) ([]photo.Stored, error) {
			return nil, e.accountIn(tx, rows, actor, prices)
		})
		if !errors.Is(err, errPricesChanged) {
			return err
		}
	}
}

func (e *eraser) accountIn(tx *store.Tx, rows store.Erasure, actor access.Actor, prices *agreedPrices) error {
	id := e.report.AccountID
	open, err := tx.LiveOpenOrders(tx.Context(), id)
	if err != nil {
		return err
	}
	if len(open) > 0 {
		return OrdersOpen(len(open))
	}
	a, err := tx.Account(tx.Context(), id)
	if err != nil {
		return err
	}
	if a.Name != prices.account {
		return errPricesChanged
	}
	if err := prices.erase(tx, rows, e.now()); err != nil {
		return err
	}
	return errors.Join(
		tx.EraseAccount(rows, id, e.now()), tx.EraseStaffLog(rows, id),
		e.recordStaffAction(tx, actor, audit.Action{
			Code: audit.AccountErased, AccountID: id, Target: audit.ActionTarget{Type: audit.ActionTargetAccount, ID: id},
		}))
}

// beginOrders begins to tell of the orders of the account.
func (e *eraser) beginOrders(ctx context.Context) (done func(int64), err error) {
	var total int64
	if progress.On(ctx) {
		balances, err := e.store.BalancesOf(ctx, e.report.AccountID)
		if err != nil {
			return nil, err
		}
		for i := range balances {
			total += balances[i].Orders
		}
	}
	return progress.Begin(ctx, "orders with their photos", progress.Items, total), nil
}

func (e *eraser) unusedPhotos(ctx context.Context) error {
	done := progress.Begin(ctx, "photos without an order", progress.Items, 0)
	if e.report.DryRun {
		photos, err := e.store.UnusedPhotosOf(ctx, e.report.AccountID)
		if err != nil {
			return err
		}
		return e.files(ctx, photos)
	}
	for {
		var gone []photo.Stored
		if err := e.step(ctx, func(tx *store.Tx, _ store.Erasure) (_ []photo.Stored, err error) {
			gone, err = tx.EraseUnusedPhotosOf(e.report.AccountID, eraseBatch, e.now())
			return gone, err
		}); err != nil {
			return err
		}
		if err := e.step(ctx, func(tx *store.Tx, _ store.Erasure) ([]photo.Stored, error) {
			return nil, tx.DropErasedPhotos(gone)
		}); err != nil || len(gone) < eraseBatch {
			return err
		}
		done(int64(len(gone)))
	}
}

// accountRows erases the rows of which the account may have many: each batch is a short transaction of its own.
func (e *eraser) accountRows(ctx context.Context) error {
	progress.Step(ctx, "deliveries and requests")
	if e.report.DryRun {
		return e.store.CountAccountRows(ctx, e.report.Rows, e.report.AccountID)
	}
	for more := true; more; {
		if err := e.step(ctx, func(tx *store.Tx, rows store.Erasure) (_ []photo.Stored, err error) {
			more, err = tx.EraseAccountRows(rows, e.report.AccountID, eraseRows)
			return nil, err
		}); err != nil {
			return err
		}
	}
	return nil
}

func (e *eraser) log(ctx context.Context, of audit.Log) error {
	progress.Step(ctx, "entries of the logs")
	for last := int64(0); ; {
		next := int64(0)
		if err := e.step(ctx, func(tx *store.Tx, rows store.Erasure) (_ []photo.Stored, err error) {
			next, err = tx.EraseEvents(rows, of, e.report.AccountID, last, eraseBatch)
			return nil, err
		}); err != nil || next == 0 {
			return err
		}
		last = next
	}
}
