package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pgtest"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// again returns a creation with the idempotency key of another one.
func (b *buyer) again(first *store.Creation) *store.Creation {
	c := b.creation()
	c.Idempotency.Key = first.Idempotency.Key
	return c
}

// TestCreateOrders_Keys has keys that were used among others in a group, and orders that are refused: who is refused
// for another reason may come again with the key.
func TestCreateOrders_Keys(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		b := newBuyer(t, s)
		first := b.creation()
		if err := s.CreateOrder(t.Context(), "row", first); err != nil {
			t.Fatal(err)
		}
		dear := b.creation()
		dear.Order.Price = 2_000_000
		group := []*store.Creation{b.creation(), b.again(first), dear, b.creation()}
		must.NoError(t, s.PrepareOrders(t.Context(), group...))
		if err := s.Update(t.Context(), func(tx *store.Tx) error { return tx.CreateOrders(group...) }); err != nil {
			t.Fatal(err)
		}
		for i, c := range group {
			_, err := s.Order(t.Context(), c.Order.ID)
			if made := err == nil; made != (i == 0 || i == 3) {
				t.Errorf("order %d: made %v, refused with %v", i, made, c.Refusal())
			}
		}
		if !errors.Is(group[1].Refusal(), store.ErrExists) {
			t.Errorf("a key that was used: %v", group[1].Refusal())
		}
		if err := s.CreateOrder(t.Context(), "row", b.again(dear)); err != nil {
			t.Errorf("the key of an order that was refused: %v", err)
		}
		if err := s.CreateOrder(t.Context(), "row", b.again(group[0])); !errors.Is(err, store.ErrExists) {
			t.Errorf("the key of an order that was made: %v", err)
		}
	})
}

// TestCreateOrders_KeyGone deletes a key that was used, as another node does when its time is over, after it was met
// and before it was looked at: no order is made without its key.
func TestCreateOrders_KeyGone(t *testing.T) {
	target := pgtest.Database(t)
	s := storetest.Open(t, target)
	b := newBuyer(t, s)
	first := b.creation()
	if err := s.CreateOrder(t.Context(), "row", first); err != nil {
		t.Fatal(err)
	}
	second := b.again(first)
	must.NoError(t, s.PrepareOrders(t.Context(), second))
	met := false
	err := s.Update(t.Context(), func(tx *store.Tx) error {
		tx.Trace(func(text string) {
			if strings.HasPrefix(text, "SELECT answer FROM idempotency_keys") {
				met = true
				rawsql.Exec(t, target, fmt.Sprintf("DELETE FROM idempotency_keys WHERE key = '%s'", first.Idempotency.Key))
			}
		})
		return tx.CreateOrders(second)
	})
	if err != nil || !met || !errors.Is(second.Refusal(), store.ErrExists) {
		t.Errorf("met %v, refused with %v, %v", met, second.Refusal(), err)
	}
	if err := s.CreateOrder(t.Context(), "row", second); err != nil {
		t.Error(err)
	}
	if err := s.CreateOrder(t.Context(), "row", b.again(first)); !errors.Is(err, store.ErrExists) {
		t.Errorf("the key of the second order: %v", err)
	}
}
