package service

import (
	"context"
	"errors"
	"time"

	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/store"
)

const (
	keptCatalogs = 20                  // versions that are kept however old they are
	catalogAge   = 90 * 24 * time.Hour // for which every version is kept
	linkAge      = 30 * 24 * time.Hour // after a link has ended
	leaseAge     = 24 * time.Hour      // after a lease has ended
	sweepBatch   = 500
)

// pruned runs a deletion in a transaction, if there is something to delete.
func (s *Service) pruned(
	ctx context.Context, some bool, err error, run func(*store.Tx) (int, error),
) (n int, _ error) {
	if err != nil || !some {
		return 0, err
	}
	err = s.store.Update(ctx, func(tx *store.Tx) (err error) {
		n, err = run(tx)
		return err
	})
	return n, err
}

// MakePartitions makes the parts ahead in which the database keeps what is deleted by its age, and returns how many.
func (s *Service) MakePartitions(ctx context.Context) (int, error) {
	return s.store.MakePartitions(ctx, s.now())
}

// DeleteOldDeliveries deletes up to limit ended deliveries from before the time with their attempts, and returns how
// many. PostgreSQL drops whole parts of them, which do not count.
func (s *Service) DeleteOldDeliveries(ctx context.Context, before time.Time, limit int) (int, error) {
	return s.deleteOld(ctx, before, limit, &partitioned{
		"deliveries", s.store.DropOldDeliveries, s.store.HasDeliveries, (*store.Tx).DeleteOldDeliveries,
	})
}

// partitioned is how the rows of a table are deleted by their age: on PostgreSQL whole parts of it, and the rest in
// batches.
type partitioned struct {
	table string
	drop  func(ctx context.Context, before time.Time) (parts int, err error)
	some  func(ctx context.Context, before time.Time) (bool, error)
	batch func(tx *store.Tx, before time.Time, limit int) (int, error)
}

func (s *Service) deleteOld(ctx context.Context, before time.Time, limit int, p *partitioned) (int, error) {
	parts, err := p.drop(ctx, before)
	if s.tellDropped(ctx, p.table, parts); err != nil {
		return 0, err
	}
	some, err := p.some(ctx, before)
	return s.pruned(ctx, some, err, func(tx *store.Tx) (int, error) { return p.batch(tx, before, limit) })
}

func (s *Service) tellDropped(ctx context.Context, table string, parts int) {
	if parts > 0 {
		s.log.InfoContext(ctx, "partitions dropped", "table", table, "count", parts)
	}
}

// DeleteOldLinks deletes up to limit links that have ended a while ago, and returns how many.
func (s *Service) DeleteOldLinks(ctx context.Context, limit int) (int, error) {
	before := s.now().Add(-linkAge)
	some, err := s.store.HasOldLinks(ctx, before)
	return s.pruned(ctx, some, err, func(tx *store.Tx) (int, error) { return tx.DeleteOldLinks(before, limit) })
}

// ExpireCaptureLinks forgets the photos of up to limit capture links that expired without a submission, and returns how
// many links had some.
func (s *Service) ExpireCaptureLinks(ctx context.Context, limit int) (int, error) {
	now := s.now()
	some, err := s.store.HasExpiredCaptures(ctx, now)
	return s.pruned(ctx, some, err, func(tx *store.Tx) (int, error) { return tx.DropExpiredCaptures(now, limit) })
}

// DeleteOldCaptureLinks deletes up to limit capture links that expired a while ago, and returns how many.
func (s *Service) DeleteOldCaptureLinks(ctx context.Context, limit int) (int, error) {
	before := s.now().Add(-linkAge)
	some, err := s.store.HasOldCaptureLinks(ctx, before)
	return s.pruned(ctx, some, err, func(tx *store.Tx) (int, error) { return tx.DeleteOldCaptureLinks(before, limit) })
}

// DeleteOldCatalogs deletes up to limit versions of the catalog that were replaced long ago, and returns how many.
func (s *Service) DeleteOldCatalogs(ctx context.Context, limit int) (int, error) {
	before := s.now().Add(-catalogAge)
	some, err := s.store.HasOldCatalogs(ctx, before, keptCatalogs)
	return s.pruned(ctx, some, err, func(tx *store.Tx) (int, error) {
		return tx.DeleteOldCatalogs(before, keptCatalogs, limit)
	})
}

// DeleteOldLeases deletes up to limit leases of senders that have ended long ago, and returns how many.
func (s *Service) DeleteOldLeases(ctx context.Context, limit int) (int, error) {
	before := s.now().Add(-leaseAge)
	some, err := s.store.HasOldLeases(ctx, before)
	return s.pruned(ctx, some, err, func(tx *store.Tx) (int, error) { return tx.DeleteOldLeases(before, limit) })
}

// SweepMedia deletes the files that no photo has and that were stored before the time, and uploads that never ended: a
// crash leaves them. It returns how many. A younger one may belong to an upload whose row is not written yet. Those
// that are older than the installation are left and only counted: its crashes cannot have left them, and they may
// belong to another database than this one, which is new or the wrong one. Files of erased photos go at any
// age: no other photo ever has their names.
func (s *Service) SweepMedia(ctx context.Context, before time.Time) (swept, older int, err error) {
	begun, err := s.store.Begun(ctx)
	if err != nil {
		return 0, 0, err
	}
	if swept, err = s.media.DiscardUnfinished(ctx, before); err != nil {
		return swept, 0, err
	}
	var names []string
	flush := func() error {
		unknown, erased, err := s.store.UnknownPhotos(ctx, names)
		names = names[:0]
		if err != nil {
			return err
		}
		for _, name := range erased {
			if err := s.media.Delete(ctx, name); err != nil {
				return err
			}
			swept++
		}
		for _, name := range unknown {
			stat, err := s.media.Stat(ctx, name)
			if errors.Is(err, media.ErrNotFound) || err == nil && !stat.ModTime.Before(before) {
				continue
			}
			if err == nil && stat.ModTime.Before(begun) {
				older++
				continue
			}
			if err == nil {
				err = s.media.Delete(ctx, name)
			}
			if err != nil {
				return err
			}
			swept++
		}
		return nil
	}
	for name, err := range s.media.Names(ctx) {
		if err != nil {
			return swept, older, err
		}
		if names = append(names, name); len(names) == sweepBatch {
			if err := flush(); err != nil {
				return swept, older, err
			}
		}
	}
	err = flush()
	return swept, older, err
}
