package integration_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/testkit/expect"
	"github.com/assayhq/assay/internal/testkit/integrationtest"
)

// subscribe registers an endpoint for events.
func subscribe(t *testing.T, c *client, events ...any) string {
	t.Helper()
	count := len(c.Get(t, "/webhooks").List(t, "data", "id"))
	return c.Post(t, "/webhooks", obj{"url": fmt.Sprintf("https://a.public.example/%d", count), "events": events}).
		Want(t, 201).Text(t, "id")
}

// TestOutbox_Golden keeps the bodies of deliveries as they are, byte by byte, in both languages.
func TestOutbox_Golden(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		for _, payload := range []struct {
			name   string
			locale text.Locale
			bring  func(t *testing.T, account *integrationtest.Account) (*client, string)
		}{
			{name: "OutcomeAuthentic", bring: mocked("authentic")},
			{name: "OutcomeAuthenticJapanese", locale: text.Japanese, bring: mocked("authentic")},
			{name: "OutcomeFake", bring: mocked("fake")},
			{name: "OutcomeFakeJapanese", locale: text.Japanese, bring: mocked("fake")},
			{name: "OutcomeUnableToVerify", bring: mocked("unable-to-verify")},
			{name: "OutcomeUnableToVerifyJapanese", locale: text.Japanese, bring: mocked("unable-to-verify")},
			{name: "OutcomeCanceled", bring: func(t *testing.T, a *integrationtest.Account) (*client, string) {
				t.Helper()
				c := a.Live(t)
				subscribe(t, c, "order-outcome", "update-photos")
				id := c.CreateID(t)
				w.Cancel(t, id)
				return c, id
			}},
			{name: "UpdatePhotos", bring: requested(w)},
			{name: "UpdatePhotosJapanese", locale: text.Japanese, bring: requested(w)},
		} {
			t.Run(payload.name, func(t *testing.T) {
				locale := payload.locale
				if locale == "" {
					locale = text.English
				}
				w.Clock.Set(integrationtest.Start)
				c, id := payload.bring(t, w.NewAccountIn(t, locale))
				sent := w.Deliveries(t, id)
				if len(sent) != 1 || sent[0].Status != "pending" {
					t.Fatalf("the outbox holds %+v", sent)
				}
				body := sent[0].Body
				o := w.Order(t, id)
				expect.Golden(t, "testdata/delivery_"+payload.name+".json", strings.NewReplacer(
					id, "ORDER_ID", sent[0].ID, "DELIVERY_ID", o.Number, "ORDER_NUMBER", "/certificates/"+
						o.CertificateID, "/certificates/CERTIFICATE_ID").Replace(body)+"\n")

				// The payload holds the detail of the order, as it was at the moment of the event.
				var fields, detail map[string]any
				decode(t, []byte(body), &fields)
				decode(t, c.Get(t, "/orders/"+id+"?locale="+string(locale)).Body, &detail)
				for name, value := range detail {
					if fmt.Sprint(fields[name]) != fmt.Sprint(value) {
						t.Errorf("%s is %v in the payload and %v in the detail", name, fields[name], value)
					}
					delete(fields, name)
				}
				for _, name := range []string{"webhook_event", "delivery_id", "external_id", "order_number", "created_at"} {
					delete(fields, name)
				}
				if len(fields) != 0 {
					t.Errorf("the payload also has %v", fields)
				}
			})
		}
	})
}

func mocked(outcome string) func(t *testing.T, a *integrationtest.Account) (*client, string) {
	return func(t *testing.T, a *integrationtest.Account) (*client, string) {
		t.Helper()
		c := a.Test(t)
		subscribe(t, c, "order-outcome", "update-photos")
		return c, c.CreateID(t, obj{"mock_outcome": outcome, "external_id": "shop <1>", "model_code": "boy-bag"})
	}
}

func requested(w *world) func(t *testing.T, a *integrationtest.Account) (*client, string) {
	return func(t *testing.T, a *integrationtest.Account) (*client, string) {
		t.Helper()
		c := a.Live(t)
		subscribe(t, c, "order-outcome", "update-photos")
		id := c.CreateID(t)
		w.Clock.Advance(90 * time.Minute)
		w.RequestPhotos(t, id)
		return c, id
	}
}

func decode(t *testing.T, text []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(text, v); err != nil {
		t.Fatal(err)
	}
}

