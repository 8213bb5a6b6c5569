package retention

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/store"
)

// DeleteUnusedPhotos removes up to limit photos that were uploaded before the time and that no order uses, and returns
// how many. Rows go first: a file without a row is harmless, a row without its file is not.
func (c *Cleaner) DeleteUnusedPhotos(ctx context.Context, before time.Time, limit int) (int, error) {
	if some, err := c.store.HasUnusedPhotos(ctx, before); err != nil || !some {
		return 0, err
	}
	var names []string
	if err := c.store.Update(ctx, func(tx *store.Tx) (err error) {
		names, err = tx.DeleteUnusedPhotos(before, limit)
		return err
	}); err != nil {
		return 0, err
	}
	var failed error
	for _, name := range names {
		failed = errors.Join(failed, c.media.Delete(ctx, name))
	}
	return len(names), failed
}

// EraseOldPhotos erases the photos of up to limit Live orders that ended before the time, and of Test orders that were
// created before it, and returns how many orders it looked at. Photos of open Live orders stay. An order that cannot be
// read is passed over for good, and those whose photos such an open order may have: the error names them.
func (c *Cleaner) EraseOldPhotos(ctx context.Context, before time.Time, limit int) (int, error) {
	looked, skipped := 0, new(fault.Skipped)
	for _, env := range access.Environments {
		n, err := c.eraseOldPhotos(ctx, env, before, limit, skipped)
		if err != nil {
			return looked, errors.Join(skipped.OrNil(), fmt.Errorf("%s: %w", env, err))
		}
		looked = max(looked, n)
	}
	return looked, skipped.OrNil()
}

func (c *Cleaner) eraseOldPhotos(
	ctx context.Context, env access.Environment, before time.Time, limit int, skipped *fault.Skipped,
) (int, error) {
	mark, err := c.store.RetentionMark(ctx, env)
	if err != nil {
		return 0, err
	}
	orders, err := c.store.AgedOrders(ctx, env, mark, before, limit)
	if err != nil || len(orders) == 0 {
		return 0, err
	}
	var ids []string
	for _, o := range orders {
		mark = store.RetentionMark{At: o.At, OrderID: o.ID}
		if !o.Skip {
			ids = append(ids, o.ID)
		}
	}
	var gone []photo.Stored
	var stay map[string]error
	if err := c.store.Update(ctx, func(tx *store.Tx) (err error) {
		gone, stay, err = tx.ErasePhotosOf(ids, c.now())
		return err
	}); err != nil {
		return 0, err
	}
	for i := range gone {
		err = errors.Join(err, c.media.Delete(ctx, gone[i].Name))
	}
	if err != nil { // the mark stays: the next round comes back to them
		return 0, err
	}
	for _, id := range slices.Sorted(maps.Keys(stay)) {
		skipped.Add(fmt.Errorf("photos of order %s stay: %w", id, stay[id]))
	}
	return len(orders), c.store.Update(ctx, func(tx *store.Tx) error { return tx.SetRetentionMark(env, mark) })
}

// sweepBatch is how many files are looked up at a time.
const sweepBatch = 500

// SweepMedia deletes the files that no photo has and that were stored before the time, and uploads that never ended: a
// crash leaves them. It returns how many. A younger one may belong to an upload whose row is not written yet. Those
// that are older than the installation are left and only counted: its crashes cannot have left them, and they may
// belong to another database than this one, which is new or the wrong one. Files of erased photos go at any
// age: no other photo ever has their names.
func (c *Cleaner) SweepMedia(ctx context.Context, before time.Time) (swept, older int, err error) {
	begun, err := c.store.Begun(ctx)
	if err != nil {
		return 0, 0, err
	}
	s := &sweep{Cleaner: c, before: before, begun: begun}
	if s.swept, err = c.media.DiscardUnfinished(ctx, before); err != nil {
		return s.swept, 0, err
	}
	err = s.all(ctx)
	return s.swept, s.older, err
}

// sweep is a sweep of the media store in progress.
type sweep struct {
	*Cleaner
	before, begun time.Time // files from between them are deleted
	swept, older  int
}

func (s *sweep) all(ctx context.Context) error {
	var names []string
	for name, err := range s.media.Names(ctx) {
		if err != nil {
			return err
		}
		if names = append(names, name); len(names) == sweepBatch {
			if err := s.files(ctx, names); err != nil {
				return err
			}
			names = names[:0]
		}
	}
	return s.files(ctx, names)
}

func (s *sweep) files(ctx context.Context, names []string) error {
	unknown, erased, err := s.store.UnknownPhotos(ctx, names)
	if err != nil {
		return err
	}
	for _, name := range erased {
		if err := s.delete(ctx, name); err != nil {
			return err
		}
	}
	for _, name := range unknown {
		stat, err := s.media.Stat(ctx, name)
		switch {
		case errors.Is(err, media.ErrNotFound):
		case err != nil:
			return err
		case !stat.ModTime.Before(s.before):
		case stat.ModTime.Before(s.begun):
			s.older++
		default:
			if err := s.delete(ctx, name); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *sweep) delete(ctx context.Context, name string) error {
	err := s.media.Delete(ctx, name)
	if err == nil {
		s.swept++
	}
	return err
}
