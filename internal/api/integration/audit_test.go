package integration_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/integrationtest"
)

// TestAudit reads the events that the API itself and the operator cause.
func TestAudit(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		account := w.NewAccount(t)
		c := account.Live(t, integrationtest.Named("shop"))
		t.Run("KeyCreatedByOperator", func(t *testing.T) {
			r := c.Get(t, "/audit/events").Want(t, 200).Is(t, "total", 1).Is(t, "page", 1).Is(t, "limit", 50)
			r.Is(t, "data.0", obj{
				"id": r.Text(t, "data.0.id"), "account_user_id": account.OwnerID, "occurred_at": "2026-03-02T01:00:00.000Z",
				"event_code": "api-key.created", "actor_type": "system", "actor_id": nil, "actor_name": "operator",
				"source": "system", "target_type": "api-key", "target_id": c.Key.ID, "ip_address": nil, "user_agent": nil,
				"metadata": obj{
					"name": "shop", "environment": "live",
					"scopes": []any{"orders:read", "orders:write", "webhooks:manage", "audit:read"},
				},
			})
		})
		t.Run("WebhookCreated", func(t *testing.T) {
			w.Clock.Advance(time.Second)
			made := c.Post(t, "/webhooks",
				endpoint("https://a.public.example/secret-path", obj{"name": "Production", "auth": oauth()}), "User-Agent",
				"shop/1.0").Want(t, 201)
			r := c.Get(t, "/audit/events").Is(t, "total", 2)
			address, _, _ := strings.Cut(c.Address, ":")
			r.Is(t, "data.0", obj{
				"id": r.Text(t, "data.0.id"), "account_user_id": account.OwnerID, "occurred_at": "2026-03-02T01:00:01.000Z",
				"event_code": "webhook.created", "actor_type": "api-key", "actor_id": c.Key.ID, "actor_name": "shop",
				"source": "integration-api", "target_type": "webhook", "target_id": made.Text(t, "id"), "ip_address": address,
				"user_agent": "shop/1.0",
				"metadata": obj{
					"name": "Production", "events": []any{"order-outcome"}, "auth_type": "oauth2", "environment": "live",
				},
			})
			for _, secret := range []string{"hush-hush", "secret-path", "public.example", "client_id"} {
				if strings.Contains(string(r.Body), secret) {
					t.Errorf("the log holds %q: %s", secret, r.Body)
				}
			}
		})
		t.Run("WebhookWithoutName", func(t *testing.T) {
			c.Post(t, "/webhooks", endpoint("https://a.public.example/2")).Want(t, 201)
			c.Get(t, "/audit/events").
				Is(t, "data.0.metadata", obj{
					"name": nil, "events": []any{"order-outcome"}, "auth_type": "hmac", "environment": "live",
				})
		})
		t.Run("KeyRevoked", func(t *testing.T) {
			other := account.Test(t, integrationtest.Named("old"), integrationtest.Scopes(access.AuditRead))
			w.Clock.Advance(time.Second)
			if _, err := w.Service.RevokeKey(t.Context(), access.Operator, other.Key.ID); err != nil {
				t.Fatal(err)
			}
			c.Get(t, "/audit/events").Is(t, "data.0.event_code", "api-key.revoked").
				Is(t, "data.0.occurred_at", "2026-03-02T01:00:02.000Z").
				Is(t, "data.0.target_id", other.Key.ID).
				Is(t, "data.0.metadata", obj{"name": "old", "environment": "test", "scopes": []any{"audit:read"}})
		})
		t.Run("RefusalsLeaveNoTrace", func(t *testing.T) {
			before := c.Get(t, "/audit/events").At(t, "total")
			c.Post(t, "/webhooks", endpoint("https://a.public.example/2")).Refused(t, 409, "webhook-already-exists")
			c.Post(t, "/webhooks", endpoint("https://127.0.0.1/")).Refused(t, 400, "unsafe-webhook-url")
			c.Get(t, "/audit/events").Is(t, "total", before)
		})
		t.Run("BothEnvironmentsSeeTheSame", func(t *testing.T) {
			test := account.Test(t)
			a, b := test.Get(t, "/audit/events"), c.Get(t, "/audit/events")
			if string(a.Body) != string(b.Body) {
				t.Errorf("Test sees %s and Live %s", a.Body, b.Body)
			}
		})
		t.Run("OtherAccountsSeeNothing", func(t *testing.T) {
			w.Live(t).Get(t, "/audit/events").Is(t, "total", 1)
		})
		t.Run("StrangeUserAgents", func(t *testing.T) {
			for i, agent := range []string{"caf\xe9", strings.Repeat("界", 1000), "\u202eevil"} {
				c.Post(t, "/webhooks", endpoint(fmt.Sprintf("https://a.public.example/agent%d", i)), "User-Agent", agent).
					Want(t, 201)
				c.Get(t, "/audit/events").Want(t, 200).Is(t, "data.0.event_code", "webhook.created")
			}
		})
	})
}

