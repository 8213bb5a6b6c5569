// Package crowd fills databases with large numbers of orders and events, for benchmarks and for tests of query
// plans. One batch is inserted through the store; the rest are copies of it.
package crowd

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/rawsql"
)

// Batch is the number of rows per copy: counts are multiples of it.
const Batch = 1_000

// Period is the time over which all rows are spread, whatever their number.
const Period = 60 * 24 * time.Hour

// pace returns the time between two orders or events.
func pace(count int) time.Duration { return (Period / time.Duration(count)).Truncate(time.Microsecond) }

// copyID replaces the timestamp at the start of an id by the number of the copy, so that later rows have greater
// ids and rows of the same time are adjacent.
const copyID = "'1' || substr('0000000', 1 + length(CAST(n AS TEXT))) || CAST(n AS TEXT) || substr(o.id, 9)"

// Rows describes the rows of an account.
type Rows struct {
	Target    string // of the database
	AccountID string
	KeyID     string // Live key of the orders
	Completed int    // Live orders
	Queued    int    // Live orders
	Events    int    // in the audit log; the account has at least one
}

// Fill inserts the rows. The counters that lists read are correct afterwards; ledger entries exist for one batch
// only.
func Fill(ctx context.Context, r Rows) error {
	start := time.Now().Add(-Period).UTC().Truncate(time.Microsecond)
	for _, part := range []struct {
		status order.Status
		count  int
	}{{order.Completed, r.Completed}, {order.Queued, r.Queued}} {
		if part.count == 0 {
			continue
		}
		if err := r.orders(ctx, part.status, part.count, start); err != nil {
			return fmt.Errorf("%d orders in %s: %w", part.count, part.status, err)
		}
		start = start.Add(r.pace() * time.Duration(part.count))
	}
	if err := r.results(ctx); err != nil {
		return fmt.Errorf("results: %w", err)
	}
	if err := r.dueDays(ctx); err != nil {
		return fmt.Errorf("due days: %w", err)
	}
	if err := r.events(ctx); err != nil {
		return fmt.Errorf("%d events: %w", r.Events, err)
	}
	if !store.IsPostgres(r.Target) {
		return nil
	}
	return rawsql.Run(ctx, r.Target,
		"VACUUM (ANALYZE) orders, audit_events") // as autovacuum does eventually
}

func (r *Rows) pace() time.Duration { return pace(r.Completed + r.Queued) }

func (r *Rows) orders(ctx context.Context, status order.Status, count int, start time.Time) error {
	db, err := store.Open(ctx, r.Target)
	if err != nil {
		return err
	}
	if err := errors.Join(db.Update(ctx, func(tx *store.Tx) error {
		return r.batch(tx, status, start)
	}), db.Close()); err != nil {
		return err
	}
	if copies := count/Batch - 1; copies > 0 {
		later := fmt.Sprintf(" + %d * n", Batch*r.pace().Microseconds())
		if err := rawsql.Multiply(ctx, r.Target, "orders",
			fmt.Sprintf("o.account_id = '%s' AND o.status = '%s'", r.AccountID, status), copies, map[string]string{
				"id":         copyID,
				"seq":        fmt.Sprintf("o.seq + %d * n", Batch),
				"number":     "o.number || '-' || CAST(n AS TEXT)",
				"created_at": "o.created_at" + later,
				"updated_at": "o.updated_at" + later,
				"due_at":     "o.due_at" + later,
				"ended_at":   "o.ended_at" + later,
			}); err != nil {
			return err
		}
		if err := rawsql.Run(ctx, r.Target,
			fmt.Sprintf("UPDATE balances SET orders = orders + %d WHERE account_id = '%s' AND environment = 'live'",
				copies*Batch, r.AccountID)); err != nil {
			return err
		}
	}
	if status == order.Queued { // which has no counter
		return nil
	}
	return rawsql.Run(ctx, r.Target,
		fmt.Sprintf("UPDATE live_order_counts SET orders = orders + %d WHERE status = '%s' AND slot = 0", count, status))
}

