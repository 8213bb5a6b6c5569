package store

import (
	"context"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/capture"
	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/db"
)

const captureColumns = `id, token_hash, account_id, environment, made_by_kind, made_by_id, made_by_name, made_by_role,
	category_code, brand_code, model_code, external_id, order_id, round, locale, return_url, uploads, created_at,
	expires_at, submitted_at, revoked_at`

// InsertCaptureLink adds a link.
func (t *Tx) InsertCaptureLink(l *capture.Link) error {
	return t.db.Insert("capture_links ("+captureColumns+")", l.ID, l.TokenHash, l.AccountID, string(l.Environment),
		string(l.MadeBy.Kind), l.MadeBy.ID, l.MadeBy.Name, string(l.MadeBy.Role), l.CategoryCode, l.BrandCode,
		column.TextOrNull(l.ModelCode), column.TextOrNull(l.ExternalID), column.TextOrNull(l.OrderID), l.Round,
		column.TextOrNull(string(l.Locale)),
		column.TextOrNull(l.ReturnURL), l.Uploads, column.Micros(l.CreatedAt), column.Micros(l.ExpiresAt), nil, nil)
}

func (q Queries) captureLinks(ctx context.Context, text string, args ...any) ([]*capture.Link, error) {
	return db.Collect(ctx, q.db, func(scan db.Scanner) (*capture.Link, error) {
		l := new(capture.Link)
		err := scan(&l.ID, &l.TokenHash, &l.AccountID, &l.Environment, &l.MadeBy.Kind, &l.MadeBy.ID, &l.MadeBy.Name,
			&l.MadeBy.Role, &l.CategoryCode, &l.BrandCode, column.Text(&l.ModelCode), column.Text(&l.ExternalID),
			column.Text(&l.OrderID),
			&l.Round, column.Text(&l.Locale), column.Text(&l.ReturnURL), &l.Uploads, column.Time(&l.CreatedAt),
			column.Time(&l.ExpiresAt), column.TimeOrNil(&l.SubmittedAt), column.TimeOrNil(&l.RevokedAt))
		l.MadeBy.Tenant = l.Tenant
		return l, err
	}, "SELECT "+captureColumns+" FROM capture_links "+text, args...)
}

// captureLink returns a link with its photos, or ErrNotFound.
func (q Queries) captureLink(ctx context.Context, text string, args ...any) (*capture.Link, error) {
	l, err := db.First(q.captureLinks(ctx, text, args...))
	if err != nil {
		return nil, err
	}
	l.Photos, err = db.Collect(ctx, q.db, func(scan db.Scanner) (p capture.Photo, err error) {
		err = scan(&p.Key, &p.IndexCode, &p.Name)
		return p, err
	}, "SELECT key, index_code, name FROM capture_photos WHERE link_id = $1 ORDER BY seq, key", l.ID)
	return l, err
}

// CaptureLink returns a link of the tenant with its photos, or ErrNotFound.
func (q Queries) CaptureLink(ctx context.Context, tenant access.Tenant, id string) (*capture.Link, error) {
	return q.captureLink(ctx, "WHERE id = $1 AND account_id = $2 AND environment = $3", id, tenant.AccountID,
		string(tenant.Environment))
}

// CaptureLinkByToken returns the link whose secret has the hash, with its photos, or ErrNotFound.
func (q Queries) CaptureLinkByToken(ctx context.Context, tokenHash string) (*capture.Link, error) {
	return q.captureLink(ctx, "WHERE token_hash = $1", tokenHash)
}

// CaptureLinkForUpdate is CaptureLinkByToken for a change: two changes of one link run one after the other.
func (t *Tx) CaptureLinkForUpdate(tokenHash string) (*capture.Link, error) {
	return t.captureLink(t.Context(), "WHERE token_hash = $1"+t.db.Dialect.ForUpdate, tokenHash)
}

// CaptureLinks returns up to limit links of a tenant, newest first, without their photos: those before the one with the
// id before, unless it is empty. Ids are in the order of time.
func (q Queries) CaptureLinks(
	ctx context.Context, tenant access.Tenant, before string, limit int,
) ([]*capture.Link, error) {
	args := db.Arguments{tenant.AccountID, string(tenant.Environment), limit}
	where := "WHERE account_id = $1 AND environment = $2"
	if before != "" {
		where += " AND id < " + args.Add(before)
	}
	return q.captureLinks(ctx, where+" ORDER BY id DESC LIMIT $3", args...)
}

