package service

import (
	"context"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/text"
)

// Balance returns the credits of the key's account in its environment.
func (s *Service) Balance(ctx context.Context, k *access.Key) (int64, error) {
	return s.Store.Balance(ctx, k.AccountID, k.Environment)
}

// Orders returns a page of the orders that the key sees, newest first, and how many there are.
func (s *Service) Orders(ctx context.Context, k *access.Key, page, limit int) ([]order.Order, int64, error) {
	return s.Store.OrderPage(ctx, k.AccountID, k.Environment, page, limit)
}

// OrderDetail returns what the key sees of the order with the id or external id.
func (s *Service) OrderDetail(ctx context.Context, k *access.Key, idOrExternalID string, l text.Locale) (order.Detail, error) {
	o, err := s.Store.FindOrder(ctx, k.AccountID, k.Environment, idOrExternalID)
	if err != nil {
		return order.Detail{}, orderNotFound(err)
	}
	return s.view(o, l), nil
}

func (s *Service) view(o *order.Order, l text.Locale) order.Detail {
	return o.View(l, s.now(), s.CertificateURL)
}
