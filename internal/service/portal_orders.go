package service

import (
	"context"
	"strings"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/store"
)

// errPortalOrderNotFound is order.NotFound in the words of the portal.
var errPortalOrderNotFound = fault.New(fault.NotFound, order.NotFound.Code, "There is no such order in this environment.")

// PortalOrders returns a page of the account's orders, newest first, and how many there are.
func (s *Service) PortalOrders(ctx context.Context, who *Member, env access.Environment, page, limit int) ([]store.OrderRow, int64, error) {
	book, err := s.Store.AccountTotals(ctx, who.AccountID, env)
	if err != nil {
		return nil, 0, err
	}
	rows, err := s.Store.OrdersBelow(ctx, who.AccountID, env, book.Orders-int64(page-1)*int64(limit), limit)
	return rows, book.Orders, err
}

// OrderFilter chooses orders by their state; an empty field chooses all.
type OrderFilter struct {
	Status  order.Status
	Outcome order.Outcome
}

// states are what the filter chooses, as the store knows states: the outcome of a completed order, else the status. It is nil
// where all are chosen, and empty where none can be: an order that is not completed has no outcome.
func (f OrderFilter) states() []string {
	switch {
	case f.Status == "" && f.Outcome == "":
		return nil
	case f.Outcome != "" && f.Status != "" && f.Status != order.Completed:
		return []string{}
	case f.Outcome != "":
		return []string{string(f.Outcome)}
	case f.Status == order.Completed:
		states := make([]string, len(order.Outcomes))
		for i, o := range order.Outcomes {
			states[i] = string(o)
		}
		return states
	}
	return []string{string(f.Status)}
}

// FilteredOrders returns up to limit orders of the account that the filter chooses, newest first, older than the one with the
// sequence number before, which is 0 for the newest of all.
func (s *Service) FilteredOrders(ctx context.Context, who *Member, env access.Environment, f OrderFilter, before int64, limit int) ([]store.OrderRow, error) {
	if before <= 0 {
		book, err := s.Store.AccountTotals(ctx, who.AccountID, env)
		if err != nil {
			return nil, err
		}
		before = book.Orders + 1
	}
	states := f.states()
	if states == nil {
		return s.Store.OrdersBelow(ctx, who.AccountID, env, before-1, limit)
	}
	return s.Store.OrdersInStates(ctx, who.AccountID, env, states, before, limit)
}

// FindOrders returns the orders of the account with the id, the order number or the external id, newest first.
func (s *Service) FindOrders(ctx context.Context, who *Member, env access.Environment, search string, limit int) ([]store.OrderRow, error) {
	search = strings.TrimSpace(search)
	id, _ := store.ParseID(search)
	if id == "00000000-0000-0000-0000-000000000000" {
		id = ""
	}
	number := strings.ToUpper(search)
	if !order.ValidNumber(number) {
		number = ""
	}
	return s.Store.FindOrders(ctx, who.AccountID, env, id, number, search, limit)
}

// exportBatch is how many rows an export reads at once: it holds no more in memory, and no read lasts long.
const exportBatch = 500

// EachOrder calls each for every order of the account that the filter chooses, newest first, as of now.
func (s *Service) EachOrder(ctx context.Context, who *Member, env access.Environment, f OrderFilter, each func(*store.OrderRow) error) error {
	book, err := s.Store.AccountTotals(ctx, who.AccountID, env)
	if err != nil {
		return err
	}
	for before := book.Orders + 1; before > 1; {
		rows, err := s.FilteredOrders(ctx, who, env, f, before, exportBatch)
		if err != nil || len(rows) == 0 {
			return err
		}
		for i := range rows {
			if err := each(&rows[i]); err != nil {
				return err
			}
		}
		before = rows[len(rows)-1].Seq
	}
	return nil
}

// PortalOrder is all that an account user sees of an order.
type PortalOrder struct {
	*order.Order
	Photos     []order.Photo // of every round; without a name where it could not be provided
	Notes      []store.Note
	Timeline   []store.TimelineEntry
	Deliveries []*webhook.Delivery
	Key        *access.Key
	Indexes    []*catalog.PhotoIndex // of its catalog context
	IsLate     bool
}

const orderDeliveries = 20

// PortalOrder returns an order of the account with all that belongs to it.
func (s *Service) PortalOrder(ctx context.Context, who *Member, env access.Environment, id string) (*PortalOrder, error) {
	o, err := s.portalOrder(ctx, s.Store.Queries, who, env, id)
	if err != nil {
		return nil, err
	}
	p := &PortalOrder{Order: o, Indexes: s.Catalog().PhotoIndexes(contextOf(o)), IsLate: o.IsDelayed(s.now())}
	if p.Photos, err = s.Store.OrderPhotos(ctx, o.ID); err != nil {
		return nil, err
	}
	if p.Notes, err = s.Store.OrderNotes(ctx, o.ID); err != nil {
		return nil, err
	}
	timeline, err := s.Store.Timeline(ctx, o.ID)
	if err != nil {
		return nil, err
	}
	p.Timeline = forCustomer(timeline)
	if p.Key, err = s.Store.Key(ctx, o.APIKeyID); err != nil {
		return nil, err
	}
	p.Deliveries, err = s.Store.Deliveries(ctx, webhook.DeliveryFilter{Tenant: access.Tenant{AccountID: who.AccountID, Environment: env}, OrderID: o.ID}, orderDeliveries)
	return p, err
}

