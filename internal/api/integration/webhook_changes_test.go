package integration_test

import (
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/domain/wire"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/integrationtest"
	"github.com/assayhq/assay/internal/testkit/must"
)

// endDeliveries ends the pending deliveries to an endpoint, acknowledged or failed for good.
func endDeliveries(t *testing.T, w *world, endpointID string, acknowledged bool) {
	t.Helper()
	due, err := w.Store.DueDeliveries(t.Context(), endpointID, store.Place{}, w.Clock.Now().Add(time.Hour), 100)
	must.NoError(t, err)
	results := make([]store.AttemptResult, len(due))
	for i, d := range due {
		results[i] = store.AttemptResult{EndpointID: endpointID, DueAt: d.DueAt, Attempt: webhook.Attempt{
			DeliveryID: d.ID, Number: d.Attempts + 1, At: w.Clock.Now(), HTTPStatus: 500,
		}}
		if acknowledged {
			results[i].HTTPStatus = 200
		}
	}
	must.NoError(t, w.Store.Update(t.Context(), func(tx *store.Tx) error { return tx.EndDeliveries(results) }))
}

// TestRotateSecret rotates signing secrets. How deliveries are signed is tested with the sender.
func TestRotateSecret(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		c := w.Live(t)
		made := c.Post(t, "/webhooks", endpoint("https://a.public.example/"))
		path := "/webhooks/" + made.Text(t, "id") + "/rotate_secret"
		t.Run("Rotated", func(t *testing.T) {
			r := c.Post(t, path, nil).Want(t, 200).Is(t, "id", made.At(t, "id")).
				Is(t, "previous_valid_until", "2026-03-03T01:00:00.000Z")
			if secret := r.Text(t, "signing_secret"); secret == made.Text(t, "signing_secret") || len(secret) != 64 {
				t.Errorf("the secret is %q", secret)
			}
			again := c.Post(t, path, "{}").Want(t, 200)
			if again.Text(t, "signing_secret") == r.Text(t, "signing_secret") {
				t.Error("the second rotation changed nothing")
			}
			c.Get(t, "/webhooks").Lacks(t, "data.0.signing_secret", "data.0.paused")
		})
		t.Run("Again", func(t *testing.T) { // the secret that was replaced last is the previous one
			id := c.Post(t, "/webhooks", endpoint("https://a.public.example/3")).Want(t, 201).Text(t, "id")
			var replaced string
			for range 3 {
				e, err := w.Store.Endpoint(t.Context(), id)
				must.NoError(t, err)
				if e.Rotation != nil && e.Rotation.SealedPrevious != replaced {
					t.Errorf("the previous secret is not the one that was replaced: %+v", e.Rotation)
				}
				replaced = e.SealedSecret
				until := w.Clock.Now().Add(integrationtest.SecretOverlap)
				c.Post(t, "/webhooks/"+id+"/rotate_secret", nil).Want(t, 200).
					Is(t, "previous_valid_until", until.Format(wire.TimeFormat))
				w.Clock.Advance(time.Second)
			}
		})
		t.Run("OAuth2", func(t *testing.T) {
			oauth := obj{
				"type": "oauth2", "token_url": "https://a.public.example/token", "client_id": "a", "client_secret": "b",
			}
			id := c.Post(t, "/webhooks", endpoint("https://a.public.example/2", obj{"auth": oauth})).Want(t, 201).Text(t, "id")
			c.Post(t, "/webhooks/"+id+"/rotate_secret", nil).Refused(t, 409, "webhook-not-hmac")
		})
		t.Run("Refused", func(t *testing.T) {
			c.Post(t, path, obj{"secret": "x"}).Invalid(t, "secret unknown")
			c.Post(t, "/webhooks/x/rotate_secret", nil).Refused(t, 400, "bad-request").Is(t, "details.field", "id")
			c.Post(t, "/webhooks/"+uuid7.New()+"/rotate_secret", nil).Refused(t, 404, "not-found")
		})
		t.Run("OfOthers", func(t *testing.T) {
			for _, other := range []*client{c.Account.Live(t), c.Account.Test(t), w.Live(t)} {
				other.Post(t, path, nil).Refused(t, 404, "not-found")
			}
		})
	})
}

