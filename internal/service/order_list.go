package service

import (
	"context"
	"strings"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/store"
)

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

// FindOrders returns the orders of an account user's tenant with the id, the order number or the external id, newest
// first.
func (s *Service) FindOrders(
	ctx context.Context, actor access.Actor, search string, limit int,
) ([]order.Summary, error) {
	if err := actor.Require(access.ViewAccount); err != nil {
		return nil, err
	}
	if search = strings.TrimSpace(search); !searchable(search) {
		return nil, nil
	}
	id, ok := store.ParseID(search)
	if !ok {
		id = ""
	}
	number := strings.ToUpper(search)
	if !order.ValidNumber(number) {
		number = ""
	}
	return s.store.Lists(ctx).FindOrders(ctx, actor.Tenant, id, number, search, limit)
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
