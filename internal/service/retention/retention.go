// Package retention deletes what is too old to be kept: rows by their age, and the files of photos. Housekeeping of any
// number of nodes calls it.
package retention

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/store"
)

// Cleaner deletes what is too old. Each of its methods does a batch: a caller repeats it until a batch is not full.
type Cleaner struct {
	store *store.Store
	media media.Store
	now   func() time.Time
	log   *slog.Logger
	busy  map[string]int // tries in a row, by table, in which a partition was in use that is to be dropped
}

// New returns a cleaner of the database and the media store.
func New(db *store.Store, files media.Store, now func() time.Time, log *slog.Logger) *Cleaner {
	return &Cleaner{store: db, media: files, now: now, log: log, busy: make(map[string]int)}
}

// How long things are kept whose age no setting decides.
const (
	catalogAge = 90 * 24 * time.Hour // for which every version is kept, not only the last ones
	draftAge   = 24 * time.Hour      // for which an uploaded catalog waits for a yes
	linkAge    = 30 * 24 * time.Hour // after a link has ended
	leaseAge   = 24 * time.Hour      // after a lease has ended
	secretAge  = 24 * time.Hour      // after the previous secret of an endpoint has ended: clocks of nodes differ
	trimGap    = 24 * time.Hour      // between two times that a log is trimmed
)

const trimBatch = 1000

// busyTries is how often in a row a partition may be in use when it is to be dropped, before that is an error. A backup
// uses all of them for a while.
const busyTries = 60

// deleteRows deletes up to limit rows from before a time in a transaction, if there are any, and returns how many.
func (c *Cleaner) deleteRows(
	ctx context.Context, before time.Time, limit int, exist func(context.Context, time.Time) (bool, error),
	del func(tx *store.Tx, before time.Time, limit int) (int, error),
) (n int, err error) {
	if some, err := exist(ctx, before); err != nil || !some {
		return 0, err
	}
	err = c.store.Update(ctx, func(tx *store.Tx) (err error) {
		n, err = del(tx, before, limit)
		return err
	})
	return n, err
}

func (c *Cleaner) logDropped(ctx context.Context, table string, partitions int) {
	if partitions > 0 {
		c.log.InfoContext(ctx, "partitions dropped", "table", table, "count", partitions)
	}
}

// deleteOld is deleteRows for a table that PostgreSQL keeps in partitions: those that are too old as a whole are
// dropped, which do not count, and the rest is deleted row by row.
func (c *Cleaner) deleteOld(
	ctx context.Context, table string, before time.Time, limit int, exist func(context.Context, time.Time) (bool, error),
	del func(tx *store.Tx, before time.Time, limit int) (int, error),
) (int, error) {
	dropped, err := c.store.DropOld(ctx, table, before)
	c.logDropped(ctx, table, dropped)
	if err = c.bear(table, err); err != nil {
		return 0, err
	}
	return c.deleteRows(ctx, before, limit, exist, del)
}

// bear returns the error of dropping parts of a table. That others use it is none before busyTries in a row.
func (c *Cleaner) bear(table string, err error) error {
	if !errors.Is(err, store.ErrPartitionBusy) {
		delete(c.busy, table)
		return err
	}
	if c.busy[table]++; c.busy[table] < busyTries {
		return nil
	}
	return fmt.Errorf("partitions of %s cannot be dropped, after %d tries: %w", table, c.busy[table], err)
}

// MakePartitions makes the parts ahead in which the database keeps what is deleted by its age, and returns how many.
func (c *Cleaner) MakePartitions(ctx context.Context) (int, error) {
	return c.store.MakePartitions(ctx, c.now())
}

// DeleteOldDeliveries deletes up to limit ended deliveries from before the time with their attempts, and returns how
// many. PostgreSQL drops whole parts of them, which do not count.
func (c *Cleaner) DeleteOldDeliveries(ctx context.Context, before time.Time, limit int) (int, error) {
	return c.deleteOld(ctx, "deliveries", before, limit, c.store.HasDeliveries, (*store.Tx).DeleteOldDeliveries)
}

// DeleteOldAttempts removes up to limit delivery attempts from before the time from the log, and returns how many.
// PostgreSQL drops whole parts where there are many of them, which do not count.
func (c *Cleaner) DeleteOldAttempts(ctx context.Context, before time.Time, limit int) (int, error) {
	dropped, waiting, err := c.store.DropOldAttempts(ctx, before)
	if c.logDropped(ctx, "delivery_attempts", dropped); err != nil {
		return 0, err
	}
	return c.deleteRows(ctx, before, limit,
		func(ctx context.Context, before time.Time) (bool, error) {
			return c.store.HasAttempts(ctx, before, waiting...)
		},
		func(tx *store.Tx, before time.Time, limit int) (int, error) {
			return tx.DeleteOldAttempts(before, limit, waiting...)
		})
}

