package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
)

// BoardFilter says which Live orders a page of the desk shows.
type BoardFilter struct {
	Statuses     []order.Status
	AssigneeID   string // empty: anybody's and nobody's
	BrandCode    string // empty: any
	CategoryCode string // empty: any
}

// BoardRow is an order in a list on a page of the desk.
type BoardRow struct {
	DeskRow
	AccountName string
}

// BoardPlace is a place in a list of the desk: right after an order that was seen there. It stays where it is when orders
// come, move or go, and what follows it is found as fast as the first order of the list.
type BoardPlace struct {
	At int64 // by what the list is ordered: when the order is due, or when it ended
	ID string
}

// endedWindow is how many of the newest ended orders a filter looks through: the cost of a page must not grow with the
// number of orders there have ever been.
const endedWindow = 5000

// Board returns the Live orders that match and follow a place, up to limit of them; nil is the beginning. next is the place
// after them, nil when there are no more. Open orders come the earliest due first and those without a due date last; ended
// ones the newest first, and of those a filter finds only among the newest. The statuses are either all open or all ended.
func (q Queries) Board(ctx context.Context, f BoardFilter, after *BoardPlace, limit int) (rows []BoardRow, next *BoardPlace, err error) {
	text, args := f.query(after, limit+1)
	rows = make([]BoardRow, 0, limit+1)
	err = q.rows(ctx, text, args, func(scan func(...any) error) error {
		o, err := scanBoardRow(scan)
		rows = append(rows, o)
		return err
	})
	if len(rows) > limit {
		rows = rows[:limit]
		next = rows[limit-1].place()
	}
	return rows, next, err
}

// place is where an order stands in its list.
func (r *BoardRow) place() *BoardPlace {
	at := &BoardPlace{At: neverDue, ID: r.ID}
	switch {
	case r.EndedAt != nil:
		at.At = micros(*r.EndedAt)
	case r.DueAt != nil:
		at.At = micros(*r.DueAt)
	}
	return at
}

const boardColumns = `o.id, o.account_id, o.environment, o.number, o.external_id, o.status, o.outcome, o.answer_time, o.price, o.due_at, o.time_left,
	o.created_at, o.updated_at, o.ended_at, o.round, o.delayed, o.facts, o.assignee_id, staff.name, accounts.name`

const boardJoins = " LEFT JOIN staff ON staff.id = o.assignee_id JOIN accounts ON accounts.id = o.account_id"

func (f *BoardFilter) query(after *BoardPlace, limit int) (text string, args []any) {
	ended := len(f.Statuses) > 0 && f.Statuses[0].Terminal()
	if after == nil {
		after = &BoardPlace{At: math.MinInt64}
		if ended {
			after.At = math.MaxInt64
		}
	}
	args = []any{limit, after.At, after.ID}
	where := ""
	for _, c := range []struct{ column, value string }{{"assignee_id", f.AssigneeID}, {"brand_code", f.BrandCode}, {"category_code", f.CategoryCode}} {
		if c.value != "" {
			args = append(args, c.value)
			where += fmt.Sprintf(" AND %s = $%d", c.column, len(args))
		}
	}
	if ended {
		return f.endedQuery(where), args
	}
	return f.openQuery(where), args
}

// openQuery takes from each status what follows the place, in order, as much as could be on the page, and merges it. Both
// parts of a status, those due at the same moment and those due later, are ranges of an index. The word of the partial
// indexes stands only where one of them is meant: the other ones hold all that is needed otherwise.
func (f *BoardFilter) openQuery(where string) string {
	if f.BrandCode != "" || f.CategoryCode != "" {
		where += " AND ended_at IS NULL"
	}
	var parts []string
	for _, s := range f.Statuses {
		for _, follows := range []string{dueKey + " = $2 AND id > $3 ORDER BY id", dueKey + " > $2 ORDER BY " + dueKey + ", id"} {
			parts = append(parts, fmt.Sprintf(`SELECT * FROM (SELECT id, %s AS due FROM orders WHERE environment = 'live' AND status = '%s'%s AND %s
				LIMIT $1) AS s%d`, dueKey, s, where, follows, len(parts)))
		}
	}
	return "SELECT " + boardColumns + " FROM (SELECT id, due FROM (" + strings.Join(parts, " UNION ALL ") + `) AS candidates
		ORDER BY due, id LIMIT $1) AS page JOIN orders AS o ON o.id = page.id` + boardJoins + " ORDER BY page.due, page.id"
}

