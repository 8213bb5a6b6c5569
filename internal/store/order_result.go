package store

import (
	"context"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
)

const microsPerDay = int64(24 * time.Hour / time.Microsecond)

// CountResult counts an order that has just ended, by the day of its end, its result, which is the outcome or the
// error, and the bucket of its turnaround, -1 where it has none. It is one row an account changes in many transactions:
// it comes last in them, after the balance.
func (t *Tx) CountResult(o *order.Order, took int) error {
	result := string(o.Outcome)
	if result == "" {
		result = string(o.Status)
	}
	_, err := t.exec(`INSERT INTO order_results (account_id, environment, day, result, took, orders)
		VALUES ($1, $2, $3, $4, $5, 1) ON CONFLICT (account_id, environment, day, result, took) DO UPDATE SET orders = order_results.orders + 1`,
		o.AccountID, string(o.Environment), micros(*o.EndedAt)/microsPerDay, result, took)
	return err
}

// ResultCount is how many orders ended on a day with a result and a turnaround.
type ResultCount struct {
	Day    time.Time // its beginning, in UTC
	Result string    // the outcome, or error
	Took   int       // the bucket of the turnaround; -1: none
	Orders int64
}

// Results returns how the orders of an account ended from a day on: so many rows as there are days, results and
// buckets.
func (q Queries) Results(
	ctx context.Context, accountID string, env access.Environment, from time.Time,
) ([]ResultCount, error) {
	var counts []ResultCount
	err := q.rows(ctx, `SELECT day, result, took, orders FROM order_results
		WHERE account_id = $1 AND environment = $2 AND day >= $3`,
		[]any{accountID, string(env), micros(from) / microsPerDay}, func(scan func(...any) error) error {
			var c ResultCount
			var day int64
			err := scan(&day, &c.Result, &c.Took, &c.Orders)
			c.Day = timeOf(day * microsPerDay)
			counts = append(counts, c)
			return err
		})
	return counts, err
}
