package store

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/db"
)

// Deliveries returns up to limit deliveries, newest first, without their bodies.
func (q Queries) Deliveries(ctx context.Context, f webhook.DeliveryFilter, limit int) ([]*webhook.Delivery, error) {
	text, args := deliveryPage(q.db.Dialect, f, limit)
	return db.Collect(ctx, q.db, func(scan db.Scanner) (*webhook.Delivery, error) {
		d := new(webhook.Delivery)
		return d, scanDelivery(d, scan)
	}, text, args...)
}

// deliveryPage is the statement of Deliveries. It reads the range of one index that the filter names, from the newest
// on, whatever else there is: those of an order, which are few; those that have failed; the queues of the endpoints
// that are meant; or all of an endpoint or a tenant. Only a page of delivered ones passes over others, of the same
// owner.
func deliveryPage(dialect *db.Dialect, f webhook.DeliveryFilter, limit int) (text string, args db.Arguments) {
	w := walk{from: f.Before, newest: true}
	where, order := "", " ORDER BY d.id DESC"
	switch {
	case f.OrderID != "":
		where, order = w.through(&args, "", "", "d.id")
		where += " AND d.order_id = " + args.Add(f.OrderID) + ofOwner(&args, f, "d", " || ''") +
			args.Equal("COALESCE(NULLIF(a.ended, ''), 'pending')", string(f.Status))
	case f.Status == webhook.Failed:
		where = " AND d.id IN (" + failedIDs(&args, f, w, "", limit) + ")"
	case f.Status == webhook.Pending:
		where = " AND d.id IN (" + pendingIDs(&args, f, w, limit) + ")"
	case f.EndpointID != "":
		where, order = w.through(&args, "d.endpoint_id", ownEndpoint(&args, f), "d.id")
	default:
		where, order = w.through(&args, "", "", "d.id")
		where += ofOwner(&args, f, "d", "")
	}
	if f.Status == webhook.Delivered {
		where += " AND a.ended = 'delivered'"
	}
	return "SELECT " + deliveryColumns + deliveryTables(dialect) + " WHERE" + shownDelivery + where + order + " LIMIT " +
		strconv.Itoa(limit), args
}

// walk is a way through the ids of deliveries: after one, if it is set.
type walk struct {
	from   string
	newest bool // first, else the oldest
}

// through returns the condition and the order of the walk, through all ids or through those with a value in a column,
// by an index of both. That column is compared and ordered by as if there could be several values: for a single one,
// PostgreSQL may go by the ids alone, past all those of others, as long as it believes that they are few.
func (w walk) through(args *db.Arguments, column, value, id string) (where, order string) {
	after, until, from, direction := " > ", " <= ", " >= ", ""
	if w.newest {
		after, until, from, direction = " < ", " >= ", " <= ", " DESC"
	}
	switch {
	case column == "" && w.from != "":
		where = " AND " + id + after + args.Add(w.from)
	case column == "":
	case w.from != "":
		where = " AND (" + column + ", " + id + ")" + after + "(" + value + ", " + args.Add(w.from) + ")" +
			" AND " + column + until + value
	default:
		where = " AND " + column + from + value + " AND " + column + until + value
	}
	if column != "" {
		column += direction + ", "
	}
	return where, " ORDER BY " + column + id + direction
}

// ofOwner is the condition that a delivery is of the tenant and to the endpoint that the filter names. With a suffix
// that makes another expression of a column, no index is chosen for it.
func ofOwner(args *db.Arguments, f webhook.DeliveryFilter, delivery, suffix string) string {
	return args.Equal(delivery+".account_id"+suffix, f.AccountID) +
		args.Equal(delivery+".environment"+suffix, string(f.Environment)) +
		args.Equal(delivery+".endpoint_id"+suffix, f.EndpointID)
}

// ownEndpoint is the id of the endpoint that the filter names; NULL when the endpoint is of another tenant, whose
// deliveries would all be read to find that none of them is meant.
func ownEndpoint(args *db.Arguments, f webhook.DeliveryFilter) string {
	id := args.Add(f.EndpointID)
	if f.Tenant == (access.Tenant{}) {
		return id
	}
	return "(SELECT CASE WHEN TRUE" + ofOwner(args, f, "o", "") + ` THEN o.endpoint_id END FROM deliveries o
		WHERE (o.endpoint_id, o.id) > (` + id + ", '') ORDER BY o.endpoint_id, o.id LIMIT 1)"
}