// endedQuery reads the ended orders that follow the place; with a filter, those of the newest.
func (f *BoardFilter) endedQuery(where string) string {
	const follows = "(ended_at, id) < ($2, $3)"
	page := "SELECT id, ended_at FROM orders WHERE environment = 'live' AND ended_at IS NOT NULL AND " + follows + " ORDER BY ended_at DESC, id DESC LIMIT $1"
	if where != "" || !slices.Equal(f.Statuses, endedStatuses) {
		page = fmt.Sprintf(`SELECT id, ended_at FROM (SELECT id, ended_at, status, assignee_id, brand_code, category_code FROM orders
			WHERE environment = 'live' AND ended_at IS NOT NULL ORDER BY ended_at DESC, id DESC LIMIT %d) AS newest
			WHERE status IN %s%s AND %s ORDER BY ended_at DESC, id DESC LIMIT $1`, endedWindow, quoted(f.Statuses), where, follows)
	}
	return "SELECT " + boardColumns + " FROM (" + page + ") AS page JOIN orders AS o ON o.id = page.id" + boardJoins + " ORDER BY page.ended_at DESC, page.id DESC"
}

// endedStatuses are all that an ended order can have.
var endedStatuses = []order.Status{order.Completed, order.Failed}

func scanBoardRow(scan func(...any) error) (BoardRow, error) {
	var o BoardRow
	var outcome, assignee, name sql.NullString
	var due, left, ended sql.NullInt64
	var created, updated, delayed int64
	var facts string
	if err := scan(&o.ID, &o.AccountID, &o.Environment, &o.Number, &o.ExternalID, &o.Status, &outcome, &o.AnswerTime, &o.Price, &due, &left,
		&created, &updated, &ended, &o.Round, &delayed, &facts, &assignee, &name, &o.AccountName); err != nil {
		return o, err
	}
	if left.Valid {
		d := time.Duration(left.Int64) * time.Microsecond
		o.TimeLeft = &d
	}
	o.Outcome, o.AssigneeID, o.AssigneeName = order.Outcome(outcome.String), assignee.String, name.String
	o.DueAt, o.EndedAt, o.CreatedAt, o.UpdatedAt, o.Delayed = timeOrNil(due), timeOrNil(ended), timeOf(created), timeOf(updated), delayed == 1
	return o, json.Unmarshal([]byte(facts), &o.Facts)
}

const claimCounts = `SELECT status, COUNT(*) FROM orders WHERE assignee_id = $1 AND environment = 'live' AND status IN ('processing', 'update-photos') GROUP BY status`

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

// NewestOrders returns the newest orders of an account and environment.
func (q Queries) NewestOrders(ctx context.Context, accountID string, env access.Environment, limit int) ([]BoardRow, error) {
	rows := make([]BoardRow, 0, limit)
	err := q.rows(ctx, "SELECT "+boardColumns+" FROM orders AS o"+boardJoins+` WHERE o.account_id = $1 AND o.environment = $2
		ORDER BY o.seq DESC LIMIT $3`, []any{accountID, string(env), limit}, func(scan func(...any) error) error {
		o, err := scanBoardRow(scan)
		rows = append(rows, o)
		return err
	})
	return rows, err
}

// PhotosOfOrder returns what is known of the files of an order's photos, by name.
func (q Queries) PhotosOfOrder(ctx context.Context, orderID string) (map[string]PhotoRow, error) {
	photos := make(map[string]PhotoRow)
	err := q.rows(ctx, `SELECT p.name, p.account_id, p.environment, p.sha256, p.bytes, p.width, p.height, p.original_name, p.created_at
		FROM order_photos AS o JOIN photos AS p ON p.name = o.photo WHERE o.order_id = $1`, []any{orderID}, func(scan func(...any) error) error {
		var p PhotoRow
		var created int64
		err := scan(&p.Name, &p.AccountID, &p.Environment, &p.SHA256, &p.Bytes, &p.Width, &p.Height, &p.OriginalName, &created)
		p.CreatedAt = timeOf(created)
		photos[p.Name] = p
		return err
	})
	return photos, err
}

// Photo returns what is known of an uploaded photo.
func (q Queries) Photo(ctx context.Context, name string) (*PhotoRow, error) {
	p := new(PhotoRow)
	var created int64
	if err := q.row(ctx, "SELECT name, account_id, environment, sha256, bytes, width, height, original_name, created_at FROM photos WHERE name = $1", []any{name},
		&p.Name, &p.AccountID, &p.Environment, &p.SHA256, &p.Bytes, &p.Width, &p.Height, &p.OriginalName, &created); err != nil {
		return nil, err
	}
	p.CreatedAt = timeOf(created)
	return p, nil
}

// OrderIDByNumber returns the id of the order with a number, whoever's it is.
func (q Queries) OrderIDByNumber(ctx context.Context, number string) (id string, err error) {
	err = q.row(ctx, "SELECT id FROM orders WHERE number = $1", []any{number}, &id)
	return id, err
}
