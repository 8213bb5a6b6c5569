package store

import (
	"context"
	"time"
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
			if err := inBatches(old, func(ids []string) error {
				_, err := t.exec("DELETE FROM "+table+" IN "+list(1, len(ids)), anys(ids)...)
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
	return collect(t.ctx, t.Queries, func(scan scanner) (d deliveryAge, err error) {
		err = scan(&d.id, asTime(&d.createdAt), &d.waits)
		return d, err
	}, `SELECT d.id, d.created_at, CASE WHEN EXISTS (SELECT 1 FROM delivery_queue AS q
				WHERE q.endpoint_id = d.endpoint_id AND q.delivery_id = d.id)
			OR EXISTS (SELECT 1 FROM delivery_attempts AS a WHERE a.delivery_id = d.id AND a.at >= $2) THEN 1 ELSE 0 END
		FROM `+t.rest("deliveries")+" AS d WHERE d.id > $1 ORDER BY d.id LIMIT $3", after, micros(before), limit)
}

// HasDeliveries reports whether the oldest delivery was made before the time.
func (q Queries) HasDeliveries(ctx context.Context, before time.Time) (bool, error) {
	return q.exists(ctx, "FROM (SELECT created_at FROM "+q.rest("deliveries")+
		" ORDER BY id LIMIT 1) AS oldest WHERE created_at < $1", micros(before))
}

// DeleteOldLinks deletes up to limit links that ended before the time, used or not, and returns how many.
func (t *Tx) DeleteOldLinks(before time.Time, limit int) (int, error) {
	n, err := t.exec(`DELETE FROM links WHERE id IN (SELECT id FROM links
		WHERE expires_at < $1 OR used_at < $1 ORDER BY id LIMIT $2)`, micros(before), limit)
	return int(n), err
}

// HasOldLinks reports whether a link ended before the time.
func (q Queries) HasOldLinks(ctx context.Context, before time.Time) (bool, error) {
	return q.exists(ctx, "FROM links WHERE expires_at < $1 OR used_at < $1", micros(before))
}

const oldVersions = ` FROM catalog_versions WHERE created_at < $1
	AND version <= (SELECT MAX(version) FROM catalog_versions) - $2`

// DeleteOldCatalogs deletes up to limit versions of the catalog that were replaced before the time, except the last
// few, and returns how many.
func (t *Tx) DeleteOldCatalogs(before time.Time, keep, limit int) (int, error) {
	n, err := t.exec("DELETE FROM catalog_versions WHERE version IN (SELECT version"+oldVersions+
		" ORDER BY version LIMIT $3)", micros(before), keep, limit)
	return int(n), err
}

// HasOldCatalogs reports whether DeleteOldCatalogs would delete something.
func (q Queries) HasOldCatalogs(ctx context.Context, before time.Time, keep int) (bool, error) {
	return q.exists(ctx, oldVersions, micros(before), keep)
}

// DeleteOldLeases deletes up to limit leases of queues that ended before the time, such as those of endpoints that were
// deleted, and returns how many.
func (t *Tx) DeleteOldLeases(before time.Time, limit int) (int, error) {
	n, err := t.exec(`DELETE FROM delivery_leases WHERE endpoint_id IN (SELECT endpoint_id FROM delivery_leases
		WHERE lease_until < $1 ORDER BY endpoint_id LIMIT $2)`, micros(before), limit)
	return int(n), err
}

// HasOldLeases reports whether a lease ended before the time.
func (q Queries) HasOldLeases(ctx context.Context, before time.Time) (bool, error) {
	return q.exists(ctx, "FROM delivery_leases WHERE lease_until < $1", micros(before))
}

// DeleteVerdictDrafts deletes what was entered for an order and not sent, except by one, whose checklist is part of how
// the verdict came about.
func (t *Tx) DeleteVerdictDrafts(orderID, exceptStaffID string) error {
	_, err := t.exec("DELETE FROM verdict_drafts WHERE order_id = $1 AND staff_id <> $2", orderID, exceptStaffID)
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