// TestOutbox checks who gets which events.
func TestOutbox(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		account := w.NewAccount(t)
		events := func(t *testing.T, id string) string {
			t.Helper()
			var list []string
			for _, d := range w.Deliveries(t, id) {
				list = append(list, d.Event)
			}
			return strings.Join(list, " ")
		}
		want := func(t *testing.T, id, wanted string) {
			t.Helper()
			if got := events(t, id); got != wanted {
				t.Errorf("the outbox holds %q, not %q", got, wanted)
			}
			w.Clock.Advance(time.Millisecond) // what follows sorts behind it, whatever other tests make ids of meanwhile
		}
		t.Run("OneForEachEndpoint", func(t *testing.T) {
			c := account.Test(t)
			a, b := subscribe(t, c, "order-outcome"), subscribe(t, c, "order-outcome", "update-photos")
			subscribe(t, c, "update-photos")
			sent := w.Deliveries(t, c.CreateID(t))
			if len(sent) != 2 || sent[0].EndpointID != a || sent[1].EndpointID != b || sent[0].ID == sent[1].ID {
				t.Fatalf("the outbox holds %+v", sent)
			}
			for _, d := range sent {
				if !strings.Contains(d.Body, d.ID) {
					t.Errorf("the body does not hold its delivery id: %s", d.Body)
				}
			}
		})
		t.Run("OnlyTheKeyThatCreatedTheOrder", func(t *testing.T) {
			c, other := account.Test(t), account.Test(t)
			subscribe(t, other, "order-outcome")
			want(t, c.CreateID(t), "")
		})
		t.Run("NotForEarlierOrders", func(t *testing.T) {
			c := account.Test(t)
			id := c.CreateID(t)
			subscribe(t, c, "order-outcome")
			want(t, id, "")
		})
		t.Run("LiveLife", func(t *testing.T) {
			c := account.Live(t)
			subscribe(t, c, "order-outcome", "update-photos")
			id := c.CreateID(t)
			want(t, id, "")
			w.Claim(t, id)
			want(t, id, "")
			w.RequestPhotos(t, id)
			want(t, id, "update-photos")
			c.Post(t, "/orders/"+id+"/update_photos", obj{"photos": unable()}).Want(t, 202)
			want(t, id, "update-photos")
			w.RequestPhotos(t, id)
			want(t, id, "update-photos update-photos")
			c.Post(t, "/orders/"+id+"/update_photos", obj{"photos": unable()}).Want(t, 202)
			w.Complete(t, id, order.Verdict{Outcome: order.Authentic})
			want(t, id, "update-photos update-photos order-outcome")
		})
		for _, end := range []struct {
			name string
			move func(testing.TB, string)
			want string
		}{{"ErrorSendsNone", w.Fail, ""}, {"CanceledSendsOutcome", w.Cancel, "order-outcome"}} {
			t.Run(end.name, func(t *testing.T) {
				c := account.Live(t)
				subscribe(t, c, "order-outcome", "update-photos")
				id := c.CreateID(t)
				end.move(t, id)
				want(t, id, end.want)
			})
		}
		t.Run("ExpiredRequestSendsOutcome", func(t *testing.T) {
			c := account.Live(t)
			subscribe(t, c, "order-outcome")
			id := c.CreateID(t)
			w.RequestPhotos(t, id)
			before := account.Balance(t, "live")
			w.Clock.Advance(7 * 24 * time.Hour)
			if _, err := w.Service.ExpirePhotoRequests(t.Context(), w.Clock.Now().Add(-7*24*time.Hour), 100); err != nil {
				t.Fatal(err)
			}
			want(t, id, "order-outcome")
			c.Get(t, "/orders/"+id).Is(t, "status", "completed").Is(t, "outcome", "unable-to-verify").
				Lacks(t, "photos_to_resubmit")
			if got := account.Balance(t, "live"); got != before {
				t.Errorf("an order that could not be verified was refunded: %d became %d", before, got)
			}
		})
		t.Run("SimulatedRounds", func(t *testing.T) {
			c := account.Test(t)
			subscribe(t, c, "order-outcome", "update-photos")
			id := c.CreateID(t, obj{"mock_outcome": "update-photos"})
			want(t, id, "update-photos")
			body := obj{
				"photos": []any{
					obj{"index_code": "overall", "is_unable_to_provide": true},
					obj{"index_code": "interior", "is_unable_to_provide": true},
				},
			}
			c.Post(t, "/orders/"+id+"/update_photos", body).Want(t, 202)
			want(t, id, "update-photos order-outcome")
		})
		t.Run("NothingWhenTheMoveFails", func(t *testing.T) {
			poor := w.NewAccount(t)
			poor.SetCredits(t, "test", 3)
			c := poor.Test(t)
			subscribe(t, c, "order-outcome")
			c.Post(t, "/orders", c.Bag(t)).Refused(t, 402, "not-enough-credits")
			if left := rows(t, w, "SELECT id FROM deliveries WHERE account_id = $1", poor.Account.ID); len(left) != 0 {
				t.Errorf("the outbox holds %d deliveries", len(left))
			}
		})
		t.Run("DeletingAnEndpointDropsItsPending", func(t *testing.T) {
			c := account.Test(t)
			gone := subscribe(t, c, "order-outcome")
			subscribe(t, c, "order-outcome")
			id := c.CreateID(t)
			c.Delete(t, "/webhooks/"+gone).Want(t, 204)
			if left := w.Deliveries(t, id); len(left) != 1 || left[0].EndpointID == gone {
				t.Errorf("the outbox holds %+v", left)
			}
		})
		t.Run("RevokingAKeyStopsItsEndpoints", func(t *testing.T) {
			c := account.Live(t)
			subscribe(t, c, "order-outcome")
			done, open := c.CreateID(t), c.CreateID(t)
			w.Cancel(t, done)
			if _, err := w.Service.RevokeKey(t.Context(), access.Operator, c.Key.ID); err != nil {
				t.Fatal(err)
			}
			want(t, done, "")
			w.Cancel(t, open)
			want(t, open, "")
		})
	})
}
