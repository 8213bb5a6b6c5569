package service_test

import (
	"context"
	"sync"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// deleting is a media store that tells of the deletion of a file before it happens.
type deleting struct {
	media.Store
	of   string
	once sync.Once
	told func()
}

func (d *deleting) Delete(ctx context.Context, name string) error {
	if name == d.of {
		d.once.Do(d.told)
	}
	return d.Store.Delete(ctx, name)
}

// TestErase_LateTestOrder: a Test order that is stored after the orders of the account were erased, by a node that had
// taken it before, is erased as well.
func TestErase_LateTestOrder(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := shop.New(t, target)
		s.Order(t, s.Test, order.MockFake)
		unused, ok := s.Service.PhotoName(s.Photo(t, s.Test)) // such photos go after the orders
		if !ok {
			t.Fatal("no photo")
		}
		d := &deleting{Store: s.Media, of: unused, told: func() { s.Order(t, s.Test, order.MockFake) }}
		s.Reconfigure(t, func(c *service.Config) { c.Media = d })
		r, err := s.Service.EraseAccount(t.Context(), access.Operator, s.Account.ID, false)
		must.NoError(t, err)
		if r.Orders != 2 || r.Photos != 3 {
			t.Errorf("%d orders and %d photos are erased, want 2 and 3", r.Orders, r.Photos)
		}
		if n := files(t, s); n != 0 {
			t.Errorf("%d files are left", n)
		}
		holds(t, s, "erased")
	})
}
