package crowd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/rawsql"
)

// Mark is what the orders to be copied contain where each order should differ from all others, such as in the reason of
// a verdict. It is replaced by a text of the same length.
const Mark = "zq00000000"

// Copies describes orders that are to be multiplied. They were made by the program: all orders of an account, numbered
// from 1, without refunds.
type Copies struct {
	Target    string // of the database
	AccountID string
	Orders    int // to be copied
	Copies    int
	Events    int // in the audit log, in addition
}

// ID returns the id of a copy, n from 1, of an order.
func ID(id string, n int) string { return fmt.Sprintf("00%06d%s", n, id[8:]) }

// copiedText is ID, or another text of fixed length, as an expression.
func copiedText(column string, prefix string, digits, from int) string {
	zeros := strings.Repeat("0", digits)
	return fmt.Sprintf("'%s' || substr('%s', 1 + length(CAST(n AS TEXT))) || CAST(n AS TEXT) || substr(%s, %d)", prefix,
		zeros, column, from)
}

// rowID is store.RowID as an expression of SQLite, which has no function for the digits of a number.
func rowID(id string) string {
	digit := func(i int) string { return fmt.Sprintf("(instr('123456789abcdef', substr(id, %d, 1)))", i+1) }
	var sum []string
	for i, at := range []int{0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 15, 16, 17} {
		sum = append(sum, fmt.Sprintf("(%s << %d)", digit(at), 59-4*i))
	}
	return fmt.Sprintf("(SELECT %s | ((%s & 3) << 1) | (%s >> 3) FROM (SELECT %s AS id))", strings.Join(sum, " | "),
		digit(19), digit(20), id)
}

// Multiply copies the orders with the rows that belong to them for as long as they are kept, and brings the counters up
// to date. Ended orders are spread over Period; open ones stay as recent as they are. It is much faster than the
// program, because it drops the indexes meanwhile and does not wait for the disk; it needs the database for itself.
func (c *Copies) Multiply(ctx context.Context) error {
	bulk, err := rawsql.OpenBulk(ctx, c.Target)
	if err != nil {
		return err
	}
	err = bulk.WithoutIndexes(ctx, func() error { return c.copy(ctx, bulk) })
	if err := bulk.Close(ctx, err); err != nil {
		return err
	}
	r := &Rows{Target: c.Target, AccountID: c.AccountID, Events: c.Events}
	if err := r.results(ctx); err != nil {
		return fmt.Errorf("results: %w", err)
	}
	if err := r.dueDays(ctx); err != nil {
		return fmt.Errorf("due days: %w", err)
	}
	if err := r.events(ctx); err != nil {
		return fmt.Errorf("events: %w", err)
	}
	if store.IsPostgres(c.Target) {
		return rawsql.Run(ctx, c.Target, "VACUUM (ANALYZE)") // as autovacuum does eventually
	}
	return nil
}

func (c *Copies) copy(ctx context.Context, bulk *rawsql.Bulk) error {
	if c.Copies == 0 {
		return c.spread(ctx, bulk)
	}
	for _, table := range []string{"orders", "order_id"} { // the orders first: the others refer to them
		tables := []string{table}
		if table == "order_id" {
			var err error
			if tables, err = bulk.TablesWith(ctx, table); err != nil {
				return err
			}
		}
		for _, name := range tables {
			if name == "events" || name == "deliveries" { // those of old orders have been pruned
				continue
			}
			if err := c.copyTable(ctx, bulk, name); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	for _, statement := range []string{
		fmt.Sprintf("UPDATE balances SET orders = orders + %[1]d, entries = entries + %[1]d WHERE account_id = '%[2]s' AND "+
			"environment = 'live'", c.Orders*c.Copies, c.AccountID),
		fmt.Sprintf("UPDATE live_order_counts SET orders = orders * %d", 1+c.Copies),
	} {
		if err := bulk.Run(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// spread spreads orders that are not copied over the same time as copies.
func (c *Copies) spread(ctx context.Context, bulk *rawsql.Bulk) error {
	var set []string
	step := pace(c.Orders).Microseconds()
	for _, column := range []string{"created_at", "updated_at", "due_at", "ended_at"} {
		set = append(set, fmt.Sprintf("%[1]s = %[1]s - %[2]d * (%[3]d - seq)", column, step, c.Orders))
	}
	return bulk.Run(ctx, fmt.Sprintf("UPDATE orders SET %s WHERE account_id = '%s' AND ended_at IS NOT NULL",
		strings.Join(set, ", "), c.AccountID))
}

// copyTable copies the rows of one table. Columns are recognized by their names.
func (c *Copies) copyTable(ctx context.Context, bulk *rawsql.Bulk, table string) error {
	columns, err := bulk.Columns(ctx, table)
	if err != nil {
		return err
	}
	id := func(column string) string { return copiedText("o."+column, "00", 6, 9) }
	changed := map[string]string{}
	for _, column := range columns {
		switch column {
		case "id", "order_id", "certificate_id", "charge_id":
			changed[column] = fmt.Sprintf("CASE WHEN o.%s IS NULL THEN NULL ELSE %s END", column, id(column))
		case "seq":
			changed[column] = fmt.Sprintf("o.seq + %d * n", c.Orders)
		case "number":
			if table == "orders" { // of an order; a number of another noun counts
				changed[column] = copiedText("o.number", "", 8, 1)
			}
		case "external_id":
			changed[column] = "o.external_id || '-' || CAST(n AS TEXT)"
		case "facts", "details", "document":
			changed[column] = fmt.Sprintf("replace(o.%s, '%s', %s)", column, Mark, copiedText("''", Mark[:2], 8, 1))
		}
	}
	if table == "orders" {
		step := (Period / time.Duration(c.Copies+1)).Microseconds()
		for _, column := range []string{"created_at", "updated_at", "due_at", "ended_at"} {
			changed[column] = fmt.Sprintf("CASE WHEN o.ended_at IS NULL THEN o.%[1]s + n ELSE o.%[1]s - %[2]d * (%[3]d - n) END",
				column, step, c.Copies+1)
		}
	}
	copied := fmt.Sprintf("tenant = (SELECT tenant FROM balances WHERE account_id = '%s' AND environment = 'live') AND "+
		"seq <= %d", c.AccountID, c.Orders)
	if table == "orders" {
		if !store.IsPostgres(c.Target) {
			changed["rowid"] = rowID(changed["id"])
		}
		return bulk.Multiply(ctx, table, "o."+copied, c.Copies, changed)
	}
	return bulk.Multiply(ctx, table,
		"o.order_id IN (SELECT id FROM orders WHERE "+copied+")", c.Copies, changed)
}
