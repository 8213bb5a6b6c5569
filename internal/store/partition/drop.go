package partition

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/db"
	"github.com/assayhq/assay/internal/store/plain"
	"github.com/assayhq/assay/internal/store/uuid7"
)

// named returns the partitioned table of a name.
func named(name string) *table {
	return &tables[slices.IndexFunc(tables, func(t table) bool { return t.name == name })]
}

// ErrBusy is that a part could not be dropped because others used the table all the time: it is tried again in the next
// round of housekeeping.
var ErrBusy = errors.New("the partition is in use")

// Drop drops the parts of a table that are all from before a time, with deliveries those of their attempts, and returns
// how many. An error may be ErrBusy.
func Drop(ctx context.Context, pool *sql.DB, table string, before time.Time) (dropped int, err error) {
	all, err := named(table).parts(ctx, pool)
	for _, p := range all {
		if err != nil || p.end().After(before) {
			break
		}
		switch table {
		case "deliveries":
			err = maintenance(ctx, pool, func(tx *sql.Tx) error { return dropDeliveries(ctx, tx, p, before) })
		case "events":
			if err := noteEventsGone(ctx, pool, p); err != nil {
				return dropped, err
			}
			err = dropPart(ctx, pool, p)
		default:
			err = dropPart(ctx, pool, p)
		}
		if err == nil {
			dropped++
		}
	}
	if Busy(err) {
		err = errors.Join(ErrBusy, err)
	}
	return dropped, err
}

// dropDeliveries drops a part of deliveries and that of their attempts. A delivery that is still to be sent, or was
// attempted after the time, goes on in the rest, and is deleted from there by DeleteOldDeliveries.
func dropDeliveries(ctx context.Context, tx *sql.Tx, p part, before time.Time) error {
	attempts := part{named("delivery_attempts"), p.start}
	from, to := p.bound(p.start), p.bound(p.end())
	gone, err := plain.Any(ctx, tx, "SELECT 'gone' WHERE to_regclass($1) IS NULL", p.String())
	if err != nil || gone { // another node was faster
		return err
	}
	// Who survives is looked up before the tables are locked, which takes a while in a large part; what was queued in the
	// meantime is added while nothing else can happen. The locks are taken in the order in which others take them: an
	// event inserts a delivery and then queues it, the sender changes the queue and then inserts attempts.
	const queued = `INSERT INTO surviving SELECT delivery_id FROM delivery_queue
		WHERE delivery_id >= %s AND delivery_id < %s`
	if err := attempts.create(ctx, tx); err != nil { // unless it exists
		return err
	}
	return plain.Exec(ctx, tx,
		fmt.Sprintf("CREATE TEMPORARY TABLE surviving ON COMMIT DROP AS SELECT delivery_id FROM %s WHERE at >= %d",
			attempts, column.Micros(before)),
		"LOCK TABLE deliveries IN ACCESS EXCLUSIVE MODE",
		"LOCK TABLE delivery_queue IN SHARE MODE",
		"LOCK TABLE delivery_attempts IN ACCESS EXCLUSIVE MODE",
		fmt.Sprintf(queued, from, to),
		fmt.Sprintf("ALTER TABLE deliveries DETACH PARTITION %s", p),
		fmt.Sprintf("ALTER TABLE delivery_attempts DETACH PARTITION %s", attempts),
		fmt.Sprintf("INSERT INTO deliveries SELECT * FROM %s WHERE id IN (SELECT delivery_id FROM surviving)", p),
		fmt.Sprintf("INSERT INTO delivery_attempts SELECT * FROM %s WHERE delivery_id IN (SELECT delivery_id FROM surviving)",
			attempts),
		fmt.Sprintf("DROP TABLE %s, %s", p, attempts))
}

// Range is the ids of a part of attempts with so many in it that they are not deleted one by one.
type Range struct{ From, To string }

func (p part) ids() Range { return Range{uuid7.First(p.start), uuid7.First(p.end())} }

// ManyAttempts is how many attempts of the log make a part one of those. Tests change it.
var ManyAttempts = 50_000

