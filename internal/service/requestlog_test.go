package service_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/requestlog"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// requestAt returns a request that began at a time.
func requestAt(t access.Tenant, at time.Time, status int) *requestlog.Entry {
	id := uuid.MustParse(uuid7.First(at))
	for i := 8; i < len(id); i++ {
		id[i] |= byte(rand.Uint32())
	}
	return &requestlog.Entry{ID: id, Tenant: t, KeyID: "k", Method: "GET", Route: "GET /v1/x", Status: status}
}

// TestRequestLogPages reads blocks that overlap, as several nodes and long uploads write them.
func TestRequestLogPages(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		i := shop.Open(t, target, t.TempDir())
		tenant := access.Tenant{AccountID: uuid7.New(), Environment: access.Live}
		begin := i.Clock.Now()
		var all []*requestlog.Entry
		for n := range 60 {
			block := requestlog.NewBlock(tenant)
			for range 1 + n%7 {
				status := []int{200, 404, 500}[len(all)%3]
				at := begin.Add(time.Duration(n)*time.Second + time.Duration(rand.IntN(5000))*time.Millisecond)
				if n%10 == 9 && block.Requests == 0 {
					at = at.Add(-10 * time.Minute) // an upload
				}
				e := requestAt(tenant, at, status)
				all = append(all, e)
				block.Add(e)
			}
			must.NoError(t, i.Service.RecordRequests(t.Context(), []*requestlog.Block{block}))
		}
		slices.SortFunc(all, func(a, b *requestlog.Entry) int {
			if requestlog.Less(a.ID, b.ID) {
				return 1
			}
			return -1
		})
		pages := func(t *testing.T, f requestlog.Filter, want []*requestlog.Entry) {
			t.Helper()
			f.Tenant = tenant
			var got []*requestlog.Entry
			for range len(all) {
				page, more, err := i.Service.Requests(t.Context(), access.Operator, f, 7)
				must.NoError(t, err)
				got = append(got, page...)
				if f.Before = more; more == uuid.Nil {
					break
				}
			}
			if !slices.EqualFunc(got, want, func(a, b *requestlog.Entry) bool { return a.ID == b.ID }) {
				t.Errorf("%d requests were found, want %d in the order of their ids", len(got), len(want))
			}
		}
		chosen := func(f func(*requestlog.Entry) bool) (some []*requestlog.Entry) {
			for _, e := range all {
				if f(e) {
					some = append(some, e)
				}
			}
			return some
		}
		t.Run("All", func(t *testing.T) { pages(t, requestlog.Filter{}, all) })
		t.Run("Class", func(t *testing.T) {
			pages(t, requestlog.Filter{Class: 4}, chosen(func(e *requestlog.Entry) bool { return e.Status == 404 }))
		})
		t.Run("Time", func(t *testing.T) {
			since, until := begin.Add(10*time.Second), begin.Add(30*time.Second)
			pages(t, requestlog.Filter{Since: since, Until: until}, chosen(func(e *requestlog.Entry) bool {
				return !e.At().Before(since) && e.At().Before(until)
			}))
		})
		t.Run("OneById", func(t *testing.T) {
			for _, e := range all {
				actor := access.Actor{Kind: access.ByUser, Role: access.Viewer, Tenant: access.Tenant{AccountID: tenant.AccountID}}
				if _, err := i.Service.Request(t.Context(), actor, e.ID.String()); err != nil {
					t.Fatalf("the request %s of %s: %v", e.ID, e.At(), err)
				}
			}
		})
		t.Run("StoredTwice", func(t *testing.T) { // a commit whose answer was lost
			block := requestlog.NewBlock(access.Tenant{AccountID: uuid7.New(), Environment: access.Test})
			block.Add(requestAt(block.Tenant, begin, 200))
			for range 2 {
				must.NoError(t, i.Service.RecordRequests(t.Context(), []*requestlog.Block{block}))
			}
		})
		t.Run("Retention", func(t *testing.T) {
			n, err := i.Service.DeleteOldRequests(t.Context(), begin.Add(40*time.Second), 1000)
			must.NoError(t, err)
			left, _, err := i.Service.Requests(t.Context(), access.Operator, requestlog.Filter{Tenant: tenant}, 1000)
			must.NoError(t, err)
			if n < 20 || n > 45 || len(left) == 0 || len(left) >= len(all) {
				t.Errorf("%d blocks were deleted, %d requests are left", n, len(left))
			}
		})
	})
}

// TestRequestLogBound checks that the oldest requests go when a tenant has too many.
func TestRequestLogBound(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		tenant := access.Tenant{AccountID: uuid7.New(), Environment: access.Test}
		begin := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
		for n := range 50 {
			block := requestlog.NewBlock(tenant)
			for k := range 10 {
				block.Add(requestAt(tenant, begin.Add(time.Duration(n)*time.Second+time.Duration(k)*time.Millisecond), 200))
			}
			must.NoError(t, s.Update(t.Context(), func(tx *store.Tx) error {
				return tx.InsertRequests([]*requestlog.Block{block}, 100)
			}))
		}
		blocks, err := s.RequestBlocks(t.Context(), tenant, uuid.Nil, uuid.Nil, uuid.Nil, 100)
		must.NoError(t, err)
		if len(blocks) != 10 || requestlog.TimeOf(blocks[0].Last).Before(begin.Add(49*time.Second)) {
			t.Errorf("%d blocks are left", len(blocks))
		}
	})
}

