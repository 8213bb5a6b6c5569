package store

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/enum"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/db"
	"github.com/assayhq/assay/internal/store/partition"
)

// InsertEndpoint adds a webhook endpoint; ErrExists when the key has one with the same canonical URL.
func (t *Tx) InsertEndpoint(e *webhook.Endpoint, canonicalURL string) error {
	var tokenURL, clientID, scope any
	if e.OAuth != nil {
		tokenURL, clientID, scope = e.OAuth.TokenURL, e.OAuth.ClientID, column.TextOrNull(e.OAuth.Scope)
	}
	return t.db.Insert("webhook_endpoints ("+endpointColumns+", canonical_url, auth_type)",
		e.ID, e.AccountID, string(e.Environment), e.APIKeyID, column.TextOrNull(e.Name), e.URL,
		strings.Join(enum.Names(e.Events), " "), e.SealedSecret, tokenURL, clientID, scope, column.Micros(e.CreatedAt),
		nil, nil, nil, nil, canonicalURL, e.AuthType())
}

const endpointColumns = `id, account_id, environment, api_key_id, name, url, events, sealed_secret, token_url,
	client_id, scope, created_at, paused_at, rotated_at, sealed_previous, previous_until`

// Endpoints returns the endpoints of an API key, newest first.
func (q Queries) Endpoints(ctx context.Context, keyID string) ([]*webhook.Endpoint, error) {
	return q.endpoints(ctx, "SELECT "+endpointColumns+` FROM webhook_endpoints
		WHERE api_key_id = $1 ORDER BY created_at DESC, id DESC`, keyID)
}

// EndpointsOf returns the endpoints of an account in an environment, newest first.
func (q Queries) EndpointsOf(
	ctx context.Context, accountID string, env access.Environment,
) ([]*webhook.Endpoint, error) {
	return q.endpoints(ctx, "SELECT "+endpointColumns+` FROM webhook_endpoints
		WHERE account_id = $1 AND environment = $2 ORDER BY created_at DESC, id DESC`, accountID, string(env))
}

// ReceivingEndpoints returns the endpoints of an API key that get events: all, unless the key is revoked.
func (q Queries) ReceivingEndpoints(ctx context.Context, keyID string) ([]*webhook.Endpoint, error) {
	return q.endpoints(ctx, "SELECT "+endpointColumns+` FROM webhook_endpoints WHERE api_key_id = $1
		AND EXISTS (SELECT 1 FROM api_keys WHERE api_keys.id = $1 AND revoked_at IS NULL) ORDER BY created_at, id`, keyID)
}

// Endpoint returns an endpoint by its id.
func (q Queries) Endpoint(ctx context.Context, id string) (*webhook.Endpoint, error) {
	return db.First(q.endpoints(ctx, "SELECT "+endpointColumns+" FROM webhook_endpoints WHERE id = $1", id))
}

func (q Queries) endpoints(ctx context.Context, text string, args ...any) ([]*webhook.Endpoint, error) {
	return db.Collect(ctx, q.db, func(scan db.Scanner) (*webhook.Endpoint, error) {
		e := new(webhook.Endpoint)
		var oauth webhook.OAuth
		var rotation webhook.Rotation
		var events string
		err := scan(&e.ID, &e.AccountID, &e.Environment, &e.APIKeyID, column.Text(&e.Name), &e.URL, &events, &e.SealedSecret,
			column.Text(&oauth.TokenURL), column.Text(&oauth.ClientID), column.Text(&oauth.Scope), column.Time(&e.CreatedAt),
			column.TimeOrNil(&e.PausedAt), column.Time(&rotation.At), column.Text(&rotation.SealedPrevious),
			column.Time(&rotation.PreviousUntil))
		e.Events = splitEvents(events)
		if oauth.TokenURL != "" {
			e.OAuth = &oauth
		}
		if !rotation.At.IsZero() {
			e.Rotation = &rotation
		}
		return e, err
	}, text, args...)
}

// DeleteEndpoint removes an endpoint of an API key together with its pending deliveries, or returns ErrNotFound.
func (t *Tx) DeleteEndpoint(keyID, id string, now time.Time) error {
	if err := t.db.One(`INSERT INTO deleted_endpoints (id, account_id, environment, deleted_at)
		SELECT id, account_id, environment, CAST($3 AS BIGINT) FROM webhook_endpoints WHERE id = $1 AND api_key_id = $2`,
		id, keyID, column.Micros(now)); err != nil {
		return err
	}
	if err := t.db.One("DELETE FROM webhook_endpoints WHERE id = $1 AND api_key_id = $2", id, keyID); err != nil {
		return err
	}
	return t.DropPendingDeliveries(id)
}

