package store_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pgtest"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// buy makes orders and returns their ids.
func (b *buyer) buy(t *testing.T, n int) (ids []string) {
	t.Helper()
	for range n {
		c := b.creation()
		must.NoError(t, b.store.Update(t.Context(), func(tx *store.Tx) error { return tx.CreateOrder(c) }))
		ids = append(ids, c.Order.ID)
	}
	return ids
}

// TestErasePlans checks that an order is erased without reading all events of its key, or all idempotency keys.
func TestErasePlans(t *testing.T) {
	plans, err := storetest.Open(t, storetest.SQLite(t)).ErasePlans(t.Context())
	must.NoError(t, err)
	for name, want := range map[string]string{
		"events": "events USING INDEX events_by_age (created_at=?)",
		"keys":   "idempotency_keys USING INDEX idempotency_keys_by_age (created_at=?)",
	} {
		if !strings.Contains(plans[name], want) {
			t.Errorf("%s: %s; want %s", name, plans[name], want)
		}
	}
}

// TestErasePhotosOf_Statements bounds what it takes to erase the photos of orders: no statement for each of them, and
// none for each open order of their account.
func TestErasePhotosOf_Statements(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := storetest.Open(t, target)
		b := newBuyer(t, s)
		ids := b.buy(t, 64)
		erase := func(ids []string, want int) {
			t.Helper()
			texts, err := s.Statements(t.Context(), func(tx *store.Tx) error {
				gone, unreadable, err := tx.ErasePhotosOf(ids, noon)
				if len(gone) != want || len(unreadable) != 0 {
					t.Errorf("%d photos are erased, want %d; %v", len(gone), want, unreadable)
				}
				return err
			})
			must.NoError(t, err)
			// Two for 32 orders and for what open ones have; the three photos in two lists are locked, read and erased.
			const most = 2*2 + 2 + 3*2 + 1
			if len(texts) > most {
				t.Errorf("%d orders take %d statements, want at most %d: %q", len(ids), len(texts), most, texts)
			}
		}
		erase(ids, 0)
		rawsql.Exec(t, target, "UPDATE orders SET status = 'error', ended_at = 1")
		erase(ids, len(b.photos))
	})
}

// TestErasePhotosOf_WhileTaken erases a photo that is in use while another order takes it: either the order does not
// get it, or the photo stays.
func TestErasePhotosOf_WhileTaken(t *testing.T) {
	type taking struct {
		take  func(b *buyer, c *store.Creation) func(tx *store.Tx) error // the photos of the order
		opens func(b *buyer, c *store.Creation) func(tx *store.Tx) error // what is left of its creation
	}
	nothing := func(*buyer, *store.Creation) func(*store.Tx) error { return func(*store.Tx) error { return nil } }
	create := func(_ *buyer, c *store.Creation) func(*store.Tx) error {
		return func(tx *store.Tx) error { return tx.CreateOrder(c) }
	}
	errTaken := errors.New("a photo is gone")
	use := func(b *buyer, _ *store.Creation) func(*store.Tx) error {
		return func(tx *store.Tx) error {
			var names []string
			for _, p := range b.photos {
				names = append(names, p.Name)
			}
			known, err := tx.UsePhotos(b.tenant, names)
			if err == nil && len(known) < len(names) {
				err = errTaken
			}
			return err
		}
	}
	for name, test := range map[string]taking{"Creation": {create, nothing}, "Submission": {use, create}} {
		t.Run(name, func(t *testing.T) {
			target := pgtest.Database(t) // SQLite has one writer: there is no "while"
			s := storetest.Open(t, target)
			b := newBuyer(t, s)
			old := b.buy(t, 1)
			rawsql.Exec(t, target, "UPDATE orders SET status = 'error', ended_at = 1")
			ctx, erased := t.Context(), -1
			erase := func(tx *store.Tx) error {
				gone, _, err := tx.ErasePhotosOf(old, noon)
				erased = len(gone)
				return err
			}
			// whileOpen runs a transaction that has to wait for another.
			whileOpen := func(first, second func(tx *store.Tx) error) error {
				ended := make(chan error, 1)
				must.NoError(t, s.Update(ctx, func(tx *store.Tx) error {
					if err := first(tx); err != nil {
						return err
					}
					go func() { ended <- s.Update(ctx, second) }()
					rawsql.AwaitLock(t, target, 1)
					return nil
				}))
				return <-ended
			}
			made := b.creation()
			err := whileOpen(func(tx *store.Tx) error {
				return errors.Join(test.take(b, made)(tx), test.opens(b, made)(tx))
			}, erase)
			if err != nil || erased != 0 {
				t.Errorf("%d photos of a new order are erased, %v", erased, err)
			}
			rawsql.Exec(t, target, "UPDATE orders SET status = 'error', ended_at = 1")
			err = whileOpen(erase, test.take(b, b.creation()))
			var unknown *store.UnknownPhotoError
			if !errors.As(err, &unknown) && !errors.Is(err, errTaken) || erased != len(b.photos) {
				t.Errorf("an order takes a photo of %d that are being erased: %v", erased, err)
			}
		})
	}
}

// TestEraseOrderTexts_WhileMoved erases the texts of an order while it is moved: what the move has recorded stays.
func TestEraseOrderTexts_WhileMoved(t *testing.T) {
	target := pgtest.Database(t) // SQLite has one writer: there is no "while"
	s := storetest.Open(t, target)
	ctx := t.Context()
	b := newBuyer(t, s)
	c := b.creation()
	c.Order.ExternalID = nil
	c.Order.Reasons = []order.CodedText{{Text: text.Text{EN: "for Jane Doe"}}}
	must.NoError(t, s.Update(ctx, func(tx *store.Tx) error { return tx.CreateOrder(c) }))
	ended := make(chan error, 1)
	must.NoError(t, s.Update(ctx, func(tx *store.Tx) error {
		o, err := tx.OrderForUpdate(c.Order.ID)
		if err != nil {
			return err
		}
		o.OutcomeIndexes = []string{"overall"}
		if err := tx.UpdateOrder(o); err != nil {
			return err
		}
		go func() {
			ended <- s.Update(ctx, func(tx *store.Tx) error { return tx.EraseOrderTexts(store.Erasure{}, c.Order.ID) })
		}()
		rawsql.AwaitLock(t, target, 1)
		return nil
	}))
	must.NoError(t, <-ended)
	o, err := s.Order(ctx, c.Order.ID)
	if err != nil || len(o.Reasons) != 0 || len(o.OutcomeIndexes) != 1 {
		t.Errorf("the order is left with %+v, %v", o, err)
	}
}

// TestEraseAccountRows: no call deletes more of a table than it is told to.
func TestEraseAccountRows(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		must.NoError(t, s.FillDeliveries(t.Context(), 5))
		for _, want := range []struct {
			rows int64
			more bool
		}{{2, true}, {2, true}, {1, false}, {0, false}} {
			rows := store.Erasure{}
			must.NoError(t, s.Update(t.Context(), func(tx *store.Tx) error {
				more, err := tx.EraseAccountRows(rows, "a", 2)
				if more != want.more {
					t.Errorf("more is left: %t, want %t", more, want.more)
				}
				return err
			}))
			if rows["deliveries"] != want.rows || rows["delivery_attempts"] != want.rows {
				t.Errorf("deleted are %v, want %d deliveries", rows, want.rows)
			}
		}
	})
}