// TestPauseWebhook pauses endpoints.
func TestPauseWebhook(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		c := w.Test(t)
		id := subscribe(t, c, "order-outcome")
		patch := func(t *testing.T, c *client, id string, body any) *integrationtest.Response {
			t.Helper()
			return c.Send(t, request{Method: "PATCH", Path: "/webhooks/" + id, Body: body})
		}
		t.Run("PausedAndResumed", func(t *testing.T) {
			listed := c.Get(t, "/webhooks").At(t, "data.0")
			recorded := func(want int64) {
				t.Helper()
				n, err := w.Store.EventCount(t.Context(), audit.PortalLog, c.Account.Account.ID)
				must.NoError(t, err)
				if n != want {
					t.Errorf("the activity log has %d entries, want %d", n, want)
				}
			}
			before, err := w.Store.EventCount(t.Context(), audit.PortalLog, c.Account.Account.ID)
			must.NoError(t, err)
			patch(t, c, id, obj{"paused": false}).Want(t, 200).Is(t, "", listed)
			recorded(before) // it was not paused
			for range 2 {
				patch(t, c, id, obj{"paused": true}).Want(t, 200).Is(t, "id", id).Is(t, "paused", true)
			}
			c.Get(t, "/webhooks").Is(t, "data.0.paused", true)
			recorded(before + 1)
			for range 2 {
				patch(t, c, id, obj{"paused": false}).Want(t, 200).Is(t, "", listed)
			}
			c.Get(t, "/webhooks").Is(t, "data.0", listed)
			recorded(before + 2)
		})
		t.Run("Refused", func(t *testing.T) {
			patch(t, c, id, obj{}).Invalid(t, "paused required")
			patch(t, c, id, obj{"paused": "yes"}).Invalid(t, "paused type")
			patch(t, c, id, obj{"paused": nil}).Invalid(t, "paused required")
			patch(t, c, "x", obj{"paused": true}).Refused(t, 400, "bad-request")
			patch(t, c, uuid7.New(), obj{"paused": true}).Refused(t, 404, "not-found")
		})
		t.Run("OfOthers", func(t *testing.T) {
			for _, other := range []*client{c.Account.Test(t), c.Account.Live(t), w.Test(t)} {
				patch(t, other, id, obj{"paused": true}).Refused(t, 404, "not-found")
			}
			c.Get(t, "/webhooks").Lacks(t, "data.0.paused")
		})
		t.Run("DeliveriesFailAfterSevenDays", func(t *testing.T) {
			patch(t, c, id, obj{"paused": true}).Want(t, 200)
			old := c.CreateID(t)
			w.Clock.Advance(24 * time.Hour)
			young := c.CreateID(t)
			w.Clock.Advance(6 * 24 * time.Hour)
			n, err := w.Service.FailPausedDeliveries(t.Context(), 100)
			must.NoError(t, err)
			if n != 1 || w.Deliveries(t, old)[0].Status != "failed" || w.Deliveries(t, young)[0].Status != "pending" {
				t.Errorf("%d deliveries ended; the first is %s, the second %s", n, w.Deliveries(t, old)[0].Status,
					w.Deliveries(t, young)[0].Status)
			}
			c.Get(t, "/me").Is(t, "webhooks.failing", 1)
			patch(t, c, id, obj{"paused": false}).Want(t, 200)
			w.Clock.Advance(24 * time.Hour)
			n, err = w.Service.FailPausedDeliveries(t.Context(), 100)
			must.NoError(t, err)
			if n != 0 {
				t.Errorf("%d deliveries to an endpoint that is not paused ended", n)
			}
		})
	})
}