// LockEndpoint keeps others from changing an endpoint until the transaction ends, and returns it.
func (t *Tx) LockEndpoint(id string) (*webhook.Endpoint, error) {
	return db.First(t.endpoints(t.Context(),
		"SELECT "+endpointColumns+" FROM webhook_endpoints WHERE id = $1"+t.db.Dialect.ForUpdate, id))
}

// SaveRotation saves the secrets of an endpoint after a rotation, or returns ErrNotFound.
func (t *Tx) SaveRotation(e *webhook.Endpoint) error {
	return t.db.One(`UPDATE webhook_endpoints SET sealed_secret = $1, sealed_previous = $2, rotated_at = $3,
		previous_until = $4 WHERE id = $5`, e.SealedSecret, e.Rotation.SealedPrevious, column.Micros(e.Rotation.At),
		column.Micros(e.Rotation.PreviousUntil), e.ID)
}

// PauseEndpoint makes the deliveries to an endpoint of an API key wait, and reports whether it was not paused: one that
// is stays so since the time it was.
func (t *Tx) PauseEndpoint(keyID, id string, now time.Time) (bool, error) {
	return t.changed(`UPDATE webhook_endpoints SET paused_at = $1
		WHERE id = $2 AND api_key_id = $3 AND paused_at IS NULL`, column.Micros(now), id, keyID)
}

// ResumeEndpoint ends the pause of an endpoint of an API key, and reports whether it was paused. What has waited gets
// all attempts; without a pause nothing gets more than it had.
func (t *Tx) ResumeEndpoint(keyID, id string) (bool, error) {
	paused, err := t.changed(`UPDATE webhook_endpoints SET paused_at = NULL
		WHERE id = $1 AND api_key_id = $2 AND paused_at IS NOT NULL`, id, keyID)
	if err != nil || !paused {
		return false, err
	}
	return true, t.exec("UPDATE delivery_queue SET failures = 0 WHERE endpoint_id = $1 AND failures > 0", id)
}

// PausedEndpoints returns the endpoints that were paused before a time.
func (q Queries) PausedEndpoints(ctx context.Context, before time.Time) ([]string, error) {
	return db.Column[string](ctx, q.db, "SELECT id FROM webhook_endpoints WHERE paused_at <= $1 ORDER BY id",
		column.Micros(before))
}

// newestDeliveries is in how many of the newest deliveries of an endpoint the last one that has ended is looked for.
const newestDeliveries = 100

// LastDelivery returns how the newest delivery to an endpoint ended that has ended; empty when none has.
func (q Queries) LastDelivery(ctx context.Context, endpointID string) (webhook.Status, error) {
	found, err := db.Column[string](ctx, q.db, `SELECT a.ended FROM (SELECT id FROM deliveries WHERE endpoint_id = $1
			ORDER BY id DESC LIMIT `+strconv.Itoa(newestDeliveries)+`) AS newest
		JOIN delivery_attempts a ON a.delivery_id = newest.id AND a.ended <> '' ORDER BY newest.id DESC LIMIT 1`, endpointID)
	if err != nil || len(found) == 0 {
		return "", err
	}
	return webhook.Status(found[0]), nil
}

func splitEvents(s string) []webhook.Event {
	var events []webhook.Event
	for f := range strings.FieldsSeq(s) {
		events = append(events, webhook.Event(f))
	}
	return events
}

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

// EndpointHealth returns how the attempts on the endpoints of an account went in the last 24 hours and 7 days, in whole
// hours, as far as there were any.
func (q Queries) EndpointHealth(
	ctx context.Context, accountID string, env access.Environment, now time.Time,
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
		accountID, string(env), hour-7*24, hour-24)
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

// TellFailing notes that the owners of an endpoint are told that it fails, and reports whether nobody else has.
func (t *Tx) TellFailing(id string, now time.Time) (bool, error) {
	return t.changed("UPDATE webhook_endpoints SET failing_told_at = $1 WHERE id = $2 AND failing_told_at IS NULL",
		column.Micros(now), id)
}

