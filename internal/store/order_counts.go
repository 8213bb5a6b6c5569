package store

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/db"
)

// OrderCounts returns how many orders of an environment are in each status, in one consistent look. In Live nothing is
// counted: the moves keep the numbers. In Test, where a move is as frequent as a creation, all but the completed orders
// are counted.
func (q Queries) OrderCounts(ctx context.Context, env access.Environment) (map[order.Status]int64, error) {
	const all = "SELECT 'all', CAST(COALESCE(SUM(orders), 0) AS BIGINT) FROM balances WHERE environment = $1"
	rest, text := order.Queued, "SELECT status, orders FROM live_order_counts UNION ALL "+all // the sum of its slots
	if env == access.Test {
		rest = order.Completed
		text = `SELECT status, COUNT(*) FROM orders WHERE environment = $1
			AND status IN ('queued', 'processing', 'update-photos', 'error') GROUP BY status UNION ALL ` + all
	}
	counts := make(map[order.Status]int64, len(order.Statuses))
	err := q.db.Rows(ctx, text, []any{string(env)}, func(scan db.Scanner) error {
		var status string
		var n int64
		err := scan(&status, &n)
		if status == "all" {
			counts[rest] += n
		} else {
			counts[order.Status(status)] += n
			counts[rest] -= n
		}
		return err
	})
	return counts, err
}

// countMove keeps the numbers of Live orders by status when an order is about to be stored in another one.
func (t *Tx) countMove(o *order.Order) error {
	if o.Environment != access.Live {
		return nil
	}
	var from order.Status
	if err := t.db.Row(t.Context(), "SELECT status FROM orders WHERE id = $1", []any{o.ID}, &from); err != nil ||
		from == o.Status {
		return err
	}
	for _, s := range order.Statuses {
		if s == order.Queued || s != from && s != o.Status { // queued is what is in no other status
			continue
		}
		change := 1
		if s == from {
			change = -1
		}
		if err := t.countStatus(s, change, slotOf(o.ID)); err != nil {
			return err
		}
	}
	if !o.Status.Terminal() {
		return nil
	}
	due := int64(neverDue)
	if o.DueAt != nil {
		due = column.Micros(*o.DueAt)
	}
	return t.countDueDay(o.Status, due/microsPerDay, slotOf(o.ID))
}

// counterSlots is over how many rows each number of live_order_counts is spread.
const counterSlots = 32

// slotOf returns the slot of an order for where no free one is found.
func slotOf(orderID string) int64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(orderID))
	return int64(h.Sum32())
}

// countStatus adds to a slot of a status that nobody else holds, else to the given one: in one order of statuses, so
// that moves that wait do not wait for each other.
func (t *Tx) countStatus(s order.Status, change int, slot int64) error {
	n, err := t.db.Exec(`UPDATE live_order_counts SET orders = orders + $1 WHERE status = $2 AND slot = (
		SELECT slot FROM live_order_counts WHERE status = $2 LIMIT 1`+t.db.Dialect.SkipLocked+")", change, string(s))
	if err != nil || n > 0 {
		return err
	}
	return t.db.One("UPDATE live_order_counts SET orders = orders + $1 WHERE status = $2 AND slot = $3",
		change, string(s), slot%counterSlots)
}

// countDueDay adds an order that ended to a slot of its due day that nobody else holds, else to the given one. A day
// gets as many slots as transactions have counted in it at the same time.
func (t *Tx) countDueDay(s order.Status, day, slot int64) error {
	n, err := t.db.Exec(`UPDATE live_ended_due_days SET orders = orders + 1 WHERE status = $1 AND day = $2 AND slot = (
		SELECT slot FROM live_ended_due_days WHERE status = $1 AND day = $2 LIMIT 1`+t.db.Dialect.SkipLocked+")", string(s),
		day)
	if err != nil || n > 0 {
		return err
	}
	return t.exec(`INSERT INTO live_ended_due_days (status, day, slot, orders) VALUES ($1, $2, $3, 1)
		ON CONFLICT (status, day, slot) DO UPDATE SET orders = live_ended_due_days.orders + 1`, string(s), day, slot)
}

// walkedOffset is up to which offset a page is found by walking along the index: that is faster than adding up days.
const walkedOffset = 2000

// afterAnyID sorts after every id.
const afterAnyID = "g"

