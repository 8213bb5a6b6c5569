package store

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/db"
	"github.com/assayhq/assay/internal/store/partition"
)

// Aged are the rows of a table that are deleted when their time is over.
type Aged struct {
	table, key string
	old        string // the condition of such rows; $1 is a time
	first      string // the column that decides which are deleted first
}

// What is deleted by its age alone. Versions of the catalog are kept for as long as they are among the last.
// Windows of attempts to sign in that end far ahead are those of a clock that was set back.
var (
	OldSessions        = Aged{"sessions", "id", "expires_at <= $1", "expires_at"}
	OldSignInAttempts  = Aged{"sign_in_attempts", "key", "ends_at <= $1", "ends_at"}
	LaterAttempts      = Aged{"sign_in_attempts", "key", "ends_at > $1", "ends_at"}
	OldDevices         = Aged{"sign_in_devices", "audience, user_id, device_hash", "seen_at <= $1", "seen_at"}
	OldChallenges      = Aged{"spent_challenges", "challenge_hash", "expires_at <= $1", "expires_at"}
	OldLinks           = Aged{"links", "id", "(expires_at < $1 OR used_at < $1)", "id"}
	OldCaptureLinks    = Aged{"capture_links", "id", "expires_at < $1", "expires_at"}
	OldIdempotencyKeys = Aged{"idempotency_keys", "tenant, key", "created_at <= $1", "created_at"}
	OldFailedMails     = Aged{"mails", "id", "failed_at <= $1", "failed_at"}
	OldDeliveryLeases  = Aged{"delivery_leases", "endpoint_id", "lease_until < $1", "endpoint_id"}
	OldCatalogDrafts   = Aged{"catalog_drafts", "id", "created_at < $1", "created_at"}
	OldCatalogs        = Aged{"catalog_versions", "version", `created_at < $1
		AND version <= (SELECT MAX(version) FROM catalog_versions) - 20`, "version"}
)

// DeleteAged deletes up to limit rows whose time was over by another, and returns how many. Those that somebody is
// changing are left for the next time.
func (t *Tx) DeleteAged(a Aged, by time.Time, limit int) (int, error) {
	n, err := t.db.Exec("DELETE FROM "+a.table+" WHERE ("+a.key+") IN (SELECT "+a.key+" FROM "+a.table+" WHERE "+a.old+
		" ORDER BY "+a.first+" LIMIT $2"+t.db.Dialect.SkipLocked+")", column.Micros(by), limit)
	return int(n), err
}

// DeleteAged is that of a transaction, which is begun only if there is something to delete.
func (s *Store) DeleteAged(ctx context.Context, a Aged, by time.Time, limit int) (n int, err error) {
	if some, err := s.db.Exists(ctx, "FROM "+a.table+" WHERE "+a.old, column.Micros(by)); err != nil || !some {
		return 0, err
	}
	err = s.Update(ctx, func(tx *Tx) (err error) {
		n, err = tx.DeleteAged(a, by, limit)
		return err
	})
	return n, err
}

const endedSecrets = "FROM webhook_endpoints WHERE previous_until < $1 AND sealed_previous <> ''"

// HasEndedSecrets reports whether previous secrets of endpoints are kept that were not valid any more at a time.
func (q Queries) HasEndedSecrets(ctx context.Context, by time.Time) (bool, error) {
	return q.db.Exists(ctx, endedSecrets, column.Micros(by))
}

// ForgetEndedSecrets forgets up to limit previous secrets of endpoints that were not valid any more at a time, and
// returns how many. When the secret was rotated stays known.
func (t *Tx) ForgetEndedSecrets(by time.Time, limit int) (int, error) {
	n, err := t.db.Exec("UPDATE webhook_endpoints SET sealed_previous = '' WHERE id IN (SELECT id "+endedSecrets+
		" ORDER BY id LIMIT $2"+t.db.Dialect.SkipLocked+")", column.Micros(by), limit)
	return int(n), err
}

// deliveryAge is a delivery with what decides whether it is still needed.
type deliveryAge struct {
	id        string
	createdAt time.Time
	waits     bool // it is queued, or was attempted lately
}

