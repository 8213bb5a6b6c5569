package integration_test

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/testkit/integrationtest"
)

// TestListOrders_Filters compares every combination of filters with what the orders say of themselves.
func TestListOrders_Filters(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		c := w.Live(t)
		all := searchedOrders(t, w, c)
		middle := all[len(all)/2]
		times := []string{"", timestamp(middle.CreatedAt), "2001-01-01T00:00:00Z", "2999-01-01T00:00:00+09:00"}
		updated := []string{
			"", timestamp(middle.UpdatedAt), timestamp(all[2].UpdatedAt.Add(time.Microsecond)), "2001-01-01T00:00:00Z",
		}
		t.Run("AllCombinations", func(t *testing.T) {
			for _, status := range append([]order.Status{""}, order.Statuses...) {
				for _, outcome := range []order.Outcome{"", order.Canceled, order.Fake, order.UnableToVerify} {
					for _, externalID := range []string{"", "même/1", "nobody"} {
						for _, created := range times {
							for _, since := range updated {
								for _, sort := range []string{"", "updated"} {
									s := searched{string(status), string(outcome), externalID, created, since, sort}
									s.check(t, c, all)
								}
							}
						}
					}
				}
			}
		})
		t.Run("Pages", func(t *testing.T) {
			for _, query := range []string{"sort=updated", "created_since=" + url.QueryEscape(times[1]), "status=completed"} {
				want := c.Get(t, "/orders?limit=50&"+query).List(t, "data", "id")
				var got []string
				for page := 1; page <= len(want)/2+1; page++ {
					r := c.Get(t, fmt.Sprintf("/orders?limit=2&page=%d&%s", page, query)).Is(t, "total", len(want))
					got = append(got, r.List(t, "data", "id")...)
				}
				if !slices.Equal(got, want) {
					t.Errorf("the pages of %s are %q, not %q", query, got, want)
				}
				c.Get(t, "/orders?page=1000000000&"+query).Is(t, "data", []any{}).Is(t, "total", len(want))
			}
		})
		t.Run("Malformed", func(t *testing.T) {
			c.Get(t, "/orders?status=done&outcome=real&external_id=&created_since=yesterday&updated_since=&sort=created").
				Invalid(t, "created_since format", "updated_since format", "status enum", "outcome enum", "external_id empty",
					"sort enum")
			c.Get(t, "/orders?external_id="+strings.Repeat("x", 101)).Invalid(t, "external_id max_length")
			c.Get(t, "/orders?status=queued&status=queued").Invalid(t, "status duplicate")
		})
		t.Run("OfOthers", func(t *testing.T) {
			for _, other := range []*client{c.Account.Test(t), w.Live(t)} {
				for _, query := range []string{
					"sort=updated", "status=completed", "external_id=m%C3%AAme%2F1", "created_since=2001-01-01T00:00:00Z",
					"updated_since=2001-01-01T00:00:00Z",
				} {
					other.Get(t, "/orders?"+query).Want(t, 200).Is(t, "total", 0).Is(t, "data", []any{})
				}
			}
			c.Account.Live(t).Get(t, "/orders?sort=updated").Is(t, "total", len(all)) // another key of the account
		})
	})
}

// TestListOrders_SameMillisecond checks that orders whose changes look simultaneous to customers are listed by their
// ids, whichever came first.
func TestListOrders_SameMillisecond(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		c := w.Live(t)
		ids := make([]string, 4)
		for i := range ids {
			ids[i] = c.CreateID(t, nil)
			w.Clock.Advance(time.Second)
		}
		for _, id := range slices.Backward(ids) {
			w.Cancel(t, id)
			w.Clock.Advance(100 * time.Microsecond)
		}
		r := c.Get(t, "/orders?sort=updated")
		shown := r.List(t, "data", "updated_at")
		if got := r.List(t, "data", "id"); !slices.Equal(got, ids) || len(slices.Compact(shown)) != 1 {
			t.Errorf("%q, changed at %q, not %q", got, shown, ids)
		}
		for i, id := range ids {
			for _, query := range []string{"", "&updated_since=" + url.QueryEscape(shown[0]), "&status=completed"} {
				c.Get(t, fmt.Sprintf("/orders?sort=updated&limit=1&page=%d%s", i+1, query)).
					Is(t, "total", len(ids)).Is(t, "data.0.id", id)
			}
		}
	})
}

// searchedOrders makes orders in all states, some of the same moment and some far apart.
func searchedOrders(t *testing.T, w *world, c *client) []*order.Order {
	t.Helper()
	moves := []func(id string){
		func(string) {},
		func(id string) { w.Claim(t, id) },
		func(id string) { w.RequestPhotos(t, id) },
		func(id string) { w.Cancel(t, id) },
		func(id string) { w.Fail(t, id) },
		func(id string) { w.Complete(t, id, order.Verdict{Outcome: order.UnableToVerify}) },
	}
	ids := make([]string, 3*len(moves))
	for i := range ids {
		changes := obj{}
		if i%5 == 0 {
			changes["external_id"] = "même/1"
		}
		ids[i] = c.CreateID(t, changes)
		w.Clock.Advance(time.Duration(i%3) * 7 * time.Minute)
	}
	w.Clock.Advance(time.Hour)
	for i, id := range ids {
		moves[(i*5)%len(moves)](id)
		w.Clock.Advance(time.Duration(i%2) * time.Second)
	}
	all := make([]*order.Order, len(ids))
	for i, id := range ids {
		all[i] = w.Order(t, id)
	}
	return all
}

func timestamp(at time.Time) string { return at.UTC().Format(time.RFC3339Nano) }

// searched is a query of the list.
type searched struct{ status, outcome, externalID, created, updated, sort string }

func (s searched) check(t *testing.T, c *client, all []*order.Order) {
	t.Helper()
	query := url.Values{"limit": {"50"}}
	for name, value := range map[string]string{
		"status": s.status, "outcome": s.outcome, "external_id": s.externalID, "created_since": s.created,
		"updated_since": s.updated, "sort": s.sort,
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	since := func(text string, at time.Time) bool {
		from, err := time.Parse(time.RFC3339Nano, text)
		return text == "" || err == nil && !at.Before(from)
	}
	var found []*order.Order
	for _, o := range all {
		if (s.status == "" || s.status == string(o.Status)) && (s.outcome == "" || s.outcome == string(o.Outcome)) &&
			(s.externalID == "" || o.ExternalID != nil && *o.ExternalID == s.externalID) &&
			since(s.created, o.CreatedAt) && since(s.updated, o.UpdatedAt) {
			found = append(found, o)
		}
	}
	slices.SortFunc(found, func(a, b *order.Order) int {
		if s.sort == "" {
			return cmp.Compare(b.Seq, a.Seq)
		}
		return cmp.Or(a.UpdatedAt.Compare(b.UpdatedAt), cmp.Compare(a.ID, b.ID))
	})
	want := make([]string, len(found))
	for i, o := range found {
		want[i] = o.ID
	}
	r := c.Get(t, "/orders?"+query.Encode()).Want(t, 200).Is(t, "total", len(want))
	if got := r.List(t, "data", "id"); !slices.Equal(got, want) {
		t.Errorf("%s lists %q, not %q", query.Encode(), got, want)
	}
}
