package store_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/storetest"
	"github.com/assayhq/assay/internal/testkit/crowd"
)

// eachCrowd runs a test on each engine over orders enough that a plan shows what it would be with a million: all of one
// brand and category, so that a filter for others must not read them.
func eachCrowd(t *testing.T, f func(t *testing.T, s *store.Store)) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := storetest.Open(t, target)
		w := crowd.Wish{Target: target, AccountID: store.NewID(), KeyID: store.NewID(), Completed: 10 * crowd.Batch, Queued: 10 * crowd.Batch}
		at, user := time.UnixMicro(1), store.NewID()
		if err := s.Update(t.Context(), func(tx *store.Tx) error {
			if err := tx.InsertAccount(&access.Account{ID: w.AccountID, Name: "Acme", Locale: text.English, CreatedAt: at}); err != nil {
				return err
			}
			if err := tx.InsertUser(&access.User{ID: user, AccountID: w.AccountID, Email: "a@example.com", Role: access.Owner, PasswordHash: "-", CreatedAt: at}); err != nil {
				return err
			}
			if err := tx.InsertKey(&access.Key{ID: w.KeyID, Tenant: access.Tenant{AccountID: w.AccountID, Environment: access.Live}, Name: "key", Limits: map[string]int{}, CreatedBy: user, CreatedAt: at}, "-"); err != nil {
				return err
			}
			_, err := tx.Grant(w.AccountID, access.Live, 1_000_000, "for tests", at)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if err := crowd.Fill(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		f(t, s)
	})
}

var (
	reads = regexp.MustCompile(`(?:INDEX|[Ii]ndex (?:Only )?Scan (?:Backward )?using) (\w+)`)
	// A whole table, a set of rows without their order, or an order made after reading what may be all rows.
	detour = regexp.MustCompile(`SCAN orders|(Seq|Bitmap Heap) Scan on (orders|verdict_drafts)|SEARCH orders.*\n\s*USE TEMP B-TREE`)
)

// wantPlan holds that a statement reads orders, or drafts, in the order of an index and no further than it needs.
func wantPlan(t *testing.T, plan, index string) {
	t.Helper()
	for _, m := range reads.FindAllStringSubmatch(plan, -1) {
		if strings.HasPrefix(m[1], index) && !detour.MatchString(plan) {
			return
		}
	}
	t.Errorf("it does not go by the index %s:\n%s", index, plan)
}

// TestBoardPlans proves that every page of every list of the desk goes by an index, so that it costs the same however many
// orders there are and wherever in the list it is.
func TestBoardPlans(t *testing.T) {
	open, ended := []order.Status{order.Queued, order.Processing}, []order.Status{order.Completed, order.Failed}
	deep := &store.BoardPlace{At: time.Now().Add(-crowd.Period / 4).UnixMicro(), ID: store.NewID()} // in the middle of the queue
	eachCrowd(t, func(t *testing.T, s *store.Store) {
		for name, test := range map[string]struct {
			filter store.BoardFilter
			index  string
		}{
			"Queue":         {store.BoardFilter{Statuses: open}, "orders_desk"},
			"Category":      {store.BoardFilter{Statuses: open, CategoryCode: "watches"}, "orders_open_by_category"},
			"Mine":          {store.BoardFilter{Statuses: open, AssigneeID: "x"}, "orders_of_assignee"},
			"Brand":         {store.BoardFilter{Statuses: open, BrandCode: "gucci"}, "orders_open_by_brand"},
			"BrandCategory": {store.BoardFilter{Statuses: open, BrandCode: "gucci", CategoryCode: "watches"}, "orders_open_by_"}, // either
			"Done":          {store.BoardFilter{Statuses: ended}, "orders_ended"},
			"DoneMine":      {store.BoardFilter{Statuses: ended, AssigneeID: "x", BrandCode: "gucci"}, "orders_ended"},
		} {
			for place, after := range map[string]*store.BoardPlace{"First": nil, "Deep": deep} {
				t.Run(name+"/"+place, func(t *testing.T) {
					plan, err := s.BoardPlan(t.Context(), test.filter, after)
					if err != nil {
						t.Fatal(err)
					}
					wantPlan(t, plan, test.index)
				})
			}
		}
	})
}

// TestDeskPlans proves the same of what else the desk asks all day: the list of the interface, the next order, who has
// what, and drafts.
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