// DropAttempts drops the parts of attempts that are all from before a time and have many of them in the log, and
// returns how many. What has to stay of them, how deliveries have ended and what was attempted later, is in a new part
// before. The parts with many attempts that are not old enough are returned: they wait for that. Those with few are for
// DeleteOldAttempts.
func DropAttempts(ctx context.Context, pool *sql.DB, before time.Time) (dropped int, wait []Range, err error) {
	all, err := named("delivery_attempts").parts(ctx, pool)
	for _, p := range all {
		if err != nil {
			return dropped, wait, err
		}
		many, countErr := plain.Any(ctx, pool, fmt.Sprintf(`SELECT 'many'
			FROM (SELECT 1 FROM %s WHERE kept = 1 LIMIT %d) AS kept
			HAVING COUNT(*) = %d`, p, ManyAttempts, ManyAttempts))
		switch {
		case countErr != nil:
			return dropped, wait, countErr
		case !many:
		case p.end().After(before):
			wait = append(wait, p.ids())
		default:
			err = maintenance(ctx, pool, func(tx *sql.Tx) error { return dropAttempts(ctx, tx, p, before) })
			if Busy(err) {
				wait, err = append(wait, p.ids()), nil
			} else if err == nil {
				dropped++
			}
		}
	}
	return dropped, wait, err
}

// dropAttempts replaces a part. Only who writes into it waits meanwhile, for a redelivery after a long time, say.
func dropAttempts(ctx context.Context, tx *sql.Tx, p part, before time.Time) error {
	const columns = "delivery_id, number, at, duration, http_status, failure, answer, headers, ended, next_at, kept, " +
		"failed_tenant, failed_endpoint"
	next, old := p.String()+"_next", column.Micros(before)
	return plain.Exec(ctx, tx,
		fmt.Sprintf("LOCK TABLE %s IN SHARE MODE", p),
		fmt.Sprintf("CREATE TABLE %s (LIKE %s INCLUDING ALL)", next, p.name),
		fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s WHERE kept = 0 OR at >= %d", next, columns, columns, p, old),
		fmt.Sprintf(`INSERT INTO %s (%s) SELECT delivery_id, number, at, 0, 0, '', '', '', ended, next_at, 0, failed_tenant,
			failed_endpoint FROM %s WHERE kept = 1 AND at < %d AND ended <> ''`, next, columns, p, old),
		fmt.Sprintf("ALTER TABLE %s ADD CONSTRAINT bounds CHECK (%s >= %s AND %s < %s)", next, p.column, p.bound(p.start),
			p.column, p.bound(p.end())), // so that it is not read once more while everybody waits
		fmt.Sprintf("ALTER TABLE %s DETACH PARTITION %s", p.name, p),
		fmt.Sprintf("DROP TABLE %s", p),
		fmt.Sprintf("ALTER TABLE %s RENAME TO %s", next, p),
		fmt.Sprintf("ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM (%s) TO (%s)", p.name, p, p.bound(p.start),
			p.bound(p.end())),
		fmt.Sprintf("ALTER TABLE %s DROP CONSTRAINT bounds", p))
}

// noteEventsGone lets the keys remember that a part of events is dropped: before that, in a transaction of its own, so
// that nobody waits for the part to be read.
func noteEventsGone(ctx context.Context, pool *sql.DB, p part) error {
	_, err := pool.ExecContext(ctx, eventsGone(p.String()))
	return db.Classify(err)
}

// eventsGone looks the last event of each key up in the index: to read a part through may take longer than a statement
// is given.
func eventsGone(part string) string {
	return fmt.Sprintf(`UPDATE api_keys SET events_gone = g.seq FROM (
			SELECT k.id, (SELECT e.seq FROM %s AS e WHERE e.api_key_id = k.id ORDER BY e.seq DESC LIMIT 1) AS seq
			FROM api_keys AS k) AS g
		WHERE api_keys.id = g.id AND api_keys.events_gone < g.seq`, part)
}

// dropPart drops a part, unless another node has.
func dropPart(ctx context.Context, pool *sql.DB, p part) error {
	err := maintenance(ctx, pool, func(tx *sql.Tx) error {
		return plain.Exec(ctx, tx, fmt.Sprintf("ALTER TABLE %s DETACH PARTITION %s", p.name, p), "DROP TABLE "+p.String())
	})
	if err != nil {
		return fmt.Errorf("drop %s: %w", p, err)
	}
	return nil
}
