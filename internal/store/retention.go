package store

import (
	"context"
	"database/sql"
	"time"

	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/db"
	"github.com/assayhq/assay/internal/store/partition"
)

// deliveryAge is a delivery with what decides whether it is still needed.
type deliveryAge struct {
	id        string
	createdAt time.Time
	waits     bool // it is queued, or was attempted lately
}

// DeleteOldDeliveries deletes up to limit deliveries that were made before the time, with their attempts, and returns
// how many. One that is still to be sent, or was attempted after the time, stays. In PostgreSQL those are deleted that
// belong to no part; the others go with their part, see DropOldDeliveries. Ids are in the order of time: the
// deliveries are walked from the oldest, and not farther than the first that is too young.
func (t *Tx) DeleteOldDeliveries(before time.Time, limit int) (deleted int, err error) {
	for after := ""; deleted < limit; {
		page, err := t.oldestDeliveries(after, before, limit)
		if err != nil {
			return deleted, err
		}
		var old []string
		for _, d := range page {
			if !d.createdAt.Before(before) {
				page = nil // the end
				break
			}
			if !d.waits && deleted+len(old) < limit {
				old = append(old, d.id)
			}
			after = d.id
		}
		for _, table := range []string{"delivery_attempts WHERE delivery_id", "deliveries WHERE id"} {
			if err := db.InBatches(old, func(ids []string) error {
				_, err := t.db.Exec("DELETE FROM "+table+" IN "+db.List(1, len(ids)), db.Anys(ids)...)
				return err
			}); err != nil {
				return deleted, err
			}
		}
		if deleted += len(old); len(page) < limit {
			break
		}
	}
	return deleted, nil
}

func (t *Tx) oldestDeliveries(after string, before time.Time, limit int) ([]deliveryAge, error) {
	return db.Collect(t.Context(), t.db.Queries, func(scan db.Scanner) (d deliveryAge, err error) {
		err = scan(&d.id, column.Time(&d.createdAt), &d.waits)
		return d, err
	}, `SELECT d.id, d.created_at, CASE WHEN EXISTS (SELECT 1 FROM delivery_queue AS q
				WHERE q.endpoint_id = d.endpoint_id AND q.delivery_id = d.id)
			OR EXISTS (SELECT 1 FROM delivery_attempts AS a WHERE a.delivery_id = d.id AND a.at >= $2) THEN 1 ELSE 0 END
		FROM `+partition.Rest(t.db.Dialect, "deliveries")+" AS d WHERE d.id > $1 ORDER BY d.id LIMIT $3", after,
		column.Micros(before), limit)
}

// HasDeliveries reports whether the oldest delivery was made before the time.
func (q Queries) HasDeliveries(ctx context.Context, before time.Time) (bool, error) {
	return q.db.Exists(ctx, "FROM (SELECT created_at FROM "+partition.Rest(q.db.Dialect, "deliveries")+
		" ORDER BY id LIMIT 1) AS oldest WHERE created_at < $1", column.Micros(before))
}

// DeleteOldLinks deletes up to limit links that ended before the time, used or not, and returns how many.
func (t *Tx) DeleteOldLinks(before time.Time, limit int) (int, error) {
	n, err := t.db.Exec(`DELETE FROM links WHERE id IN (SELECT id FROM links
		WHERE expires_at < $1 OR used_at < $1 ORDER BY id LIMIT $2)`, column.Micros(before), limit)
	return int(n), err
}

// HasOldLinks reports whether a link ended before the time.
func (q Queries) HasOldLinks(ctx context.Context, before time.Time) (bool, error) {
	return q.db.Exists(ctx, "FROM links WHERE expires_at < $1 OR used_at < $1", column.Micros(before))
}

const oldVersions = ` FROM catalog_versions WHERE created_at < $1
	AND version <= (SELECT MAX(version) FROM catalog_versions) - $2`