// DeleteOldEvents removes up to limit events from before the time, and returns how many. PostgreSQL drops whole parts
// of them, which do not count.
func (c *Cleaner) DeleteOldEvents(ctx context.Context, before time.Time, limit int) (int, error) {
	return c.deleteOld(ctx, "events", before, limit, c.store.HasEvents, (*store.Tx).DeleteOldEvents)
}

// DeleteOldRequests deletes up to limit blocks of requests from before the time, and returns how many.
func (c *Cleaner) DeleteOldRequests(ctx context.Context, before time.Time, limit int) (int, error) {
	return c.deleteOld(ctx, "request_log", before, limit, c.store.HasRequests, (*store.Tx).DeleteOldRequests)
}

// DeleteOldLinks deletes up to limit links that have ended a while ago, and returns how many.
func (c *Cleaner) DeleteOldLinks(ctx context.Context, limit int) (int, error) {
	return c.store.DeleteAged(ctx, store.OldLinks, c.now().Add(-linkAge), limit)
}

// ExpireCaptureLinks forgets the photos of up to limit capture links that expired without a submission, and returns how
// many links had some.
func (c *Cleaner) ExpireCaptureLinks(ctx context.Context, limit int) (int, error) {
	return c.deleteRows(ctx, c.now(), limit, c.store.HasExpiredCaptures, (*store.Tx).DropExpiredCaptures)
}

// DeleteOldCaptureLinks deletes up to limit capture links that expired a while ago, and returns how many.
func (c *Cleaner) DeleteOldCaptureLinks(ctx context.Context, limit int) (int, error) {
	return c.store.DeleteAged(ctx, store.OldCaptureLinks, c.now().Add(-linkAge), limit)
}

// ForgetEndedSecrets forgets up to limit previous secrets of endpoints with which nothing is signed any more, and
// returns how many.
func (c *Cleaner) ForgetEndedSecrets(ctx context.Context, limit int) (int, error) {
	return c.deleteRows(ctx, c.now().Add(-secretAge), limit, c.store.HasEndedSecrets, (*store.Tx).ForgetEndedSecrets)
}

// DeleteOldIdempotencyKeys removes up to limit keys whose time is over, and returns how many.
func (c *Cleaner) DeleteOldIdempotencyKeys(ctx context.Context, limit int) (int, error) {
	return c.store.DeleteAged(ctx, store.OldIdempotencyKeys, c.now().Add(-order.IdempotencyWindow), limit)
}

// DeleteOldCatalogs deletes up to limit versions of the catalog that were replaced long ago, and returns how many.
func (c *Cleaner) DeleteOldCatalogs(ctx context.Context, limit int) (int, error) {
	return c.store.DeleteAged(ctx, store.OldCatalogs, c.now().Add(-catalogAge), limit)
}

// DeleteOldCatalogDrafts deletes up to limit uploaded catalogs that nobody has imported in time, and returns how many.
func (c *Cleaner) DeleteOldCatalogDrafts(ctx context.Context, limit int) (int, error) {
	return c.store.DeleteAged(ctx, store.OldCatalogDrafts, c.now().Add(-draftAge), limit)
}

// DeleteOldLeases deletes up to limit leases of senders that have ended long ago, and returns how many.
func (c *Cleaner) DeleteOldLeases(ctx context.Context, limit int) (int, error) {
	return c.store.DeleteAged(ctx, store.OldDeliveryLeases, c.now().Add(-leaseAge), limit)
}

// TrimPortalLogs removes entries of the logs of the portal that are older than the time, of up to limit accounts, and
// returns of how many. A log is trimmed once a day at most, because each time leaves an entry, and by trimBatch
// entries at a time. One that cannot be trimmed does not stop the others.
func (c *Cleaner) TrimPortalLogs(ctx context.Context, before time.Time, limit int) (int, error) {
	aged, err := c.store.AgedPortalLogs(ctx, before.Add(-trimGap), limit)
	if err != nil {
		return 0, err
	}
	trimmed, skipped := 0, new(fault.Skipped)
	for _, id := range aged {
		var removed int64
		err := c.store.Update(ctx, func(tx *store.Tx) (err error) {
			removed, err = tx.TrimPortalLog(id, before, c.now(), trimBatch)
			return err
		})
		switch {
		case fault.KindOf(err) == fault.Unavailable:
			return trimmed, errors.Join(skipped.OrNil(), err)
		case err != nil:
			skipped.Add(fmt.Errorf("log of account %s: %w", id, err))
		case removed > 0:
			trimmed++
		}
	}
	return trimmed, skipped.OrNil()
}
