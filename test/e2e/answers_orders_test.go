package e2e_test

import "strings"

const ordersPath = prefix + "/orders"

// order creates an order and returns its id.
func (c *chapter) order(label string, as caller, body object, headers ...string) string {
	c.t.Helper()
	got := c.post(label, as, ordersPath, body.String(), headers...)
	got.wantStatus(c.t, 201)
	return c.property(got.body, "id")
}

// recordTestOrders records the life of Test orders, which end as their creator says.
func (r *recorder) recordTestOrders() {
	c := r.chapter("orders")
	c.get("no order", r.test, ordersPath)
	overall := object{"index_code": "overall", "url": r.photos[0]}
	logo := object{"index_code": "logo", "url": r.photos[1]}
	authentic := bag().with(object{
		"model_code": "northwind-tote", "answer_time": 60, "external_id": "bag/1 ä", "mock_outcome": "authentic",
		"photos": []object{overall, logo},
	})
	first := c.order("authentic", r.test, authentic)
	r.recordDelivery("an authentic Test order", "/test")
	got := c.get("by id", r.test, ordersPath+"/"+first)
	r.certificateURL = r.property(got.body, "certificate_url")
	c.get("by id in Japanese", r.test, ordersPath+"/"+first+"?locale=ja")
	c.get("by external id", r.test, ordersPath+"/bag%2F1%20%C3%A4")
	c.get("with a key of the same account", r.reader, ordersPath+"/"+first)
	c.get("with a Live key", r.live, ordersPath+"/"+first)
	c.get("with a key of another account", r.poor, ordersPath+"/"+first)
	c.get("in an unknown language", r.test, ordersPath+"/"+first+"?locale=fr")
	c.get("an unknown id", r.test, ordersPath+"/"+unknownID)
	c.get("an unknown external id", r.test, ordersPath+"/bag-2")

	fake := bag(r.photos[0], r.photos[1]).with(object{"mock_outcome": "fake", "external_id": "fake-1"})
	second := c.order("fake, with an idempotency key", r.test, fake, "Idempotency-Key", "key-1")
	r.recordDelivery("a fake Test order", "/test")
	c.post("the same again", r.test, ordersPath, fake.String(), "Idempotency-Key", "key-1")
	c.post("the same key, another body", r.test, ordersPath, authentic.String(), "Idempotency-Key", "key-1")
	c.post("the same key, not JSON", r.test, ordersPath, "{", "Idempotency-Key", "key-1")
	c.get("fake in Japanese", r.test, ordersPath+"/"+second+"?locale=ja")
	unable := bag(r.photos[0]).with(object{"mock_outcome": "unable-to-verify", "external_id": "fake-1"})
	third := c.order("unable to verify, the same external id", r.test, unable.with(object{"brand_code": "contoso"}))
	r.recordDelivery("a Test order that cannot be verified", "/test")
	c.get("unable to verify", r.test, ordersPath+"/"+third+"?locale=ja")
	c.get("two with the same external id", r.test, ordersPath+"/fake-1")
	r.testOrders = append(r.testOrders, first, second, third)
	r.recordUpdatePhotos(c)

	c.order("with an OAuth2 endpoint", r.partner, bag(r.photos[0]).with(object{"mock_outcome": "authentic"}))
	r.recordDelivery("the token of the OAuth2 endpoint", "/token")
	r.recordDelivery("an authentic Test order to an OAuth2 endpoint", "/partner")

	for _, query := range []string{
		"", "?limit=2", "?limit=2&page=2", "?page=9", "?page=0&limit=51", "?limit=x", "?limit=1&limit=2",
	} {
		c.get("list"+query, r.test, ordersPath+query)
	}
	c.get("balance of Test", r.test, prefix+"/balance")
}

// recordUpdatePhotos records requests for photos of Test orders and the answers to them.
func (r *recorder) recordUpdatePhotos(c *chapter) {
	wanted := bag(r.photos[0]).with(object{"mock_outcome": "update-photos", "model_code": "northwind-tote"})
	id := c.order("photos are requested", r.test, wanted)
	r.recordDelivery("a Test order asks for photos", "/test")
	c.get("photos are requested", r.test, ordersPath+"/"+id)
	c.get("photos are requested, in Japanese", r.test, ordersPath+"/"+id+"?locale=ja")

	path := ordersPath + "/" + id + "/update_photos"
	entry := object{"index_code": "overall", "url": r.photos[1]}
	logo := object{"index_code": "logo", "url": r.photos[2]}
	unable := object{"index_code": "overall", "is_unable_to_provide": true}
	for _, refused := range []struct{ label, body string }{
		{"not JSON", "{"},
		{"nothing", "{}"},
		{"no entries", `{"photos":[]}`},
		{"unknown property", object{"photos": []object{entry}, "colour": "red"}.String()},
		{"wrong types", `{"photos":[{"index_code":7,"url":false,"is_unable_to_provide":"yes"}],"note":1}`},
		{"an index that is not requested", submission(entry, object{"index_code": "sole", "url": r.photos[1]})},
		{"neither URL nor unable", submission(object{"index_code": "overall"})},
		{"both", submission(entry.with(unable))},
		{"provided and unable", submission(entry, unable)},
		{"unable twice", submission(unable, unable)},
		{"not a managed URL", submission(entry.with(object{"url": "https://shop.example/a.png"}))},
		{"a photo of Live", submission(entry.with(object{"url": r.livePhotos[0]}))},
		{"too many photos", submission(entry, entry, entry)},
		{"one index is missing", submission(entry)},
		{"a long note", object{"photos": []object{entry}, "note": strings.Repeat("n", 3000)}.String()},
	} {
		c.post("update: "+refused.label, r.test, path, refused.body)
	}
	c.post("update: unknown order", r.test, ordersPath+"/"+unknownID+"/update_photos", submission(entry))
	c.post("update: a finished order", r.test, ordersPath+"/"+r.testOrders[0]+"/update_photos", submission(entry))
	c.post("update: accepted", r.test, path, object{"photos": []object{entry, logo}, "note": "In daylight."}.String())
	r.recordDelivery("a Test order after its photos came", "/test")
	c.post("update: twice", r.test, path, submission(entry))
	c.get("after the photos came", r.test, ordersPath+"/"+id)

	id = c.order("photos are requested again", r.test, wanted.with(object{"external_id": "again"}))
	r.recordDelivery("another Test order asks for photos", "/test")
	c.post("update: unable to provide", r.test, ordersPath+"/again/update_photos", submission(unable, logo))
	r.recordDelivery("a Test order without its photos", "/test")
	c.get("without the photos", r.test, ordersPath+"/"+id)

	c.order("photos are requested a third time", r.test, wanted.with(object{"external_id": "third"}))
	r.recordDelivery("a third Test order asks for photos", "/test")
	body := object{"photos": []object{entry, logo}, "note": "mock_outcome=fake"}
	c.post("update: with an outcome", r.test, ordersPath+"/third/update_photos", body.String())
	r.recordDelivery("a Test order with the outcome of its note", "/test")
	c.get("with the outcome of the note", r.test, ordersPath+"/third")
}

