package e2e_test

import (
	"net/http"
	"strings"
)

func deskOrder(id, move string) string {
	return deskPath + "/orders/" + id + move
}

// recordLiveOrders takes Live orders through all moves of the desk.
func (r *recorder) recordLiveOrders() {
	c, orders := r.chapter("desk"), r.chapter("live-orders")
	next := deskPath + "/orders/next"
	c.post("nothing is queued", r.reviewer, next, "")
	c.get("reasons", r.reviewer, deskPath+"/reasons")

	draft := bag(r.livePhotos...).with(object{"model_code": "northwind-tote"})
	slow := orders.order("at the default answer time", r.live, draft.with(object{"external_id": "slow"}))
	quick := draft.with(object{"answer_time": 30, "external_id": "fast"})
	fast := orders.order("fast", r.live, quick, "Idempotency-Key", "live-1")
	orders.post("the same again", r.live, ordersPath, quick.String(), "Idempotency-Key", "live-1")
	orders.post("no capacity is left", r.live, ordersPath, draft.with(object{"answer_time": 30}).String())
	orders.get("answer times without capacity", r.live,
		prefix+"/catalog/answer_times?brand_code=northwind&category_code=bags")
	hour := orders.order("in an hour", r.live, draft.with(object{"answer_time": 60}))
	failing := orders.order("one that fails", r.live, draft.with(object{"brand_code": "contoso", "model_code": nil}))
	orders.get("queued", r.live, ordersPath+"/"+slow)
	orders.get("balance", r.live, prefix+"/balance")

	c.get("the queue", r.reviewer, deskPath+"/orders")
	c.post("take the earliest due", r.reviewer, next+"?locale=ja", "")
	r.recordPhotoRequest(c, orders, fast)
	c.post("complete as authentic", r.reviewer, deskOrder(fast, "/complete"), object{
		"outcome": "authentic", "reason_codes": []string{"stitching-even"}, "note": "Not for the customer.",
		"reason_text": object{"en": "The lining matches.", "ja": "裏地が一致します。"},
	}.String())
	r.recordDelivery("an authentic Live order", "/live")
	orders.get("authentic", r.live, ordersPath+"/fast?locale=ja")

	c.post("claim", r.reviewer, deskOrder(hour, "/claim"), "")
	c.post("claim again", r.reviewer, deskOrder(hour, "/claim"), "")
	c.post("claim what a colleague has", r.colleague, deskOrder(hour, "/claim"), "")
	c.post("release what a colleague has", r.colleague, deskOrder(hour, "/release"), "")
	c.get("my orders", r.reviewer, deskPath+"/orders?assignee=me")
	c.post("release", r.reviewer, deskOrder(hour, "/release")+"?locale=ja", "")
	c.post("release again", r.reviewer, deskOrder(hour, "/release"), "")
	c.post("claim after the release", r.colleague, deskOrder(hour, "/claim"), "")
	c.post("an administrator completes it", r.admin, deskOrder(hour, "/complete"), object{
		"outcome": "fake", "reason_codes": []string{"logo-misaligned"}, "index_codes": []string{"overall"},
		"reason_text": object{"en": "The stamp is too large."},
	}.String())
	r.recordDelivery("a fake Live order", "/live")
	orders.get("fake", r.live, ordersPath+"/"+hour+"?locale=ja")

	c.post("claim", r.reviewer, deskOrder(failing, "/claim"), "")
	c.post("fail", r.reviewer, deskOrder(failing, "/fail"), object{"note": "Two different items."}.String())
	orders.get("failed", r.live, ordersPath+"/"+failing)
	c.post("cancel as a reviewer", r.reviewer, deskOrder(slow, "/cancel"), "")
	c.post("cancel", r.admin, deskOrder(slow, "/cancel"), object{"note": "Withdrawn."}.String())
	r.recordDelivery("a canceled Live order", "/live")
	c.post("cancel again", r.admin, deskOrder(slow, "/cancel"), "")
	orders.get("canceled", r.live, ordersPath+"/slow?locale=ja")

	unable := orders.order("one that cannot be verified", r.live, draft)
	c.post("take the only one", r.colleague, next, "")
	c.post("unable to verify", r.colleague, deskOrder(unable, "/complete"), `{"outcome":"unable-to-verify"}`)
	r.recordDelivery("a Live order that cannot be verified", "/live")
	c.get("the finished order", r.reviewer, deskOrder(unable, "?locale=ja"))
	orders.get("list", r.live, ordersPath)
	orders.get("balance after refunds", r.live, prefix+"/balance")
}

