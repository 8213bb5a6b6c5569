package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/db"
)

// Orders returns the orders that the filter chooses and that follow the cursor, up to limit of them; nil is the
// beginning. next is the cursor after them, nil when there are no more. A page costs the same wherever it is in the
// list: every part of it is a range of an index. Only RecentlyEnded with a further condition is found among the newest
// ended orders.
func (q Queries) Orders(ctx context.Context, f *order.Filter, after *order.Cursor, limit int) (
	orders []order.Summary, next *order.Cursor, err error,
) {
	l := newOrderList(f, after)
	if l.none {
		return nil, nil, nil
	}
	want := limit
	if !l.dense {
		limit++ // one more tells whether there is a next page
	}
	text, args := l.query(0, limit)
	if orders, err = q.summaries(ctx, l.columns, text, args, limit); err != nil {
		return nil, nil, err
	}
	if len(orders) > want {
		orders = orders[:want]
	} else if !l.dense || len(orders) < want || orders[want-1].Seq == 1 {
		return orders, nil, nil
	}
	return orders, cursorAt(f.Sort, &orders[want-1]), nil
}

// OrderPage returns a page of the orders that the filter chooses, by its number from 1, and how many it chooses. Newest
// orders have pages of all states together.
func (q Queries) OrderPage(ctx context.Context, f *order.Filter, page, limit int) ([]order.Summary, int64, error) {
	if f.Sort == order.Newest {
		orders := make([]order.Summary, 0, limit)
		total, err := q.newestPage(ctx, newestAll, f.Tenant, page, limit, func(o *order.Summary) {
			orders = append(orders, *o)
		})
		return orders, total, err
	}
	total, err := q.orderTotal(ctx, f)
	offset := int64(page-1) * int64(limit) // too large for a number behind the last page
	if err != nil || int64(page-1) > total/int64(limit) || offset >= total {
		return nil, total, err
	}
	if rest := total - offset; rest <= min(walkedOffset, offset) {
		orders, err := q.lastOrders(ctx, f, rest, limit)
		return orders, total, err
	}
	after, skip, err := q.orderPosition(ctx, f, offset)
	if err != nil {
		return nil, 0, err
	}
	l := newOrderList(f, after)
	text, args := l.query(skip, limit)
	orders, err := q.summaries(ctx, l.columns, text, args, limit)
	return orders, total, err
}

// lastOrders returns up to limit orders of a list, from the one that has rest orders left, itself among them. It walks
// from the end of the list.
func (q Queries) lastOrders(ctx context.Context, f *order.Filter, rest int64, limit int) ([]order.Summary, error) {
	limit = int(min(rest, int64(limit)))
	l := newOrderList(f, nil)
	if l.direction == "" {
		l.direction = " DESC"
	} else {
		l.direction = ""
	}
	text, args := l.query(rest-int64(limit), limit)
	orders, err := q.summaries(ctx, l.columns, text, args, limit)
	slices.Reverse(orders)
	return orders, err
}

// NewestOrders calls each for the orders on a page of a tenant, the newest first, and returns how many orders it has.
// An order has what the integration API lists, no classification and no times but due and updated, and is gone after
// the call: a list is made while it is read.
func (q Queries) NewestOrders(
	ctx context.Context, tenant access.Tenant, page, limit int, each func(*order.Order),
) (total int64, err error) {
	return q.newestPage(ctx, newestBrief, tenant, page, limit, func(o *order.Summary) { each(&o.Order) })
}

// newestPage reads a page and the total in one statement: the sequence is dense, so that the number of an order is its
// position. Behind the last page there is a row with the total alone. each gets the same order with every row.
func (q Queries) newestPage(
	ctx context.Context, n newestStatement, tenant access.Tenant, page, limit int, each func(*order.Summary),
) (total int64, err error) {
	offset := int64(math.MaxInt64 / 2) // behind every last page
	if int64(page-1) < offset/int64(limit) {
		offset = int64(page-1) * int64(limit)
	}
	var o order.Summary
	err = q.db.Record(ctx, n.text, []any{tenant.AccountID, string(tenant.Environment), offset, int64(limit)},
		func(r *db.Record) error {
			total = r.Integer(n.columns.n)
			if r.Null(0) {
				return nil
			}
			o = order.Summary{}
			if err := listed(n.columns, r, &o); err != nil {
				return err
			}
			each(&o)
			return nil
		})
	return total, err
}

// newestStatement is a statement of newestPage: the columns of an order, and the total after them.
type newestStatement struct {
	columns orderColumns
	text    string
}

var newestBrief, newestAll = newest(briefColumns), newest(allColumns)

func newest(c orderColumns) newestStatement {
	return newestStatement{c, "SELECT " + c.text + `, b.orders FROM balances AS b LEFT JOIN orders AS o
		ON o.tenant = b.tenant AND o.seq <= b.orders - $3 AND o.seq > b.orders - $3 - $4
		WHERE b.account_id = $1 AND b.environment = $2 ORDER BY o.seq DESC`}
}