// failedIDs selects up to limit of the deliveries that have failed; of each environment where all of an account are
// meant.
func failedIDs(args *db.Arguments, f webhook.DeliveryFilter, w walk, where string, limit int) string {
	// A look at the delivery itself: as a condition on a join, it may be taken for a place to begin.
	where += " AND (SELECT 1 FROM deliveries o WHERE o.id = a.delivery_id" + ofOwner(args, f, "o", "") + ") = 1"
	failed := func(column, value, where string) string {
		of, order := w.through(args, column, value, "a.delivery_id")
		return "SELECT delivery_id FROM (SELECT a.delivery_id FROM delivery_attempts a WHERE a.ended = 'failed'" + of +
			where + order + " LIMIT " + strconv.Itoa(limit) + ") AS failed"
	}
	switch {
	case f.OrderID != "":
		ofOrder := " AND a.delivery_id IN (SELECT o.id FROM deliveries o WHERE o.order_id = " + args.Add(f.OrderID) + ")"
		return failed("", "", ofOrder+where)
	case f.EndpointID != "":
		return failed("a.failed_endpoint", ownEndpoint(args, f), where)
	case f.AccountID != "":
		number := "(SELECT tenant FROM balances WHERE account_id = " + args.Add(f.AccountID) + " AND environment = "
		if f.Environment != "" {
			return failed("a.failed_tenant", number+args.Add(string(f.Environment))+")", where)
		}
		return failed("a.failed_tenant", number+"'live')", where) + " UNION ALL " +
			failed("a.failed_tenant", number+"'test')", where)
	}
	return failed("", "", where)
}

// pendingIDs selects up to limit of the deliveries that wait for endpoints which still get something. Queues are found
// from their endpoints as ranges, for the reason that through gives.
func pendingIDs(args *db.Arguments, f webhook.DeliveryFilter, w walk, limit int) string {
	where, order := w.through(args, "", "", "q.delivery_id")
	return `SELECT q.delivery_id FROM webhook_endpoints e JOIN api_keys k ON k.id = e.api_key_id
		JOIN delivery_queue q ON q.endpoint_id >= e.id AND q.endpoint_id <= e.id WHERE k.revoked_at IS NULL` +
		args.Equal("e.account_id", f.AccountID) + args.Equal("e.environment", string(f.Environment)) +
		args.Equal("e.id", f.EndpointID) + where +
		" AND (SELECT 1 FROM deliveries o WHERE o.id = q.delivery_id) = 1" + order + " LIMIT " + strconv.Itoa(limit)
}

// FailedDeliveries returns up to limit deliveries that failed at the time or later, oldest first, from those that the
// filter chooses; its Status and Before are not looked at. after is the id of the last one of the previous call.
func (q Queries) FailedDeliveries(
	ctx context.Context, f webhook.DeliveryFilter, since time.Time, after string, limit int,
) ([]string, error) {
	text, args := failedSince(f, since, after, limit)
	return db.Column[string](ctx, q.db, text, args...)
}

func failedSince(f webhook.DeliveryFilter, since time.Time, after string, limit int) (text string, args db.Arguments) {
	lately := " AND a.at >= " + args.Add(column.Micros(since))
	return "SELECT delivery_id FROM (" + failedIDs(&args, f, walk{from: after}, lately, limit) +
		") AS found ORDER BY delivery_id LIMIT " + strconv.Itoa(limit), args
}

// PendingDeliveries counts the deliveries that are on their way to the endpoints of a tenant, as far as limit, and
// tells when the oldest of them was made; the time is zero when there is none.
func (q Queries) PendingDeliveries(
	ctx context.Context, tenant access.Tenant, limit int,
) (n int, oldest time.Time, err error) {
	var first string // ids are in the order of time
	if err := q.db.Row(ctx, `SELECT COUNT(*), COALESCE(MIN(delivery_id), '') FROM (SELECT delivery_id
		FROM delivery_queue WHERE endpoint_id IN (
		SELECT e.id FROM webhook_endpoints e JOIN api_keys k ON k.id = e.api_key_id
		WHERE e.account_id = $1 AND e.environment = $2 AND k.revoked_at IS NULL) LIMIT $3) AS found`,
		[]any{tenant.AccountID, string(tenant.Environment), limit}, &n, &first); err != nil || n == 0 {
		return n, time.Time{}, err
	}
	var created int64
	err = q.db.Row(ctx, "SELECT created_at FROM deliveries WHERE id = $1", []any{first}, &created)
	if errors.Is(err, ErrNotFound) { // it has ended and gone meanwhile
		return n, time.Time{}, nil
	}
	return n, column.TimeOf(created), err
}