// recordPhotoRequest asks for photos of a claimed order and answers the request.
func (r *recorder) recordPhotoRequest(c, orders *chapter, id string) {
	move := deskOrder(id, "/request_photos")
	logo := object{
		"index_code": "logo", "condition": "unclear", "requirements": []string{"sharp-focus", "daylight"},
		"comment": "Please show all of it.", "max_photos": 1,
		"reference_photo_url": "https://assay.example/reference.jpg",
	}
	for _, refused := range []struct{ label, body string }{
		{"not JSON", "["},
		{"nothing", "{}"},
		{"no entries", `{"photos":[]}`},
		{"unknown codes", submission(
			logo.with(object{"condition": "x", "requirements": []string{"y"}}), object{"index_code": "sole"},
		)},
		{"an index twice", submission(logo, logo)},
		{"wrong form", submission(
			object{"index_code": "", "max_photos": 0, "reference_photo_url": "http://x", "colour": 1},
		)},
		{"a long comment", submission(logo.with(object{"comment": strings.Repeat("c", 1001)}))},
	} {
		c.post("request photos: "+refused.label, r.reviewer, move, refused.body)
	}
	c.post("request photos of what a colleague has", r.colleague, move, submission(logo))
	c.post("request photos", r.reviewer, move+"?locale=ja", submission(logo, object{"index_code": "overall"}))
	r.recordDelivery("a Live order asks for photos", "/live")
	c.post("request photos twice", r.reviewer, move, submission(logo))
	c.post("complete while photos are awaited", r.reviewer, deskOrder(id, "/complete"), `{"outcome":"authentic"}`)
	c.get("while photos are awaited", r.admin, deskOrder(id, ""))
	c.get("orders that wait for photos", r.reviewer, deskPath+"/orders?status=update-photos")

	orders.get("photos are requested", r.live, ordersPath+"/"+id+"?locale=ja")
	path := ordersPath + "/" + id + "/update_photos"
	photo := object{"index_code": "logo", "url": r.livePhotos[0]}
	orders.post("not all of them", r.live, path, submission(photo))
	orders.post("too many", r.live, path, submission(photo, photo))
	unable := object{"index_code": "overall", "is_unable_to_provide": true}
	answer := object{"photos": []object{photo, unable}, "note": "Taken in daylight."}
	orders.post("the photos", r.live, path, answer.String())
	orders.get("in processing again", r.live, ordersPath+"/"+id)
	c.get("with the new photos", r.reviewer, deskOrder(id, ""))
}

func (r *recorder) recordDeskLists() {
	c := r.chapter("desk-lists")
	for _, query := range []string{
		"", "?locale=ja&limit=2", "?limit=2&page=2", "?page=9", "?status=completed", "?status=error", "?status=queued",
		"?assignee=me", "?environment=live&status=completed&limit=1", "?environment=test",
		"?environment=test&limit=2&page=3", "?page=0&limit=101", "?limit=1&limit=2",
		"?status=lost&assignee=you&environment=prod&locale=fr",
	} {
		c.get("orders"+query, r.reviewer, deskPath+"/orders"+query)
	}
	c.get("a Test order", r.reviewer, deskOrder(r.testOrders[1], ""))
	c.get("a Test order in Japanese", r.reviewer, deskOrder(r.testOrders[0], "?locale=ja"))
}

// deskOperations are all operations of the desk API. The body is one that fits.
var deskOperations = []struct{ method, path, body string }{
	{http.MethodGet, "/orders", ""},
	{http.MethodPost, "/orders/next", ""},
	{http.MethodGet, "/orders/{id}", ""},
	{http.MethodPost, "/orders/{id}/claim", ""},
	{http.MethodPost, "/orders/{id}/release", ""},
	{http.MethodPost, "/orders/{id}/request_photos", `{"photos":[{"index_code":"logo"}]}`},
	{http.MethodPost, "/orders/{id}/complete", `{"outcome":"authentic"}`},
	{http.MethodPost, "/orders/{id}/fail", `{"note":"n"}`},
	{http.MethodPost, "/orders/{id}/cancel", `{"note":"n"}`},
	{http.MethodGet, "/reasons", ""},
}

func (r *recorder) recordDeskRefusals() {
	c := r.chapter("desk-refusals")
	finished, taken := r.testOrders[0], r.chapter("live-orders").order("for the refusals", r.live, bag(r.livePhotos[0]))
	c.post("claim", r.reviewer, deskOrder(taken, "/claim"), "")
	for _, o := range deskOperations {
		path := deskPath + o.path
		c.send("no token", nobody, o.method, strings.Replace(path, "{id}", unknownID, 1), o.body)
		if o.path != "/reasons" {
			c.send("unknown language", r.admin, o.method, strings.Replace(path, "{id}", taken, 1)+"?locale=fr", o.body)
		}
		if !strings.Contains(path, "{id}") {
			continue
		}
		c.send("unknown order", r.admin, o.method, strings.Replace(path, "{id}", unknownID, 1), o.body)
		c.send("not an id", r.admin, o.method, strings.Replace(path, "{id}", "bag-1", 1), o.body)
		if o.method == http.MethodPost {
			c.send("a Test order", r.admin, o.method, strings.Replace(path, "{id}", finished, 1), o.body)
			c.send("what a colleague has", r.colleague, o.method, strings.Replace(path, "{id}", taken, 1), o.body)
		}
		if o.body != "" {
			c.send("not JSON", r.admin, o.method, strings.Replace(path, "{id}", taken, 1), "{")
			c.send("unknown property", r.admin, o.method, strings.Replace(path, "{id}", taken, 1), `{"colour":"red"}`)
		}
	}
	for _, body := range []object{
		{"outcome": "canceled"},
		{"outcome": "fake"},
		{"outcome": "fake", "reason_codes": []string{"stitching-even", "nothing"}, "index_codes": []string{"sole"}},
		{"outcome": "authentic", "index_codes": []string{"overall"}, "reason_text": object{"ja": "本物"}},
		{"outcome": "unable-to-verify", "reason_text": object{"en": "x"}, "note": strings.Repeat("n", 1001)},
	} {
		c.post("complete", r.reviewer, deskOrder(taken, "/complete"), body.String())
	}
	c.get("an API key", r.live, deskPath+"/orders")
	c.get("no such path", r.reviewer, deskPath+"/nothing")
	c.send("no such method", r.reviewer, http.MethodDelete, deskOrder(taken, ""), "")
	c.post("cancel it", r.admin, deskOrder(taken, "/cancel"), "")
	r.recordDelivery("a claimed Live order that is canceled", "/live")
}
