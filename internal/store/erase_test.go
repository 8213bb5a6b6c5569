package store_test

import (
	"testing"

	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/must"
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
