package store

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/db"
)

// newestOrders are so many that some of them have photos that are not erased.
const newestOrders = 20

// NewestPhotos returns the names of up to limit photos that are not erased, the newest of those that the last orders or
// no order at all have. It reads two ranges of indexes, however many photos there are.
func (q Queries) NewestPhotos(ctx context.Context, limit int) ([]string, error) {
	names, err := db.Column[string](ctx, q.db, `SELECT name FROM photos WHERE used = 0
		ORDER BY created_at DESC LIMIT $1`, limit)
	if err != nil {
		return nil, err
	}
	creations, err := db.Column[string](ctx, q.db, "SELECT creation FROM orders ORDER BY id DESC LIMIT $1", newestOrders)
	if err != nil {
		return nil, err
	}
	for _, text := range creations {
		var c creation
		_ = decodeCreation(text, &c) // assay check tells of one that cannot be read
		for _, p := range c.Photos {
			names = append(names, p.Name)
		}
	}
	named, err := q.PhotosNamed(ctx, names)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(named, func(_ string, p photo.Stored) bool { return p.Erased })
	newest := slices.SortedFunc(maps.Values(named), func(a, b photo.Stored) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.Name, b.Name))
	})
	return namesOf(newest[:min(limit, len(newest))]), nil
}

// InsertPhotos adds uploaded photos.
func (t *Tx) InsertPhotos(photos []photo.Stored) error {
	const columns = 9
	args := make([]any, 0, columns*len(photos))
	for i := range photos {
		p := &photos[i]
		args = append(args, p.Name, p.AccountID, string(p.Environment), p.SHA256, p.Bytes, p.Width, p.Height, p.OriginalName,
			column.Micros(p.CreatedAt))
	}
	_, err := t.db.Exec(`INSERT INTO photos
		(name, account_id, environment, sha256, bytes, width, height, original_name, created_at) VALUES `+
		db.Tuples(len(photos), columns), args...)
	if err != nil {
		return err
	}
	return t.countPhotos(photos, 1)
}

// UsePhotos marks the photos as used and returns which of the names exist for the tenant. A photo that is in use stays
// so for good: it is only kept from being erased meanwhile, so that orders with the same photos do not wait for each
// other.
func (t *Tx) UsePhotos(tenant access.Tenant, names []string) (map[string]bool, error) {
	if len(names) == 0 {
		return nil, nil
	}
	const unused = "UPDATE photos SET used = 1 WHERE used = 0 AND erased_at IS NULL AND name IN "
	text, args := photosByName(unused, tenant, names)
	known, err := t.names(t.Context(), text+" RETURNING name", args)
	if err != nil || len(known) == len(names) {
		return known, err
	}
	text, args = photosByName(knownPhotos, tenant, names)
	return t.names(t.Context(), text+" ORDER BY name"+t.db.Dialect.ForKeyShare, args)
}

// ReuseNoted is how much older what is noted of the youngest order of a photo may be than the order: a photo that all
// orders of an account have is not written to by each of them. So photos are kept so much longer.
const ReuseNoted = time.Minute

// noteReuse adds the statements that note from when the age of an order is counted that has taken photos which others
// may have as well. A photo is kept until the youngest of its orders is old enough.
func noteReuse(to []db.Command, names []string, since int64) []db.Command {
	for names := range db.Batches(names) {
		to = append(to, db.Command{
			Text: "UPDATE photos SET reused_at = $1 WHERE COALESCE(reused_at, 0) < $2 AND name IN " + db.List(3, len(names)),
			Args: append([]any{since, since}, db.Anys(names)...),
		})
	}
	return to
}

// KeepReusedPhotos notes from when the age of an order is counted that was moved, for those of its photos that others
// may have as well: all, where some came after its creation. It locks the photos, which creations do after the balance.
// What is broken in the order does not keep it from its move.
func (t *Tx) KeepReusedPhotos(o *order.Order) error {
	since := o.CreatedAt
	switch {
	case o.Environment == access.Live && o.EndedAt != nil:
		since = *o.EndedAt
	case o.Environment == access.Live || o.Round == 0: // open orders keep theirs; a creation notes its own
		return nil
	}
	ofOrder, _, err := t.photosOfOrders([]string{o.ID})
	if err != nil {
		return err
	}
	names := slices.Compact(slices.Sorted(slices.Values(ofOrder[o.ID])))
	if o.Round > 0 {
		return t.db.Batch(noteReuse(nil, names, column.Micros(since)), false)
	}
	return db.InBatches(names, func(names []string) error {
		return t.exec("UPDATE photos SET reused_at = $1 WHERE reused_at < $1 AND name IN "+db.List(2, len(names)),
			append([]any{column.Micros(since)}, db.Anys(names)...)...)
	})
}

const knownPhotos = "SELECT name FROM photos WHERE erased_at IS NULL AND name IN "

// KnownPhotos returns which of the names exist for the tenant.
func (q Queries) KnownPhotos(ctx context.Context, tenant access.Tenant, names []string) (map[string]bool, error) {
	text, args := photosByName(knownPhotos, tenant, names)
	return q.names(ctx, text, args)
}

func photosByName(text string, tenant access.Tenant, names []string) (string, []any) {
	args := append([]any{tenant.AccountID, string(tenant.Environment)}, db.Anys(names)...)
	return text + db.List(3, len(names)) + " AND account_id = $1 AND environment = $2", args
}