// orderPosition returns a cursor near an offset of a list that is sorted by the due date, and how many orders there are
// to skip from there. The cost of a page must not grow with all the orders there have ever been: for Live orders that
// have ended, which nothing moves any more, the number of each due day is kept; open ones are counted. What is walked
// is one day. There is no such number for Test orders and for one reviewer's: their pages are walked to.
func (q Queries) orderPosition(
	ctx context.Context, f *order.Filter, offset int64,
) (after *order.Cursor, skip int64, err error) {
	if offset <= walkedOffset || f.Environment != access.Live || f.AssigneeID != "" {
		return nil, offset, nil
	}
	var args db.Arguments
	text := "SELECT day, orders FROM live_ended_due_days WHERE status IN " + db.In(&args, statuses(f))
	for _, s := range statuses(f) {
		if !s.Terminal() {
			text += fmt.Sprintf(` UNION ALL SELECT %s / %d, COUNT(*) FROM orders
				WHERE environment = 'live' AND status = %s GROUP BY 1`, dueKey, microsPerDay, db.Literal(s))
		}
	}
	counts := make(map[int64]int64)
	if err := q.db.Rows(ctx, text, args, func(scan db.Scanner) error {
		var day, n int64
		err := scan(&day, &n)
		counts[day] += n
		return err
	}); err != nil {
		return nil, 0, err
	}
	for _, day := range slices.Sorted(maps.Keys(counts)) {
		if offset < counts[day] {
			return &order.Cursor{At: day*microsPerDay - 1, ID: afterAnyID}, offset, nil
		}
		offset -= counts[day]
	}
	return &order.Cursor{At: neverDue, ID: afterAnyID}, 0, nil // orders have moved since they were counted
}

const countAssigned = `SELECT COUNT(*) FROM (SELECT 1 FROM orders WHERE assignee_id = $1 AND environment = 'live'
	AND status IN ('processing', 'update-photos') LIMIT $2) AS held`

// CountAssigned counts the Live orders assigned to a staff user, those that wait for photos among them, up to limit.
func (q Queries) CountAssigned(ctx context.Context, staffID string, limit int) (int, error) {
	return db.Value[int](ctx, q.db, countAssigned, staffID, limit)
}

// CountWaiting counts the orders that wait for photos, up to limit.
func (q Queries) CountWaiting(ctx context.Context, tenant access.Tenant, limit int) (int, error) {
	return db.Value[int](ctx, q.db, `SELECT COUNT(*) FROM (SELECT 1 FROM orders WHERE `+ofTenant+`
		AND COALESCE(outcome, status) = 'update-photos' LIMIT $3) AS found`,
		tenant.AccountID, string(tenant.Environment), limit)
}

// OrderTimes returns when orders were created, by sequence number.
func (q Queries) OrderTimes(ctx context.Context, tenant access.Tenant, seqs []int64) (map[int64]time.Time, error) {
	times := make(map[int64]time.Time, len(seqs))
	for len(seqs)%db.LongestBatch != 0 { // one long list instead of several short ones
		seqs = append(seqs, seqs[len(seqs)-1])
	}
	err := db.InBatches(seqs, func(seqs []int64) error {
		found, err := db.Pairs[int64, int64](ctx, q.db, `SELECT seq, created_at FROM orders
			WHERE `+ofTenant+" AND seq IN "+db.List(3, len(seqs)),
			append([]any{tenant.AccountID, string(tenant.Environment)}, db.Anys(seqs)...)...)
		for seq, at := range found {
			times[seq] = column.TimeOf(at)
		}
		return err
	})
	return times, err
}

const microsPerDay = int64(24 * time.Hour / time.Microsecond)

// CountResult counts an order that has just ended, by the day of its end, its result, which is the outcome or the
// error, and the bucket of its turnaround, -1 where it has none. It is one row an account changes in many transactions:
// it comes last in them, after the balance, which creations lock first: else they would wait for each other.
func (t *Tx) CountResult(o *order.Order, took int) error {
	return t.exec(`INSERT INTO order_results (account_id, environment, day, result, took, orders)
		VALUES ($1, $2, $3, $4, $5, 1)
		ON CONFLICT (account_id, environment, day, result, took) DO UPDATE SET orders = order_results.orders + 1`,
		o.AccountID, string(o.Environment), column.Micros(*o.EndedAt)/microsPerDay,
		cmp.Or(string(o.Outcome), string(o.Status)), took)
}

// ResultCount is how many orders ended on a day with a result and a turnaround.
type ResultCount struct {
	Day    time.Time // its beginning, in UTC
	Result string    // the outcome, or error
	Took   int       // the bucket of the turnaround; -1: none
	Orders int64
}

// Results returns how the orders of a tenant ended from a day on: so many rows as there are days, results and
// buckets.
func (q Queries) Results(ctx context.Context, tenant access.Tenant, from time.Time) ([]ResultCount, error) {
	var all []ResultCount
	err := q.db.Records(ctx,
		`SELECT day, result, took, orders FROM order_results WHERE account_id = $1 AND environment = $2 AND day >= $3`,
		[]any{tenant.AccountID, string(tenant.Environment), column.Micros(from) / microsPerDay}, func(r *db.Record) error {
			all = append(all, ResultCount{
				Day: column.TimeOf(r.Integer(0) * microsPerDay), Result: r.Word(1, states), Took: int(r.Integer(2)),
				Orders: r.Integer(3),
			})
			return nil
		})
	return all, err
}
