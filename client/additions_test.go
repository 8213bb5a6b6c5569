package client_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/assayhq/assay/client"
)

// TestAdditions sends each operation that the interface has beyond its contract, and reads its answer.
func TestAdditions(t *testing.T) {
	at := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	const event = `{"cursor":"7","webhook_event":"order-outcome","delivery_ids":["d1"],` +
		`"created_at":"2026-03-01T10:00:00.000Z",` +
		`"body":{"webhook_event":"order-outcome","external_id":"e1","order_number":null,` +
		`"created_at":"2026-03-01T10:00:00.000Z",` +
		`"id":"o1","status":"completed","outcome":"fake"}}`
	for _, tt := range []struct {
		name, method, uri, body string
		answer                  string
		call                    func(c *client.Client) (any, error)
		check                   func(t *testing.T, got any)
	}{
		{
			"GetMe", "GET", "/me", "",
			`{"environment":"test","account":{"id":"a","name":"Acme","locale":"ja"},` +
				`"key":{"id":"k","name":"n","scopes":["orders:read"],` +
				`"created_at":"2026-03-01T10:00:00.000Z","expires_at":null},` +
				`"limits":[{"category":"read","limit":300,"remaining":299,` +
				`"window_seconds":60}],"webhooks":{"endpoints":2,"failing":1}}`,
			func(c *client.Client) (any, error) { return c.GetMe(t.Context()) },
			func(t *testing.T, got any) {
				me := got.(*client.Me)
				equal(t, "environment", me.Environment, client.EnvironmentTest)
				equal(t, "locale", me.Account.Locale, client.LocaleJapanese)
				equal(t, "remaining", me.Limits[0], client.Limit{
					Category: client.RateRead, Limit: 300, Remaining: 299, WindowSeconds: 60,
				})
				equal(t, "webhooks", me.Webhooks, client.WebhookState{Endpoints: 2, Failing: 1})
			},
		},
		{
			"GetQuote", "POST", "/quote?locale=ja", `{"category_code":"bags","brand_code":"chanel","answer_time":60}`,
			`{"answer_times":[],"photo_indexes":[],"answer_time":60,"price":9,"affordable":true,` +
				`"due_date":"2026-03-01T10:00:00.000Z"}`,
			func(c *client.Client) (any, error) {
				return c.GetQuote(t.Context(), client.QuoteRequest{
					CategoryCode: "bags", BrandCode: "chanel", AnswerTime: 60,
				}, client.LocaleJapanese)
			},
			func(t *testing.T, got any) {
				quote := got.(*client.Quote)
				equal(t, "price", *quote.Price, int64(9))
				equal(t, "due", *quote.DueDate, at)
				equal(t, "affordable", quote.Affordable, true)
			},
		},
		{
			"CancelOrder", "POST", "/orders/a%2Fb/cancel", "{}", `{"id":"o1","status":"completed"}`,
			func(c *client.Client) (any, error) { return c.CancelOrder(t.Context(), "a/b") },
			func(t *testing.T, got any) {
				equal(t, "canceled", got.(*client.CanceledOrder), &client.CanceledOrder{ID: "o1", Status: client.StatusCompleted})
			},
		},
		{
			"SimulateOrder", "POST", "/orders/a%2Fb/simulate", `{"state":"error"}`, `{"id":"o1","status":"error"}`,
			func(c *client.Client) (any, error) {
				return c.SimulateOrder(t.Context(), "a/b", client.SimulatedError)
			},
			func(t *testing.T, got any) {
				equal(t, "moved", got.(*client.SimulatedOrder), &client.SimulatedOrder{ID: "o1", Status: client.StatusError})
			},
		},
		{
			"ListEvents", "GET", "/events?after=6&limit=2", "", `{"data":[` + event + `],"next_cursor":"7"}`,
			func(c *client.Client) (any, error) {
				return c.ListEvents(t.Context(), client.EventsQuery{After: "6", Limit: 2})
			},
			func(t *testing.T, got any) {
				events := got.(*client.EventList)
				equal(t, "next", events.NextCursor, "7")
				equal(t, "order", events.Data[0].Body.ID, "o1")
				equal(t, "outcome", events.Data[0].Body.HasOutcome(client.OutcomeFake), true)
				equal(t, "deliveries", events.Data[0].DeliveryIDs, []string{"d1"})
			},
		},
		{
			"PauseWebhook", "PATCH", "/webhooks/w1", `{"paused":true}`, `{"id":"w1","paused":true}`,
			func(c *client.Client) (any, error) { return c.PauseWebhook(t.Context(), "w1") },
			func(t *testing.T, got any) { equal(t, "paused", got.(*client.Webhook).Paused, true) },
		},
		{
			"ResumeWebhook", "PATCH", "/webhooks/w1", `{"paused":false}`, `{"id":"w1"}`,
			func(c *client.Client) (any, error) { return c.ResumeWebhook(t.Context(), "w1") },
			func(t *testing.T, got any) { equal(t, "paused", got.(*client.Webhook).Paused, false) },
		},
		{
			"RotateWebhookSecret", "POST", "/webhooks/w1/rotate_secret", "{}",
			`{"id":"w1","signing_secret":"s","previous_valid_until":"2026-03-01T10:00:00.000Z"}`,
			func(c *client.Client) (any, error) { return c.RotateWebhookSecret(t.Context(), "w1") },
			func(t *testing.T, got any) {
				equal(t, "rotated", got.(*client.RotatedSecret),
					&client.RotatedSecret{ID: "w1", SigningSecret: "s", PreviousValidUntil: at})
			},
		},
		{
			"CreateCaptureLink", "POST", "/capture_links", `{"category_code":"bags","brand_code":"chanel","locale":"ja"}`,
			`{"id":"l1","url":"https://assay.example/capture/x","expires_at":"2026-03-01T10:00:00.000Z","status":"open"}`,
			func(c *client.Client) (any, error) {
				return c.CreateCaptureLink(t.Context(), client.NewCaptureLink{
					CategoryCode: "bags", BrandCode: "chanel", Locale: client.LocaleJapanese,
				})
			},
			func(t *testing.T, got any) {
				equal(t, "created", got.(*client.CreatedCaptureLink), &client.CreatedCaptureLink{
					ID: "l1", URL: "https://assay.example/capture/x", ExpiresAt: at, Status: client.CaptureOpen,
				})
			},
		},
		{
			"GetCaptureLink", "GET", "/capture_links/l1", "",
			`{"id":"l1","status":"submitted","photos":[{"index_code":"a","url":"u"}]}`,
			func(c *client.Client) (any, error) { return c.GetCaptureLink(t.Context(), "l1") },
			func(t *testing.T, got any) {
				equal(t, "photos", got.(*client.CaptureLink).Photos, []client.CapturedPhoto{{IndexCode: "a", URL: "u"}})
			},
		},
		{
			"RevokeCaptureLink", "DELETE", "/capture_links/l1", "", "",
			func(c *client.Client) (any, error) { return nil, c.RevokeCaptureLink(t.Context(), "l1") },
			func(*testing.T, any) {},
		},
		{
			"ListOrders", "GET",
			"/orders?created_since=2026-03-01T10%3A00%3A00Z&external_id=e&limit=5&outcome=fake&sort=updated" +
				"&status=completed&updated_since=2026-03-01T10%3A00%3A00Z", "", `{"data":[],"page":1,"limit":5,"total":0}`,
			func(c *client.Client) (any, error) {
				return c.ListOrders(t.Context(), client.OrdersQuery{
					Status: client.StatusCompleted, Outcome: client.OutcomeFake, ExternalID: "e", CreatedSince: at, UpdatedSince: at,
					ByUpdate: true, Limit: 5,
				})
			},
			func(*testing.T, any) {},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newService(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(tt.answer)) })
			got, err := tt.call(s.client())
			if err != nil {
				t.Fatal(err)
			}
			sent := s.requests()[0]
			equal(t, "method", sent.Method, tt.method)
			equal(t, "address", sent.URI, "/v1/integrations"+tt.uri)
			equal(t, "body", sent.Body, tt.body)
			tt.check(t, got)
		})
	}
}

