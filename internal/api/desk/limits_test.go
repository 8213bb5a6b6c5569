package desk_test

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/api/desk"
	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/ratelimit"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// TestClaimLimit checks that nobody can take the whole queue, and that what has to arrive arrives.
func TestClaimLimit(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s, func(c *service.Config, _ *desk.Config) {
			c.Limits = service.Limits{Claims: 1, TokenClaims: 3}
		})
		for range 12 {
			w.queued(t)
		}
		waiting := w.waiting(t, w.Mika) // held by nobody while it waits

		var taken sync.WaitGroup
		statuses := make(chan int, 8)
		for range 8 {
			taken.Go(func() { statuses <- w.post(t, w.Mika, "/orders/next", "").status })
		}
		taken.Wait()
		close(statuses)
		count := make(map[int]int)
		for status := range statuses {
			count[status]++
		}
		if count[http.StatusOK] != 3 || count[http.StatusConflict] != 5 {
			t.Fatalf("answers %v, want 3 orders and 5 refusals", count)
		}
		other := w.queued(t)
		r := w.post(t, w.Mika, "/orders/"+other+"/claim", "").want(t, http.StatusConflict, "claim-limit-reached")
		if r.at("details", "limit") != 3.0 {
			t.Errorf("details %v", r.at("details"))
		}
		held := w.get(t, w.Mika, "/orders?assignee=me&status=processing")
		mine := held.text("data", 0, "id")
		w.post(t, w.Mika, "/orders/"+mine+"/claim", "").want(t, http.StatusOK, "") // holds it already

		must.NoError(t, w.submit(t, waiting))
		if got := w.get(t, w.Mika, "/orders/"+waiting); got.text("assignee", "id") != w.Mika.Staff.ID {
			t.Errorf("the order with photos is with %v", got.at("assignee"))
		}
		_, err := w.Service.ReassignOrder(t.Context(), w.Admin.Staff.Actor(access.Origin{}), other, w.Mika.Staff.ID)
		must.NoError(t, err)

		for range 3 { // five are held: two below the limit again
			id := w.get(t, w.Mika, "/orders?assignee=me&status=processing").text("data", 0, "id")
			w.post(t, w.Mika, "/orders/"+id+"/release", "").want(t, http.StatusOK, "")
		}
		w.post(t, w.Mika, "/orders/next", "").want(t, http.StatusOK, "")

		// At the pages the limit is another one.
		page := w.Ren.Staff.Actor(access.Origin{})
		_, err = w.Service.TakeNextOrder(t.Context(), page, order.QueueFilter{})
		must.NoError(t, err)
		_, err = w.Service.TakeNextOrder(t.Context(), page, order.QueueFilter{})
		if fault.CodeOf(err) != "claim-limit-reached" {
			t.Errorf("a second one at the pages: %v", err)
		}
		w.post(t, w.Ren, "/orders/next", "").want(t, http.StatusOK, "")
	})
}

// TestRateLimit checks that a token cannot be used without end, and that another one is not affected.
func TestRateLimit(t *testing.T) {
	w := newWorld(t, storetest.Open(t, storetest.SQLite(t)), func(_ *service.Config, c *desk.Config) {
		c.RateLimit = 5
	})
	for range 5 {
		w.get(t, w.Mika, "/reasons").want(t, http.StatusOK, "")
		w.get(t, w.Mika, "/nothing").want(t, http.StatusNotFound, "not-found") // costs no quota
	}
	r := w.get(t, w.Mika, "/reasons").want(t, http.StatusTooManyRequests, "rate-limit-exceeded")
	if r.header.Get("Retry-After") != "60" || r.at("details", "retry_after_seconds") != 60.0 {
		t.Errorf("%v %v", r.header, r.body)
	}
	w.get(t, w.Ren, "/reasons").want(t, http.StatusOK, "")
	w.Clock.Advance(ratelimit.Window + time.Second)
	w.get(t, w.Mika, "/reasons").want(t, http.StatusOK, "")
}

// TestTokenExpiry checks that a token ends by itself, and with a reset of the password.
func TestTokenExpiry(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s, func(c *service.Config, _ *desk.Config) { c.Limits.StaffTokenAge = time.Hour })
		made := func() string {
			_, token, err := w.Service.RotateStaffToken(t.Context(), access.Operator, w.Mika.Staff.ID, nil)
			must.NoError(t, err)
			return token
		}
		status := func(token string) int { return w.do(t, http.MethodGet, "/reasons", token, "").status }
		token := made()
		w.Clock.Advance(time.Hour - time.Second)
		if got := status(token); got != http.StatusOK {
			t.Errorf("a second before: %d", got)
		}
		w.Clock.Advance(time.Second)
		if got := status(token); got != http.StatusUnauthorized {
			t.Errorf("after its time: %d", got)
		}
		token = made()
		_, _, err := w.Service.ResetStaffPassword(t.Context(), access.Operator, w.Mika.Staff.ID)
		must.NoError(t, err)
		if got := status(token); got != http.StatusUnauthorized {
			t.Errorf("after a reset of the password: %d", got)
		}
	})
}

// TestDeskNetworks checks that the desk as a whole can be kept to networks.
func TestDeskNetworks(t *testing.T) {
	w := newWorld(t, storetest.Open(t, storetest.SQLite(t)), func(c *service.Config, _ *desk.Config) {
		c.Limits.DeskNetworks, _ = access.CheckNetworks("", []string{"203.0.113.0/24"})
	})
	w.get(t, w.Admin, "/reasons").want(t, http.StatusForbidden, "forbidden")
}