// DeleteOldDeliveries deletes up to limit deliveries that were made before the time, with their attempts, and returns
// how many. One that is still to be sent, or was attempted after the time, stays. In PostgreSQL those are deleted that
// belong to no part; the others go with their part, see DropOld. Ids are in the order of time: the
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
		if old, err = t.lockEnded(old); err != nil {
			return deleted, err
		}
		for _, table := range []string{"delivery_attempts WHERE delivery_id", "deliveries WHERE id"} {
			if err := db.InBatches(old, func(ids []string) error {
				return t.exec("DELETE FROM "+table+" IN "+db.List(1, len(ids)), db.Anys(ids)...)
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

// lockEnded locks deliveries that are about to be deleted, as Redeliver does, and returns those that are still not
// queued. On SQLite nothing has happened since they were read.
func (t *Tx) lockEnded(ids []string) (ended []string, err error) {
	if t.db.Dialect == &db.SQLite {
		return ids, nil
	}
	err = db.InBatches(ids, func(ids []string) error {
		list, args := db.List(1, len(ids)), db.Anys(ids)
		if err := t.exec("SELECT id FROM deliveries WHERE id IN "+list+" ORDER BY id"+t.db.Dialect.ForUpdate,
			args...); err != nil {
			return err
		}
		some, err := db.Column[string](t.Context(), t.db.Queries, "SELECT id FROM deliveries WHERE id IN "+list+`
			AND NOT EXISTS (SELECT 1 FROM delivery_queue AS q
			WHERE q.endpoint_id = deliveries.endpoint_id AND q.delivery_id = deliveries.id)`, args...)
		ended = append(ended, some...)
		return err
	})
	return ended, err
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

// HasAttempts reports whether there are attempts in the log that were made before the time, except for those of some
// parts.
func (q Queries) HasAttempts(ctx context.Context, before time.Time, except ...partition.Range) (bool, error) {
	args := db.Arguments{column.Micros(before)}
	return q.db.Exists(ctx, "FROM delivery_attempts WHERE kept = 1 AND at < $1"+without(&args, except), args...)
}

// DeleteOldAttempts deletes up to limit attempts that were made before the time, the oldest first, and returns how
// many. Of the attempt that ended a delivery it remains that it did. Those of some parts are left alone; see
// DropOldAttempts.
func (t *Tx) DeleteOldAttempts(before time.Time, limit int, except ...partition.Range) (int, error) {
	args := db.Arguments{column.Micros(before), limit}
	oldest := `kept = 1 AND (delivery_id, number) IN (SELECT delivery_id, number FROM delivery_attempts
		WHERE kept = 1 AND at < $1` + without(&args, except) + " ORDER BY at LIMIT $2)"
	ends, err := t.db.Exec(`UPDATE delivery_attempts SET `+emptied+" WHERE ended <> '' AND "+oldest, args...)
	if err != nil || int(ends) == limit {
		return int(ends), err
	}
	args[1] = limit - int(ends)
	others, err := t.db.Exec("DELETE FROM delivery_attempts WHERE ended = '' AND "+oldest, args...)
	return int(ends + others), err
}

// emptied makes what remains of an attempt that ended a delivery.
const emptied = "kept = 0, duration = 0, http_status = 0, failure = '', answer = '', headers = ''"

// without excludes the attempts of parts.
func without(a *db.Arguments, parts []partition.Range) (where string) {
	for _, p := range parts {
		where += " AND NOT (delivery_id >= " + a.Add(p.From) + " AND delivery_id < " + a.Add(p.To) + ")"
	}
	return where
}

// RetentionMark is how far the photos of old orders of an environment are erased.
type RetentionMark struct {
	At      time.Time
	OrderID string
}

// RetentionMark returns the mark of an environment; the zero value is the beginning.
func (q Queries) RetentionMark(ctx context.Context, env access.Environment) (m RetentionMark, err error) {
	m.At = time.Unix(0, 0)
	err = q.db.Row(ctx, "SELECT at, order_id FROM photo_retention WHERE environment = $1", []any{string(env)},
		column.Time(&m.At), &m.OrderID)
	if errors.Is(err, ErrNotFound) {
		err = nil
	}
	return m, err
}

// SetRetentionMark moves the mark.
func (t *Tx) SetRetentionMark(env access.Environment, m RetentionMark) error {
	return t.exec(`INSERT INTO photo_retention (environment, at, order_id) VALUES ($1, $2, $3)
		ON CONFLICT (environment) DO UPDATE SET at = excluded.at, order_id = excluded.order_id`,
		string(env), column.Micros(m.At), m.OrderID)
}

// AgedOrder is an order whose photos may be old enough to be erased.
type AgedOrder struct {
	ID        string
	AccountID string
	At        time.Time // by which its age is measured
	Skip      bool      // it is not of the environment
}

// AgedOrders returns up to limit orders after the mark whose time is before another: Live orders by when they ended,
// Test orders, which can be moved out of an end, by when they were created. For the latter the orders of both
// environments are walked, and the mark moves past those of the other.
func (q Queries) AgedOrders(
	ctx context.Context, env access.Environment, m RetentionMark, before time.Time, limit int,
) ([]AgedOrder, error) {
	text, args := `SELECT id, account_id, ended_at, environment FROM orders WHERE environment = 'live'
		AND ended_at IS NOT NULL AND (ended_at, id) > ($1, $2) AND ended_at < $3 ORDER BY ended_at, id LIMIT $4`,
		[]any{column.Micros(m.At), m.OrderID, column.Micros(before), limit}
	if env == access.Test {
		text, args = `SELECT id, account_id, created_at, environment FROM orders WHERE id > $1 ORDER BY id LIMIT $2`,
			[]any{m.OrderID, limit}
	}
	orders, err := db.Collect(ctx, q.db, func(scan db.Scanner) (o AgedOrder, err error) {
		var of access.Environment
		err = scan(&o.ID, &o.AccountID, column.Time(&o.At), &of)
		o.Skip = of != env
		return o, err
	}, text, args...)
	if young := slices.IndexFunc(orders, func(o AgedOrder) bool { return !o.At.Before(before) }); young >= 0 {
		orders = orders[:young]
	}
	return orders, err
}

// ErrPartitionBusy is that a part could not be dropped now, because others used the table all the time.
var ErrPartitionBusy = partition.ErrBusy

// MakePartitions makes the parts of partitioned tables ahead of a time, and returns how many were missing. On SQLite,
// here and below, there are no parts.
func (s *Store) MakePartitions(ctx context.Context, now time.Time) (made int, err error) {
	if !s.Shared() {
		return 0, nil
	}
	return partition.Make(ctx, s.db.SQL(), now)
}

// DropOld drops the parts of deliveries, with their attempts, of events or of the request log that are all from before
// a time, and returns how many. What has to stay of deliveries is deleted by DeleteOldDeliveries. An error may be
// ErrPartitionBusy.
func (s *Store) DropOld(ctx context.Context, table string, before time.Time) (dropped int, err error) {
	if !s.Shared() {
		return 0, nil
	}
	return partition.Drop(ctx, s.db.SQL(), table, before)
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

// AgedPortalLogs returns up to limit accounts whose log of the portal begins before the time.
func (q Queries) AgedPortalLogs(ctx context.Context, before time.Time, limit int) ([]string, error) {
	return db.Column[string](ctx, q.db, `SELECT account_id FROM portal_events AS e WHERE at < $1
		AND seq = (SELECT MIN(f.seq) FROM portal_events AS f WHERE f.account_id = e.account_id)
		ORDER BY account_id LIMIT $2`, column.Micros(before), limit)
}

// TrimPortalLog removes up to limit of the first entries of an account's log of the portal that are older than the
// time, and writes an entry that says so: the chain then begins behind them, and nobody can shorten it without a trace.
// It returns how many it has removed: none where the first entry is younger, or a clock that was wrong has made it so.
func (t *Tx) TrimPortalLog(accountID string, before, now time.Time, limit int) (n int64, err error) {
	var gone int64
	if err := t.db.Row(t.Context(), "UPDATE accounts SET portal_gone = portal_gone WHERE id = $1 RETURNING portal_gone",
		[]any{accountID}, &gone); err != nil {
		return 0, err
	}
	// The entries before the first that is to be kept, whatever the clocks of several nodes were.
	keep, err := db.Value[int64](t.Context(), t.db.Queries, `SELECT COALESCE(MIN(seq), 0) FROM portal_events
		WHERE account_id = $1 AND at >= $2`, accountID, column.Micros(before))
	if err != nil {
		return 0, err
	}
	last := gone + int64(limit)
	if keep > 0 {
		last = min(last, keep-1)
	}
	trimmed := audit.Head{Chain: audit.PortalTrimmed, AccountID: accountID}
	err = t.db.Row(t.Context(), `SELECT seq, hash FROM portal_events WHERE account_id = $1 AND seq <= $2
		ORDER BY seq DESC LIMIT 1`, []any{accountID, last}, &trimmed.Number, &trimmed.Hash)
	if errors.Is(err, ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if n, err = t.db.Exec("DELETE FROM portal_events WHERE account_id = $1 AND seq <= $2", accountID,
		trimmed.Number); err != nil {
		return 0, err
	}
	if err := t.db.One("UPDATE accounts SET portal_gone = $1, portal_anchor = $2 WHERE id = $3", trimmed.Number,
		t.chain.SealHead(&trimmed), accountID); err != nil {
		return 0, err
	}
	return n, t.appendEvent(audit.PortalLog, &audit.Event{
		AccountID: accountID, At: now, Code: audit.LogTrimmed,
		Actor:    audit.Actor{Type: audit.BySystem, Name: "system", Source: audit.FromSystem},
		Target:   audit.Target{Type: audit.TargetLog},
		Metadata: map[string]any{"through": trimmed.Number},
	})
}
