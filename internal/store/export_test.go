package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/store/db"
	"github.com/assayhq/assay/internal/store/schema"
	"github.com/assayhq/assay/internal/store/uuid7"
)

// NewestPosition is one that no replica has reached: what is read after it is read from the primary.
const NewestPosition = db.NewestPosition

// UpdateGrouped is Update for use cases that all change the same row, which row names: those that arrive while one is
// running become one transaction. ctx ends the wait for it.
func (s *Store) UpdateGrouped(ctx context.Context, row string, f func(*Tx) error) error {
	return s.db.UpdateGrouped(ctx, row, s.sealing(f))
}

// Analyze has the engine collect statistics of a table.
func (s *Store) Analyze(ctx context.Context, table string) error {
	_, err := s.db.SQL().ExecContext(ctx, "ANALYZE "+table)
	return err
}

// Vacuum has PostgreSQL forget rows of a table that are gone, and collect its statistics.
func (s *Store) Vacuum(ctx context.Context, table string) error {
	_, err := s.db.SQL().ExecContext(ctx, "VACUUM (ANALYZE) "+table)
	return err
}

// explained is a statement of the program with values for its parameters.
type explained struct {
	text string
	args []any
}

// explain returns how the engine runs statements, line by line, by their names.
func (s *Store) explain(ctx context.Context, statements map[string]explained) (map[string]string, error) {
	explain := "EXPLAIN QUERY PLAN "
	if s.Shared() {
		explain = "EXPLAIN "
	}
	plans := make(map[string]string)
	for name, statement := range statements {
		var lines []string
		err := s.db.Rows(ctx, explain+statement.text, statement.args, func(scan db.Scanner) error {
			var line string
			into := []any{&line}
			if !s.Shared() { // which tells the tree in numbers first
				into = []any{new(int), new(int), new(int), &line}
			}
			err := scan(into...)
			lines = append(lines, line)
			return err
		})
		if err != nil {
			return nil, err
		}
		plans[name] = strings.Join(lines, "\n")
	}
	return plans, nil
}

// QueuePlans returns how the engine runs the statements that find, read and end due deliveries, by their names: for
// the values given, and for PostgreSQL also for any values, as it does once it has run them some times.
func (s *Store) QueuePlans(ctx context.Context) (map[string]string, error) {
	ended := make([]*AttemptResult, 500) // more than a sender records at a time
	for i := range ended {
		ended[i] = &AttemptResult{
			Attempt: webhook.Attempt{DeliveryID: uuid7.New()}, EndpointID: uuid7.New(), Row: fmt.Sprintf("(0,%d)", i+1),
		}
	}
	leave := newTx(&db.Tx{Queries: s.db.Queries}, s.Chain()).leaveQueue(ended)[0]
	statements := map[string]explained{
		"heads": {queueHeads, []any{int64(1)}},
		"due":   {dueDeliveries(s.db.Dialect, 32), []any{uuid7.New(), int64(1), uuid7.New(), int64(2)}},
		"leave": {leave.Text, leave.Args},
	}
	plans, err := s.explain(ctx, statements)
	if err != nil || !s.Shared() {
		return plans, err
	}
	for name, statement := range statements {
		plan, err := s.genericPlan(ctx, statement)
		if err != nil {
			return nil, err
		}
		plans[name+" for any values"] = plan
	}
	return plans, nil
}

// genericPlan returns the plan for any values that PostgreSQL makes for a statement now, and may keep.
func (s *Store) genericPlan(ctx context.Context, statement explained) (string, error) {
	var lines []string
	err := s.Update(ctx, func(tx *Tx) error {
		prepare := []string{"SET LOCAL plan_cache_mode = force_generic_plan", "PREPARE explained AS " + statement.text}
		for _, text := range prepare {
			if err := tx.exec(text); err != nil {
				return err
			}
		}
		values := strings.TrimSuffix(strings.Repeat("NULL, ", len(statement.args)), ", ")
		var err error
		lines, err = db.Column[string](ctx, tx.db.Queries, "EXPLAIN EXECUTE explained ("+values+")")
		return errors.Join(err, tx.exec("DEALLOCATE explained"))
	})
	return strings.Join(lines, "\n"), err
}

// DeliveriesWork returns how the engine runs Deliveries; PostgreSQL also tells what it has read.
func (s *Store) DeliveriesWork(ctx context.Context, f webhook.DeliveryFilter) (string, error) {
	text, args := deliveryPage(s.db.Dialect, f, 20)
	return s.work(ctx, text, args)
}

