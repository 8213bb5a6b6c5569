package e2e_test

import (
	"encoding/json"
	"net/http"
	"strings"
)

// added are the operations that the interface has beyond its contract.
var added = []struct{ method, path string }{
	{http.MethodGet, "/me"},
	{http.MethodPost, "/quote"},
	{http.MethodPost, "/orders/" + unknownID + "/cancel"},
	{http.MethodPost, "/orders/" + unknownID + "/simulate"},
	{http.MethodGet, "/events"},
	{http.MethodPost, "/capture_links"},
	{http.MethodGet, "/capture_links/" + unknownID},
	{http.MethodDelete, "/capture_links/" + unknownID},
	{http.MethodPatch, "/webhooks/" + unknownID},
	{http.MethodPost, "/webhooks/" + unknownID + "/rotate_secret"},
}

// recordAdditions records what the interface has beyond its contract.
func (r *recorder) recordAdditions() {
	c := r.chapter("additions")
	for _, o := range added {
		c.send("no key", nobody, o.method, prefix+o.path, "")
		c.send("from another network", r.foreign, o.method, prefix+o.path, "")
		if o.path != "/me" && o.path != "/quote" {
			c.send("without the scope", r.auditor, o.method, prefix+o.path, "")
		}
	}
	c.get("a key with the default limits", r.defaults, prefix+"/me")
	c.get("a key of Live", r.live, prefix+"/me")
	r.recordQuotes(c)
	r.recordCancellation(c)
	r.recordEvents(c)
	r.recordWebhookChanges(c)
	r.recordCaptureLinks(c)
	r.recordSimulation(c)

	got := send(r.t, r.client, r.request(nobody, "GET", r.site.URL(prefix+"/openapi-3.0.json"), ""))
	c.title("the document of the integration API as OpenAPI 3.0, without its body")
	got.Header.Del("Content-Length")
	c.header(got.Header)
}

func (r *recorder) recordQuotes(c *chapter) {
	path := prefix + "/quote"
	tote := object{"brand_code": "northwind", "category_code": "bags"}
	c.post("a quote", r.test, path+"?locale=ja", tote.String())
	c.post("a quote of an answer time", r.live, path,
		tote.with(object{"answer_time": 60, "model_code": "northwind-tote"}).String())
	c.post("more than there is", r.poor, path, tote.String())
	c.post("an answer time that is not there", r.test, path, tote.with(object{"answer_time": 7}).String())
	c.post("nothing", r.test, path, "{}")
	c.post("wrong values", r.test, path, `{"brand_code":"","category_code":7,"answer_time":0,"photos":[]}`)
	c.post("not JSON", r.test, path, "{")
	c.post("an unknown brand", r.test, path, tote.with(object{"brand_code": "x"}).String())
	c.post("a brand of other categories", r.test, path, object{"brand_code": "contoso", "category_code": "shoes"}.String())
}

func (r *recorder) recordCancellation(c *chapter) {
	var endpoints struct{ Data []struct{ ID string } }
	if err := json.Unmarshal(send(r.t, r.client, r.request(r.live, "GET", r.site.URL(prefix+"/webhooks"), "")).body,
		&endpoints); err != nil {
		r.t.Fatal(err)
	}
	for _, e := range endpoints.Data {
		c.send("without endpoints of Live", r.live, http.MethodDelete, prefix+"/webhooks/"+e.ID, "")
	}
	made := c.post("an order of Live", r.live, prefix+"/orders",
		bag(r.livePhotos[0]).with(object{"external_id": "undo"}).String())
	path := prefix + "/orders/" + r.property(made.body, "id") + "/cancel"
	c.get("the balance before", r.live, prefix+"/balance")
	c.post("with a body", r.live, path, `{"reason":"none"}`)
	c.post("not JSON", r.live, path, "{")
	c.post("with a key of Test", r.test, path, "")
	c.post("cancel", r.live, path, "")
	c.post("cancel again", r.live, prefix+"/orders/undo/cancel", "{}")
	c.get("the balance after", r.live, prefix+"/balance")
	c.get("the canceled order", r.live, prefix+"/orders/undo")
}

func (r *recorder) recordEvents(c *chapter) {
	path := prefix + "/events"
	first := c.get("the first event", r.test, path+"?limit=1")
	c.get("the next", r.test, path+"?limit=1&after="+r.property(first.body, "next_cursor"))
	c.get("none of another key", r.reader, path)
	c.get("a cursor that was never given out", r.test, path+"?after=999999999")
	c.get("wrong parameters", r.test, path+"?after=x&limit=101")
}

