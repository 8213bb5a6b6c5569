package store_test

import (
	"bytes"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/crowd"
	"github.com/assayhq/assay/internal/testkit/pgtest"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// eachCrowd runs a test on each engine over a crowd of orders.
func eachCrowd(t *testing.T, f func(t *testing.T, s *store.Store)) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := storetest.Open(t, target)
		fillCrowd(t, s, target)
		f(t, s)
	})
}

// fillCrowd makes orders enough that a plan shows what it would be with a million: all of one brand and category, so
// that a filter for others must not read them.
func fillCrowd(t *testing.T, s *store.Store, target string) {
	t.Helper()
	w := crowd.Rows{
		Target: target, AccountID: uuid7.New(), KeyID: uuid7.New(),
		Completed: 10 * crowd.Batch, Queued: 10 * crowd.Batch,
	}
	at, user := time.UnixMicro(1), uuid7.New()
	if err := s.Update(t.Context(), func(tx *store.Tx) error {
		account := &access.Account{ID: w.AccountID, Name: "Acme", Locale: text.English, CreatedAt: at}
		if err := tx.InsertAccount(account); err != nil {
			return err
		}
		owner := &access.User{
			ID: user, AccountID: w.AccountID, Email: "a@example.com", Role: access.Owner, PasswordHash: "-", CreatedAt: at,
		}
		if err := tx.InsertUser(owner); err != nil {
			return err
		}
		tenant := access.Tenant{AccountID: w.AccountID, Environment: access.Live}
		key := &access.Key{
			ID: w.KeyID, Tenant: tenant, Name: "key", Limits: map[string]int{}, CreatedBy: user, CreatedAt: at,
		}
		if err := tx.InsertKey(key, "-"); err != nil {
			return err
		}
		_, err := tx.Grant(tenant, 1_000_000, "for tests", at)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := crowd.Fill(t.Context(), w); err != nil {
		t.Fatal(err)
	}
}

var (
	reads = regexp.MustCompile(`(?:INDEX|[Ii]ndex (?:Only )?Scan (?:Backward )?using) (\w+)`)
	// A whole table, a set of rows without their order, or an order made after reading what may be all rows.
	detour = regexp.MustCompile(`SCAN orders|(Seq|Bitmap Heap) Scan on (orders|verdict_drafts)|` +
		`SEARCH orders.*\n\s*USE TEMP B-TREE`)
	// Of the whole statement: the first line that has it.
	buffers = regexp.MustCompile(`Buffers: shared(?: hit=(\d+))?(?: read=(\d+))?`)
)

// wantPlan checks that a statement reads orders, or drafts, in the order of an index and no further than it needs.
func wantPlan(t *testing.T, plan, index string) {
	t.Helper()
	for _, m := range reads.FindAllStringSubmatch(plan, -1) {
		if strings.HasPrefix(m[1], index) && !detour.MatchString(plan) {
			return
		}
	}
	t.Errorf("it does not go by the index %s:\n%s", index, plan)
}

// TestOrderListPlans checks that every page of every list of orders is read from an index, so that it costs the same
// however many orders there are and wherever in the list it is.
func TestOrderListPlans(t *testing.T) {
	open, ended := []order.Status{order.Queued, order.Processing}, []order.Status{order.Completed, order.Failed}
	deep := &order.Cursor{
		At: time.Now().Add(-crowd.Period / 4).UnixMicro(),
		ID: uuid7.New(),
	} // in the middle of the queue
	eachCrowd(t, func(t *testing.T, s *store.Store) {
		for name, test := range map[string]struct {
			filter order.Filter
			index  string
		}{
			"Queue":    {order.Filter{Statuses: open}, "orders_desk"},
			"All":      {order.Filter{}, "orders_desk"},
			"Category": {order.Filter{Statuses: open, CategoryCode: "watches"}, "orders_open_by_category"},
			"Mine":     {order.Filter{Statuses: open, AssigneeID: "x"}, "orders_of_assignee"},
			"Brand":    {order.Filter{Statuses: open, BrandCode: "gucci"}, "orders_open_by_brand"},
			"BrandCategory": {
				order.Filter{Statuses: open, BrandCode: "gucci", CategoryCode: "watches"},
				"orders_open_by_",
			}, // either
			"Done": {order.Filter{Sort: order.RecentlyEnded, Statuses: ended}, "orders_ended"},
			"DoneMine": {
				order.Filter{Sort: order.RecentlyEnded, Statuses: ended, AssigneeID: "x", BrandCode: "gucci"},
				"orders_ended",
			},
		} {
			if test.filter.Sort == order.Newest {
				test.filter.Sort, test.filter.Environment = order.DueFirst, access.Live
			}
			for place, after := range map[string]*order.Cursor{"First": nil, "Deep": deep} {
				t.Run(name+"/"+place, func(t *testing.T) {
					plan, err := s.OrderListPlan(t.Context(), test.filter, after)
					if err != nil {
						t.Fatal(err)
					}
					wantPlan(t, plan, test.index)
				})
			}
		}
	})
}

// TestOrderListPages checks how many pages of the database PostgreSQL reads for what it does not find, or finds deep in
// a list: a plan that goes by an index may still walk all of it.
func TestOrderListPages(t *testing.T) {
	target := pgtest.Database(t)
	s := storetest.Open(t, target)
	fillCrowd(t, s, target)
	open := []order.Status{order.Queued, order.Processing}
	for name, test := range map[string]struct {
		filter order.Filter
		after  *order.Cursor
	}{
		"Brand":    {filter: order.Filter{Statuses: open, BrandCode: "gucci"}},
		"Category": {filter: order.Filter{Statuses: open, CategoryCode: "shoes"}},
		"Both":     {filter: order.Filter{Statuses: open, BrandCode: "gucci", CategoryCode: "shoes"}},
		"Done": {
			order.Filter{Sort: order.RecentlyEnded, Statuses: []order.Status{order.Completed, order.Failed}},
			&order.Cursor{At: 1, ID: uuid7.New()}, // after the last one
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.filter.Environment = access.Live
			if test.filter.Sort == order.Newest {
				test.filter.Sort = order.DueFirst
			}
			plan, err := s.OrderListWork(t.Context(), test.filter, test.after)
			if err != nil {
				t.Fatal(err)
			}
			m := buffers.FindStringSubmatch(plan)
			if m == nil {
				t.Fatalf("it does not tell what it reads:\n%s", plan)
			}
			pages := 0
			for _, n := range m[1:] { // of memory, and of the disk
				more, _ := strconv.Atoi(n)
				pages += more
			}
			if pages == 0 || pages > 20 {
				t.Errorf("it reads %d pages:\n%s", pages, plan)
			}
		})
	}
}

// TestDeskPlans checks the same of what else the desk asks all day: the list of the API, the next order, who has what,
// and drafts.
func TestDeskPlans(t *testing.T) {
	eachCrowd(t, func(t *testing.T, s *store.Store) {
		plans, err := s.DeskPlans(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for name, index := range map[string]string{
			"queued": "orders_desk", "mine": "orders_of_assignee", "next": "orders_desk", "counts": "orders_of_assignee",
			"draft": "",
		} {
			t.Run(name, func(t *testing.T) { wantPlan(t, plans[name], index) })
		}
	})
}

// TestDeepPages checks that the pages of a list have what its cursor finds, and that a deep one is not walked to from
// the beginning.
func TestDeepPages(t *testing.T) {
	eachCrowd(t, func(t *testing.T, s *store.Store) {
		moveSome(t, s)
		for name, f := range map[string]order.Filter{
			"All": {Sort: order.DueFirst, Environment: access.Live},
			"Ended": {
				Sort: order.DueFirst, Environment: access.Live, Statuses: []order.Status{order.Completed, order.Failed},
			},
			"Completed": {Sort: order.DueFirst, Environment: access.Live, Statuses: []order.Status{order.Completed}},
		} {
			t.Run(name, func(t *testing.T) {
				ids := listAll(t, s, f)
				const limit = 100
				pages := []int{len(ids) / limit, len(ids)/limit + 1} // the last ones, and every seventh
				for page := 1; page <= len(ids)/limit; page += 7 {
					pages = append(pages, page)
				}
				for _, page := range pages {
					orders, total, err := s.OrderPage(t.Context(), &f, page, limit)
					if err != nil || total != int64(len(ids)) {
						t.Fatalf("page %d of %d orders, want %d: %v", page, total, len(ids), err)
					}
					want := ids[min((page-1)*limit, len(ids)):min(page*limit, len(ids))]
					if got := idsOf(orders); !slices.Equal(got, want) {
						t.Fatalf("page %d has %v, want %v", page, got, want)
					}
				}
				after, skip, err := s.OrderPosition(t.Context(), f, int64(len(ids)-1))
				if err != nil || after == nil || skip > int64(len(ids)/10) {
					t.Errorf("the last page begins after %v and passes %d orders: %v", after, skip, err)
				}
			})
		}
	})
}

// TestPagesBeyond checks that a page whose offset no number holds is empty like all pages behind the last one.
func TestPagesBeyond(t *testing.T) {
	eachCrowd(t, func(t *testing.T, s *store.Store) {
		newest, _, err := s.Orders(t.Context(), &order.Filter{Sort: order.DueFirst, Environment: access.Live}, nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		for name, f := range map[string]order.Filter{
			"DueFirst": {Sort: order.DueFirst, Environment: access.Live},
			"Newest":   {Tenant: newest[0].Tenant()},
		} {
			for _, page := range []int{math.MaxInt, math.MaxInt - 1, math.MaxInt/2 + 2, math.MaxInt/25 + 2} {
				orders, total, err := s.OrderPage(t.Context(), &f, page, 50)
				if err != nil || len(orders) != 0 || total != 20*crowd.Batch {
					t.Errorf("%s: page %d has %d orders of %d, %v", name, page, len(orders), total, err)
				}
			}
		}
	})
}

// bySequence is a range of the index of an account's sequence with both its ends.
var bySequence = regexp.MustCompile(`sqlite_autoindex_orders_3 \(.* AND seq>\? AND seq<\?\)|` +
	`orders_tenant_seq_key .*\n\s*Index Cond: .*\(seq <= .*\(seq > `)

// TestNewestPages checks that a page of an account's orders is a range of the index of its sequence.
func TestNewestPages(t *testing.T) {
	eachCrowd(t, func(t *testing.T, s *store.Store) {
		first, _, err := s.Orders(t.Context(), &order.Filter{Sort: order.DueFirst, Environment: access.Live}, nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		f := order.Filter{Tenant: first[0].Tenant()}
		ids := listAll(t, s, f)
		const limit = 7
		for _, page := range []int{1, 2, len(ids) / limit, len(ids)/limit + 1} {
			orders, total, err := s.OrderPage(t.Context(), &f, page, limit)
			if err != nil || total != int64(len(ids)) {
				t.Fatalf("page %d of %d orders, want %d: %v", page, total, len(ids), err)
			}
			want := ids[(page-1)*limit : min(page*limit, len(ids))]
			if got := idsOf(orders); !slices.Equal(got, want) {
				t.Errorf("page %d has %v, want %v", page, got, want)
			}
			var items [][]byte
			total, err = s.NewestOrders(t.Context(), f.Tenant, page, limit, func(o *order.Order) {
				items = append(items, o.AppendItem(nil))
			})
			if err != nil || total != int64(len(ids)) || len(items) != len(want) {
				t.Fatalf("page %d has %d of %d orders, want %d: %v", page, len(items), total, len(want), err)
			}
			for i := range items {
				if whole := orders[i].AppendItem(nil); !bytes.Equal(items[i], whole) {
					t.Errorf("page %d lists %s, want %s", page, items[i], whole)
				}
			}
		}
		if total, err := s.NewestOrders(t.Context(), f.Tenant, len(ids), limit, func(o *order.Order) {
			t.Errorf("%s is behind the last page", o.ID)
		}); err != nil || total != int64(len(ids)) {
			t.Errorf("behind the last page: %d orders, %v", total, err)
		}
		for _, offset := range []int64{0, int64(len(ids) / 2)} {
			plan, err := s.NewestPagePlan(t.Context(), f.Tenant, offset)
			if err != nil {
				t.Fatal(err)
			}
			if !bySequence.MatchString(plan) || strings.Contains(plan, "TEMP B-TREE") {
				t.Errorf("the plan of the page after %d orders:\n%s", offset, plan)
			}
		}
	})
}

// moveSome moves queued orders to all other statuses, some without a due date.
func moveSome(t *testing.T, s *store.Store) {
	t.Helper()
	queued := order.Filter{Sort: order.DueFirst, Environment: access.Live, Statuses: []order.Status{order.Queued}}
	for i, id := range listAll(t, s, queued) {
		if i%10 != 0 {
			continue
		}
		if err := s.Update(t.Context(), func(tx *store.Tx) error {
			o, err := tx.OrderForUpdate(id)
			if err != nil {
				return err
			}
			due, left := o.DueAt, time.Hour
			for _, status := range []order.Status{order.Processing, order.Statuses[1+i/10%4]} {
				if o.Status = status; status.Terminal() {
					o.EndedAt = &o.UpdatedAt
				}
				if o.Outcome = ""; status == order.Completed {
					o.Outcome = order.Canceled
				}
				if o.DueAt, o.TimeLeft = due, nil; status == order.UpdatePhotos || i%3 == 0 {
					o.DueAt, o.TimeLeft = nil, &left
				}
				if err := tx.UpdateOrder(o); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// listAll returns the ids of a list in its order, read by the cursor.
func listAll(t *testing.T, s *store.Store, f order.Filter) (ids []string) {
	t.Helper()
	for after := (*order.Cursor)(nil); ; {
		orders, next, err := s.Orders(t.Context(), &f, after, 500)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, idsOf(orders)...)
		if after = next; after == nil {
			return ids
		}
	}
}

func idsOf(orders []order.Summary) []string {
	ids := make([]string, len(orders))
	for i := range orders {
		ids[i] = orders[i].ID
	}
	return ids
}