// FailedDeliveriesWork does the same for FailedDeliveries, since ever.
func (s *Store) FailedDeliveriesWork(ctx context.Context, f webhook.DeliveryFilter, after string) (string, error) {
	text, args := failedSince(f, time.UnixMicro(1), after, 20)
	return s.work(ctx, text, args)
}

func (s *Store) work(ctx context.Context, text string, args []any) (string, error) {
	if s.Shared() {
		text = "(ANALYZE, BUFFERS) " + text
	}
	plans, err := s.explain(ctx, map[string]explained{"work": {text, args}})
	return plans["work"], err
}

// ErasePlans returns how the engine runs the statements that find copies of an order, by their names.
func (s *Store) ErasePlans(ctx context.Context) (map[string]string, error) {
	return s.explain(ctx, map[string]explained{
		"events": {eraseOrderEvents(2), []any{uuid7.New(), int64(1), int64(2)}},
		"keys":   {eraseOrderKeys, []any{uuid7.New()}},
	})
}

// StatisticsPage is how many orders a statement of the statistics reads at most.
const StatisticsPage = statisticsPage

// StatisticsPlans returns how the engine runs the statements that read the orders of a day, by their names.
func (s *Store) StatisticsPlans(ctx context.Context) (map[string]string, error) {
	return s.explain(ctx, map[string]explained{
		"claimed": {claimedOrders, nil},
		"ended":   {endedOrders, []any{int64(1), uuid7.New(), int64(2), StatisticsPage}},
		"created": {createdOrders, []any{uuid7.New(), uuid7.New(), StatisticsPage, int64(1), int64(2)}},
		"state": listPlan(&order.Filter{
			Tenant:   access.Tenant{AccountID: uuid7.New(), Environment: "live"},
			Statuses: []order.Status{order.Queued},
		}, &order.Cursor{At: 9}),
	})
}

func listPlan(f *order.Filter, after *order.Cursor) explained {
	text, args := newOrderList(f, after).query(0, 50)
	return explained{text, args}
}

// OrderListWork returns how PostgreSQL ran the query of a list of orders, and what it read.
func (s *Store) OrderListWork(ctx context.Context, f order.Filter, after *order.Cursor) (string, error) {
	list := listPlan(&f, after)
	lines, err := db.Column[string](ctx, s.db.Queries, "EXPLAIN (ANALYZE, BUFFERS) "+list.text, list.args...)
	return strings.Join(lines, "\n"), err
}

// OrderListPlan returns how the engine runs the query of a list of orders.
func (s *Store) OrderListPlan(ctx context.Context, f order.Filter, after *order.Cursor) (string, error) {
	plans, err := s.explain(ctx, map[string]explained{"list": listPlan(&f, after)})
	return plans["list"], err
}

// NewestPagePlan returns how the engine runs the query of a page of an account's orders.
func (s *Store) NewestPagePlan(ctx context.Context, tenant access.Tenant, offset int64) (string, error) {
	args := []any{tenant.AccountID, string(tenant.Environment), offset, int64(10)}
	plans, err := s.explain(ctx, map[string]explained{"page": {newestBrief.text, args}})
	return plans["page"], err
}

// OrderPosition returns where the walk to a page begins, and how many orders it passes.
func (q Queries) OrderPosition(ctx context.Context, f order.Filter, offset int64) (*order.Cursor, int64, error) {
	return q.orderPosition(ctx, &f, offset)
}

// DeskPlans returns how the engine runs what the desk asks beside the pages, by names.
func (s *Store) DeskPlans(ctx context.Context) (map[string]string, error) {
	queued := order.Filter{Sort: order.DueFirst, Environment: access.Live, Statuses: []order.Status{order.Queued}}
	mine := queued
	mine.Statuses, mine.AssigneeID = []order.Status{order.Completed}, uuid7.New()
	explainNext := func(part order.QueueFilter) explained {
		text, args := nextQueued(part, nil)
		return explained{text + s.db.Dialect.SkipLocked, args}
	}
	return s.explain(ctx, map[string]explained{
		"queued": listPlan(&queued, nil),
		"mine":   listPlan(&mine, nil),
		"next":   explainNext(order.QueueFilter{}),
		"brand":  explainNext(order.QueueFilter{BrandCode: "chanel"}),
		"part":   explainNext(order.QueueFilter{BrandCode: "chanel", CategoryCode: "bags"}),
		"named":  {ordersByReference, []any{"SKU-1", 20}},
		"theirs": {colleaguesDraft, []any{uuid7.New(), uuid7.New()}},
		"counts": {countAssigned, []any{uuid7.New(), 1000}},
		"draft":  {verdictDraft, []any{uuid7.New(), uuid7.New()}},
	})
}

