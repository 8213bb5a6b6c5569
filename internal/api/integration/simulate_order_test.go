package integration_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/enum"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/testkit/integrationtest"
)

// TestSimulateOrder moves Test orders to states with API keys.
func TestSimulateOrder(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		c := w.Test(t)
		move := func(t *testing.T, id string, state order.SandboxState) *integrationtest.Response {
			t.Helper()
			return c.Post(t, "/orders/"+id+"/simulate", obj{"state": string(state)})
		}
		t.Run("AnyToAny", func(t *testing.T) {
			id := c.CreateID(t)
			for _, from := range order.SandboxStates {
				for _, to := range order.SandboxStates {
					move(t, id, from).Want(t, 200)
					wantState(t, c, id, to, move(t, id, to))
				}
			}
		})
		t.Run("WholeResult", func(t *testing.T) {
			id := c.CreateID(t, obj{"mock_outcome": "authentic"})
			move(t, id, "fake").Want(t, 200)
			c.Get(t, "/orders/"+id).Is(t, "outcome_indexes", []any{"overall", "serial"}).Is(t, "certificate_url", nil)
			move(t, id, "update-photos").Want(t, 200)
			c.Get(t, "/orders/"+id).Is(t, "photos_to_resubmit.0.index_code", "overall").
				Is(t, "photos_to_resubmit.0.condition", "unclear").Lacks(t, "certificate_url", "outcome_indexes")
			move(t, id, "authentic").Want(t, 200)
			if url := c.Get(t, "/orders/"+id).Text(t, "certificate_url"); url == "" {
				t.Error("an authentic item has no certificate")
			}
		})
		t.Run("Events", func(t *testing.T) {
			subscribe(t, c, "order-outcome", "update-photos")
			id := c.CreateID(t, obj{"mock_outcome": "fake"})
			for _, state := range slices.Concat(order.SandboxStates, []order.SandboxState{"canceled", "canceled"}) {
				w.Clock.Advance(time.Millisecond) // other tests make ids of other times meanwhile
				move(t, id, state).Want(t, 200)
			}
			var events []string
			for _, d := range w.Deliveries(t, id) {
				events = append(events, d.Event)
			}
			want := "order-outcome update-photos" + strings.Repeat(" order-outcome", 6)
			if got := strings.Join(events, " "); got != want {
				t.Errorf("the outbox holds %q, not %q", got, want)
			}
		})
		t.Run("RefundedOnce", func(t *testing.T) {
			before := c.Account.Balance(t, "test")
			id := c.CreateID(t)
			for _, state := range []order.SandboxState{"error", "queued", "canceled", "error"} {
				move(t, id, state).Want(t, 200)
				if got := c.Account.Balance(t, "test"); got != before {
					t.Errorf("after %s the balance is %d, not %d", state, got, before)
				}
			}
		})
		t.Run("ByExternalID", func(t *testing.T) {
			id := c.CreateID(t, obj{"external_id": "a/b 1"})
			move(t, "a%2Fb%201", "error").Want(t, 200).Is(t, "", obj{"id": id, "status": "error"})
		})
		t.Run("Audit", func(t *testing.T) {
			id := c.CreateID(t)
			move(t, id, "processing").Want(t, 200)
			got := rows(t, w, "SELECT code, actor_type, actor_id, metadata FROM portal_events WHERE target_id = $1", id)
			if len(got) != 1 || !slices.Equal(got[0][:3], []string{"order.simulated", "api-key", c.Key.ID}) ||
				!strings.Contains(got[0][3], `"state":"processing"`) {
				t.Errorf("the log of the portal has %q", got)
			}
		})
		t.Run("Body", func(t *testing.T) {
			id := c.CreateID(t, obj{"mock_outcome": "fake"})
			path := "/orders/" + id + "/simulate"
			c.Post(t, path, obj{}).Invalid(t, "state required")
			c.Post(t, path, obj{"state": 7, "note": "x"}).Invalid(t, "state type", "note unknown")
			for _, state := range []string{"", "completed", "delayed", "Fake", "lost"} {
				c.Post(t, path, obj{"state": state}).Invalid(t, "state enum")
			}
			problem := c.Post(t, path, obj{"state": "lost"}).Text(t, "details.errors.0.message")
			for _, state := range order.SandboxStates {
				if !strings.Contains(problem, string(state)) {
					t.Errorf("%q does not name %s", problem, state)
				}
			}
			c.Post(t, path, "[]").Refused(t, 400, "validation-error")
			c.Post(t, path, "{").Refused(t, 400, "bad-request")
			c.Post(t, path, nil).Refused(t, 400, "bad-request")
			c.Post(t, "/orders/none/simulate", obj{"state": "lost"}).Invalid(t, "state enum") // form before existence
			c.Get(t, "/orders/"+id).Is(t, "outcome", "fake")
		})
		t.Run("Live", func(t *testing.T) {
			live := c.Account.Live(t)
			before := c.Account.Balance(t, "live")
			id := live.CreateID(t, obj{"external_id": "sold"})
			paid := c.Account.Balance(t, "live")
			for _, name := range []string{id, "sold"} {
				live.Post(t, "/orders/"+name+"/simulate", obj{"state": "canceled"}).Refused(t, 409, "not-a-test-order").
					Is(t, "details", obj{})
			}
			live.Get(t, "/orders/"+id).Is(t, "status", "queued")
			if got := c.Account.Balance(t, "live"); got != paid || paid == before {
				t.Errorf("the balance went from %d over %d to %d", before, paid, got)
			}
			live.Post(t, "/orders/none/simulate", obj{"state": "fake"}).Refused(t, 404, "order-not-found")
		})
		t.Run("OfOthers", func(t *testing.T) {
			id := c.CreateID(t, obj{"external_id": "mine", "mock_outcome": "fake"})
			others := w.NewAccount(t)
			for _, other := range []*client{c.Account.Live(t), others.Live(t), others.Test(t)} {
				for _, name := range []string{id, "mine"} {
					other.Post(t, "/orders/"+name+"/simulate", obj{"state": "error"}).Refused(t, 404, "order-not-found")
				}
			}
			c.Get(t, "/orders/"+id).Is(t, "outcome", "fake")
			other := c.Account.Test(t) // another key of the account
			other.Post(t, "/orders/"+id+"/simulate", obj{"state": "error"}).Want(t, 200)
		})
	})
}

// wantState checks that an order came into a state, in the answer to the move and when it is read.
func wantState(t *testing.T, c *client, id string, to order.SandboxState, moved *integrationtest.Response) {
	t.Helper()
	status, outcome := string(to), any(nil)
	if _, isStatus := enum.Parse(status, order.Statuses); !isStatus {
		status, outcome = "completed", string(to)
	}
	moved.Want(t, 200).Is(t, "", obj{"id": id, "status": status})
	c.Get(t, "/orders/"+id).Is(t, "status", status).Is(t, "outcome", outcome)
}