// record writes an event of the log as its author would.
func record(t *testing.T, account *integrationtest.Account, e audit.Event) {
	t.Helper()
	e.AccountID, e.UserID = account.Account.ID, account.OwnerID
	if e.At.IsZero() {
		e.At = account.World.Clock.Now()
	}
	if err := account.World.Store.Update(t.Context(), func(tx *store.Tx) error { return tx.AppendAudit(&e) }); err != nil {
		t.Fatal(err)
	}
}

// TestAudit_Filters checks what each filter finds, and what it refuses.
func TestAudit_Filters(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		account := w.NewAccount(t)
		start := w.Clock.Now()
		user, order := uuid7.New(), uuid7.New()
		person := audit.Actor{
			Type: audit.ByUser, ID: user, Name: "Owner", Source: audit.FromPortal, IP: "203.0.113.9", UserAgent: "Mozilla",
		}
		mobile := audit.Actor{Type: audit.ByUser, ID: user, Name: "Owner", Source: audit.FromMobile}
		operator := audit.By(access.Operator)
		for i, e := range []audit.Event{
			{
				Code: audit.LoginFailed, Actor: person, Target: audit.Target{Type: audit.TargetUser, ID: user},
				Metadata: map[string]any{"reason": "wrong-password"},
			},
			{Code: audit.LoginSucceeded, Actor: mobile, Target: audit.Target{Type: audit.TargetUser, ID: user}},
			{Code: audit.PasswordChanged, Actor: person, Target: audit.Target{Type: audit.TargetUser, ID: user}},
			{Code: audit.EmailChanged, Actor: person, Target: audit.Target{Type: audit.TargetUser, ID: user}},
			{
				Code: audit.KeyRenamed, Actor: person, Target: audit.Target{Type: audit.TargetAPIKey},
				Metadata: map[string]any{"old_name": "a", "new_name": "b"},
			},
			{Code: audit.WebhookCreated, Actor: operator, Target: audit.Target{Type: audit.TargetDelivery, ID: order}},
			{Code: audit.WebhookCreated, Actor: operator, Target: audit.Target{Type: audit.TargetOrder, ID: order}},
		} {
			e.At = start.Add(time.Duration(i+1) * time.Second)
			record(t, account, e)
		}
		w.Clock.Set(start.Add(8 * time.Second))
		c := account.Live(t) // event 8: api-key.created
		found := func(t *testing.T, query string, want ...int) {
			t.Helper()
			r := c.Get(t, "/audit/events?"+query).Want(t, 200).Is(t, "total", len(want))
			var times []string
			for _, n := range want {
				times = append(times, start.Add(time.Duration(n)*time.Second).Format("2006-01-02T15:04:05.000Z"))
			}
			if got := r.List(t, "data", "occurred_at"); !slices.Equal(got, times) && len(got)+len(times) > 0 {
				t.Errorf("%s finds %q, not %q", query, got, times)
			}
		}
		at := func(n float64) string {
			return url.QueryEscape(start.Add(time.Duration(n * float64(time.Second))).Format(time.RFC3339Nano))
		}
		t.Run("None", func(t *testing.T) { found(t, "", 8, 7, 6, 5, 4, 3, 2, 1) })
		t.Run("EventCode", func(t *testing.T) {
			found(t, "event_code=auth.login.failed", 1)
			found(t, "event_code=webhook.created", 7, 6)
			found(t, "event_code=api-key.revoked")
			for i, code := range []string{
				"auth.login.failed", "auth.login.succeeded", "auth.password.changed", "auth.email.changed", "api-key.renamed",
			} {
				found(t, "event_code="+code, i+1)
			}
		})
		t.Run("ActorType", func(t *testing.T) {
			found(t, "actor_type=user", 5, 4, 3, 2, 1)
			found(t, "actor_type=system", 8, 7, 6)
			found(t, "actor_type=api-key")
		})
		t.Run("ActorID", func(t *testing.T) {
			found(t, "actor_id="+user, 5, 4, 3, 2, 1)
			found(t, "actor_id="+strings.ToUpper(user), 5, 4, 3, 2, 1)
			found(t, "actor_id="+order)
		})
		t.Run("Source", func(t *testing.T) {
			found(t, "source=mobile", 2)
			found(t, "source=portal-web", 5, 4, 3, 1)
			found(t, "source=system", 8, 7, 6)
			found(t, "source=integration-api")
		})
		t.Run("TargetType", func(t *testing.T) {
			found(t, "target_type=user", 4, 3, 2, 1)
			found(t, "target_type=order", 7)
			found(t, "target_type=webhook-delivery", 6)
			found(t, "target_type=api-key", 8, 5)
			found(t, "target_type=webhook")
		})
		t.Run("TargetID", func(t *testing.T) {
			found(t, "target_id="+order, 7, 6)
			found(t, "target_id="+c.Key.ID, 8)
		})
		t.Run("Together", func(t *testing.T) {
			found(t, "actor_type=user&source=portal-web&target_type=user&event_code=auth.email.changed&actor_id="+user+
				"&target_id="+user, 4)
			found(t, "actor_type=system&source=mobile")
		})
		t.Run("From", func(t *testing.T) { // inclusive
			found(t, "from="+at(7), 8, 7)
			found(t, "from="+at(7.0000001), 8)
			found(t, "from="+at(9))
		})
		t.Run("To", func(t *testing.T) { // exclusive
			found(t, "to="+at(2), 1)
			found(t, "to="+at(2.0000001), 2, 1)
			found(t, "to="+at(1))
		})
		t.Run("FromAndTo", func(t *testing.T) {
			found(t, "from="+at(3)+"&to="+at(5), 4, 3)
			found(t, "from="+at(3)+"&to="+at(3))
			found(t, "from="+at(3)+"&to="+at(5)+"&event_code=auth.email.changed", 4)
		})
		t.Run("Offsets", func(t *testing.T) {
			tokyo := start.Add(7 * time.Second).In(time.FixedZone("", 9*3600)).Format(time.RFC3339)
			found(t, "from="+url.QueryEscape(tokyo), 8, 7)
		})
		t.Run("ExtremeTimes", func(t *testing.T) {
			found(t, "from=0001-01-01T00:00:00Z", 8, 7, 6, 5, 4, 3, 2, 1)
			found(t, "from=0000-01-01T00:00:00Z&to=9999-12-31T23:59:59.999999999Z", 8, 7, 6, 5, 4, 3, 2, 1)
			found(t, "to=0001-01-01T00:00:00Z")
			found(t, "from=9999-12-31T23:59:59Z")
		})
		t.Run("FromLaterThanTo", func(t *testing.T) {
			c.Get(t, "/audit/events?from="+at(5)+"&to="+at(3)).Refused(t, 400, "invalid-audit-date-range").
				Is(t, "details", obj{"from": "2026-03-02T01:00:05.000Z", "to": "2026-03-02T01:00:03.000Z"})
			c.Get(t, "/audit/events?from="+at(5)+"&to=0001-01-01T00:00:00Z").Refused(t, 400, "invalid-audit-date-range")
		})
		t.Run("FilteredPages", func(t *testing.T) {
			r := c.Get(t, "/audit/events?actor_type=user&limit=2&page=2").Is(t, "total", 5).Is(t, "page", 2).Is(t, "limit", 2)
			if got := r.List(t, "data", "event_code"); !slices.Equal(got, []string{
				"auth.password.changed", "auth.login.succeeded",
			}) {
				t.Errorf("page 2 is %q", got)
			}
			c.Get(t, "/audit/events?actor_type=user&limit=2&page=4").Is(t, "data", []any{}).Is(t, "total", 5)
		})
		t.Run("Pages", func(t *testing.T) {
			r := c.Get(t, "/audit/events?limit=3&page=3").Is(t, "total", 8)
			if got := r.List(t, "data", "event_code"); !slices.Equal(got, []string{
				"auth.login.succeeded", "auth.login.failed",
			}) {
				t.Errorf("page 3 is %q", got)
			}
		})
		t.Run("LoginFailedTellsTheReason", func(t *testing.T) {
			c.Get(t, "/audit/events?event_code=auth.login.failed").Is(t, "data.0.metadata", obj{"reason": "wrong-password"})
			c.Get(t, "/audit/events?event_code=auth.email.changed").Is(t, "data.0.metadata", obj{})
		})
		for _, wrong := range []struct{ name, query, problem string }{
			{"UnknownEventCode", "event_code=order.created", "event_code enum"},
			{"EmptyEventCode", "event_code=", "event_code enum"},
			{"UnknownActorType", "actor_type=staff", "actor_type enum"},
			{"UnknownSource", "source=web", "source enum"},
			{"UnknownTargetType", "target_type=key", "target_type enum"},
			{"ActorIDNotAUUID", "actor_id=1", "actor_id format"},
			{"TargetIDNotAUUID", "target_id=%7B" + user + "%7D", "target_id format"},
			{"FromNotATimestamp", "from=yesterday", "from format"},
			{"FromADate", "from=2026-03-02", "from format"},
			{"FromWithoutOffset", "from=2026-03-02T01:00:00", "from format"},
			{"ToEmpty", "to=", "to format"},
			{"ToNoSuchDay", "to=2026-02-30T00:00:00Z", "to format"},
			{"FromTwice", "from=" + at(1) + "&from=" + at(2), "from duplicate"},
		} {
			t.Run(wrong.name, func(t *testing.T) { c.Get(t, "/audit/events?"+wrong.query).Invalid(t, wrong.problem) })
		}
		t.Run("AllProblemsAtOnce", func(t *testing.T) {
			c.Get(t, "/audit/events?from=x&to=y&event_code=z&actor_id=1&page=0&limit=101").
				Invalid(t, "from format", "to format", "event_code enum", "actor_id format", "page min", "limit max")
		})
	})
}