// TenantNumber returns the number of a tenant.
func (s *Store) TenantNumber(ctx context.Context, tenant access.Tenant) (int64, error) {
	return s.tenantNumber(ctx, tenant)
}

// PrepareOrders makes what CreateOrders stores.
func (s *Store) PrepareOrders(ctx context.Context, group ...*Creation) error {
	for _, c := range group {
		tenant, err := s.tenantNumber(ctx, c.Order.Tenant())
		if err != nil {
			return err
		}
		if err := c.prepare(s.db.Dialect, tenant); err != nil {
			return err
		}
	}
	return nil
}

// CreateOrders stores orders as those of one group.
func (t *Tx) CreateOrders(group ...*Creation) error { return t.createOrders(group, false) }

// Refusal returns why a group has left the order out; nil: it has not.
func (c *Creation) Refusal() error { return c.refusal }

// Trace has f called with each statement from now on.
func (t *Tx) Trace(f func(text string)) { t.db.Trace(f) }

// OpenTraced opens a PostgreSQL database with a tracer of what is sent to it.
func OpenTraced(ctx context.Context, target string, tracer pgx.QueryTracer) (*Store, error) {
	if err := schema.Migrate(ctx, target); err != nil {
		return nil, err
	}
	config, err := db.ParsePostgres(target)
	if err != nil {
		return nil, err
	}
	config.Tracer = tracer
	return newStore(db.OpenPostgres(config)), nil
}

// Statements runs a transaction and returns the statements that it took.
func (s *Store) Statements(ctx context.Context, f func(*Tx) error) (texts []string, err error) {
	err = s.Update(ctx, func(tx *Tx) error {
		texts = nil
		tx.db.Trace(func(text string) { texts = append(texts, text) })
		return f(tx)
	})
	return texts, err
}

// FillDeliveries adds ended deliveries of now, with an attempt each.
func (s *Store) FillDeliveries(ctx context.Context, n int) error {
	return s.Update(ctx, func(tx *Tx) error {
		for range n {
			id := uuid7.New()
			if err := tx.db.Insert("deliveries (id, endpoint_id, account_id, environment, order_id, event, body, created_at)",
				id, "e", "a", "live", id, "order-outcome", "{}", 1); err != nil {
				return err
			}
			if err := tx.db.Insert("delivery_attempts ("+attemptColumns+", ended, next_at, kept)", id, 1, 1, 1, 200, "", "",
				"delivered", nil, 1); err != nil {
				return err
			}
		}
		return nil
	})
}

// PartitionPlans returns how PostgreSQL runs statements on partitioned tables, by their names.
func (s *Store) PartitionPlans(ctx context.Context) (map[string]string, error) {
	const of = " WHERE d.account_id = $2 AND d.environment = $3 AND d.id < $4 ORDER BY d.id DESC LIMIT $1"
	return s.explain(ctx, map[string]explained{
		"one": {
			"ANALYZE SELECT " + deliveryColumns + ", d.body" + deliveryTables(s.db.Dialect) + " WHERE d.id = $1",
			[]any{uuid7.New()},
		},
		"attempts": {"ANALYZE SELECT number FROM delivery_attempts WHERE delivery_id = $1 AND kept = 1", []any{uuid7.New()}},
		"list":     {"SELECT " + deliveryColumns + deliveryTables(s.db.Dialect) + of, []any{20, "a", "live", uuid7.New()}},
		"due":      {dueDeliveries(s.db.Dialect, 32), []any{uuid7.New(), int64(1), uuid7.New(), int64(2)}},
		"order":    {"DELETE FROM deliveries WHERE order_id = $1", []any{uuid7.New()}},
	})
}

// ExportedTables returns the tables that an export of an account reads.
func ExportedTables() map[string]bool {
	tables := map[string]bool{"request_log": true}
	for _, x := range exports {
		table, _, _ := strings.Cut(x.from, " ")
		tables[table] = true
	}
	return tables
}
