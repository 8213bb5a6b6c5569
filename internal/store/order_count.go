package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
)

// OrderCounts returns how many orders of an environment are in each status, in one consistent look. In Live nothing is
// counted: the moves keep the numbers. In Test, where a move is as frequent as a creation, all but the completed orders
// are counted.
func (q Queries) OrderCounts(ctx context.Context, env access.Environment) (map[order.Status]int64, error) {
	const all = "SELECT 'all', CAST(COALESCE(SUM(orders), 0) AS BIGINT) FROM balances WHERE environment = $1"
	rest, text := order.Queued, "SELECT status, orders FROM live_order_counts UNION ALL "+all
	if env == access.Test {
		rest = order.Completed
		text = `SELECT status, COUNT(*) FROM orders WHERE environment = $1
			AND status IN ('queued', 'processing', 'update-photos', 'error') GROUP BY status UNION ALL ` + all
	}
	counts := make(map[order.Status]int64, len(order.Statuses))
	err := q.rows(ctx, text, []any{string(env)}, func(scan func(...any) error) error {
		var status string
		var n int64
		err := scan(&status, &n)
		if status == "all" {
			counts[rest] += n
		} else {
			counts[order.Status(status)] = n
			counts[rest] -= n
		}
		return err
	})
	return counts, err
}

// countMove keeps the numbers of Live orders by status when an order is about to be stored in another one. The rows are
// changed in one order by everybody, so that no two moves wait for each other.
func (t *Tx) countMove(o *order.Order) error {
	if o.Environment != access.Live {
		return nil
	}
	var from order.Status
	if err := t.row(t.ctx, "SELECT status FROM orders WHERE id = $1", []any{o.ID}, &from); err != nil || from == o.Status {
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
		if err := t.one("UPDATE live_order_counts SET orders = orders + $1 WHERE status = $2", change,
			string(s)); err != nil {
			return err
		}
	}
	if !o.Status.Terminal() {
		return nil
	}
	due := int64(neverDue)
	if o.DueAt != nil {
		due = micros(*o.DueAt)
	}
	_, err := t.exec(`INSERT INTO live_ended_due_days (status, day, orders) VALUES ($1, $2, 1)
		ON CONFLICT (status, day) DO UPDATE SET orders = live_ended_due_days.orders + 1`, string(o.Status), due/microsPerDay)
	return err
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
	text := "SELECT day, orders FROM live_ended_due_days WHERE status IN " + quoted(statuses(f))
	for _, s := range statuses(f) {
		if !s.Terminal() {
			text += fmt.Sprintf(` UNION ALL SELECT %s / %d, COUNT(*) FROM orders
				WHERE environment = 'live' AND status = '%s' GROUP BY 1`, dueKey, microsPerDay, s)
		}
	}
	counts := make(map[int64]int64)
	if err := q.rows(ctx, text, nil, func(scan func(...any) error) error {
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

const claimCounts = `SELECT status, COUNT(*) FROM orders WHERE assignee_id = $1 AND environment = 'live'
	AND status IN ('processing', 'update-photos') GROUP BY status`

// ClaimCounts returns how many Live orders a staff user holds, and for how many they wait for photos.
func (q Queries) ClaimCounts(ctx context.Context, staffID string) (map[order.Status]int64, error) {
	counts := make(map[order.Status]int64, 2)
	err := q.rows(ctx, claimCounts, []any{staffID}, func(scan func(...any) error) error {
		var status order.Status
		var n int64
		err := scan(&status, &n)
		counts[status] = n
		return err
	})
	return counts, err
}

// CountWaiting counts the orders that wait for photos, up to limit.
func (q Queries) CountWaiting(ctx context.Context, tenant access.Tenant, limit int) (int, error) {
	var n int
	err := q.row(ctx, `SELECT COUNT(*) FROM (SELECT 1 FROM orders WHERE account_id = $1 AND environment = $2
		AND COALESCE(outcome, status) = 'update-photos' LIMIT $3) AS found`,
		[]any{tenant.AccountID, string(tenant.Environment), limit}, &n)
	return n, err
}

// OrderTimes returns when orders were created, by sequence number.
func (q Queries) OrderTimes(
	ctx context.Context, accountID string, env access.Environment, seqs []int64,
) (map[int64]time.Time, error) {
	times := make(map[int64]time.Time, len(seqs))
	for len(seqs)%batchSizes[0] != 0 { // one long list instead of several short ones
		seqs = append(seqs, seqs[len(seqs)-1])
	}
	err := inBatches(seqs, func(seqs []int64) error {
		args := []any{accountID, string(env)}
		for _, s := range seqs {
			args = append(args, s)
		}
		return q.rows(ctx, `SELECT seq, created_at FROM orders WHERE account_id = $1 AND environment = $2
			AND seq IN `+list(3, len(seqs)), args,
			func(scan func(...any) error) error {
				var seq, at int64
				err := scan(&seq, &at)
				times[seq] = timeOf(at)
				return err
			})
	})
	return times, err
}
