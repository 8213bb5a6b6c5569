package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/testkit/must"
)

func (r *recorder) recordWebhooks() {
	c := r.chapter("webhooks")
	path := prefix + "/webhooks"
	receiver := r.receiver.server.URL
	both := []string{"order-outcome", "update-photos"}
	hook := object{"url": receiver + "/test", "events": both, "name": "Shop"}
	oauth := object{
		"type": "oauth2", "token_url": receiver + "/token", "scope": "events:write",
		"client_id": "assay", "client_secret": "s3cr3t",
	}

	c.get("no endpoint", r.test, path)
	c.post("signed", r.test, path, hook.String())
	c.post("signed, without a name, of Live", r.live, path, object{"url": receiver + "/live", "events": both}.String())
	partner := object{"url": receiver + "/partner", "events": []string{"order-outcome"}, "auth": oauth}
	c.post("with OAuth2", r.partner, path, partner.String())
	c.get("one endpoint", r.test, path)
	c.get("one endpoint with OAuth2", r.partner, path)

	c.post("the same URL", r.test, path, hook.with(object{"name": nil}).String())
	otherSpelling := strings.Replace(receiver, "https://", "HTTPS://", 1) + "/test"
	c.post("the same URL in another spelling", r.test, path, hook.with(object{"url": otherSpelling}).String())
	var made []string
	for i := range 9 {
		body := object{"url": fmt.Sprintf("https://127.0.0.1:1999/%d", i), "events": []string{"update-photos"}}
		got := c.post("up to the limit", r.test, path, body.String())
		made = append(made, path+"/"+r.property(got.body, "id"))
	}
	c.post("above the limit", r.test, path, hook.with(object{"url": "https://127.0.0.1:1999/10"}).String())
	c.get("ten endpoints", r.test, path)
	c.send("delete what is no id", r.test, http.MethodDelete, path+"/12", "")
	c.send("delete with another key", r.live, http.MethodDelete, made[0], "")
	for _, endpoint := range made {
		c.send("delete", r.test, http.MethodDelete, endpoint, "")
	}
	c.send("delete again", r.test, http.MethodDelete, made[0], "")
	c.get("one is left", r.test, path)
	r.recordWebhookRefusals(c, hook, oauth)
}

func (r *recorder) recordWebhookRefusals(c *chapter, hook, oauth object) {
	path := prefix + "/webhooks"

	for _, refused := range []struct {
		label   string
		changes object
	}{
		{"nothing", object{"url": nil, "events": nil, "name": nil}},
		{"plain HTTP", object{"url": "http://shop.example/"}},
		{"not a URL", object{"url": "shop"}},
		{"credentials and fragment", object{"url": "https://a:b@shop.example/#x"}},
		{"a long URL", object{"url": "https://shop.example/" + strings.Repeat("a", 2048)}},
		{"no events", object{"events": []string{}}},
		{"unknown and repeated events", object{"events": []string{"order-outcome", "order-outcome", "order-lost"}}},
		{"an empty name", object{"name": ""}},
		{"a long name", object{"name": strings.Repeat("名", 101)}},
		{"unknown property", object{"colour": "red"}},
		{"wrong types", object{"url": 7, "events": "order-outcome", "name": true}},
		{"another kind of authentication", object{"auth": object{"type": "basic"}}},
		{"a token URL without https", object{
			"auth": oauth.with(object{"token_url": "http://shop.example/", "client_id": ""}),
		}},
	} {
		c.post(refused.label, r.test, path, hook.with(refused.changes).String())
	}
	c.post("not JSON", r.test, path, `{"url":`)
	c.post("another content type", r.test, path, hook.String(), "Content-Type", "text/plain")
	c.post("no body", r.test, path, "")
	c.post("not an object", r.test, path, "[]")
}

// recordUnsafeWebhooks starts the server again as it runs in production: private addresses are refused.
func (r *recorder) recordUnsafeWebhooks() {
	if code := r.site.Stop(r.t); code != 0 {
		r.t.Errorf("exit code %d", code)
	}
	r.site = r.site.again(r.t, "--webhook-allow-private=false")
	c := r.chapter("webhooks")
	hook := object{"url": "https://127.0.0.1/", "events": []string{"order-outcome"}}
	for _, host := range []string{
		"127.0.0.1", "10.0.0.8", "192.168.1.1", "169.254.169.254", "0.0.0.0", "[::1]", "[fd00::1]",
	} {
		c.post("unsafe address", r.test, prefix+"/webhooks", hook.with(object{"url": "https://" + host + "/"}).String())
	}
	oauth := object{"type": "oauth2", "token_url": "https://10.0.0.8/", "client_id": "a", "client_secret": "b"}
	c.post("unsafe token URL", r.test, prefix+"/webhooks", object{
		"url": "https://1.1.1.1/", "events": []string{"order-outcome"}, "auth": oauth,
	}.String())
}

func (r *recorder) recordAudit() {
	c := r.chapter("audit")
	for _, query := range []string{
		"", "?limit=2", "?limit=2&page=2", "?page=99", "?event_code=webhook.created&limit=2",
		"?actor_type=api-key&limit=1&page=3", "?source=integration-api&limit=1", "?target_type=api-key&limit=1",
		"?target_id=" + unknownID, "?actor_id=" + unknownID,
		"?from=2010-01-01T00:00:00Z&limit=1", "?to=2010-01-01T00:00:00Z", "?event_code=api-key.revoked&source=system",
		"?from=2010-12-01T00:00:00Z&to=2010-11-01T00:00:00Z", "?from=yesterday&to=&page=0&limit=101",
		"?event_code=x&actor_type=x&actor_id=x&source=x&target_type=x&target_id=x", "?page=1&page=2",
	} {
		c.get("events"+query, r.test, prefix+"/audit/events"+query)
	}
	c.get("the same for every key of the account", r.auditor, prefix+"/audit/events?limit=1")
	c.get("of another account", r.poor, prefix+"/audit/events")
}

// recordProof records what the commands tell after all that happened.
func (r *recorder) recordProof() {
	var pending []any
	must.Eventually(r.t, time.Minute, "the last delivery is acknowledged", func() bool {
		r.site.CLI(r.t, &pending, "deliveries", "list", "--status", "pending")
		return len(pending) == 0
	})
	c := r.chapter("commands")
	c.command("check")
	c.command("deliveries", "list", "--account", "Acme", "--limit-rows", "3")
	c.command("deliveries", "list", "--status", "failed")
	var deliveries []struct{ ID string }
	r.site.CLI(r.t, &deliveries, "deliveries", "list", "--account", "Acme", "--env", "test")
	if len(deliveries) == 0 {
		r.t.Fatal("there are no deliveries")
	}
	c.command("deliveries", "show", deliveries[len(deliveries)-1].ID)
	c.command("deliveries", "show", unknownID)
}
