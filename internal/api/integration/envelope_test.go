package integration_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assayhq/assay/internal/testkit/expect"
	"github.com/assayhq/assay/internal/testkit/integrationtest"
)

var anyUUID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// TestEnvelope checks the form of refusals.
func TestEnvelope(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		c := w.Test(t)
		w.Clock.Set(integrationtest.Start.Add(123_456 * time.Microsecond))

		t.Run("Fields", func(t *testing.T) {
			e := c.Get(t, "/orders/none?x=y").Refused(t, 404, "order-not-found")
			if got := e.Keys(t, ""); !slices.Equal(got, []string{
				"code", "details", "message", "path", "request_id", "statusCode", "timestamp",
			}) {
				t.Errorf("the properties are %q", got)
			}
			if e.StatusCode != 404 || e.Path != "/v1/integrations/orders/none" || e.Details == nil {
				t.Errorf("the envelope is %s", e.Body)
			}
		})
		t.Run("PathIsEscapedAsRequested", func(t *testing.T) {
			for _, path := range []string{
				"/orders/a%2Fb", "/orders/a%2fb%20c", "/orders/%E9%9D%B4", "/orders/a+b", "/nothing/%41",
			} {
				e := c.Get(t, path+"?secret=1")
				var got string
				if got = e.Text(t, "path"); got != "/v1/integrations"+path {
					t.Errorf("the path is %s, not %s", got, path)
				}
			}
		})
		t.Run("TimestampIsUTCWithMilliseconds", func(t *testing.T) {
			if e := c.Get(t, "/nothing").Refused(t, 404, "not-found"); e.Timestamp != "2026-03-02T01:00:00.123Z" {
				t.Errorf("the timestamp is %s", e.Timestamp)
			}
		})
		// that it equals the header, and is never used twice, is held for every answer
		t.Run("RequestID", func(t *testing.T) {
			ids := make(map[string]bool)
			for _, r := range []*integrationtest.Response{
				c.Get(t, "/balance").Want(t, 200), c.Get(t, "/nothing").Want(t, 404), w.Anonymous().Get(t, "/balance").Want(t, 401),
				c.Get(t, "/balance", "X-Request-Id", "11111111-1111-4111-8111-111111111111").Want(t, 200),
				c.Get(t, "/catalog/brands", "If-None-Match", "*").Want(t, 304),
			} {
				id := r.Header.Get("X-Request-Id")
				if _, err := uuid.Parse(id); err != nil || len(id) != 36 || ids[id] || strings.HasPrefix(id, "11111111") {
					t.Errorf("%s: the request id is %q", r.Request, id)
				}
				ids[id] = true
			}
		})
		t.Run("MessageNamesFieldAndRule", func(t *testing.T) {
			e := c.Post(t, "/orders", with(c.Bag(t), "external_id", strings.Repeat("x", 101))).
				Invalid(t, "external_id max_length")
			if !strings.Contains(e.Message, "external_id") || !strings.Contains(e.Message, "100") {
				t.Errorf("the message is %q", e.Message)
			}
		})
		t.Run("JSONWithoutHTMLEscapes", func(t *testing.T) {
			e := c.Get(t, "/catalog/categories?brand_code=%3Ca%26b%3E").Refused(t, 404, "not-found")
			if !strings.Contains(string(e.Body), "<a&b>") {
				t.Errorf("the body is %s", e.Body)
			}
		})
		t.Run("NotCached", func(t *testing.T) {
			for _, r := range []*integrationtest.Response{c.Get(t, "/balance"), c.Get(t, "/nothing"), c.Get(t, "/orders")} {
				if got := r.Header.Get("Cache-Control"); got != "no-store" {
					t.Errorf("%s: Cache-Control is %q", r.Request, got)
				}
			}
		})
	})
}

// TestEnvelope_Golden keeps refusals as they are, byte by byte.
func TestEnvelope_Golden(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		account := w.NewAccount(t)
		c := account.Test(t, integrationtest.Limit("webhook", 1),
			integrationtest.Scopes("orders:read", "orders:write", "webhooks:manage"))
		live := account.Live(t)
		account.SetCredits(t, "live", 3)
		c.Create(t, obj{"external_id": "done"})
		c.Get(t, "/webhooks").Want(t, 200)
		for _, refusal := range []struct {
			name string
			r    *integrationtest.Response
		}{
			{
				name: "Validation", r: c.Post(t, "/orders", obj{"photos": []any{obj{"url": 1}}, "colour": "red", "answer_time": 0}),
			},
			{name: "BadRequest", r: c.Post(t, "/orders", `{"brand_code": }`)},
			{name: "Unauthorized", r: w.Anonymous().Get(t, "/balance")},
			{name: "NotEnoughCredits", r: live.Post(t, "/orders", live.Bag(t))},
			{name: "Forbidden", r: c.Get(t, "/audit/events")},
			{name: "UnknownRoute", r: c.Get(t, "/nothing")},
			{name: "UnknownEntity", r: c.Get(t, "/catalog/categories?brand_code=x")},
			{name: "OrderNotFound", r: c.Get(t, "/orders/none")},
			{
				name: "NotAwaitingPhotos", r: c.Post(t, "/orders/done/update_photos", obj{"photos": []any{obj{"index_code": "x"}}}),
			},
			{name: "AnswerTimeUnavailable", r: c.Post(t, "/orders", with(c.Bag(t), "answer_time", 7))},
			{name: "MockOutcomeRequired", r: c.Post(t, "/orders", with(c.Bag(t), "mock_outcome", nil))},
			{name: "RateLimited", r: c.Get(t, "/webhooks")},
		} {
			t.Run(refusal.name, func(t *testing.T) {
				got := anyUUID.ReplaceAllString(string(refusal.r.Body), "REQUEST_ID") + "\n"
				expect.Golden(t, "testdata/error_"+refusal.name+".json", got)
			})
		}
	})
}