// results counts finished orders in order_results, with turnarounds of up to four hours.
func (r *Rows) results(ctx context.Context) error {
	if err := rawsql.Run(ctx, r.Target,
		fmt.Sprintf("DELETE FROM order_results WHERE account_id = '%s'", r.AccountID)); err != nil {
		return err
	}
	return rawsql.Run(ctx, r.Target,
		fmt.Sprintf(`INSERT INTO order_results (account_id, environment, day, result, took, orders)
		SELECT account_id, environment, ended_at / 86400000000, COALESCE(outcome, status),
			3 * CAST(ROUND(LN(CAST(60 * (seq %% 240) + 1 AS DOUBLE PRECISION))
				/ (3 * LN(CAST(1.04 AS DOUBLE PRECISION)))) AS BIGINT), COUNT(*)
		FROM orders WHERE account_id = '%s' AND ended_at IS NOT NULL GROUP BY 1, 2, 3, 4, 5`, r.AccountID))
}

// dueDays counts finished orders in live_ended_due_days.
func (r *Rows) dueDays(ctx context.Context) error {
	if err := rawsql.Run(ctx, r.Target, "DELETE FROM live_ended_due_days"); err != nil {
		return err
	}
	return rawsql.Run(ctx, r.Target, `INSERT INTO live_ended_due_days (status, day, slot, orders)
		SELECT status, COALESCE(due_at, 9223372036854775807) / 86400000000, 0, COUNT(*) FROM orders
		WHERE environment = 'live' AND ended_at IS NOT NULL GROUP BY 1, 2`)
}

// brands are numerous, so that the statistics of the engines are realistic.
var brands = strings.Fields(
	"chanel prada dior hermes fendi celine loewe goyard coach chloe balenciaga burberry miu-miu valentino givenchy " +
		"mulberry kenzo marni lanvin bvlgari",
)

func (r *Rows) batch(tx *store.Tx, status order.Status, start time.Time) error {
	model := text.Text{EN: "Classic Flap"}
	for i := range Batch {
		at := start.Add(r.pace() * time.Duration(i))
		due, sku := at.Add(24*time.Hour), "SKU-"+strconv.Itoa(i)
		o := &order.Order{
			ID:          uuid7.New(),
			AccountID:   r.AccountID,
			Environment: access.Live,
			APIKeyID:    r.KeyID,
			ExternalID:  &sku,
			Status:      status,
			AnswerTime:  1440,
			Price:       1,
			DueAt:       &due,
			CreatedAt:   at,
			UpdatedAt:   at,
			Recorded: order.Recorded{Classification: order.Classification{
				CategoryCode: "bags", CategoryName: text.Text{EN: "Bags"}, BrandCode: brands[i%len(brands)],
				BrandName: text.Text{EN: "A brand"}, ModelName: &model,
			}},
		}
		if status == order.Completed {
			o.Outcome, o.EndedAt = order.UnableToVerify, &at
		}
		if err := tx.CreateOrder(&store.Creation{Order: o}); err != nil {
			return err
		}
	}
	return nil
}

// events copies the first event of the account, as sign-ins of its user.
func (r *Rows) events(ctx context.Context) error {
	if r.Events == 0 {
		return nil
	}
	first := "o.account_id = '" + r.AccountID + "' AND o.seq = 1"
	start := time.Now().Add(-Period).UnixMicro()
	if err := rawsql.Multiply(ctx, r.Target, "audit_events", first, r.Events, map[string]string{
		"id":          copyID,
		"seq":         "(SELECT audit_count FROM accounts WHERE id = o.account_id) + n",
		"at":          fmt.Sprintf("%d + CAST(n AS BIGINT) * %d", start, pace(r.Events).Microseconds()),
		"code":        "'auth.login.succeeded'",
		"actor_type":  "'user'",
		"actor_id":    "o.user_id",
		"source":      "'portal-web'",
		"target_type": "'user'",
		"target_id":   "o.user_id",
	}); err != nil {
		return err
	}
	return rawsql.Run(ctx, r.Target,
		fmt.Sprintf("UPDATE accounts SET audit_count = audit_count + %d WHERE id = '%s'", r.Events, r.AccountID))
}
