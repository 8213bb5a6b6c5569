package service

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/store"
)

// DeskOrder is all that the desk knows of an order.
type DeskOrder struct {
	*order.Order
	Photos   []order.Photo // of every round; without a name where the customer could not provide one
	Notes    []store.Note
	Timeline []store.TimelineEntry
	Assignee *access.Staff // nil: nobody
}

// errDeskOrderNotFound is order.NotFound in the words of the desk.
var errDeskOrderNotFound = fault.New(fault.NotFound, order.NotFound.Code, "There is no such order.")

// activityGap is how often the work of an assignee is noted at most: looking at an order must stay a read.
const activityGap = time.Minute

// DeskOrders returns a page of the orders that match, of all accounts, the earliest due first and those without a due
// date last, and how many match.
func (s *Service) DeskOrders(ctx context.Context, f store.DeskFilter, page, limit int) ([]store.DeskRow, int64, error) {
	return s.Store.DeskPage(ctx, f, page, limit)
}

// OrderCounts returns how many orders of an environment are in each status.
func (s *Service) OrderCounts(ctx context.Context, env access.Environment) (map[order.Status]int64, error) {
	return s.Store.OrderCounts(ctx, env)
}

// LookAtOrder returns an order for a staff user. When it is the assignee who looks, the claim has activity.
func (s *Service) LookAtOrder(ctx context.Context, who *access.Staff, id string) (*DeskOrder, error) {
	id, ok := store.ParseID(id)
	if !ok {
		return nil, errDeskOrderNotFound
	}
	o, err := s.Store.Order(ctx, id)
	if err != nil {
		return nil, deskOrderNotFound(err)
	}
	if now := s.now(); o.HeldBy(who) && o.ClaimedAt != nil && !o.ClaimedAt.After(now.Add(-activityGap)) {
		if err := s.Store.Update(ctx, func(tx *store.Tx) error { return tx.TouchClaim(id, who.ID, now, now.Add(-activityGap)) }); err != nil {
			return nil, err
		}
	}
	return deskOrder(ctx, s.Store.Queries, o)
}

// deskOrder reads what belongs to an order.
func deskOrder(ctx context.Context, q store.Queries, o *order.Order) (*DeskOrder, error) {
	d := &DeskOrder{Order: o}
	var err error
	if d.Photos, err = q.OrderPhotos(ctx, o.ID); err != nil {
		return nil, err
	}
	if d.Notes, err = q.OrderNotes(ctx, o.ID); err != nil {
		return nil, err
	}
	if d.Timeline, err = q.Timeline(ctx, o.ID); err != nil {
		return nil, err
	}
	d.Assignee, err = assigneeOf(ctx, q, o)
	return d, err
}

// assigneeOf returns the staff user in whose hands an order is, or to whom it will come back; nil when there is none.
func assigneeOf(ctx context.Context, q store.Queries, o *order.Order) (*access.Staff, error) {
	if o.AssigneeID == "" {
		return nil, nil
	}
	staff, err := q.Staff(ctx, o.AssigneeID)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return staff, err
}

// staffDetail is how faults and timelines name a staff user.
func staffDetail(s *access.Staff) map[string]string {
	return map[string]string{"id": s.ID, "name": s.Name}
}

// change is one thing that a staff user does to an order. It is given the order as it is, locked, and has to check, change
// and store it.
type change func(ctx context.Context, tx *store.Tx, o *order.Order, now time.Time) error

// atDesk makes a change of an order as one transaction and returns the order as it is right after.
func (s *Service) atDesk(ctx context.Context, id string, f change) (*DeskOrder, error) {
	id, ok := store.ParseID(id)
	if !ok {
		return nil, errDeskOrderNotFound
	}
	return s.changeOrder(ctx, func(*store.Tx) (string, error) { return id, nil }, f)
}

// changeOrder is atDesk for an order that the transaction itself picks.
func (s *Service) changeOrder(ctx context.Context, pick func(*store.Tx) (string, error), f change) (*DeskOrder, error) {
	var d *DeskOrder
	whole := context.WithoutCancel(ctx) // a transaction that has begun is finished
	err := s.Store.Update(ctx, func(tx *store.Tx) error {
		id, err := pick(tx)
		if err != nil {
			return err
		}
		o, err := tx.OrderForUpdate(id)
		if err != nil {
			return deskOrderNotFound(err)
		}
		if err := f(whole, tx, o, s.now()); err != nil {
			return err
		}
		d, err = deskOrder(whole, tx.Queries, o)
		return err
	})
	if err != nil {
		return nil, err
	}
	if _, sends := eventOf(d.Status); sends {
		s.Outbox()
	}
	return d, nil
}

// checkMove holds that the staff user may make the move, and names the assignee where it is another's order.
func checkMove(ctx context.Context, tx *store.Tx, o *order.Order, move order.Move, who *access.Staff) error {
	err := o.CheckMove(move, who)
	if !errors.Is(err, order.Claimed) {
		return err
	}
	assignee, lookup := assigneeOf(ctx, tx.Queries, o)
	if lookup != nil || assignee == nil {
		return cmp.Or(lookup, err)
	}
	return order.Claimed.With("assignee", staffDetail(assignee))
}

// storeMove writes an order that has been moved, with all that follows from the move.
func (s *Service) storeMove(tx *store.Tx, o *order.Order, who order.Actor, details map[string]any) error {
	if err := tx.UpdateOrder(o); err != nil {
		return err
	}
	return s.recordMove(tx, o, who, details)
}

// contextOf returns the place of an order in the catalog.
func contextOf(o *order.Order) catalog.Context {
	c := &o.Facts.Classification
	return catalog.Context{Category: c.CategoryCode, Brand: c.BrandCode, Model: c.ModelCode}
}

func deskOrderNotFound(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return errDeskOrderNotFound
	}
	return err
}
