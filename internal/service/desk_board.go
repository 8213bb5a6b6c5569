package service

import (
	"context"
	"errors"
	"strings"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/store"
)

// Board returns the Live orders that match and follow a place, nil for the beginning, and the place after them, nil when
// there are no more: open orders the earliest due first, ended ones the newest first.
func (s *Service) Board(ctx context.Context, f store.BoardFilter, after *store.BoardPlace, limit int) (rows []store.BoardRow, next *store.BoardPlace, err error) {
	return s.Store.Board(ctx, f, after, limit)
}

// ClaimCounts returns how many orders a staff user holds, and for how many they wait for photos.
func (s *Service) ClaimCounts(ctx context.Context, who *access.Staff) (map[order.Status]int64, error) {
	return s.Store.ClaimCounts(ctx, who.ID)
}

// Surroundings is what the desk shows around an order.
type Surroundings struct {
	Account *access.Account
	Files   map[string]store.PhotoRow // of the order's photos, by name
	Others  []store.BoardRow          // the newest orders of the same account, without this one
}

const otherOrders = 10

// SurroundingsOf reads what belongs around an order.
func (s *Service) SurroundingsOf(ctx context.Context, o *order.Order) (*Surroundings, error) {
	around := new(Surroundings)
	var err error
	if around.Account, err = s.Store.Account(ctx, o.AccountID); err != nil {
		return nil, err
	}
	if around.Files, err = s.Store.PhotosOfOrder(ctx, o.ID); err != nil {
		return nil, err
	}
	newest, err := s.Store.NewestOrders(ctx, o.AccountID, o.Environment, otherOrders+1)
	for i := range newest {
		if newest[i].ID != o.ID && len(around.Others) < otherOrders {
			around.Others = append(around.Others, newest[i])
		}
	}
	return around, err
}

// PhotoOf returns what is known of an uploaded photo, or a not-found fault.
func (s *Service) PhotoOf(ctx context.Context, name string) (*store.PhotoRow, error) {
	p, err := s.Store.Photo(ctx, name)
	if errors.Is(err, store.ErrNotFound) {
		return nil, errPhotoNotFound
	}
	return p, err
}

// FindOrderID returns the id of the order that a person means: by its id or its number, in any case and without the prefix.
func (s *Service) FindOrderID(ctx context.Context, text string) (string, error) {
	text = strings.TrimSpace(text)
	if id, ok := store.ParseID(text); ok {
		return id, nil
	}
	number := strings.ToUpper(text)
	if !strings.HasPrefix(number, orderNumberPrefix) {
		number = orderNumberPrefix + number
	}
	if !order.ValidNumber(number) {
		return "", errDeskOrderNotFound
	}
	id, err := s.Store.OrderIDByNumber(ctx, number)
	return id, deskOrderNotFound(err)
}

const orderNumberPrefix = "AS-"
