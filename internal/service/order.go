package service

import (
	"context"
	"errors"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/store"
)

// OrderDetail returns what an API key sees of the order with the id or external id.
func (s *Service) OrderDetail(
	ctx context.Context, actor access.Actor, idOrExternalID string, l text.Locale,
) (order.Detail, error) {
	o, err := s.store.ShownOrder(ctx, actor.Tenant, idOrExternalID)
	if err != nil {
		return order.Detail{}, orderNotFound(actor, err)
	}
	return s.ViewOrder(o, l), nil
}

// ViewOrder renders an order as its customer sees it now.
func (s *Service) ViewOrder(o *order.Order, l text.Locale) order.Detail {
	return o.View(l, s.now(), s.CertificateURL)
}

// OrderRecord is an order with its history.
type OrderRecord struct {
	*order.Order
	order.History

	// For staff.
	Assignee *access.Staff // who holds the order, or asked for photos; nil: nobody

	// For customers.
	Key        *access.Key // that created the order
	Deliveries []*webhook.Delivery
	Erased     map[string]bool // the names of photos that were erased
}

func orderRecord(ctx context.Context, q store.Queries, o *order.Order) (*OrderRecord, error) {
	history, err := q.OrderHistory(ctx, o.ID)
	if err != nil {
		return nil, err
	}
	r := &OrderRecord{Order: o, History: history}
	r.Assignee, err = assigneeOf(ctx, q, o)
	return r, err
}

// assigneeOf returns the staff user who holds an order, or to whom it will come back; nil when there is none.
func assigneeOf(ctx context.Context, q store.Queries, o *order.Order) (*access.Staff, error) {
	if o.AssigneeID == "" {
		return nil, nil
	}
	staff, err := q.Staff(ctx, o.AssigneeID)
	return staff, store.IgnoreNotFound(err)
}

// staffDetail is how faults and timelines name a staff user.
func staffDetail(s *access.Staff) map[string]string {
	return map[string]string{"id": s.ID, "name": s.Name}
}

