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
// created before it, and returns how many orders it looked at. Photos that younger orders have as well stay: they go
// with the youngest of them. An order that cannot be read is passed over for good, and those whose photos such an open
// order may have; a file that cannot be deleted is left to the sweep. The error names them. What fails in an
// environment does not keep the other one from its turn.
func (c *Cleaner) EraseOldPhotos(ctx context.Context, before time.Time, limit int) (int, error) {
	before = before.Add(-store.ReuseNoted)
	looked, skipped := 0, new(fault.Skipped)
	var failed error
	for _, env := range access.Environments {
		n, err := c.eraseOldPhotos(ctx, env, before, limit, skipped)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", env, err))
		}
		looked = max(looked, n)
	}
	return looked, errors.Join(skipped.OrNil(), failed)
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
		gone, stay, err = tx.EraseOldPhotosOf(ids, before, c.now())
		return err
	}); err != nil {
		return 0, err
	}
	for i := range gone {
		err := c.media.Delete(ctx, gone[i].Name)
		if ctx.Err() != nil { // the mark stays: the next round comes back to them
			return 0, err
		}
		if err != nil {
			skipped.Add(fmt.Errorf("file %s stays until a sweep can delete it: %w", gone[i].Name, err))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(stay)) {
		skipped.Add(fmt.Errorf("photos of order %s stay: %w", id, stay[id]))
	}
	return len(orders), c.store.Update(ctx, func(tx *store.Tx) error { return tx.SetRetentionMark(env, mark) })
}

const (
	// maxOrphans is how many files of no photo a sweep deletes. Crashes leave few; what is more waits for the next sweep.
	maxOrphans = 10_000

	// maxFailures is after how many files in a row that cannot be looked at or deleted a sweep ends: the store does not
	// answer.
	maxFailures = 100
)

// Sweep is what a sweep of the media store has done.
type Sweep struct {
	Deleted int // files, and uploads that never ended

	// Files of no photo that stay, because they may belong to another database: older than the installation, whose crashes
	// cannot have left them, while this database is new or the wrong one; or newer than its newest photo, while it is a
	// copy of another database that goes on. These go after the next photo, if they are what a crash has left.
	Older, Newer int
}

// SweepMedia deletes the files that no photo has and that were stored before the time, and uploads that never ended: a
// crash leaves them. A younger one may belong to an upload whose row is not written yet. Files of erased photos go at
// any age: no other photo ever has their names. What cannot be deleted is passed over: the error names it.
func (c *Cleaner) SweepMedia(ctx context.Context, before time.Time) (Sweep, error) {
	begun, err := c.store.Begun(ctx)
	if err != nil {
		return Sweep{}, err
	}
	s := &sweep{Cleaner: c, before: before, begun: begun}
	if s.Deleted, err = c.media.DiscardUnfinished(ctx, before); err != nil {
		err = s.skip(ctx, err)
	}
	if err == nil {
		err = s.all(ctx)
	}
	return s.Sweep, errors.Join(s.skipped.OrNil(), err)
}

// sweep is a sweep of the media store in progress.
type sweep struct {
	*Cleaner
	Sweep
	before, begun time.Time // files from between them may be deleted
	newest        time.Time // creation of the newest photo that has a file
	orphans       []orphan  // files of no photo from between these times
	failures      int       // of the store in a row
	skipped       fault.Skipped
}

type orphan struct {
	name   string
	stored time.Time
}

func (s *sweep) all(ctx context.Context) error {
	for names, err := range media.Batches(s.media.Names(ctx)) {
		if err == nil {
			err = s.look(ctx, names)
		}
		if err != nil {
			return err
		}
	}
	for _, o := range s.orphans { // the newest photo is known now
		if o.stored.After(s.newest) {
			s.Newer++
		} else if err := s.delete(ctx, o.name); err != nil {
			return err
		}
	}
	return nil
}

// look finds orphans among some files, and deletes those of erased photos.
func (s *sweep) look(ctx context.Context, names []string) error {
	found, err := s.store.PhotosNamed(ctx, names)
	if err != nil {
		return err
	}
	for _, name := range names {
		switch p, ok := found[name]; {
		case !ok:
			if err := s.judge(ctx, name); err != nil {
				return err
			}
		case p.Erased:
			if err := s.delete(ctx, name); err != nil {
				return err
			}
		case p.CreatedAt.After(s.newest):
			s.newest = p.CreatedAt
		}
	}
	return nil
}

// judge adds a file of no photo to the orphans, unless it is young or older than the installation.
func (s *sweep) judge(ctx context.Context, name string) error {
	stat, err := s.media.Stat(ctx, name)
	if err != nil && !errors.Is(err, media.ErrNotFound) {
		return s.skip(ctx, fmt.Errorf("file %s: %w", name, err))
	}
	s.failures = 0
	switch {
	case err != nil, !stat.ModTime.Before(s.before):
	case stat.ModTime.Before(s.begun):
		s.Older++
	case len(s.orphans) < maxOrphans:
		s.orphans = append(s.orphans, orphan{name, stat.ModTime})
	}
	return nil
}

func (s *sweep) delete(ctx context.Context, name string) error {
	if err := s.media.Delete(ctx, name); err != nil {
		return s.skip(ctx, fmt.Errorf("file %s: %w", name, err))
	}
	s.Deleted++
	s.failures = 0
	return nil
}

// skip notes what could not be done, and returns the error where the sweep is to end.
func (s *sweep) skip(ctx context.Context, err error) error {
	if s.failures++; ctx.Err() != nil || s.failures == maxFailures {
		return err
	}
	s.skipped.Add(err)
	return nil
}
