package integration_test

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/testkit/integrationtest"
)

// limits are the requests in 60 seconds that the contract gives each category.
var limits = map[string]int{"catalog": 120, "read": 300, "create": 30, "update": 30, "upload": 20, "webhook": 10}

func wantQuota(t *testing.T, r *integrationtest.Response, limit, remaining int) {
	t.Helper()
	if got := r.Header.Get("X-RateLimit-Limit"); got != strconv.Itoa(limit) {
		t.Errorf("%s: X-RateLimit-Limit is %q, not %d", r.Request, got, limit)
	}
	if got := r.Header.Get("X-RateLimit-Remaining"); got != strconv.Itoa(remaining) {
		t.Errorf("%s: X-RateLimit-Remaining is %q, not %d", r.Request, got, remaining)
	}
	if got := r.Header.Values("X-RateLimit-Reset"); got != nil {
		t.Errorf("%s: X-RateLimit-Reset is %q", r.Request, got)
	}
}

// TestRateLimit_Categories uses up each category of a key and looks at what the others have left.
func TestRateLimit_Categories(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		for _, category := range []struct{ name string }{
			{name: "catalog"},
			{name: "read"},
			{name: "create"},
			{name: "update"},
			{name: "upload"},
			{name: "webhook"},
		} {
			t.Run(category.name, func(t *testing.T) {
				limit := limits[category.name]
				c := w.NewAccount(t).Test(t, integrationtest.UsualLimits())
				var shared []request
				for _, op := range operations {
					if op.category == category.name {
						shared = append(shared, op.send)
					}
				}
				for i := range limit { // all operations of the category draw from one quota, refused ones too
					r := c.Send(t, shared[i%len(shared)])
					if r.Status == http.StatusTooManyRequests {
						t.Fatalf("request %d of %d is over the limit", i+1, limit)
					}
					wantQuota(t, r, limit, limit-1-i)
				}
				for _, send := range shared {
					e := c.Send(t, send).Refused(t, 429, "rate-limit-exceeded")
					wantQuota(t, e.Response, limit, 0)
					if e.Message != "Rate limit exceeded" {
						t.Errorf("the message is %q", e.Message)
					}
					e.Is(t, "details", obj{"category": category.name, "limit": limit, "window_seconds": 60, "retry_after_seconds": 60})
					if got := e.Header.Get("Retry-After"); got != "60" {
						t.Errorf("Retry-After is %q, not 60", got)
					}
				}
				for _, op := range operations {
					if op.category == category.name {
						continue
					}
					if r := c.Send(t, op.send); r.Status == http.StatusTooManyRequests {
						t.Errorf("%s %s of category %s is over the limit of %s", op.method, op.path, op.category, category.name)
					}
				}
			})
		}
	})
}

// TestRateLimit follows the windows of keys.
func TestRateLimit(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		account := w.NewAccount(t)
		few := integrationtest.Limit("read", 2)
		t.Run("WindowStartsAtTheFirstRequest", func(t *testing.T) {
			c := account.Test(t, few)
			w.Clock.Advance(30 * time.Second)
			wantQuota(t, c.Get(t, "/balance").Want(t, 200), 2, 1)
			w.Clock.Advance(40 * time.Second)
			wantQuota(t, c.Get(t, "/balance").Want(t, 200), 2, 0)
			c.Get(t, "/balance").Refused(t, 429, "rate-limit-exceeded").Is(t, "details.retry_after_seconds", 20)
			w.Clock.Advance(19_001 * time.Millisecond)
			e := c.Get(t, "/balance").Refused(t, 429, "rate-limit-exceeded")
			e.Is(t, "details.retry_after_seconds", 1) // whole seconds, never 0
			if got := e.Header.Get("Retry-After"); got != "1" {
				t.Errorf("Retry-After is %q, not 1", got)
			}
			w.Clock.Advance(999 * time.Millisecond)
			wantQuota(t, c.Get(t, "/balance").Want(t, 200), 2, 1)
		})
		t.Run("RefusedRequestsDoNotExtendIt", func(t *testing.T) {
			c := account.Test(t, few)
			for range 2 {
				c.Get(t, "/balance").Want(t, 200)
			}
			for range 5 {
				w.Clock.Advance(10 * time.Second)
				c.Get(t, "/balance").Refused(t, 429, "rate-limit-exceeded")
			}
			w.Clock.Advance(10 * time.Second)
			c.Get(t, "/balance").Want(t, 200)
		})
		t.Run("KeysAreApart", func(t *testing.T) {
			a, b := account.Test(t, few), account.Test(t, few)
			for range 2 {
				a.Get(t, "/balance").Want(t, 200)
			}
			a.Get(t, "/balance").Refused(t, 429, "rate-limit-exceeded")
			wantQuota(t, b.Get(t, "/balance").Want(t, 200), 2, 1)
		})
		t.Run("OverrideForOneCategory", func(t *testing.T) {
			c := account.Test(t, integrationtest.UsualLimits(), integrationtest.Limit("webhook", 11))
			for i := range 11 {
				wantQuota(t, c.Get(t, "/webhooks").Want(t, 200), 11, 10-i)
			}
			c.Get(t, "/webhooks").Refused(t, 429, "rate-limit-exceeded").Is(t, "details.limit", 11)
			wantQuota(t, c.Get(t, "/balance").Want(t, 200), 300, 299)
		})
		t.Run("UnknownRouteCostsNothing", func(t *testing.T) {
			c := account.Test(t, few)
			for range 5 {
				c.Get(t, "/nothing").Refused(t, 404, "not-found")
				c.Post(t, "/balance", "{}").Refused(t, 404, "not-found")
			}
			wantQuota(t, c.Get(t, "/balance").Want(t, 200), 2, 1)
		})
		t.Run("FailedAuthenticationCostsNothing", func(t *testing.T) {
			c := account.Test(t, few)
			for range 5 {
				c.Get(t, "/balance", "Authorization", "Bearer x").Refused(t, 401, "unauthorized")
			}
			wantQuota(t, c.Get(t, "/balance").Want(t, 200), 2, 1)
		})
		t.Run("HeadersOnEveryKindOfAnswer", func(t *testing.T) {
			c := account.Test(t, integrationtest.UsualLimits(), integrationtest.Scopes("audit:read"))
			wantQuota(t, c.Get(t, "/balance").Want(t, 200), 300, 299)
			wantQuota(t, c.Get(t, "/audit/events?limit=0").Want(t, 400), 300, 298)
			wantQuota(t, c.Get(t, "/orders").Want(t, 403), 300, 297)
			brands := c.Get(t, "/catalog/brands").Want(t, 200)
			wantQuota(t, c.Get(t, "/catalog/brands", "If-None-Match", brands.Header.Get("ETag")).Want(t, 304), 120, 118)
		})
		t.Run("HeadersOnDelete", func(t *testing.T) {
			c := account.Test(t, integrationtest.UsualLimits())
			id := c.Post(t, "/webhooks", obj{"url": "https://a.public.example", "events": []string{"update-photos"}}).
				Want(t, 201).Text(t, "id")
			wantQuota(t, c.Delete(t, "/webhooks/"+id).Want(t, 204), 10, 8)
		})
	})
}
