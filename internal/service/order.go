package service

import (
	"context"
	"errors"
	"strings"
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
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return staff, err
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
	if r.Key, err = s.store.Key(ctx, o.APIKeyID); err != nil {
		return nil, err
	}
	r.Deliveries, err = s.store.Deliveries(ctx, webhook.DeliveryFilter{Tenant: o.Tenant(), OrderID: o.ID}, orderDeliveries)
	return r, err
}

const orderDeliveries = 20

// activityGap is how often the activity of an assignee is stored at most: looking at an order must stay a read.
const activityGap = time.Minute

// OrderForReview returns any order to a staff user. When it is the assignee who looks, the claim has activity.
func (s *Service) OrderForReview(ctx context.Context, actor access.Actor, id string) (*OrderRecord, error) {
	o, err := s.readForReview(ctx, actor, id)
	if err != nil {
		return nil, err
	}
	now := s.now()
	if noted := now.Add(-activityGap); o.HeldBy(actor) && o.ClaimedAt != nil && !o.ClaimedAt.After(noted) {
		touch := func(tx *store.Tx) error { return tx.TouchClaim(o.ID, actor.ID, now, noted) }
		if err := s.store.Update(ctx, touch); err != nil {
			return nil, err
		}
	}
	return orderRecord(ctx, s.store.Queries, o)
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

// FindOrderID returns the id of the order that a staff user means: by its id or its number, in any case and without
// prefix.
func (s *Service) FindOrderID(ctx context.Context, text string) (string, error) {
	text = strings.TrimSpace(text)
	if id, ok := store.ParseID(text); ok {
		return id, nil
	}
	number := strings.ToUpper(text)
	if !strings.HasPrefix(number, order.NumberPrefix) {
		number = order.NumberPrefix + number
	}
	if !order.ValidNumber(number) {
		return "", noSuchOrder[access.ByStaff]
	}
	id, err := s.store.OrderIDByNumber(ctx, number)
	if errors.Is(err, store.ErrNotFound) {
		return "", noSuchOrder[access.ByStaff]
	}
	return id, err
}

// maxFound bounds how many orders are found by one reference.
const maxFound = 20

// FindForReview returns the orders that a staff user means: the one with an id or a number, or the Live orders that
// customers call by a reference, the newest first.
func (s *Service) FindForReview(ctx context.Context, actor access.Actor, text string) ([]*order.Order, error) {
	if err := actor.Require(access.ReviewOrders); err != nil {
		return nil, err
	}
	id, err := s.FindOrderID(ctx, text)
	if err == nil {
		o, err := s.store.Order(ctx, id)
		if !errors.Is(err, store.ErrNotFound) {
			return []*order.Order{o}, err
		}
	} else if fault.CodeOf(err) != order.NotFound.Code {
		return nil, err
	}
	ids, err := s.store.OrdersByReference(ctx, strings.TrimSpace(text), maxFound)
	found := make([]*order.Order, len(ids))
	for i, id := range ids {
		if found[i], err = s.store.Order(ctx, id); err != nil {
			return nil, err
		}
	}
	return found, err
}

// PhotoIndexes returns the photo indexes of an order's item.
func (s *Service) PhotoIndexes(o *order.Order) []*catalog.PhotoIndex {
	c := &o.Classification
	return s.Catalog().PhotoIndexes(catalog.Context{Category: c.CategoryCode, Brand: c.BrandCode, Model: c.ModelCode})
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