// listed is orderRecord for lists: an order that cannot be read is there with what its columns tell, so that it does
// not hide the others.
func listed(c orderColumns, r *db.Record, o *order.Summary) error {
	err := orderRecord(c, r, o)
	if _, unreadable := errors.AsType[*UnreadableOrder](err); unreadable {
		return nil
	}
	return err
}

func (q Queries) summaries(
	ctx context.Context, c orderColumns, text string, args []any, limit int,
) ([]order.Summary, error) {
	orders := make([]order.Summary, 0, limit)
	err := q.db.Records(ctx, text, args, func(r *db.Record) error {
		orders = append(orders, order.Summary{})
		return listed(c, r, &orders[len(orders)-1])
	})
	return orders, err
}

// cursorAt returns where an order stands in a list.
func cursorAt(s order.Sort, o *order.Summary) *order.Cursor {
	switch {
	case s == order.Newest:
		return &order.Cursor{At: o.Seq}
	case s == order.RecentlyEnded:
		return &order.Cursor{At: column.Micros(*o.EndedAt), ID: o.ID}
	case o.DueAt == nil:
		return &order.Cursor{At: neverDue, ID: o.ID}
	}
	return &order.Cursor{At: column.Micros(*o.DueAt), ID: o.ID}
}

// dueKey sorts the earliest due first and orders without a due date last, on both engines. It is also what the indexes
// hold, word for word.
const dueKey = "COALESCE(due_at, 9223372036854775807)"

// neverDue is the dueKey of an order without a due date.
const neverDue = math.MaxInt64

// orderList is the query of a list: ranges of indexes, each in the sequence of the list, that are merged.
type orderList struct {
	columns   orderColumns
	joins     string
	key       string // what the list is sorted by, in terms of the table orders
	tieColumn string // identifies an order, and sorts those with equal keys: id, or seq in the list of a tenant
	direction string // " DESC" where the list descends, else empty
	ranges    []orderRange
	source    string // where the ranges are taken from
	args      db.Arguments
	dense     bool // one range holds exactly as many orders as its ends are apart
	none      bool // nothing can be chosen
}

// orderRange is a range of an index.
type orderRange struct {
	where string
	sort  string // when it is not that of the list: the key is the same in all of the range
}

func newOrderList(f *order.Filter, after *order.Cursor) *orderList {
	l := &orderList{columns: allColumns, source: "orders", tieColumn: "id"}
	switch f.Sort {
	case order.Newest:
		l.newest(f, after)
	case order.DueFirst:
		l.dueFirst(f, after)
	case order.RecentlyEnded:
		l.recentlyEnded(f, after)
	}
	return l
}

// newest reads the sequence of one account and environment. A state is the outcome of an order that has one, else its
// status; it is one of the program's words and stands in the text, where the planners see it.
func (l *orderList) newest(f *order.Filter, after *order.Cursor) {
	l.key, l.tieColumn, l.direction = "seq", "seq", " DESC"
	tenant := ofTenant
	l.args = db.Arguments{f.Tenant.AccountID, string(f.Tenant.Environment)}
	if after != nil {
		tenant += " AND seq < " + l.args.Add(after.At)
	}
	states := f.States()
	if states == nil {
		l.ranges, l.dense = []orderRange{{where: tenant}}, after != nil
		return
	}
	l.none = len(states) == 0
	for _, s := range states {
		l.ranges = append(l.ranges, orderRange{where: tenant + " AND COALESCE(outcome, status) = " + db.Literal(s)})
	}
}

// dueFirst reads each status of an environment. After a cursor, those due at the same moment and those due later are
// two ranges. The condition of the partial indexes stands only where one of them is meant: the others have all that is
// needed otherwise.
func (l *orderList) dueFirst(f *order.Filter, after *order.Cursor) {
	l.key = dueKey
	l.withNames()
	where := l.conditions(f)
	if f.BrandCode != "" || f.CategoryCode != "" {
		where += " AND ended_at IS NULL"
	}
	follows := []orderRange{{}}
	if after != nil {
		at := l.args.Add(after.At)
		follows = []orderRange{
			{where: " AND " + dueKey + " = " + at + " AND id > " + l.args.Add(after.ID), sort: " ORDER BY id"},
			{where: " AND " + dueKey + " > " + at},
		}
	}
	for _, s := range statuses(f) {
		part := "environment = " + db.Literal(f.Environment) + " AND status = " + db.Literal(s) + where
		for _, follow := range follows {
			l.ranges = append(l.ranges, orderRange{part + follow.where, follow.sort})
		}
	}
}

// endedWindow is how many of the newest ended orders a further condition is looked for in: the cost of a page must not
// grow with the number of orders there have ever been.
const endedWindow = 5000

// endedStatuses are all that an ended order can have.
var endedStatuses = []order.Status{order.Completed, order.Failed}