// Order returns an order of an account user's tenant as customers see it: without what is internal to the desk.
func (s *Service) Order(ctx context.Context, actor access.Actor, id string) (*OrderRecord, error) {
	if err := actor.Require(access.ViewAccount); err != nil {
		return nil, err
	}
	o, err := reachableOrder(actor, id, s.orderByID(ctx))
	if err == nil && o.Tenant() != actor.Tenant { // nobody else gets it as a customer does
		err = orderNotFound(actor, store.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	r := &OrderRecord{Order: o}
	if r.History, err = s.store.OrderHistory(ctx, o.ID); err != nil {
		return nil, err
	}
	r.Timeline = r.ForCustomer()
	if r.Erased, err = s.store.ErasedPhotos(ctx, photoNames(r.Photos)); err != nil {
		return nil, err
	}
	if r.Key, err = s.store.Key(ctx, o.APIKeyID); err != nil {
		return nil, err
	}
	r.Deliveries, err = s.store.Deliveries(ctx, webhook.DeliveryFilter{Tenant: o.Tenant(), OrderID: o.ID}, orderDeliveries)
	return r, err
}

const orderDeliveries = 20

// activityGap is how often the activity of an assignee is stored at most: looking at an order must stay a read. Where
// claims expire soon it is a quarter of that time.
func (s *Service) activityGap() time.Duration {
	if s.claimAge <= 0 {
		return mostActivityGap
	}
	return min(s.claimAge/4, mostActivityGap)
}

const mostActivityGap = time.Minute

// OrderForReview returns any order to a staff user. When it is the assignee who looks, the claim has activity.
func (s *Service) OrderForReview(ctx context.Context, actor access.Actor, id string) (*OrderRecord, error) {
	o, err := s.readForReview(ctx, actor, id)
	if err != nil {
		return nil, err
	}
	now := s.now()
	if noted := now.Add(-s.activityGap()); o.HeldBy(actor) && o.ClaimedAt != nil && !o.ClaimedAt.After(noted) {
		touch := func(tx *store.Tx) error { return tx.TouchClaim(o.ID, actor.ID, now, noted) }
		if err := s.store.Update(ctx, touch); err != nil {
			return nil, err
		}
	}
	return orderRecord(ctx, s.store.Queries, o)
}

// WatchedOrder returns an order to a staff user whose page asks for it by itself, which is no activity; nil when there
// is no such order, or it cannot be read: what is logged must not keep the page from showing the others.
func (s *Service) WatchedOrder(ctx context.Context, actor access.Actor, id string) (*OrderRecord, error) {
	var r *OrderRecord
	o, err := s.readForReview(ctx, actor, id)
	if err == nil {
		r, err = orderRecord(ctx, s.store.Queries, o)
	}
	if broken, ok := errors.AsType[*store.UnreadableOrder](err); ok {
		s.log.ErrorContext(ctx, "an order cannot be read, and is passed over", "order", broken.ID, "error", err)
		return nil, nil
	}
	if fault.KindOf(err) == fault.NotFound {
		return nil, nil
	}
	return r, err
}

// OrderContext is what reviewers see beside an order.
type OrderContext struct {
	Account *access.Account
	Files   map[string]photo.Stored // of the order's photos, by name
	Others  []order.Summary         // the newest orders of the same tenant, without this one
}

const otherOrders = 10

// OrderContext reads what reviewers see beside an order.
func (s *Service) OrderContext(ctx context.Context, o *order.Order) (*OrderContext, error) {
	c := new(OrderContext)
	var err error
	if c.Account, err = s.store.Account(ctx, o.AccountID); err != nil {
		return nil, err
	}
	if c.Files, err = s.store.PhotosOfOrder(ctx, o.ID); err != nil {
		return nil, err
	}
	newest, _, err := s.store.Orders(ctx, &order.Filter{Sort: order.Newest, Tenant: o.Tenant()}, nil, otherOrders+1)
	for i := range newest {
		if newest[i].ID != o.ID && len(c.Others) < otherOrders {
			c.Others = append(c.Others, newest[i])
		}
	}
	return c, err
}

// PhotoIndexes returns the photo indexes of an order's item.
func (s *Service) PhotoIndexes(o *order.Order) []*catalog.PhotoIndex {
	return s.Catalog().PhotoIndexes(contextOf(o))
}

// PhotoIndexName returns the name of a photo index of an order's item, also of one that the catalog has no longer.
func (s *Service) PhotoIndexName(o *order.Order, code string) text.Text {
	return s.Catalog().IndexName(contextOf(o), code)
}

func contextOf(o *order.Order) catalog.Context {
	c := &o.Classification
	return catalog.Context{Category: c.CategoryCode, Brand: c.BrandCode, Model: c.ModelCode}
}

// readForReview reads any order for a staff user.
func (s *Service) readForReview(ctx context.Context, actor access.Actor, id string) (*order.Order, error) {
	if err := actor.Require(access.ReviewOrders); err != nil {
		return nil, err
	}
	return reachableOrder(actor, id, s.orderByID(ctx))
}

func (s *Service) orderByID(ctx context.Context) func(id string) (*order.Order, error) {
	return func(id string) (*order.Order, error) { return s.store.Order(ctx, id) }
}

// Orders returns up to limit orders that the filter chooses and that follow the cursor, nil for the beginning, and the
// cursor after them, nil when there are no more.
func (s *Service) Orders(
	ctx context.Context, actor access.Actor, f order.Filter, after *order.Cursor, limit int,
) (orders []order.Summary, next *order.Cursor, err error) {
	if err := scopeFilter(actor, &f); err != nil {
		return nil, nil, err
	}
	return s.store.Lists(ctx).Orders(ctx, &f, after, limit)
}

// OrderPage returns a page of the orders that the filter chooses, by its number from 1, and how many it chooses. Newest
// orders are counted whatever their state: by their state they have no numbered pages.
func (s *Service) OrderPage(
	ctx context.Context, actor access.Actor, f order.Filter, page, limit int,
) (orders []order.Summary, total int64, err error) {
	if err := scopeFilter(actor, &f); err != nil {
		return nil, 0, err
	}
	return s.store.Lists(ctx).OrderPage(ctx, &f, page, limit)
}

// NewestOrders calls each for the orders on a page of the tenant of the actor, by its number from 1, the newest first,
// and returns how many orders there are. An order has what the integration API lists, and is gone after the call.
func (s *Service) NewestOrders(
	ctx context.Context, actor access.Actor, page, limit int, each func(*order.Order),
) (total int64, err error) {
	var f order.Filter
	if err := scopeFilter(actor, &f); err != nil {
		return 0, err
	}
	return s.store.Lists(ctx).NewestOrders(ctx, f.Tenant, page, limit, each)
}

// SearchOrders returns a page of the orders that a search chooses in the tenant of the actor, by its number from 1, and
// how many it chooses.
func (s *Service) SearchOrders(
	ctx context.Context, actor access.Actor, search order.Search, page, limit int,
) (orders []order.Summary, total int64, err error) {
	if err := actor.Require(access.ViewAccount); err != nil {
		return nil, 0, err
	}
	search.Tenant = actor.Tenant
	return s.store.Lists(ctx).SearchOrders(ctx, &search, page, limit)
}

// scopeFilter limits a list to what the actor may see: keys and account users see their tenant, reviewers the lists of
// the desk, administrators also those of an account.
func scopeFilter(actor access.Actor, f *order.Filter) error {
	switch {
	case actor.Kind == access.ByAPIKey || actor.Kind == access.ByUser:
		f.Sort, f.Tenant = order.Newest, actor.Tenant
		return actor.Require(access.ViewAccount)
	case f.Sort == order.Newest:
		return actor.Require(access.ViewAccount)
	}
	return actor.Require(access.ReviewOrders)
}

// exportBatch is how many rows an export reads at once: few enough for the memory, and no read lasts long.
const exportBatch = 500

// EachOrder calls each for every order that the filter chooses.
func (s *Service) EachOrder(
	ctx context.Context, actor access.Actor, f order.Filter, each func(*order.Summary) error,
) error {
	for after := (*order.Cursor)(nil); ; {
		orders, next, err := s.Orders(ctx, actor, f, after, exportBatch)
		if err != nil {
			return err
		}
		for i := range orders {
			if err := each(&orders[i]); err != nil {
				return err
			}
		}
		if after = next; after == nil {
			return nil
		}
	}
}

// OrderCounts returns how many orders of an environment are in each status.
func (s *Service) OrderCounts(ctx context.Context, env access.Environment) (map[order.Status]int64, error) {
	return s.store.OrderCounts(ctx, env)
}

// CountWaiting counts the orders of a tenant that wait for photos, up to limit.
func (s *Service) CountWaiting(ctx context.Context, tenant access.Tenant, limit int) (int, error) {
	return s.store.CountWaiting(ctx, tenant, limit)
}

// CountAssigned counts the orders assigned to a staff user, those that wait for photos among them, up to limit.
func (s *Service) CountAssigned(ctx context.Context, actor access.Actor, limit int) (int, error) {
	return s.store.CountAssigned(ctx, actor.ID, limit)
}
