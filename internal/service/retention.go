package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/store"
)

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

// DeleteOldAttempts removes up to limit delivery attempts from before the time from the log, and returns how many.
// PostgreSQL drops whole parts where there are many of them, which do not count.
func (s *Service) DeleteOldAttempts(ctx context.Context, before time.Time, limit int) (int, error) {
	parts, wait, err := s.store.DropOldAttempts(ctx, before)
	if s.tellDropped(ctx, "delivery_attempts", parts); err != nil {
		return 0, err
	}
	some, err := s.store.HasAttempts(ctx, before, wait...)
	return s.pruned(ctx, some, err, func(tx *store.Tx) (int, error) {
		return tx.DeleteOldAttempts(before, limit, wait...)
	})
}

// DeleteOldEvents removes up to limit events from before the time, and returns how many. PostgreSQL drops whole parts
// of them, which do not count.
func (s *Service) DeleteOldEvents(ctx context.Context, before time.Time, limit int) (int, error) {
	return s.deleteOld(ctx, before, limit, &partitioned{
		"events", s.store.DropOldEvents, s.store.HasEvents, (*store.Tx).DeleteOldEvents,
	})
}

// DeleteOldRequests deletes up to limit blocks of requests from before the time, and returns how many.
func (s *Service) DeleteOldRequests(ctx context.Context, before time.Time, limit int) (int, error) {
	return s.deleteOld(ctx, before, limit, &partitioned{
		"request_log", s.store.DropOldRequests, s.store.HasRequests, (*store.Tx).DeleteOldRequests,
	})
}

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

// DeleteOldIdempotencyKeys removes up to limit keys whose time is over, and returns how many.
func (s *Service) DeleteOldIdempotencyKeys(ctx context.Context, limit int) (int, error) {
	before := s.now().Add(-IdempotencyWindow)
	if some, err := s.store.HasIdempotencyKeys(ctx, before); err != nil || !some {
		return 0, err
	}
	var n int64
	err := s.store.Update(ctx, func(tx *store.Tx) (err error) {
		n, err = tx.DeleteOldIdempotencyKeys(before, limit)
		return err
	})
	return int(n), err
}

// TrimPortalLogs removes entries of the logs of the portal that are older than the time, of up to limit accounts, and
// returns of how many. A log is trimmed once a day at most, because each time leaves an entry.
func (s *Service) TrimPortalLogs(ctx context.Context, before time.Time, limit int) (int, error) {
	aged, err := s.store.AgedPortalLogs(ctx, before.Add(-trimGap), limit)
	if err != nil {
		return 0, err
	}
	for _, id := range aged {
		if err := s.store.Update(ctx, func(tx *store.Tx) error {
			_, err := tx.TrimPortalLog(id, before, s.now(), trimBatch)
			return err
		}); err != nil {
			return 0, err
		}
	}
	return len(aged), nil
}

const (
	trimGap   = 24 * time.Hour
	trimBatch = 1000
)

// DeleteUnusedPhotos removes up to limit photos that were uploaded before the time and that no order uses, and returns
// how many. Rows go first: a file without a row is harmless, a row without its file is not.
func (s *Service) DeleteUnusedPhotos(ctx context.Context, before time.Time, limit int) (int, error) {
	if some, err := s.store.HasUnusedPhotos(ctx, before); err != nil || !some {
		return 0, err
	}
	var names []string
	if err := s.store.Update(ctx, func(tx *store.Tx) (err error) {
		names, err = tx.DeleteUnusedPhotos(before, limit)
		return err
	}); err != nil {
		return 0, err
	}
	var failed error
	for _, name := range names {
		failed = errors.Join(failed, s.media.Delete(ctx, name))
	}
	return len(names), failed
}

// EraseOldPhotos erases the photos of up to limit Live orders that ended before the time, and of Test orders that were
// created before it, and returns how many orders it looked at. Photos of open Live orders stay.
func (s *Service) EraseOldPhotos(ctx context.Context, before time.Time, limit int) (int, error) {
	looked := 0
	for _, env := range access.Environments {
		n, err := s.eraseOldPhotos(ctx, env, before, limit)
		if err != nil {
			return looked, fmt.Errorf("%s: %w", env, err)
		}
		looked = max(looked, n)
	}
	return looked, nil
}

func (s *Service) eraseOldPhotos(
	ctx context.Context, env access.Environment, before time.Time, limit int,
) (int, error) {
	mark, err := s.store.RetentionMark(ctx, env)
	if err != nil {
		return 0, err
	}
	orders, err := s.store.AgedOrders(ctx, env, mark, before, limit)
	if err != nil || len(orders) == 0 {
		return 0, err
	}
	var gone []photo.Stored
	if err := s.store.Update(ctx, func(tx *store.Tx) error {
		gone = nil
		for _, o := range orders {
			mark = store.RetentionMark{At: o.At, OrderID: o.ID}
			if o.Skip {
				continue
			}
			needed, err := tx.OpenPhotos(ctx, o.AccountID)
			if err != nil {
				return err
			}
			erased, err := tx.ErasePhotosOf(o.ID, needed, s.now())
			if err != nil {
				return err
			}
			gone = append(gone, erased...)
		}
		return nil
	}); err != nil {
		return 0, err
	}
	for i := range gone {
		err = errors.Join(err, s.media.Delete(ctx, gone[i].Name))
	}
	if err != nil { // the mark stays: the next round comes back to them
		return 0, err
	}
	return len(orders), s.store.Update(ctx, func(tx *store.Tx) error { return tx.SetRetentionMark(env, mark) })
}