func (l *orderList) recentlyEnded(f *order.Filter, after *order.Cursor) {
	l.key, l.direction = "ended_at", " DESC"
	l.withNames()
	const ended = "environment = 'live' AND ended_at IS NOT NULL"
	where := l.conditions(f)
	follows := ""
	if after != nil {
		follows = " AND (ended_at, id) < (" + l.args.Add(after.At) + ", " + l.args.Add(after.ID) + ")"
	}
	l.ranges = []orderRange{{where: ended + follows}}
	if where != "" || !slices.Equal(f.Statuses, endedStatuses) {
		l.source = fmt.Sprintf(`(SELECT id, ended_at, status, assignee_id, brand_code, category_code FROM orders
			WHERE %s ORDER BY ended_at DESC, id DESC LIMIT %d) AS newest`, ended, endedWindow)
		l.ranges = []orderRange{{where: "status IN " + db.In(&l.args, f.Statuses) + where + follows}}
	}
}

func (l *orderList) withNames() {
	l.columns, l.joins = summaryColumns, summaryJoins
}

func (l *orderList) conditions(f *order.Filter) string {
	return l.args.Equal("assignee_id", f.AssigneeID) + l.args.Equal("brand_code", f.BrandCode) +
		l.args.Equal("category_code", f.CategoryCode)
}

// query takes from each range as many orders as could be on the page, merges them, and reads what is left after skip.
func (l *orderList) query(skip int64, limit int) (text string, args []any) {
	if l.dense { // without LIMIT: see db/sqlite_statements.go
		low := l.args.Add(l.args[len(l.args)-1].(int64) - int64(limit))
		return "SELECT " + l.columns.text + " FROM orders AS o WHERE " + l.ranges[0].where +
			" AND seq >= " + low + " ORDER BY seq DESC", l.args
	}
	if len(l.ranges) == 1 {
		page := l.part(l.ranges[0]) + " LIMIT " + l.args.Add(int64(limit))
		if skip > 0 {
			page += " OFFSET " + l.args.Add(skip)
		}
		return l.read("(" + page + ") AS page"), l.args
	}
	most := " LIMIT " + l.args.Add(skip+int64(limit))
	parts := make([]string, len(l.ranges))
	for i, r := range l.ranges {
		parts[i] = fmt.Sprintf("SELECT * FROM (%s) AS s%d", l.part(r)+most, i)
	}
	return l.read("(SELECT * FROM (" + strings.Join(parts, " UNION ALL ") + ") AS page" + l.sorted("key", "") +
		" LIMIT " + l.args.Add(int64(limit)) + " OFFSET " + l.args.Add(skip) + ") AS page"), l.args
}

// part reads one range.
func (l *orderList) part(r orderRange) string {
	return "SELECT " + l.tieColumn + ", " + l.key + " AS key FROM " + l.source + " WHERE " + r.where +
		cmp.Or(r.sort, l.sorted(l.key, ""))
}

// read reads the orders of a page.
func (l *orderList) read(page string) string {
	same := "o.id = page.id"
	if l.tieColumn == "seq" {
		same = "o." + ofTenant + " AND o.seq = page.seq"
	}
	return "SELECT " + l.columns.text + " FROM " + page + " JOIN orders AS o ON " + same + l.joins +
		l.sorted("page.key", "page.")
}

// sorted puts rows into the sequence of the list; of is what the names of their columns begin with.
func (l *orderList) sorted(key, of string) string {
	if l.key == l.tieColumn {
		return " ORDER BY " + key + l.direction
	}
	return " ORDER BY " + key + l.direction + ", " + of + l.tieColumn + l.direction
}

func statuses(f *order.Filter) []order.Status {
	if len(f.Statuses) > 0 {
		return f.Statuses
	}
	return order.Statuses
}

// orderTotal returns how many orders a filter chooses. Nothing is counted but what one reviewer holds.
func (q Queries) orderTotal(ctx context.Context, f *order.Filter) (total int64, err error) {
	switch {
	case f.AssigneeID != "":
		args := db.Arguments{f.AssigneeID, string(f.Environment)}
		err = q.db.Row(ctx, "SELECT COUNT(*) FROM orders WHERE assignee_id = $1 AND environment = $2 AND status IN "+
			db.In(&args, statuses(f)), args, &total)
	default:
		var counts map[order.Status]int64
		counts, err = q.OrderCounts(ctx, f.Environment)
		for _, s := range statuses(f) {
			total += counts[s]
		}
	}
	return total, err
}

// FindOrders returns the order of a tenant with the id or order number, or else up to limit orders with the external
// id, newest first. An empty id or number is not looked for.
func (q Queries) FindOrders(
	ctx context.Context, tenant access.Tenant, id, number, externalID string, limit int,
) ([]order.Summary, error) {
	text := "SELECT " + allColumns.text + ` FROM orders AS o
		WHERE o.` + ofTenant + " AND "
	args := []any{tenant.AccountID, string(tenant.Environment)}
	for _, exact := range []struct{ column, value string }{{"id", id}, {"number", number}} {
		if exact.value == "" {
			continue
		}
		found, err := q.summaries(ctx, allColumns, text+"o."+exact.column+" = $3", append(args, exact.value), 1)
		if err != nil || len(found) > 0 {
			return found, err
		}
	}
	text += "o.external_id = $3 ORDER BY o.seq DESC LIMIT $4"
	return q.summaries(ctx, allColumns, text, append(args, externalID, limit), limit)
}