func TestAllEvents(t *testing.T) {
	answer := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }
	}
	event := func(cursor string) string {
		return `{"cursor":"` + cursor +
			`","webhook_event":"order-outcome","delivery_ids":[],"created_at":"2026-03-01T10:00:00.000Z",` +
			`"body":{"id":"o` + cursor + `"}}`
	}
	s := newService(t, answer(`{"data":[`+event("1")+`,`+event("2")+`],"next_cursor":"2"}`),
		answer(`{"data":[`+event("3")+`],"next_cursor":"3"}`), answer(`{"data":[],"next_cursor":"3"}`))
	var got []string
	for e, err := range s.client().AllEvents(t.Context(), client.EventsQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e.Body.ID)
	}
	equal(t, "orders", got, []string{"o1", "o2", "o3"})
	equal(t, "third request", s.requests()[2].URI, "/v1/integrations/events?after=3&limit=100")
}

// TestSeveralSecrets checks that deliveries are accepted with every secret of the receiver, and with the signature of
// the secret before while one is rotated.
func TestSeveralSecrets(t *testing.T) {
	parse := func(t *testing.T, secret string, header map[string]string, opts ...client.WebhookOption) error {
		t.Helper()
		r := signed(t, outcomeBody)
		for name, value := range header {
			r.Header.Set(name, value)
		}
		_, err := client.ParseWebhook(r, secret, append(opts, atReceipt)...)
		return err
	}
	if err := parse(t, "another", nil, client.WebhookSecrets("a third", signingSecret)); err != nil {
		t.Errorf("with several secrets: %v", err)
	}
	if err := parse(t, "another", nil, client.WebhookSecrets("a third")); err == nil {
		t.Error("a wrong signature is accepted")
	}
	r := signed(t, outcomeBody)
	previous := map[string]string{
		client.HeaderSignature: "v1=00", client.HeaderPreviousSignature: r.Header.Get(client.HeaderSignature),
	}
	if err := parse(t, signingSecret, previous); err != nil {
		t.Errorf("with the secret before the rotation: %v", err)
	}
	if err := parse(t, "", nil); err == nil {
		t.Error("an empty secret is accepted")
	}
}
