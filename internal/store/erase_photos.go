package store

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/db"
)

// ErasePhotos marks photos as erased and forgets what their files were called. It returns those that were not erased
// before: their files are deleted after the transaction.
func (t *Tx) ErasePhotos(names []string, at time.Time) (erased []photo.Stored, err error) {
	return t.erasePhotos(names, math.MaxInt64, at)
}

// erasePhotos erases those of the photos whose youngest order is from before a time, in microseconds.
func (t *Tx) erasePhotos(names []string, before int64, at time.Time) (erased []photo.Stored, err error) {
	err = db.InBatches(names, func(names []string) error {
		some, err := db.Collect(t.Context(), t.db.Queries, scanErased, `UPDATE photos SET erased_at = $1, original_name = ''
			WHERE erased_at IS NULL AND (reused_at IS NULL OR reused_at < $2) AND name IN `+db.List(3, len(names))+
			" RETURNING name, account_id, environment, bytes",
			append([]any{column.Micros(at), before}, db.Anys(names)...)...)
		erased = append(erased, some...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return erased, t.countPhotos(erased, -1)
}

// ErasePhotosOf erases the photos of orders, except those that open Live orders have: the desk still needs them. It
// returns all of the others; those that were erased before are marked as such: their files are gone unless that was
// interrupted. The photos of an order that cannot be read stay, and those that an open one that cannot be read may
// have: their errors are returned by the orders' ids. The photos are locked before it is asked what open orders have:
// an order that takes one is seen, or does not get it any more.
func (t *Tx) ErasePhotosOf(ids []string, at time.Time) (gone []photo.Stored, unreadable map[string]error, err error) {
	return t.erasePhotosOf(ids, math.MaxInt64, at)
}

// EraseOldPhotosOf is ErasePhotosOf for orders whose age is counted from before a time: a photo stays that a younger
// order has as well. It goes when it is called with the youngest. What is noted of that may be older than the order by
// ReuseNoted: callers come so much later.
func (t *Tx) EraseOldPhotosOf(
	ids []string, before, at time.Time,
) (gone []photo.Stored, unreadable map[string]error, err error) {
	return t.erasePhotosOf(ids, column.Micros(before), at)
}

func (t *Tx) erasePhotosOf(
	ids []string, before int64, at time.Time,
) (gone []photo.Stored, unreadable map[string]error, err error) {
	ofOrders, unreadable, err := t.photosOfOrders(ids)
	if err != nil {
		return nil, nil, err
	}
	photos, err := t.lockPhotos(ofOrders)
	if err != nil {
		return nil, nil, err
	}
	open, err := t.openPhotosBeside(photos)
	if err != nil {
		return nil, nil, err
	}
	erase := make(map[string]bool)
	for _, id := range ids {
		some, err := open.without(ofOrders[id], photos)
		if err != nil {
			unreadable[id] = err
			continue
		}
		for _, name := range some {
			erase[name] = true
		}
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(erase)) {
		if p := photos[name]; p.Erased {
			gone = append(gone, p)
		} else {
			names = append(names, name)
		}
	}
	erased, err := t.erasePhotos(names, before, at)
	return append(erased, gone...), unreadable, err
}

// photosOfOrders returns the names of the photos of orders, by order, and the errors of those that cannot be read.
func (t *Tx) photosOfOrders(ids []string) (names map[string][]string, unreadable map[string]error, err error) {
	names, unreadable = make(map[string][]string), make(map[string]error)
	err = db.InBatches(ids, func(ids []string) error {
		return t.photoNames("id IN "+db.List(1, len(ids)), db.Anys(ids), names, unreadable)
	})
	return names, unreadable, err
}

// photoNames adds the names of the photos of some orders, by order, and the errors of those that cannot be read.
func (t *Tx) photoNames(orders string, args []any, names map[string][]string, unreadable map[string]error) error {
	err := t.db.Rows(t.Context(), "SELECT id, creation FROM orders WHERE "+orders, args, func(scan db.Scanner) error {
		var id, text string
		if err := scan(&id, &text); err != nil {
			return err
		}
		var c creation
		if err := readable(id, decodeCreation(text, &c)); err != nil {
			unreadable[id] = err
			return nil
		}
		for _, p := range c.Photos {
			names[id] = append(names[id], p.Name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return t.db.Rows(t.Context(), `SELECT order_id, photo FROM order_photos WHERE photo IS NOT NULL
		AND order_id IN (SELECT id FROM orders WHERE round > 0 AND `+orders+")", args, func(scan db.Scanner) error {
		var id, name string
		err := scan(&id, &name)
		if unreadable[id] == nil {
			names[id] = append(names[id], name)
		}
		return err
	})
}

// lockPhotos returns what is known of the photos of orders, by name, and keeps orders from taking them meanwhile.
func (t *Tx) lockPhotos(ofOrders map[string][]string) (map[string]photo.Stored, error) {
	var names []string
	for _, some := range ofOrders {
		names = append(names, some...)
	}
	slices.Sort(names) // always in the same order: none waits for the other
	names = slices.Compact(names)
	if lock := t.db.Dialect.ForUpdate; lock != "" {
		if err := db.InBatches(names, func(names []string) error {
			return t.exec("SELECT name FROM photos WHERE name IN "+db.List(1, len(names))+" ORDER BY name"+lock,
				db.Anys(names)...)
		}); err != nil {
			return nil, err
		}
	}
	return t.PhotosNamed(t.Context(), names)
}

// openPhotos is what the Live orders have that have not ended.
type openPhotos struct {
	names   map[string]bool
	unknown map[string]error // by account: one of its orders cannot be read, which may have any photo of it
}

// openPhotosBeside returns the photos of the open orders of the accounts whose Live photos may be erased, with two
// statements for each account. Open orders are Live, and have no photos of Test orders.
func (t *Tx) openPhotosBeside(photos map[string]photo.Stored) (*openPhotos, error) {
	open := &openPhotos{names: make(map[string]bool), unknown: make(map[string]error)}
	accounts := make(map[string]bool)
	for _, p := range photos {
		if p.Environment == access.Live && !p.Erased {
			accounts[p.AccountID] = true
		}
	}
	for accountID := range accounts {
		names, unreadable := make(map[string][]string), make(map[string]error)
		if err := t.photoNames(liveOpen, []any{accountID}, names, unreadable); err != nil {
			return nil, err
		}
		for _, some := range names {
			for _, name := range some {
				open.names[name] = true
			}
		}
		for _, id := range slices.Sorted(maps.Keys(unreadable)) {
			open.unknown[accountID] = errors.Join(open.unknown[accountID], unreadable[id])
		}
	}
	return open, nil
}

// without returns those of the names that no open order has, or the error of one that may have one of them.
func (o *openPhotos) without(names []string, photos map[string]photo.Stored) (others []string, err error) {
	for _, name := range names {
		p, ok := photos[name]
		if !ok || o.names[name] && !p.Erased {
			continue
		}
		if err := o.unknown[p.AccountID]; err != nil && p.Environment == access.Live && !p.Erased {
			return nil, err
		}
		others = append(others, name)
	}
	return others, nil
}

func scanErased(scan db.Scanner) (p photo.Stored, err error) {
	err = scan(&p.Name, &p.AccountID, &p.Environment, &p.Bytes)
	return p, err
}

// EraseUnusedPhotosOf marks up to limit photos of an account that no order has as erased, and returns them. Their rows
// go after their files, with DropErasedPhotos: an erasure that is run again finds what it has left.
func (t *Tx) EraseUnusedPhotosOf(accountID string, limit int, at time.Time) ([]photo.Stored, error) {
	before, err := db.Collect(t.Context(), t.db.Queries, func(scan db.Scanner) (p photo.Stored, err error) {
		p, err = scanErased(scan)
		p.Erased = true
		return p, err
	}, `SELECT name, account_id, environment, bytes FROM photos
		WHERE account_id = $1 AND used = 0 AND erased_at IS NOT NULL ORDER BY name LIMIT $2`, accountID, limit)
	if err != nil {
		return nil, err
	}
	erased, err := db.Collect(t.Context(), t.db.Queries, scanErased, `UPDATE photos SET erased_at = $1, original_name = ''
		WHERE used = 0 AND erased_at IS NULL AND name IN (SELECT name FROM photos
		WHERE account_id = $2 AND used = 0 AND erased_at IS NULL ORDER BY name LIMIT $3)
		RETURNING name, account_id, environment, bytes`, column.Micros(at), accountID, limit-len(before))
	if err != nil {
		return nil, err
	}
	return append(erased, before...), t.countPhotos(erased, -1)
}

// photosOfUnsubmitted begins the names of the photos that were sent through links that were not submitted: they are in
// use, but no order can have them.
const photosOfUnsubmitted = "SELECT p.name FROM capture_links AS l JOIN capture_photos AS p ON p.link_id = l.id" +
	" WHERE l.submitted_at IS NULL AND "

// releaseUnsubmitted marks the photos of those of the links as unused that were not submitted, and returns their names.
// The links are locked before: none gets another photo, or is submitted, until the transaction has deleted them.
func (t *Tx) releaseUnsubmitted(links, id string) ([]string, error) {
	if lock := t.db.Dialect.ForUpdate; lock != "" {
		if err := t.exec("SELECT id FROM capture_links WHERE submitted_at IS NULL AND "+links+" ORDER BY id"+lock,
			id); err != nil {
			return nil, err
		}
	}
	names, err := db.Column[string](t.Context(), t.db.Queries, photosOfUnsubmitted+links, id)
	if err != nil {
		return nil, err
	}
	return names, t.ReleasePhotos(names, nil)
}

// EraseCaptureLinks deletes the links for photo requests of an order, and marks the photos as erased that were sent
// through them and not submitted. It returns these. Their rows go after their files, with DropErasedPhotos.
func (t *Tx) EraseCaptureLinks(e Erasure, orderID string, at time.Time) ([]photo.Stored, error) {
	names, err := t.releaseUnsubmitted("order_id = $1", orderID)
	if err != nil {
		return nil, err
	}
	n, err := t.db.Exec("DELETE FROM capture_links WHERE order_id = $1", orderID)
	if err := e.add("capture_links", n, err); err != nil {
		return nil, err
	}
	return t.ErasePhotos(names, at)
}

// UnusedPhotosOf returns the photos of an account that no order has, with those of its links that were not submitted.
func (q Queries) UnusedPhotosOf(ctx context.Context, accountID string) ([]photo.Stored, error) {
	return db.Collect(ctx, q.db, func(scan db.Scanner) (p photo.Stored, err error) {
		err = scan(&p.Name, &p.AccountID, &p.Environment, &p.Bytes, &p.Erased)
		return p, err
	}, `SELECT name, account_id, environment, bytes, erased_at IS NOT NULL FROM photos
		WHERE account_id = $1 AND (used = 0 OR name IN (`+photosOfUnsubmitted+"account_id = $1))", accountID)
}

// DropErasedPhotos removes the rows of erased photos that no order has.
func (t *Tx) DropErasedPhotos(photos []photo.Stored) error {
	return db.InBatches(namesOf(photos), func(names []string) error {
		return t.exec("DELETE FROM photos WHERE used = 0 AND erased_at IS NOT NULL AND name IN "+db.List(1, len(names)),
			db.Anys(names)...)
	})
}