func (r *recorder) recordWebhookChanges(c *chapter) {
	hooks := prefix + "/webhooks"
	signed := c.post("a signed endpoint", r.live, hooks,
		object{"url": r.receiver.server.URL + "/changes", "events": []string{"order-outcome"}}.String())
	path := hooks + "/" + r.property(signed.body, "id")
	c.send("pause", r.live, http.MethodPatch, path, `{"paused":true}`)
	c.get("a paused endpoint", r.live, hooks)
	c.send("resume", r.live, http.MethodPatch, path, `{"paused":false}`)
	c.send("nothing to change", r.live, http.MethodPatch, path, "{}")
	c.send("what cannot be changed", r.live, http.MethodPatch, path, `{"paused":1,"url":"https://shop.example/"}`)
	c.send("not JSON", r.live, http.MethodPatch, path, "{")
	c.send("no id", r.live, http.MethodPatch, hooks+"/12", `{"paused":true}`)
	c.send("an unknown endpoint", r.live, http.MethodPatch, hooks+"/"+unknownID, `{"paused":true}`)
	c.send("an endpoint of another key", r.test, http.MethodPatch, path, `{"paused":true}`)

	c.post("rotate", r.live, path+"/rotate_secret", "")
	c.post("rotate with a body", r.live, path+"/rotate_secret", `{"secret":"x"}`)
	c.post("rotate, not JSON", r.live, path+"/rotate_secret", "{")
	c.post("rotate what is no id", r.live, hooks+"/12/rotate_secret", "")
	c.post("rotate an unknown endpoint", r.live, hooks+"/"+unknownID+"/rotate_secret", "")
	listed := c.get("endpoints with OAuth2", r.partner, hooks)
	_, rest, _ := strings.Cut(string(listed.body), `"id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	c.post("rotate an endpoint without a secret", r.partner, hooks+"/"+id+"/rotate_secret", "")
	c.send("delete", r.live, http.MethodDelete, path, "")
}

func (r *recorder) recordCaptureLinks(c *chapter) {
	links := prefix + "/capture_links"
	tote := object{"brand_code": "northwind", "category_code": "bags"}
	made := c.post("a link for an item", r.test, links,
		tote.with(object{"external_id": "sku", "expires_in": 3600, "locale": "ja", "return_url": "https://shop.example/"}).
			String())
	path := links + "/" + r.property(made.body, "id")
	c.get("an open link", r.test, path)
	c.get("with a key of Live", r.live, path)
	c.send("revoke", r.test, http.MethodDelete, path, "")
	c.send("revoke again", r.test, http.MethodDelete, path, "")
	c.get("a revoked link", r.test, path)
	c.get("no id", r.test, links+"/12")
	c.get("an unknown link", r.test, links+"/"+unknownID)
	c.send("revoke what is no id", r.test, http.MethodDelete, links+"/12", "")
	asked := c.post("an order that waits for photos", r.test, prefix+"/orders",
		bag(r.photos[0]).with(object{"mock_outcome": "update-photos"}).String())
	c.post("a link for its request", r.test, links, object{"order_id": r.property(asked.body, "id")}.String())
	c.post("a link for an order that does not wait", r.live, links, object{"order_id": "undo"}.String())
	c.post("an unknown order", r.test, links, object{"order_id": "none"}.String())
	c.post("an unknown brand", r.test, links, tote.with(object{"brand_code": "x"}).String())
	c.post("a brand of other categories", r.test, links,
		object{"brand_code": "contoso", "category_code": "shoes"}.String())
	c.post("wrong values", r.test, links, `{"expires_in":1,"locale":"fr","return_url":"http://x","photos":[]}`)
	c.post("an item and an order", r.test, links, tote.with(object{"order_id": "none"}).String())
	c.post("not JSON", r.test, links, "{")
	for range 999 {
		send(r.t, r.client, r.request(r.live, "POST", r.site.URL(links), tote.String()))
	}
	c.post("more than an account may have", r.live, links, tote.String())
}

func (r *recorder) recordSimulation(c *chapter) {
	made := c.post("an order of Test", r.test, prefix+"/orders",
		bag(r.photos[0]).with(object{"external_id": "rehearsal", "mock_outcome": "authentic"}).String())
	path := prefix + "/orders/" + r.property(made.body, "id") + "/simulate"
	c.post("a photo request", r.test, path, `{"state":"update-photos"}`)
	c.post("an order that cannot be processed", r.test, prefix+"/orders/rehearsal/simulate", `{"state":"error"}`)
	c.get("the order in that state", r.test, prefix+"/orders/rehearsal")
	c.post("no state", r.test, path, "{}")
	c.post("an unknown state", r.test, path, `{"state":"lost"}`)
	c.post("not JSON", r.test, path, "{")
	c.post("an order of Test with a key of Live", r.live, path, `{"state":"fake"}`)
	c.post("an order of Live", r.live, prefix+"/orders/undo/simulate", `{"state":"fake"}`)
}
