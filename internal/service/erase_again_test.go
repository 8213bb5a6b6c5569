package service_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

var errInterrupted = errors.New("interrupted")

// undeleting is a media store that deletes nothing while it is on: what an interruption before the first file leaves.
type undeleting struct {
	media.Store
	on bool
}

func (u *undeleting) Delete(ctx context.Context, name string) error {
	if u.on {
		return errInterrupted
	}
	return u.Store.Delete(ctx, name)
}

// newUndeleting opens a shop that has traded and whose Live orders have ended.
func newUndeleting(t *testing.T, target string) (*shop.Shop, *undeleting) {
	t.Helper()
	s := shop.New(t, target)
	s.Trade(t)
	open := rawsql.Rows(t, target, "SELECT id FROM orders WHERE environment = 'live' AND ended_at IS NULL")[0][0]
	_, err := s.Service.CancelOrder(t.Context(), access.System, open, "withdrawn")
	must.NoError(t, err)
	u := &undeleting{Store: s.Media, on: true}
	s.Reconfigure(t, func(c *service.Config) { c.Media = u })
	return s, u
}

// TestErase_Again: an erasure that ended between its rows and its files is finished by running it again.
func TestErase_Again(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		ctx := t.Context()
		s, u := newUndeleting(t, target)
		again := func(erase func(dry bool) (*service.ErasureReport, error), photos int64) {
			t.Helper()
			u.on = true
			before := files(t, s)
			for range 2 {
				if _, err := erase(false); !errors.Is(err, errInterrupted) {
					t.Fatalf("interrupted: %v", err)
				}
			}
			u.on = false
			dry, err := erase(true)
			must.NoError(t, err)
			if dry.Photos != photos || files(t, s) != before {
				t.Errorf("it would erase %d photos, want %d; %d of %d files are left", dry.Photos, photos, files(t, s), before)
			}
			r, err := erase(false)
			must.NoError(t, err)
			if r.Photos != photos || r.Bytes == 0 || r.Bytes != dry.Bytes || files(t, s) != before-int(photos) {
				t.Errorf("%d photos are erased, want %d; %d of %d files are left", r.Photos, photos, files(t, s), before)
			}
			if r, err := erase(false); err != nil || r.Photos != 0 || r.Bytes != 0 {
				t.Errorf("once more: %+v, %v", r, err)
			}
			holds(t, s, "erased")
		}
		id := s.Order(t, s.Test, order.MockFake)
		again(func(dry bool) (*service.ErasureReport, error) {
			return s.Service.EraseOrder(ctx, access.Operator, id, dry)
		}, 1)
		again(func(dry bool) (*service.ErasureReport, error) {
			return s.Service.EraseAccount(ctx, access.Operator, s.Account.ID, dry)
		}, 10)
		if rows := rawsql.Rows(t, target, "SELECT name FROM photos WHERE used = 0"); len(rows) != 0 {
			t.Errorf("rows of photos without an order are left: %v", rows)
		}
	})
}

// TestErase_Unused: a photo of no order whose erasure was interrupted is not counted twice when its time is over.
func TestErase_Unused(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		ctx := t.Context()
		s := shop.New(t, target)
		s.Photo(t, s.Live)
		u := &undeleting{Store: s.Media, on: true}
		s.Reconfigure(t, func(c *service.Config) { c.Media = u })
		if _, err := s.Service.EraseAccount(ctx, access.Operator, s.Account.ID, false); !errors.Is(err, errInterrupted) {
			t.Fatalf("interrupted: %v", err)
		}
		holds(t, s, "interrupted")
		u.on = false
		s.Clock.Advance(time.Hour)
		if n, err := s.Service.DeleteUnusedPhotos(ctx, s.Clock.Now(), 10); n != 1 || err != nil {
			t.Errorf("%d unused photos are deleted, %v", n, err)
		}
		if n := files(t, s); n != 0 {
			t.Errorf("%d files are left", n)
		}
		holds(t, s, "after housekeeping")
	})
}

// TestEraseOldPhotos_Again: the retention comes back to files that it could not delete.
func TestEraseOldPhotos_Again(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		ctx := t.Context()
		s, u := newUndeleting(t, target)
		s.Clock.Advance(2 * time.Hour)
		erase := func() error {
			_, err := s.Service.EraseOldPhotos(ctx, s.Clock.Now().Add(-time.Hour), 100)
			return err
		}
		for range 2 {
			if err := erase(); !errors.Is(err, errInterrupted) {
				t.Fatalf("interrupted: %v", err)
			}
		}
		u.on = false
		must.NoError(t, erase())
		if n := files(t, s); n != 1 { // of no order
			t.Errorf("%d files are left", n)
		}
		holds(t, s, "after the retention")
	})
}

// TestSweepMedia_Erased: files of erased photos are swept however young, or however old, they are.
func TestSweepMedia_Erased(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		ctx := t.Context()
		s, u := newUndeleting(t, target)
		for _, row := range rawsql.Rows(t, target, "SELECT id FROM orders") {
			if _, err := s.Service.EraseOrder(ctx, access.Operator, row[0], false); !errors.Is(err, errInterrupted) {
				t.Fatalf("interrupted: %v", err)
			}
		}
		u.on = false
		swept, older, err := s.Service.SweepMedia(ctx, time.Unix(0, 0))
		must.NoError(t, err)
		if n := files(t, s); swept != 9 || older != 0 || n != 1 {
			t.Errorf("%d files are swept, %d are left, %d called older", swept, n, older)
		}
		holds(t, s, "after the sweep")
	})
}
