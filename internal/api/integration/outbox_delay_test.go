package integration_test

import (
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/testkit/integrationtest"
	"github.com/assayhq/assay/internal/testkit/must"
)

// TestOutbox_Delay checks when the first attempt of an event is due: those of Test orders wait, so that an integrator
// has stored the answer that the order came with.
func TestOutbox_Delay(t *testing.T) {
	const delay = 2 * time.Second
	integrationtest.EachWith(t, integrationtest.Options{EventDelay: delay}, func(t *testing.T, w *world) {
		account := w.NewAccount(t)
		due := func(t *testing.T, deliveryID string) time.Duration {
			t.Helper()
			heads := rows(t, w, "SELECT due_at FROM delivery_queue WHERE delivery_id = $1", deliveryID)
			if len(heads) != 1 {
				t.Fatalf("delivery %s stands %d times in the queue", deliveryID, len(heads))
			}
			return time.UnixMicro(int64(number(heads[0][0]).(int))).Sub(w.Clock.Now())
		}
		t.Run("TestEventsWait", func(t *testing.T) {
			c := account.Test(t)
			subscribe(t, c, "order-outcome", "update-photos")
			id := c.CreateID(t, obj{"mock_outcome": "update-photos"})
			c.Get(t, "/orders/"+id).Is(t, "status", "update-photos") // the state does not wait
			if got := due(t, w.Deliveries(t, id)[0].ID); got != delay {
				t.Errorf("due in %v", got)
			}
			w.Clock.Advance(time.Minute)
			c.Post(t, "/orders/"+id+"/update_photos", obj{"photos": []any{
				obj{"index_code": "overall", "is_unable_to_provide": true},
				obj{"index_code": "interior", "is_unable_to_provide": true},
			}}).Want(t, 202)
			if got := due(t, w.Deliveries(t, id)[1].ID); got != delay {
				t.Errorf("due in %v after the submission", got)
			}
		})
		t.Run("LiveEventsDoNot", func(t *testing.T) {
			c := account.Live(t)
			subscribe(t, c, "order-outcome")
			id := c.CreateID(t)
			w.Cancel(t, id)
			if got := due(t, w.Deliveries(t, id)[0].ID); got != 0 {
				t.Errorf("due in %v", got)
			}
		})
		t.Run("NorDoTestEventsOfThePortal", func(t *testing.T) {
			c := account.Test(t)
			endpoint := subscribe(t, c, "order-outcome")
			owner := (&access.User{
				ID: account.OwnerID, AccountID: account.Account.ID, Role: access.Owner,
			}).Actor(access.Test, access.Origin{})
			id, err := w.Service.SendTestEvent(t.Context(), owner, endpoint, webhook.OrderOutcome)
			must.NoError(t, err)
			if got := due(t, id); got != 0 {
				t.Errorf("due in %v", got)
			}
		})
	})
}