func (s *Service) portalOrder(ctx context.Context, q store.Queries, who *Member, env access.Environment, id string) (*order.Order, error) {
	id, ok := store.ParseID(id)
	if !ok {
		return nil, errPortalOrderNotFound
	}
	o, err := q.OrderOf(ctx, who.AccountID, env, id)
	return o, portalOrderNotFound(err)
}

func portalOrderNotFound(err error) error {
	if err := orderNotFound(err); err != order.NotFound { //nolint:errorlint // the very sentinel
		return err
	}
	return errPortalOrderNotFound
}

// forCustomer leaves out what the desk keeps to itself: who works on an order, notes, and what reviewers do among them.
func forCustomer(timeline []store.TimelineEntry) []store.TimelineEntry {
	var shown []store.TimelineEntry
	for _, e := range timeline {
		if e.Event == "released" && e.Actor.Type != order.ByUser || e.Event == "reassigned" {
			continue
		}
		if e.Actor.Type == order.ByStaff {
			e.Actor = order.Actor{Type: order.ByStaff}
		}
		details := make(map[string]any)
		for _, name := range []string{"outcome", "round", "index_codes"} {
			if v, ok := e.Details[name]; ok {
				details[name] = v
			}
		}
		e.Details = details
		shown = append(shown, e)
	}
	return shown
}

// changeOwn makes a change of an order of the account as one transaction. It is for developers.
func (s *Service) changeOwn(ctx context.Context, who *Member, env access.Environment, id string, f func(tx *store.Tx, o *order.Order) error) error {
	if err := who.Require(access.Developer); err != nil {
		return err
	}
	id, ok := store.ParseID(id)
	if !ok {
		return errPortalOrderNotFound
	}
	err := s.Store.Update(ctx, func(tx *store.Tx) error {
		if _, err := tx.OrderOf(ctx, who.AccountID, env, id); err != nil {
			return portalOrderNotFound(err)
		}
		o, err := tx.OrderForUpdate(id)
		if err != nil {
			return err
		}
		return f(tx, o)
	})
	if err == nil {
		s.Outbox()
	}
	return err
}

// CancelOwnOrder calls off an order that is still queued, and refunds it. It is for developers.
func (s *Service) CancelOwnOrder(ctx context.Context, who *Member, env access.Environment, id string) error {
	return s.changeOwn(ctx, who, env, id, func(tx *store.Tx, o *order.Order) error {
		if o.Status != order.Queued {
			return fault.New(fault.Conflict, "invalid-transition", "Only a queued order can be canceled.").With("status", string(o.Status))
		}
		if err := o.Apply(order.Cancel, s.now()); err != nil {
			return err
		}
		o.Outcome = order.Canceled
		if err := tx.UpdateOrder(o); err != nil {
			return err
		}
		return s.recordOwnMove(tx, o, who)
	})
}

// recordOwnMove is recordMove for what an account user does. A Test order may have been refunded in an earlier rehearsal:
// it is refunded once.
func (s *Service) recordOwnMove(tx *store.Tx, o *order.Order, who *Member) error {
	if o.Environment == access.Test && (o.Status == order.Failed || o.Outcome == order.Canceled) {
		refunded, err := tx.Refunded(context.Background(), o.ID)
		if err != nil {
			return err
		}
		if refunded {
			return s.recordAgain(tx, o, who)
		}
	}
	return s.recordMove(tx, o, userActor(who), nil)
}

// recordAgain is recordMove without the refund.
func (s *Service) recordAgain(tx *store.Tx, o *order.Order, who *Member) error {
	details := map[string]any{}
	if o.Outcome != "" {
		details["outcome"] = string(o.Outcome)
	}
	entry := &store.TimelineEntry{At: o.UpdatedAt, Event: timelineEvents[o.Status], Actor: userActor(who), Details: details}
	if err := tx.AppendTimeline(o.ID, entry); err != nil {
		return err
	}
	return s.follow(tx, o)
}

// AnswerPhotoRequest is SubmitPhotos for an account user. It is for developers.
func (s *Service) AnswerPhotoRequest(ctx context.Context, who *Member, env access.Environment, id string, sub *order.Submission) error {
	if err := checkNote(sub.Note); err != nil {
		return err
	}
	var photos []order.Photo
	err := s.changeOwn(ctx, who, env, id, func(tx *store.Tx, o *order.Order) (err error) {
		if photos, err = s.checkSubmission(tx, ownScope(who, env), o, sub); err != nil {
			return err
		}
		return s.acceptSubmission(ctx, tx, userActor(who), o, sub, photos)
	})
	if err == nil {
		s.resubmitted(env, photos)
	}
	return err
}

// ownScope is the account and environment of what a member does, as the use cases of keys take it.
func ownScope(who *Member, env access.Environment) *access.Key {
	return &access.Key{Tenant: access.Tenant{AccountID: who.AccountID, Environment: env}}
}

// StoreOwnPhotos is StorePhotos for an account user. It is for developers.
func (s *Service) StoreOwnPhotos(ctx context.Context, who *Member, env access.Environment, uploads []Upload) ([]string, error) {
	if err := who.Require(access.Developer); err != nil {
		return nil, err
	}
	return s.StorePhotos(ctx, ownScope(who, env), uploads)
}

// OwnsPhoto reports whether a photo is one of the member's account.
func (s *Service) OwnsPhoto(ctx context.Context, who *Member, name string) (bool, error) {
	return s.Store.PhotoOf(ctx, who.AccountID, name)
}