// DeleteOldCatalogs deletes up to limit versions of the catalog that were replaced before the time, except the last
// few, and returns how many.
func (t *Tx) DeleteOldCatalogs(before time.Time, keep, limit int) (int, error) {
	n, err := t.db.Exec("DELETE FROM catalog_versions WHERE version IN (SELECT version"+oldVersions+
		" ORDER BY version LIMIT $3)", column.Micros(before), keep, limit)
	return int(n), err
}

// HasOldCatalogs reports whether DeleteOldCatalogs would delete something.
func (q Queries) HasOldCatalogs(ctx context.Context, before time.Time, keep int) (bool, error) {
	return q.db.Exists(ctx, oldVersions, column.Micros(before), keep)
}

// DeleteOldLeases deletes up to limit leases of queues that ended before the time, such as those of endpoints that were
// deleted, and returns how many.
func (t *Tx) DeleteOldLeases(before time.Time, limit int) (int, error) {
	n, err := t.db.Exec(`DELETE FROM delivery_leases WHERE endpoint_id IN (SELECT endpoint_id FROM delivery_leases
		WHERE lease_until < $1 ORDER BY endpoint_id LIMIT $2)`, column.Micros(before), limit)
	return int(n), err
}

// HasOldLeases reports whether a lease ended before the time.
func (q Queries) HasOldLeases(ctx context.Context, before time.Time) (bool, error) {
	return q.db.Exists(ctx, "FROM delivery_leases WHERE lease_until < $1", column.Micros(before))
}

// DeleteVerdictDrafts deletes what was entered for an order and not sent, except by one, whose checklist is part of how
// the verdict came about.
func (t *Tx) DeleteVerdictDrafts(orderID, exceptStaffID string) error {
	_, err := t.db.Exec("DELETE FROM verdict_drafts WHERE order_id = $1 AND staff_id <> $2", orderID, exceptStaffID)
	return err
}

// UnknownPhotos returns those of the names that no photo has, and those of photos that were erased.
func (q Queries) UnknownPhotos(ctx context.Context, names []string) (unknown, erased []string, err error) {
	known, err := q.photos(ctx, names)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		switch p, ok := known[name]; {
		case !ok:
			unknown = append(unknown, name)
		case p.Erased:
			erased = append(erased, name)
		}
	}
	return unknown, erased, nil
}

// MakePartitions makes the parts of partitioned tables ahead of a time, and returns how many were missing. On SQLite,
// here and below, there are no parts.
func (s *Store) MakePartitions(ctx context.Context, now time.Time) (made int, err error) {
	if !s.Shared() {
		return 0, nil
	}
	return partition.Make(ctx, s.db.SQL(), now)
}

// DropOldDeliveries drops the parts of deliveries, and of their attempts, that are all from before a time, and returns
// how many. What has to stay of them is deleted by DeleteOldDeliveries.
func (s *Store) DropOldDeliveries(ctx context.Context, before time.Time) (dropped int, err error) {
	return s.dropParts(ctx, before, partition.DropDeliveries)
}

// DropOldEvents drops the parts of events that are all from before a time, and returns how many.
func (s *Store) DropOldEvents(ctx context.Context, before time.Time) (dropped int, err error) {
	return s.dropParts(ctx, before, partition.DropEvents)
}

// DropOldRequests drops the parts of the request log that are all from before a time, and returns how many.
func (s *Store) DropOldRequests(ctx context.Context, before time.Time) (dropped int, err error) {
	return s.dropParts(ctx, before, partition.DropRequests)
}

func (s *Store) dropParts(
	ctx context.Context, before time.Time, drop func(context.Context, *sql.DB, time.Time) (int, error),
) (int, error) {
	if !s.Shared() {
		return 0, nil
	}
	return drop(ctx, s.db.SQL(), before)
}

// DropOldAttempts drops the parts of attempts that are all from before a time and have many of them in the log, and
// returns how many. The parts with many attempts that are not old enough are returned: they wait for that. Those with
// few are for DeleteOldAttempts.
func (s *Store) DropOldAttempts(
	ctx context.Context, before time.Time,
) (dropped int, wait []partition.Range, err error) {
	if !s.Shared() {
		return 0, nil, nil
	}
	return partition.DropAttempts(ctx, s.db.SQL(), before)
}
