package store

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/db"
)

const microsPerHour = int64(time.Hour / time.Microsecond)

// hourCount is how the attempts on an endpoint went in an hour.
type hourCount struct {
	endpointID           string
	hour                 int64
	acknowledged, failed int64
	failingSince         *time.Time // of the first that failed after the last that was acknowledged; nil: none
}

// add counts an attempt. Those of an endpoint may come in any order.
func (c *hourCount) add(a *AttemptResult, lastAcknowledged time.Time) {
	if a.Acknowledged() {
		c.acknowledged++
		return
	}
	c.failed++
	if a.At.After(lastAcknowledged) && (c.failingSince == nil || a.At.Before(*c.failingSince)) {
		c.failingSince = &a.At
	}
}

// countAttempts appends what counts attempts by endpoint and hour, in the order of the rows: senders then wait for each
// other instead of locking each other out.
func countAttempts(commands []db.Command, attempts []*AttemptResult) []db.Command {
	var counts []*hourCount
	byHour, acknowledged := make(map[hourCount]*hourCount), make(map[string]time.Time)
	for _, a := range attempts {
		if a.Acknowledged() && a.At.After(acknowledged[a.EndpointID]) {
			acknowledged[a.EndpointID] = a.At
		}
	}
	for _, a := range attempts {
		at := hourCount{endpointID: a.EndpointID, hour: column.Micros(a.At) / microsPerHour}
		c := byHour[at]
		if c == nil {
			counted := at
			c = &counted
			byHour[at], counts = c, append(counts, c)
		}
		c.add(a, acknowledged[a.EndpointID])
	}
	slices.SortFunc(counts, func(a, b *hourCount) int {
		return cmp.Or(strings.Compare(a.endpointID, b.endpointID), cmp.Compare(a.hour, b.hour))
	})
	for batch := range db.Batches(counts) {
		args := make([]any, 0, 5*len(batch))
		for _, c := range batch {
			args = append(args, c.endpointID, c.hour, c.acknowledged, c.failed, column.MicrosOrNull(c.failingSince))
		}
		commands = append(commands, db.Command{Text: countHours + db.Tuples(len(batch), 5) + countAgain, Args: args})
	}
	return commands
}

// The statement that counts attempts, before and after its rows.
const (
	countHours = "INSERT INTO endpoint_hours (endpoint_id, hour, acknowledged, failed, failing_since) VALUES "
	countAgain = ` ON CONFLICT (endpoint_id, hour) DO UPDATE SET
		acknowledged = endpoint_hours.acknowledged + excluded.acknowledged,
		failed = endpoint_hours.failed + excluded.failed, failing_since = CASE WHEN excluded.acknowledged > 0
			THEN excluded.failing_since ELSE COALESCE(endpoint_hours.failing_since, excluded.failing_since) END`
)

// EndpointHealth returns how the attempts on the endpoints of a tenant went in the last 24 hours and 7 days, in whole
// hours, as far as there were any.
func (q Queries) EndpointHealth(
	ctx context.Context, tenant access.Tenant, now time.Time,
) ([]webhook.EndpointHealth, error) {
	hour := column.Micros(now)/microsPerHour + 1
	return db.Collect(ctx, q.db, func(scan db.Scanner) (h webhook.EndpointHealth, err error) {
		var acknowledged, failed int64
		err = scan(&h.EndpointID, &h.Day.Acknowledged, &h.Day.Failed, &h.Week.Acknowledged, &h.Week.Failed,
			&acknowledged, &failed)
		h.LastAcknowledged, h.LastFailed = hourOrZero(acknowledged), hourOrZero(failed)
		return h, err
	}, `SELECT e.id, CAST(SUM(CASE WHEN h.hour >= $4 THEN h.acknowledged ELSE 0 END) AS BIGINT),
		CAST(SUM(CASE WHEN h.hour >= $4 THEN h.failed ELSE 0 END) AS BIGINT),
		CAST(SUM(h.acknowledged) AS BIGINT), CAST(SUM(h.failed) AS BIGINT),
		MAX(CASE WHEN h.acknowledged > 0 THEN h.hour ELSE 0 END), MAX(CASE WHEN h.failed > 0 THEN h.hour ELSE 0 END)
		FROM (SELECT id FROM webhook_endpoints WHERE account_id = $1 AND environment = $2
			UNION ALL SELECT id FROM deleted_endpoints WHERE account_id = $1 AND environment = $2) AS e
		JOIN endpoint_hours h ON h.endpoint_id = e.id WHERE h.hour >= $3 GROUP BY e.id`,
		tenant.AccountID, string(tenant.Environment), hour-7*24, hour-24)
}

// EndpointHours returns how the attempts on an endpoint went in each hour since a time in which there were any.
func (q Queries) EndpointHours(ctx context.Context, endpointID string, since time.Time) ([]webhook.HourCount, error) {
	return db.Collect(ctx, q.db, func(scan db.Scanner) (c webhook.HourCount, err error) {
		var hour int64
		err = scan(&hour, &c.Acknowledged, &c.Failed)
		c.Hour = hourOrZero(hour)
		return c, err
	}, `SELECT hour, acknowledged, failed FROM endpoint_hours WHERE endpoint_id = $1 AND hour >= $2 ORDER BY hour`,
		endpointID, column.Micros(since)/microsPerHour)
}

func hourOrZero(hour int64) time.Time {
	if hour == 0 {
		return time.Time{}
	}
	return column.TimeOf(hour * microsPerHour)
}

// DeleteOldEndpointHours removes the counts from before a time.
func (t *Tx) DeleteOldEndpointHours(before time.Time) error {
	if _, err := t.db.Exec("DELETE FROM deleted_endpoints WHERE deleted_at < $1", column.Micros(before)); err != nil {
		return err
	}
	return t.exec("DELETE FROM endpoint_hours WHERE hour < $1", column.Micros(before)/microsPerHour)
}

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
	return t.exec("UPDATE webhook_endpoints SET failing_told_at = NULL WHERE id IN (SELECT id FROM " +
		recoveredEndpoints + ")")
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

// MarkFailingNotified notes that the owners of an endpoint are notified that it fails, and reports whether that had not
// been noted before.
func (t *Tx) MarkFailingNotified(id string, now time.Time) (bool, error) {
	return t.changed("UPDATE webhook_endpoints SET failing_told_at = $1 WHERE id = $2 AND failing_told_at IS NULL",
		column.Micros(now), id)
}