// TestRequestUse counts the requests of one key by minute and operation, and looks no further than it may.
func TestRequestUse(t *testing.T) {
	eachPortal(t, func(t *testing.T, s *shop.Shop, owner *service.Member) {
		actor := owner.Actor("", portalOrigin)
		begin := s.Clock.Now().Truncate(time.Minute)
		record := func(at time.Time, n int, keyID, route string) {
			t.Helper()
			block := requestlog.NewBlock(s.Test.Tenant)
			for range n {
				e := requestAt(s.Test.Tenant, at, 200)
				e.KeyID, e.Route = keyID, route
				block.Add(e)
			}
			must.NoError(t, s.Service.RecordRequests(t.Context(), []*requestlog.Block{block}))
		}
		record(begin.Add(-time.Hour), 5, s.Test.ID, "GET /a") // too long ago
		record(begin.Add(-2*time.Minute), 3, s.Test.ID, "GET /a")
		record(begin.Add(-2*time.Minute+59*time.Second), 4, s.Test.ID, "GET /a")
		record(begin, 2, s.Test.ID, "POST /b")
		record(begin, 7, s.Live.ID, "POST /b") // another key
		record(begin, 1, s.Test.ID, "")        // no operation: it counts nowhere
		u, err := s.Service.RequestUse(t.Context(), actor, s.Test, 10)
		must.NoError(t, err)
		if len(u.Minutes) != 10 || !u.Begin.Equal(begin.Add(-9*time.Minute)) || u.Minutes[7]["GET /a"] != 7 ||
			u.Minutes[9]["POST /b"] != 2 || len(u.Minutes[9]) != 1 {
			t.Errorf("counted from %v %v", u.Begin, u.Minutes)
		}
		stranger := access.Actor{Kind: access.ByUser, Role: access.Owner, Tenant: access.Tenant{AccountID: "x"}}
		if _, err := s.Service.RequestUse(t.Context(), stranger, s.Test, 10); err == nil {
			t.Error("another account sees the use of the key")
		}
		for n := range 52 { // more requests than are looked through
			record(begin.Add(-time.Duration(51-n)*10*time.Second), requestlog.MaxBlock, s.Live.ID, "POST /b")
		}
		u, err = s.Service.RequestUse(t.Context(), actor, s.Test, 10)
		must.NoError(t, err)
		if n := len(u.Minutes); n != 8 || !u.Begin.Equal(begin.Add(-7*time.Minute)) || u.Minutes[n-1]["POST /b"] != 2 {
			t.Errorf("counted from %v %v", u.Begin, u.Minutes)
		}
	})
}

// TestRequestLog_Flush checks that whoever looks for requests finds those that were in memory when they began to look,
// and what is stored where the others cannot be.
func TestRequestLog_Flush(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		var x *shop.Shop
		var waiting []*requestlog.Entry
		var refusal error
		x = shop.New(t, target, func(c *service.Config) {
			c.FlushRequests = func(ctx context.Context) error {
				block := requestlog.NewBlock(x.Live.Tenant)
				for _, e := range waiting {
					block.Add(e)
				}
				if waiting = nil; refusal != nil || block.Requests == 0 {
					return refusal
				}
				return x.Service.RecordRequests(ctx, []*requestlog.Block{block})
			}
		})
		answer := func() *requestlog.Entry {
			e := requestAt(x.Live.Tenant, x.Clock.Now(), 200)
			e.KeyID = x.Live.ID
			waiting = []*requestlog.Entry{e}
			return e
		}
		list := func(t *testing.T) []*requestlog.Entry {
			t.Helper()
			found, _, err := x.Service.Requests(t.Context(), access.System, requestlog.Filter{Tenant: x.Live.Tenant}, 10)
			must.NoError(t, err)
			return found
		}
		if e := answer(); len(list(t)) != 1 || list(t)[0].ID != e.ID {
			t.Error("a list lacks the last request")
		}
		one := answer()
		owner := access.Actor{Kind: access.BySystem, Tenant: x.Live.Tenant}
		if found, err := x.Service.Request(t.Context(), owner, one.ID.String()); err != nil || found.ID != one.ID {
			t.Errorf("one request: %v, %v", found, err)
		}
		answer()
		use, err := x.Service.RequestUse(t.Context(), access.System, x.Live, 1)
		must.NoError(t, err)
		if n := use.Minutes[0]["GET /v1/x"]; n != 3 {
			t.Errorf("%d requests are counted", n)
		}
		refusal = errors.New("no")
		if answer(); len(list(t)) != 3 {
			t.Error("what is stored is not shown where the rest cannot be stored")
		}
	})
}
