package integration_test

import (
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/testkit/integrationtest"
)

// TestMe asks keys what they are.
func TestMe(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		account := w.NewAccount(t)
		t.Run("Whole", func(t *testing.T) {
			c := account.Test(t, integrationtest.UsualLimits(), integrationtest.Named("Shop"),
				integrationtest.Scopes(access.OrdersWrite, access.OrdersRead))
			c.Get(t, "/catalog/categories").Want(t, 200)
			c.Get(t, "/balance").Want(t, 200)
			limit := func(category string, limit, remaining int) obj {
				return obj{"category": category, "limit": limit, "remaining": remaining, "window_seconds": 60}
			}
			c.Get(t, "/me").Want(t, 200).Is(t, "", obj{
				"environment": "test",
				"account":     obj{"id": account.Account.ID, "name": account.Account.Name, "locale": "en"},
				"key": obj{
					"id": c.Key.ID, "name": "Shop", "scopes": []any{"orders:write", "orders:read"},
					"created_at": "2026-03-02T01:00:00.000Z", "expires_at": nil,
				},
				"limits": []any{
					limit("catalog", 120, 119), limit("read", 300, 298), limit("create", 30, 30), limit("update", 30, 30),
					limit("upload", 20, 20), limit("webhook", 10, 10),
				},
				"webhooks": obj{"endpoints": 0, "failing": 0},
			})
			c.Get(t, "/me").Is(t, "limits.1.remaining", 297).Is(t, "limits.0.remaining", 119)
		})
		t.Run("OwnLimit", func(t *testing.T) {
			c := account.Live(t, integrationtest.Limit("create", 7))
			c.Get(t, "/me").Is(t, "environment", "live").Is(t, "limits.2.limit", 7)
		})
		t.Run("FailingEndpoints", func(t *testing.T) {
			c := account.Test(t)
			first := subscribe(t, c, "order-outcome")
			subscribe(t, c, "order-outcome")
			c.CreateID(t, obj{"mock_outcome": "fake"})
			c.Get(t, "/me").Is(t, "webhooks", obj{"endpoints": 2, "failing": 0})
			endDeliveries(t, w, first, false)
			c.Get(t, "/me").Is(t, "webhooks", obj{"endpoints": 2, "failing": 1})
			w.Clock.Advance(time.Millisecond)          // other tests make ids of other times meanwhile
			c.CreateID(t, obj{"mock_outcome": "fake"}) // pending: the last that ended counts
			c.Get(t, "/me").Is(t, "webhooks", obj{"endpoints": 2, "failing": 1})
			endDeliveries(t, w, first, true)
			c.Get(t, "/me").Is(t, "webhooks", obj{"endpoints": 2, "failing": 0})
			account.Test(t).Get(t, "/me").Is(t, "webhooks.endpoints", 0) // those of another key are not counted
		})
	})
}
