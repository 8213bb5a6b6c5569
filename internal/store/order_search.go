package store

import (
	"context"
	"errors"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/db"
)

// SearchOrders returns a page of the orders that a search chooses, by its number from 1, and how many it chooses. What
// is read is one range of an index for each state, by external id, by the time of the last change or by state,
// whichever is there first; further conditions are looked for in it.
func (q Queries) SearchOrders(
	ctx context.Context, s *order.Search, page, limit int,
) (orders []order.Summary, total int64, err error) {
	all, err := db.Value[int64](ctx, q.db, "SELECT orders FROM balances WHERE account_id = $1 AND environment = $2",
		s.Tenant.AccountID, string(s.Tenant.Environment))
	if err != nil {
		return nil, 0, err
	}
	created := createdRange{all: all}
	if s.CreatedSince != nil {
		if created, err = q.createdSince(ctx, s.Tenant, *s.CreatedSince, all); err != nil {
			return nil, 0, err
		}
	}
	l := newOrderSearch(s, created)
	if l.none {
		return nil, 0, nil
	}
	if total, err = q.searchTotal(ctx, s, l, created); err != nil {
		return nil, 0, err
	}
	offset := int64(page-1) * int64(limit) // too large for a number behind the last page
	if int64(page-1) > total/int64(limit) || offset >= total {
		return nil, total, nil
	}
	if bySequence(s) { // all from created.sure on are chosen: their numbers are their positions
		start := all - offset
		if start < created.sure {
			offset -= all - created.sure + 1
			start = created.sure - 1
		} else {
			offset = 0
		}
		l.ranges[0].where += " AND seq <= " + l.args.Add(start)
	}
	text, args := l.query(offset, limit)
	orders, err = q.summaries(ctx, l.columns, text, args, limit)
	return orders, total, err
}

// bySequence reports whether a search is a part of the sequence of all orders.
func bySequence(s *order.Search) bool {
	return s.ExternalID == "" && s.UpdatedSince == nil && !s.ByUpdate && s.States() == nil
}

// byUpdateOnly reports whether a search chooses all orders, by the time of their last change.
func byUpdateOnly(s *order.Search) bool {
	return *s == order.Search{Tenant: s.Tenant, ByUpdate: true}
}

// searchTotal counts what a search chooses: entries of an index, and no more of them than match its first condition.
func (q Queries) searchTotal(ctx context.Context, s *order.Search, l *orderList, c createdRange) (int64, error) {
	where, known := l.ranges, int64(0)
	if byUpdateOnly(s) {
		return c.all, nil
	}
	if bySequence(s) {
		known = c.all - max(c.sure, 1) + 1
		if s.CreatedSince == nil || c.first >= c.sure {
			return known, nil
		}
		where = []orderRange{{where: l.ranges[0].where + " AND seq < " + l.args.Add(c.sure)}}
	}
	total := known
	for _, r := range where {
		n, err := db.Value[int64](ctx, q.db, "SELECT COUNT(*) FROM orders WHERE "+r.where, l.args...)
		if err != nil {
			return 0, err
		}
		total += n
	}
	if bySequence(s) {
		l.args = l.args[:len(l.args)-1]
	}
	return total, nil
}

// newOrderSearch returns the list of a search. A plus sign before a number, and an empty text after a text, keep the
// planners from choosing an index because of it: the range would be longer, or, for the sake of its sequence,
// everything.
func newOrderSearch(s *order.Search, c createdRange) *orderList {
	l := &orderList{columns: briefColumns, source: "orders", key: "seq", tieColumn: "seq", direction: " DESC"}
	if s.ByUpdate {
		l.key, l.tieColumn, l.direction = "updated_at", "id", ""
	}
	where := ofTenant
	l.args = db.Arguments{s.Tenant.AccountID, string(s.Tenant.Environment)}
	states := s.States()
	l.none = states != nil && len(states) == 0
	byExternalID, byUpdate := s.ExternalID != "", s.ExternalID == "" &&
		(s.UpdatedSince != nil || s.ByUpdate && states == nil)
	if byExternalID {
		where += " AND external_id = CAST(" + l.args.Add(s.ExternalID) + " AS TEXT)"
	}
	if s.UpdatedSince != nil {
		where += " AND " + prefixIf(!byUpdate, "+") + "updated_at >= " + l.args.Add(column.Micros(*s.UpdatedSince))
	}
	if s.CreatedSince != nil {
		seq := prefixIf(byUpdate, "+") + "seq >= "
		where += " AND " + seq + l.args.Add(c.first) +
			" AND (seq >= " + l.args.Add(c.sure) + " OR created_at >= " + l.args.Add(column.Micros(*s.CreatedSince)) + ")"
	}
	sort := "" // the sequence of the index
	if byUpdate != s.ByUpdate {
		sort = l.sorted("+"+l.key, "")
	}
	switch {
	case states == nil:
		l.ranges = []orderRange{{where, sort}}
	case byExternalID || byUpdate:
		l.ranges = []orderRange{{where + " AND COALESCE(outcome, status) || '' IN " + db.In(&l.args, states), sort}}
	default:
		for _, state := range states {
			l.ranges = append(l.ranges, orderRange{where + " AND COALESCE(outcome, status) = " + db.Literal(state), sort})
		}
	}
	return l
}

// prefixIf returns the prefix where the condition holds, else nothing.
func prefixIf(condition bool, prefix string) string {
	if condition {
		return prefix
	}
	return ""
}

// createdRange tells where in the sequence of a tenant the orders from a time on begin: none before first, all from
// sure on, and between them those that say so.
type createdRange struct{ first, sure, all int64 }

// creationSlack is by how much the times of orders may differ from their sequence: a time is taken before the number,
// and on several nodes by several clocks.
const creationSlack = 10 * time.Minute

// createdSince finds the orders of a tenant from a time on, by halving the sequence.
func (q Queries) createdSince(
	ctx context.Context, tenant access.Tenant, since time.Time, all int64,
) (c createdRange, err error) {
	c.all = all
	if c.first, err = q.firstCreated(ctx, tenant, since.Add(-creationSlack), all); err != nil {
		return c, err
	}
	c.sure, err = q.firstCreated(ctx, tenant, since.Add(creationSlack), all)
	return c, err
}

// firstCreated returns the number of an order that was created at the time or later, while the one before it was not;
// one more than there are when there is none. In a sequence that is only nearly in the order of time there may be
// several.
func (q Queries) firstCreated(ctx context.Context, tenant access.Tenant, at time.Time, all int64) (int64, error) {
	low, high := int64(1), all+1
	for low < high {
		middle := low + (high-low)/2
		created, err := db.Value[int64](ctx, q.db, `SELECT created_at FROM orders
			WHERE `+ofTenant+" AND seq >= $3 ORDER BY seq LIMIT 1",
			tenant.AccountID, string(tenant.Environment), middle)
		switch {
		case errors.Is(err, ErrNotFound), err == nil && created >= column.Micros(at):
			high = middle
		case err != nil:
			return 0, err
		default:
			low = middle + 1
		}
	}
	return low, nil
}
