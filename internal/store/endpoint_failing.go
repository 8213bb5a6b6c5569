package store

import (
	"context"
	"errors"
	"time"

	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/db"
)

// FailingEndpoint is an endpoint that has acknowledged nothing since an attempt failed.
type FailingEndpoint struct {
	ID    string
	Since time.Time
}

// failingEndpoints are endpoints that are to be told about: those that failed at $1 or before, after the hour $2, and
// have acknowledged nothing since. One that is paused, or whose key is revoked, gets nothing.
const failingEndpoints = `FROM endpoint_hours h JOIN webhook_endpoints e ON e.id = h.endpoint_id
	WHERE h.failing_since <= $1 AND h.hour >= $2 AND e.failing_told_at IS NULL AND e.paused_at IS NULL
	AND NOT EXISTS (SELECT 1 FROM endpoint_hours l
		WHERE l.endpoint_id = h.endpoint_id AND l.hour > h.hour AND l.acknowledged > 0)
	AND EXISTS (SELECT 1 FROM api_keys k WHERE k.id = e.api_key_id AND k.revoked_at IS NULL)`

// recoveredEndpoints are those that were told about and have acknowledged a delivery since: they had acknowledged none
// for an hour, so that whatever the hour of the notice has came after it.
const recoveredEndpoints = `webhook_endpoints WHERE failing_told_at IS NOT NULL
	AND EXISTS (SELECT 1 FROM endpoint_hours h
	WHERE h.endpoint_id = webhook_endpoints.id AND h.hour >= webhook_endpoints.failing_told_at / 3600000000
	AND h.acknowledged > 0)`

// HasFailureNews reports whether an endpoint that was told about has recovered, or FailingEndpoints would return one.
func (q Queries) HasFailureNews(ctx context.Context, failedBy, notBefore time.Time) (bool, error) {
	recovered, err := q.db.Exists(ctx, "FROM "+recoveredEndpoints)
	if err != nil || recovered {
		return recovered, err
	}
	return q.db.Exists(ctx, failingEndpoints, column.Micros(failedBy), column.Micros(notBefore)/microsPerHour)
}

// ForgetRecovered makes endpoints that have recovered ones that can be told about again.
func (t *Tx) ForgetRecovered() error {
	_, err := t.db.Exec("UPDATE webhook_endpoints SET failing_told_at = NULL WHERE id IN (SELECT id FROM " +
		recoveredEndpoints + ")")
	return err
}

// FailingEndpoints returns up to limit endpoints that nobody was told about and that have acknowledged nothing since an
// attempt at failedBy or before failed. Attempts from before the hour of notBefore do not count.
func (q Queries) FailingEndpoints(
	ctx context.Context, failedBy, notBefore time.Time, limit int,
) ([]FailingEndpoint, error) {
	return db.Collect(ctx, q.db, func(scan db.Scanner) (f FailingEndpoint, err error) {
		err = scan(&f.ID, column.Time(&f.Since))
		return f, err
	}, "SELECT h.endpoint_id, MIN(h.failing_since) "+failingEndpoints+" GROUP BY h.endpoint_id ORDER BY 1 LIMIT $3",
		column.Micros(failedBy), column.Micros(notBefore)/microsPerHour, limit)
}

// TellFailing notes that the owners of an endpoint are told that it fails, and reports whether nobody else has.
func (t *Tx) TellFailing(id string, now time.Time) (bool, error) {
	err := t.db.One("UPDATE webhook_endpoints SET failing_told_at = $1 WHERE id = $2 AND failing_told_at IS NULL",
		column.Micros(now), id)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