// OpenCaptureLinks counts the open links of an account in both environments: a link for a photo request that is over is
// not open. The caller has locked the account.
func (t *Tx) OpenCaptureLinks(accountID string, now time.Time) (int, error) {
	return db.Value[int](t.Context(), t.db.Queries, `SELECT COUNT(*) FROM capture_links AS l
		WHERE account_id = $1 AND expires_at > $2 AND submitted_at IS NULL AND revoked_at IS NULL
		AND (order_id IS NULL OR EXISTS (SELECT 1 FROM orders AS o
			WHERE o.id = l.order_id AND o.status = 'update-photos' AND o.round = l.round))`, accountID, column.Micros(now))
}

// AddCapturePhoto adds a photo, which is stored, to a link.
func (t *Tx) AddCapturePhoto(l *capture.Link, p capture.Photo) error {
	if err := t.db.Insert("capture_photos (link_id, key, seq, index_code, name)", l.ID, p.Key, l.Uploads, p.IndexCode,
		p.Name); err != nil {
		return err
	}
	return t.db.One("UPDATE capture_links SET uploads = uploads + 1 WHERE id = $1", l.ID)
}

// RemoveCapturePhoto takes a photo out of a link.
func (t *Tx) RemoveCapturePhoto(l *capture.Link, key string) error {
	return t.db.One("DELETE FROM capture_photos WHERE link_id = $1 AND key = $2", l.ID, key)
}

// SubmitCaptureLink ends a link with its photos.
func (t *Tx) SubmitCaptureLink(l *capture.Link, now time.Time) error {
	return t.db.One(`UPDATE capture_links SET submitted_at = $1
		WHERE id = $2 AND submitted_at IS NULL AND revoked_at IS NULL`, column.Micros(now), l.ID)
}

// RevokeCaptureLink ends an open link without its photos, or returns ErrNotFound.
func (t *Tx) RevokeCaptureLink(l *capture.Link, now time.Time) error {
	if err := t.db.One(`UPDATE capture_links SET revoked_at = $1
		WHERE id = $2 AND submitted_at IS NULL AND revoked_at IS NULL AND expires_at > $1`, column.Micros(now),
		l.ID); err != nil {
		return err
	}
	return t.dropCapturePhotos(l)
}

// dropCapturePhotos forgets the photos of a link that was not submitted: no order can have them.
func (t *Tx) dropCapturePhotos(l *capture.Link) error {
	names, err := db.Column[string](t.Context(), t.db.Queries,
		"DELETE FROM capture_photos WHERE link_id = $1 RETURNING name", l.ID)
	if err != nil {
		return err
	}
	return t.ReleasePhotos(names, nil)
}

// ReleasePhotos marks photos, which no order has, as unused: they are deleted some time after they were uploaded. since
// is a later beginning of that time; nil: none.
func (t *Tx) ReleasePhotos(names []string, since *time.Time) error {
	return db.InBatches(names, func(names []string) error {
		args := append([]any{column.MicrosOrNull(since)}, db.Anys(names)...)
		return t.exec(`UPDATE photos SET used = 0, created_at = COALESCE(CAST($1 AS BIGINT), created_at)
			WHERE name IN `+db.List(2, len(names)), args...)
	})
}

const expiredCapture = `FROM capture_links WHERE expires_at <= $1 AND submitted_at IS NULL
	AND EXISTS (SELECT 1 FROM capture_photos WHERE link_id = capture_links.id)`

// HasExpiredCaptures reports whether a link expired that still has photos.
func (q Queries) HasExpiredCaptures(ctx context.Context, now time.Time) (bool, error) {
	return q.db.Exists(ctx, expiredCapture, column.Micros(now))
}

// DropExpiredCaptures forgets the photos of up to limit expired links that were not submitted, and returns how many
// links had some.
func (t *Tx) DropExpiredCaptures(now time.Time, limit int) (int, error) {
	ids, err := db.Column[string](t.Context(), t.db.Queries, "SELECT id "+expiredCapture+" ORDER BY expires_at LIMIT $2"+
		t.db.Dialect.SkipLocked, column.Micros(now), limit)
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		if err := t.dropCapturePhotos(&capture.Link{ID: id}); err != nil {
			return 0, err
		}
	}
	return len(ids), nil
}