func submission(photos ...object) string { return object{"photos": photos}.String() }

// recordOrderRefusals records orders that are not created, each for one of the reasons of the document.
func (r *recorder) recordOrderRefusals() {
	c := r.chapter("order-refusals")
	valid := bag(r.photos[0]).with(object{"mock_outcome": "authentic"})
	photo := func(index, url string) object { return object{"index_code": index, "url": url} }
	managed := r.photos[0]
	for _, refused := range []struct {
		label   string
		changes object
	}{
		{"nothing", object{"brand_code": nil, "category_code": nil, "photos": nil, "mock_outcome": nil}},
		{"empty codes", object{"brand_code": "", "category_code": "", "model_code": "", "external_id": ""}},
		{"wrong types", object{"brand_code": 1, "photos": "none", "answer_time": "fast", "external_id": []string{}}},
		{"no photos", object{"photos": []object{}}},
		{"photos without properties", object{"photos": []object{{}, {"index_code": "", "url": ""}}}},
		{"unknown properties", object{
			"colour": "red", "photos": []object{photo("overall", managed).with(object{"x": 1})},
		}},
		{"long external id", object{"external_id": strings.Repeat("ä", 101)}},
		{"NUL", object{"external_id": "a\x00b"}},
		{"answer time below 1", object{"answer_time": 0}},
		{"no mock outcome", object{"mock_outcome": nil}},
		{"unknown mock outcome", object{"mock_outcome": "lost"}},
		{"unknown brand", object{"brand_code": "nobody"}},
		{"unknown category", object{"category_code": "nothing"}},
		{"unknown model", object{"model_code": "nothing"}},
		{"category of another brand", object{"brand_code": "contoso", "category_code": "shoes"}},
		{"model of another category", object{"model_code": "northwind-runner"}},
		{"unknown index", object{"photos": []object{photo("overall", managed), photo("sole", managed)}}},
		{"not a managed URL", bag("https://shop.example/a.png")},
		{"URL with a query", bag(managed + "?x=1")},
		{"URL with a fragment", bag(managed + "#x")},
		{"URL with credentials", bag(strings.Replace(managed, "//", "//a:b@", 1))},
		{"photo of Live", bag(r.livePhotos[0])},
		{"missing index", object{"photos": []object{photo("logo", managed)}}},
		{"too many photos", bag(managed, managed, managed)},
		{"answer time that is not offered", object{"answer_time": 61}},
		{"answer time of another category", object{
			"category_code": "shoes", "answer_time": 60, "photos": []object{photo("sole", managed)},
		}},
	} {
		c.post(refused.label, r.test, ordersPath, valid.with(refused.changes).String())
	}
	c.post("not JSON", r.test, ordersPath, `{"brand_code":"northwind",}`)
	c.post("ends early", r.test, ordersPath, `{"brand_code":`)
	c.post("more than one value", r.test, ordersPath, valid.String()+"{}")
	c.post("repeated property", r.test, ordersPath, `{"brand_code":"a","brand_code":"b"}`)
	c.post("no body", r.test, ordersPath, "")
	c.post("not an object", r.test, ordersPath, "null")
	c.post("nested too deeply", r.test, ordersPath, strings.Repeat("[", 33)+strings.Repeat("]", 33))
	c.post("not UTF-8", r.test, ordersPath, "{\"brand_code\":\"\xff\"}")
	c.post("another content type", r.test, ordersPath, valid.String(), "Content-Type", "application/xml")
	c.post("long idempotency key", r.test, ordersPath, valid.String(), "Idempotency-Key", strings.Repeat("k", 256))
	c.post("mock outcome with a Live key", r.live, ordersPath, valid.String())
	c.post("a Live order with a photo of Test", r.live, ordersPath, valid.with(object{"mock_outcome": nil}).String())
	url := r.urls(c.uploads("a photo of another account", r.poor, photoPart{"photos", "a.png", photoContent()}))[0]
	c.post("not enough credits", r.poor, ordersPath, bag(url).String())
	c.post("a photo of another account", r.live, ordersPath, bag(url).String())
}
