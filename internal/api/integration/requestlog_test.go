package integration_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/requestlog"
	"github.com/assayhq/assay/internal/testkit/integrationtest"
)

// logged returns the request log of an account in an environment, newest first.
func logged(t *testing.T, a *integrationtest.Account, f requestlog.Filter) []*requestlog.Entry {
	t.Helper()
	if err := a.World.Requests.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.AccountID = a.Account.ID
	found, _, err := a.World.Service.Requests(t.Context(), access.Operator, f, 100)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestRequestLog checks what is recorded of requests, and what is not.
func TestRequestLog(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		c := w.Test(t)
		test := requestlog.Filter{Tenant: access.Tenant{Environment: access.Test}}
		last := func(t *testing.T) *requestlog.Entry {
			t.Helper()
			found := logged(t, c.Account, test)
			if len(found) == 0 {
				t.Fatal("nothing was recorded")
			}
			return found[0]
		}
		t.Run("Answered", func(t *testing.T) {
			res := c.Get(t, "/balance").Want(t, 200)
			e := last(t)
			if e.ID.String() != res.Header.Get("X-Request-Id") || e.KeyID != c.Key.ID || e.Method != http.MethodGet ||
				e.Route != "GET /v1/integrations/balance" || e.Status != 200 || e.Code != "" || e.Refusal != "" ||
				e.Duration <= 0 || time.Since(e.At()).Abs() > time.Hour {
				t.Errorf("recorded %+v", e)
			}
		})
		t.Run("RefusedWithItsProblems", func(t *testing.T) {
			res := c.Post(t, "/orders", obj{"photos": "secret-value"}).Want(t, 400)
			e := last(t)
			if e.ID.String() != res.Text(t, "request_id") || e.Status != 400 || e.Code != "validation-error" {
				t.Errorf("recorded %+v", e)
			}
			var told requestlog.Refusal
			if err := json.Unmarshal([]byte(e.Refusal), &told); err != nil || told.Message == "" {
				t.Fatalf("the refusal is %q, %v", e.Refusal, err)
			}
			if problems, _ := told.Details["errors"].([]any); len(problems) != 3 {
				t.Errorf("the problems are %v", told.Details)
			}
		})
		t.Run("ManyProblemsAreCut", func(t *testing.T) {
			body := obj{}
			for range 200 {
				body[uuid.NewString()] = 1
			}
			c.Post(t, "/orders", body).Want(t, 400)
			if e := last(t); len(e.Refusal) > 4096 || !strings.Contains(e.Refusal, "message") {
				t.Errorf("the refusal has %d bytes", len(e.Refusal))
			}
		})
		t.Run("OrderOfTheRequest", func(t *testing.T) {
			external := "ext-" + uuid.NewString()
			id := c.CreateID(t, obj{"external_id": external})
			c.Get(t, "/orders/"+external).Want(t, 200)
			c.Post(t, "/orders/"+id+"/cancel", nil).Want(t, 409)
			byOrder := test
			byOrder.Order = id
			found := logged(t, c.Account, byOrder)
			if len(found) != 3 || found[2].Method != http.MethodPost || found[2].Path() != "/v1/integrations/orders" ||
				found[1].Path() != "/v1/integrations/orders/"+id || found[0].Status != 409 {
				t.Errorf("recorded %d requests of the order", len(found))
			}
		})
		t.Run("OrderOfARepetition", func(t *testing.T) {
			body := encoded(t, c.Bag(t))
			c.Post(t, "/orders", body, "Idempotency-Key", "twice").Want(t, 201)
			first := last(t)
			c.Post(t, "/orders", body, "Idempotency-Key", "twice").Want(t, 201)
			if again := last(t); first.OrderID == "" || again.OrderID != first.OrderID || again.ID == first.ID {
				t.Errorf("recorded %+v after %+v", again, first)
			}
		})
		t.Run("UnknownOrderAndRoute", func(t *testing.T) {
			c.Get(t, "/orders/no-such-order").Want(t, 404)
			if e := last(t); e.Ref != "no-such-order" || e.Code != "order-not-found" {
				t.Errorf("recorded %+v", e)
			}
			c.Get(t, "/no/such/route?key=secret-value").Want(t, 404)
			if e := last(t); e.Route != "" || e.Ref != "/v1/integrations/no/such/route" {
				t.Errorf("recorded %+v", e)
			}
		})
		t.Run("RateLimited", func(t *testing.T) {
			narrow := c.Account.Test(t, integrationtest.Limit("read", 1))
			narrow.Get(t, "/balance").Want(t, 200)
			narrow.Get(t, "/balance").Want(t, 429)
			if e := last(t); e.Status != 429 || e.KeyID != narrow.Key.ID {
				t.Errorf("recorded %+v", e)
			}
		})
		t.Run("NothingWithoutAKey", func(t *testing.T) {
			before := len(logged(t, c.Account, test))
			c.Get(t, "/balance", "Authorization", "Bearer assay_test_no").Want(t, 401)
			if n := len(logged(t, c.Account, test)); n != before {
				t.Errorf("%d requests were recorded", n-before)
			}
		})
		t.Run("NoSecrets", func(t *testing.T) {
			secret := "s3cr3t-" + uuid.NewString()
			c.Post(t, "/webhooks", obj{
				"url": "https://hooks.example.com/" + secret, "events": []any{"order-outcome"}, "name": strings.Repeat(secret, 9),
				"auth": obj{"type": "oauth2", "token_url": "http://no", "client_id": "x", "client_secret": secret},
			}).Want(t, 400)
			c.Get(t, "/orders?external_id="+secret+"&limit=0").Want(t, 400)
			for _, e := range logged(t, c.Account, test) {
				if text, _ := json.Marshal(e); strings.Contains(string(text), secret) || strings.Contains(string(text), c.Secret) ||
					strings.Contains(string(text), "secret-value") {
					t.Errorf("recorded a secret: %s", text)
				}
			}
		})
		t.Run("Isolation", func(t *testing.T) {
			live := c.Account.Live(t)
			live.Get(t, "/me").Want(t, 200)
			other := w.Test(t)
			other.Get(t, "/me").Want(t, 200)
			found := logged(t, c.Account, requestlog.Filter{Tenant: access.Tenant{Environment: access.Live}})
			if len(found) != 1 || found[0].KeyID != live.Key.ID {
				t.Errorf("the Live log has %d requests", len(found))
			}
			stranger := access.Actor{
				Kind: access.ByUser, Role: access.Owner, Tenant: access.Tenant{AccountID: other.Account.Account.ID},
			}
			if _, err := w.Service.Request(t.Context(), stranger, found[0].ID.String()); err == nil {
				t.Error("another account sees the request")
			}
			if _, _, err := w.Service.Requests(t.Context(), stranger,
				requestlog.Filter{Tenant: access.Tenant{AccountID: c.Account.Account.ID}}, 1); err == nil {
				t.Error("another account sees the log")
			}
		})
		t.Run("ById", func(t *testing.T) {
			owner := access.Actor{
				Kind: access.ByUser, Role: access.Owner, Tenant: access.Tenant{AccountID: c.Account.Account.ID},
			}
			for _, e := range logged(t, c.Account, test) {
				found, err := w.Service.Request(t.Context(), owner, strings.ToUpper(e.ID.String()))
				if err != nil || *found != *e {
					t.Fatalf("the request %s is %+v, %v", e.ID, found, err)
				}
			}
			for _, id := range []string{"", "x", uuid.NewString(), uuid.Must(uuid.NewV7()).String()} {
				if _, err := w.Service.Request(t.Context(), owner, id); err == nil {
					t.Errorf("the id %q was found", id)
				}
			}
		})
	})
}
