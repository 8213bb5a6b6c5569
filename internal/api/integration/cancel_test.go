package integration_test

import (
	"testing"

	"github.com/assayhq/assay/internal/testkit/integrationtest"
)

// TestCancelOrder cancels orders with API keys.
func TestCancelOrder(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		c := w.Live(t)
		refused := func(t *testing.T, id, status string) {
			t.Helper()
			c.Post(t, "/orders/"+id+"/cancel", nil).Refused(t, 409, "order-not-cancelable").
				Is(t, "details", obj{"status": status})
		}
		t.Run("Queued", func(t *testing.T) {
			subscribe(t, c, "order-outcome")
			before := c.Account.Balance(t, "live")
			id := c.CreateID(t)
			if c.Account.Balance(t, "live") == before {
				t.Fatal("the order costs nothing")
			}
			c.Post(t, "/orders/"+id+"/cancel", nil).Want(t, 200).Is(t, "", obj{"id": id, "status": "completed"})
			c.Get(t, "/orders/"+id).Is(t, "status", "completed").Is(t, "outcome", "canceled").Is(t, "certificate_url", nil)
			if got := c.Account.Balance(t, "live"); got != before {
				t.Errorf("the balance is %d, not %d", got, before)
			}
			if sent := w.Deliveries(t, id); len(sent) != 1 || sent[0].Event != "order-outcome" {
				t.Errorf("the outbox holds %+v", sent)
			}
			refused(t, id, "completed")
			if got := c.Account.Balance(t, "live"); got != before {
				t.Errorf("after a repeat the balance is %d, not %d", got, before)
			}
		})
		t.Run("ByExternalID", func(t *testing.T) {
			id := c.CreateID(t, obj{"external_id": "a/b 1"})
			c.Post(t, "/orders/a%2Fb%201/cancel", "{}").Want(t, 200).Is(t, "id", id)
			form := c.CreateID(t)
			c.Post(t, "/orders/"+form+"/cancel", "", "Content-Type", "application/x-www-form-urlencoded").Want(t, 200)
		})
		t.Run("NotQueued", func(t *testing.T) {
			id := c.CreateID(t)
			w.Claim(t, id)
			refused(t, id, "processing")
			w.RequestPhotos(t, c.CreateID(t, obj{"external_id": "asked"}))
			refused(t, "asked", "update-photos")
			w.Fail(t, c.CreateID(t, obj{"external_id": "failed"}))
			refused(t, "failed", "error")
		})
		t.Run("Body", func(t *testing.T) {
			id := c.CreateID(t)
			c.Post(t, "/orders/"+id+"/cancel", obj{"reason": "x"}).Invalid(t, "reason unknown")
			c.Post(t, "/orders/"+id+"/cancel", "[]").Refused(t, 400, "validation-error")
			c.Post(t, "/orders/"+id+"/cancel", "{").Refused(t, 400, "bad-request")
			c.Get(t, "/orders/"+id).Is(t, "status", "queued")
		})
		t.Run("OfOthers", func(t *testing.T) {
			id := c.CreateID(t, obj{"external_id": "mine"})
			for _, other := range []*client{c.Account.Test(t), w.Live(t)} {
				for _, name := range []string{id, "mine"} {
					other.Post(t, "/orders/"+name+"/cancel", nil).Refused(t, 404, "order-not-found")
				}
			}
			c.Account.Live(t).Post(t, "/orders/"+id+"/cancel", nil).Want(t, 200) // another key of the account
		})
	})
}
