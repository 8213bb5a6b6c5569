package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
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

// endedWindow is how many of the newest ended orders a filter looks through: the cost of a page must not grow with the
// number of orders there have ever been.
const endedWindow = 5000

// Board returns a page of the Live orders that match, and whether there are more. Open orders come the earliest due
// first and those without a due date last; ended ones, of which only the newest are looked through, the newest first.
// The statuses are either all open or all ended.
func (q Queries) Board(ctx context.Context, f BoardFilter, page, limit int) (rows []BoardRow, more bool, err error) {
	offset := int64(page-1) * int64(limit)
	text, args := f.query(offset, limit+1)
	rows = make([]BoardRow, 0, limit+1)
	err = q.rows(ctx, text, args, func(scan func(...any) error) error {
		o, err := scanBoardRow(scan)
		rows = append(rows, o)
		return err
	})
	if len(rows) > limit {
		return rows[:limit], true, err
	}
	return rows, false, err
}

const boardColumns = `o.id, o.account_id, o.environment, o.number, o.external_id, o.status, o.outcome, o.answer_time, o.price, o.due_at, o.time_left,
	o.created_at, o.updated_at, o.ended_at, o.round, o.delayed, o.facts, o.assignee_id, staff.name, accounts.name`

const boardJoins = " LEFT JOIN staff ON staff.id = o.assignee_id JOIN accounts ON accounts.id = o.account_id"

func (f *BoardFilter) query(offset int64, limit int) (text string, args []any) {
	args = []any{offset + int64(limit), limit, offset}
	where := ""
	for _, c := range []struct{ column, value string }{{"assignee_id", f.AssigneeID}, {"brand_code", f.BrandCode}, {"category_code", f.CategoryCode}} {
		if c.value != "" {
			args = append(args, c.value)
			where += fmt.Sprintf(" AND %s = $%d", c.column, len(args))
		}
	}
	if len(f.Statuses) > 0 && f.Statuses[0].Terminal() {
		return f.endedQuery(where), append([]any{int64(endedWindow)}, args[1:]...)
	}
	parts := make([]string, len(f.Statuses))
	for i, s := range f.Statuses {
		parts[i] = fmt.Sprintf(`SELECT * FROM (SELECT id, %s AS due FROM orders WHERE environment = 'live' AND ended_at IS NULL AND status = '%s'%s
			ORDER BY %s, id LIMIT $1) AS s%d`,
			dueKey, s, where, dueKey, i)
	}
	return "SELECT " + boardColumns + " FROM (SELECT id, due FROM (" + strings.Join(parts, " UNION ALL ") + `) AS candidates
		ORDER BY due, id LIMIT $2 OFFSET $3) AS page JOIN orders AS o ON o.id = page.id` + boardJoins + " ORDER BY page.due, page.id", args
}

func (f *BoardFilter) endedQuery(where string) string {
	return "SELECT " + boardColumns + ` FROM (SELECT id, ended_at FROM (
		SELECT id, ended_at, status, assignee_id, brand_code, category_code FROM orders
		WHERE environment = 'live' AND ended_at IS NOT NULL ORDER BY ended_at DESC, id DESC LIMIT $1) AS newest
		WHERE status IN ` + quoted(f.Statuses) + where + ` ORDER BY ended_at DESC, id DESC LIMIT $2 OFFSET $3) AS page
		JOIN orders AS o ON o.id = page.id` + boardJoins + " ORDER BY page.ended_at DESC, page.id DESC"
}

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

// ClaimCounts returns how many Live orders a staff user holds, and for how many they wait for photos.
func (q Queries) ClaimCounts(ctx context.Context, staffID string) (map[order.Status]int64, error) {
	counts := make(map[order.Status]int64, 2)
	err := q.rows(ctx, `SELECT status, COUNT(*) FROM orders WHERE assignee_id = $1 AND environment = 'live' AND status IN ('processing', 'update-photos')
		GROUP BY status`, []any{staffID}, func(scan func(...any) error) error {
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
