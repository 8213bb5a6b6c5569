package store_test

import (
	"strconv"
	"testing"

	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// TestRowID checks that rowids are in the order of ids and tell ids of one moment apart.
func TestRowID(t *testing.T) {
	for _, c := range []struct {
		id   string
		want int64
	}{
		{"00000000-0000-7000-8000-000000000000", 0},
		{"00000000-0001-7000-8000-000000000000", 1 << 15},
		{"00000000-0000-7001-8000-000000000000", 1 << 3},
		{"00000000-0000-7000-8800-000000000000", 1},
		{"00000000-0000-7000-b800-000000000000", 7},
		{"ffffffff-ffff-7fff-bfff-ffffffffffff", 1<<63 - 1},
		{"not an id", 0},
	} {
		if got := store.RowID(c.id); got != c.want {
			t.Errorf("RowID(%s) = %d, want %d", c.id, got, c.want)
		}
	}
}

// TestOrderRowIDs checks that SQLite keeps orders under their RowID, and that one whose RowID another row has is
// created and found all the same, as is one whose row was moved.
func TestOrderRowIDs(t *testing.T) {
	target := storetest.SQLite(t)
	s := storetest.Open(t, target)
	b := newBuyer(t, s)
	create := func() string {
		t.Helper()
		c := b.creation()
		if err := s.CreateOrder(t.Context(), "row", c); err != nil {
			t.Fatal(err)
		}
		return c.Order.ID
	}
	check := func(id string, kept bool) {
		t.Helper()
		o, err := s.ShownOrder(t.Context(), b.tenant, id)
		if err != nil || o.ID != id {
			t.Errorf("order %s is not found: %+v, %v", id, o, err)
		}
		found := rawsql.Rows(t, target, "SELECT rowid FROM orders WHERE id = $1", id)
		want := strconv.FormatInt(store.RowID(id), 10)
		if len(found) != 1 || (found[0][0] == want) != kept {
			t.Errorf("order %s is in row %v, want %s: %t", id, found, want, kept)
		}
	}
	first := create()
	check(first, true)

	taken := b.creation()
	rawsql.Exec(t, target, "UPDATE orders SET rowid = "+strconv.FormatInt(store.RowID(taken.Order.ID), 10))
	check(first, false)
	if err := s.CreateOrder(t.Context(), "row", taken); err != nil {
		t.Fatal(err)
	}
	check(taken.Order.ID, false)
	check(first, false)
	check(create(), true)
}