// InsertEvent stores an event and gives it the next position of its tenant. The row that it is taken from stays locked
// until the transaction ends: what takes a later position is committed later.
func (t *Tx) InsertEvent(e *webhook.OrderEvent) error {
	seq, err := db.Value[int64](t.Context(), t.db.Queries, `UPDATE balances SET events = events + 1
		WHERE account_id = $1 AND environment = $2 RETURNING events`, e.AccountID, string(e.Environment))
	if err != nil {
		return err
	}
	e.Position = webhook.Cursor(seq)
	return t.db.Insert("events (api_key_id, seq, order_id, event, delivery_ids, body, created_at)", e.APIKeyID, seq,
		e.OrderID, string(e.Event), strings.Join(e.DeliveryIDs, " "), string(e.Body), column.Micros(e.CreatedAt))
}

// Events returns up to limit events of the orders of a key that follow the cursor, oldest first.
func (q Queries) Events(
	ctx context.Context, keyID string, after webhook.Cursor, limit int,
) ([]*webhook.OrderEvent, error) {
	return db.Collect(ctx, q.db, func(scan db.Scanner) (*webhook.OrderEvent, error) {
		e := &webhook.OrderEvent{APIKeyID: keyID}
		var deliveries string
		err := scan(&e.Position, &e.OrderID, &e.Event, &deliveries, &e.Body, column.Time(&e.CreatedAt))
		e.DeliveryIDs = strings.Fields(deliveries)
		return e, err
	}, `SELECT seq, order_id, event, delivery_ids, body, created_at FROM events
		WHERE api_key_id = $1 AND seq > $2 ORDER BY seq LIMIT $3`, keyID, int64(after), limit)
}

// EventsGone returns the position of the last event of a key's orders that is not kept any more; 0 when all are.
func (q Queries) EventsGone(ctx context.Context, keyID string) (webhook.Cursor, error) {
	return db.Value[webhook.Cursor](ctx, q.db, "SELECT events_gone FROM api_keys WHERE id = $1", keyID)
}

// LastEventBefore returns the position of the last event of a key's orders from before the time; 0 when there is none.
func (q Queries) LastEventBefore(ctx context.Context, keyID string, before time.Time) (webhook.Cursor, error) {
	return db.Value[webhook.Cursor](ctx, q.db,
		"SELECT COALESCE(MAX(seq), 0) FROM events WHERE api_key_id = $1 AND created_at < $2", keyID, column.Micros(before))
}

// LastEvent returns the position of the last event of a tenant.
func (q Queries) LastEvent(ctx context.Context, t access.Tenant) (webhook.Cursor, error) {
	return db.Value[webhook.Cursor](ctx, q.db, "SELECT events FROM balances WHERE account_id = $1 AND environment = $2",
		t.AccountID, string(t.Environment))
}

// HasEvents reports whether there are events from before the time that DeleteOldEvents would delete.
func (q Queries) HasEvents(ctx context.Context, before time.Time) (bool, error) {
	return q.db.Exists(ctx, "FROM "+partition.Rest(q.db.Dialect, "events")+" WHERE created_at < $1", column.Micros(before))
}

// DeleteOldEvents deletes up to limit events from before the time, the oldest first, and returns how many. Their keys
// remember it. In PostgreSQL those are deleted that belong to no part; the others go with it, see DropOld.
func (t *Tx) DeleteOldEvents(before time.Time, limit int) (int, error) {
	type place struct {
		keyID string
		seq   int64
	}
	gone, err := db.Collect(t.Context(), t.db.Queries, func(scan db.Scanner) (p place, err error) {
		err = scan(&p.keyID, &p.seq)
		return p, err
	}, "SELECT api_key_id, seq FROM "+partition.Rest(t.db.Dialect, "events")+` WHERE created_at < $1
		ORDER BY created_at, api_key_id, seq LIMIT $2`, column.Micros(before), limit)
	if err != nil {
		return 0, err
	}
	for _, p := range gone {
		if err := t.db.One("DELETE FROM "+partition.Rest(t.db.Dialect, "events")+" WHERE api_key_id = $1 AND seq = $2",
			p.keyID, p.seq); err != nil {
			return 0, err
		}
		const forget = "UPDATE api_keys SET events_gone = $1 WHERE id = $2 AND events_gone < $1"
		if _, err := t.db.Exec(forget, p.seq, p.keyID); err != nil {
			return 0, err
		}
	}
	return len(gone), nil
}