func (q Queries) names(ctx context.Context, text string, args []any) (map[string]bool, error) {
	names, err := db.Column[string](ctx, q.db, text, args...)
	found := make(map[string]bool, len(names))
	for _, name := range names {
		found[name] = true
	}
	return found, err
}

// Photo returns what is known of an uploaded photo, or ErrNotFound.
func (q Queries) Photo(ctx context.Context, name string) (*photo.Stored, error) {
	photos, err := q.PhotosNamed(ctx, []string{name})
	if err == nil && len(photos) == 0 {
		return nil, ErrNotFound
	}
	p := photos[name]
	return &p, err
}

// ErasedPhotos returns those of the names whose photos were erased.
func (q Queries) ErasedPhotos(ctx context.Context, names []string) (map[string]bool, error) {
	photos, err := q.PhotosNamed(ctx, names)
	erased := make(map[string]bool)
	for name, p := range photos {
		if p.Erased {
			erased[name] = true
		}
	}
	return erased, err
}

// PhotosNamed returns the photos that have these names, by name.
func (q Queries) PhotosNamed(ctx context.Context, names []string) (map[string]photo.Stored, error) {
	photos := make(map[string]photo.Stored, len(names))
	err := db.InBatches(names, func(names []string) error {
		return q.db.Rows(ctx, `SELECT name, account_id, environment, sha256, bytes, width, height, original_name, created_at,
			used, erased_at IS NOT NULL FROM photos WHERE name IN `+db.List(1, len(names)), db.Anys(names),
			func(scan db.Scanner) error {
				var p photo.Stored
				err := scan(&p.Name, &p.AccountID, &p.Environment, &p.SHA256, &p.Bytes, &p.Width, &p.Height, &p.OriginalName,
					column.Time(&p.CreatedAt), &p.Used, &p.Erased)
				photos[p.Name] = p
				return err
			})
	})
	return photos, err
}

// DeleteUnusedPhotos removes the rows of up to limit photos that no order has used and that are older than before,
// and returns their names: the files are deleted after the transaction. An erased one is not counted any more.
func (t *Tx) DeleteUnusedPhotos(before time.Time, limit int) ([]string, error) {
	deleted, err := db.Collect(t.Context(), t.db.Queries, func(scan db.Scanner) (p photo.Stored, err error) {
		err = scan(&p.Name, &p.AccountID, &p.Environment, &p.Bytes, &p.Erased)
		return p, err
	}, `DELETE FROM photos WHERE name IN (
		SELECT name FROM photos WHERE used = 0 AND created_at < $1 ORDER BY created_at LIMIT $2`+t.db.Dialect.SkipLocked+`)
		AND used = 0 RETURNING name, account_id, environment, bytes, erased_at IS NOT NULL`, column.Micros(before), limit)
	if err != nil {
		return nil, err
	}
	names := namesOf(deleted)
	counted := slices.DeleteFunc(deleted, func(p photo.Stored) bool { return p.Erased })
	return names, t.countPhotos(counted, -1)
}

func namesOf(photos []photo.Stored) []string {
	names := make([]string, len(photos))
	for i := range photos {
		names[i] = photos[i].Name
	}
	return names
}

// countPhotos adds photos to the totals of their accounts, or subtracts them.
func (t *Tx) countPhotos(photos []photo.Stored, sign int64) error {
	totals := make(map[access.Tenant]photo.Totals)
	for i := range photos {
		n := totals[photos[i].Tenant]
		totals[photos[i].Tenant] = photo.Totals{Photos: n.Photos + sign, Bytes: n.Bytes + sign*photos[i].Bytes}
	}
	// Always in the same order: none waits for the other.
	owners := slices.SortedFunc(maps.Keys(totals), func(a, b access.Tenant) int {
		return cmp.Or(cmp.Compare(a.AccountID, b.AccountID), cmp.Compare(a.Environment, b.Environment))
	})
	for _, o := range owners {
		if _, err := t.db.Exec(`INSERT INTO photo_totals (account_id, environment, photos, bytes) VALUES ($1, $2, $3, $4)
			ON CONFLICT (account_id, environment)
			DO UPDATE SET photos = photo_totals.photos + excluded.photos, bytes = photo_totals.bytes + excluded.bytes`,
			o.AccountID, string(o.Environment), totals[o].Photos, totals[o].Bytes); err != nil {
			return err
		}
	}
	return nil
}

// PhotoTotals returns the totals of all accounts and environments.
func (q Queries) PhotoTotals(ctx context.Context) (photo.Totals, error) {
	var n photo.Totals
	err := q.db.Row(ctx, `SELECT CAST(COALESCE(SUM(photos), 0) AS BIGINT), CAST(COALESCE(SUM(bytes), 0) AS BIGINT)
		FROM photo_totals`, nil, &n.Photos, &n.Bytes)
	return n, err
}

// HasUnusedPhotos reports whether there are photos that no order has used and that are older than before.
func (q Queries) HasUnusedPhotos(ctx context.Context, before time.Time) (bool, error) {
	return q.db.Exists(ctx, "FROM photos WHERE used = 0 AND created_at < $1", column.Micros(before))
}

// StoredBytes returns how much the photos of an account take, in both environments.
func (q Queries) StoredBytes(ctx context.Context, accountID string) (int64, error) {
	return db.Value[int64](ctx, q.db, `SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM photo_totals
		WHERE account_id = $1`, accountID)
}
