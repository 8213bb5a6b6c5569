package service

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/requestlog"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
)

// Bounds of a search.
const (
	SearchMost       = 20  // of each kind
	maxSearch        = 300 // bytes; longer than anything that can be found
	minPartialSearch = 3   // letters from which on a part of an endpoint's address or name is looked for
)

// Found is what a search has found, SearchMost of each kind at most.
type Found struct {
	Orders    []order.Summary
	Delivery  *webhook.Delivery // nil: none
	Request   *requestlog.Entry // nil: none
	Endpoints []*webhook.Endpoint
	Link      *Capture // nil: none
}

// Search looks in the actor's tenant for orders with the id, number or external id; for the delivery, request, endpoint
// or capture link with the id; and for endpoints whose address or name contains the text. All of it is read through
// indexes, except that the endpoints of the tenant, which are few, are looked through.
func (s *Service) Search(ctx context.Context, actor access.Actor, text string) (*Found, error) {
	if err := actor.Require(access.ViewAccount); err != nil {
		return nil, err
	}
	found := new(Found)
	if text = strings.TrimSpace(text); text == "" || !searchable(text) {
		return found, nil
	}
	var err error
	if found.Orders, err = s.FindOrders(ctx, actor, text, SearchMost); err != nil {
		return nil, err
	}
	if found.Endpoints, err = s.findEndpoints(ctx, actor, text); err != nil {
		return nil, err
	}
	if id, ok := uuid7.Parse(text); ok {
		err = s.findByID(ctx, actor, id, found)
	}
	return found, err
}

// searchable reports whether a text can be found at all: databases refuse what is no text.
func searchable(s string) bool { return len(s) <= maxSearch && text.IsStorable(s) }

// findByID looks for what has an id.
func (s *Service) findByID(ctx context.Context, actor access.Actor, id string, found *Found) error {
	var errs [3]error
	found.Delivery, errs[0] = s.delivery(ctx, actor, id)
	found.Request, errs[1] = s.Request(ctx, actor, id)
	found.Link, errs[2] = s.CaptureLink(ctx, actor, id)
	for _, err := range errs {
		if err != nil && fault.KindOf(err) != fault.NotFound {
			return err
		}
	}
	return nil
}

// findEndpoints returns the endpoints of the actor's tenant with the id, or whose address or name contains the text.
func (s *Service) findEndpoints(ctx context.Context, actor access.Actor, text string) ([]*webhook.Endpoint, error) {
	if utf8.RuneCountInString(text) < minPartialSearch {
		return nil, nil
	}
	all, err := s.Endpoints(ctx, actor, actor.Tenant)
	if err != nil {
		return nil, err
	}
	id, _ := uuid7.Parse(text)
	text = strings.ToLower(text)
	var found []*webhook.Endpoint
	for _, e := range all {
		if len(found) < SearchMost && (e.ID == id || strings.Contains(strings.ToLower(e.URL), text) ||
			strings.Contains(strings.ToLower(e.Name), text)) {
			found = append(found, e)
		}
	}
	return found, nil
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
	id, ok := uuid7.Parse(search)
	if !ok {
		id = ""
	}
	number := strings.ToUpper(search)
	if !order.ValidNumber(number) {
		number = ""
	}
	return s.store.Lists(ctx).FindOrders(ctx, actor.Tenant, id, number, search, limit)
}

// FindOrderID returns the id of the order that a staff user means: by its id or its number, in any case and without
// prefix.
func (s *Service) FindOrderID(ctx context.Context, text string) (string, error) {
	text = strings.TrimSpace(text)
	if id, ok := uuid7.Parse(text); ok {
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
	return id, store.NotFoundAs(err, noSuchOrder[access.ByStaff])
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
	reference := strings.TrimSpace(text)
	if !searchable(reference) {
		return nil, nil
	}
	ids, err := s.store.OrdersByReference(ctx, reference, maxFound)
	found := make([]*order.Order, len(ids))
	for i, id := range ids {
		if found[i], err = s.store.Order(ctx, id); err != nil {
			return nil, err
		}
	}
	return found, err
}
