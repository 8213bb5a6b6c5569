package e2e_test

import "net/http"

func (r *recorder) recordCatalog() {
	c := r.chapter("catalog")
	for _, query := range []string{
		"categories", "categories?locale=ja", "categories?brand_code=northwind&locale=ja", "categories?brand_code=nobody",
		"categories?brand_code=", "categories?locale=fr", "categories?locale=en&locale=ja", "categories?colour=red",
		"brands", "brands?locale=ja", "brands?category_code=bags", "brands?category_code=nothing", "brands?search=%20WIND",
		"brands?search=%E3%83%8E%E3%83%BC%E3%82%B9&locale=ja", "brands?page=2&limit=2", "brands?page=9",
		"brands?page=0&limit=101", "brands?page=x&limit=", "brands?search=a%00b",
		"models?brand_code=northwind&category_code=bags", "models?brand_code=contoso&category_code=bags",
		"models?brand_code=northwind&category_code=bags&locale=ja&limit=1",
		"models?brand_code=northwind&category_code=bags&search=satch", "models?brand_code=contoso&category_code=shoes",
		"models?brand_code=nobody&category_code=bags", "models", "models?brand_code=northwind&category_code=nothing",
		"models?brand_code=UPPER&category_code=", "answer_times?brand_code=northwind&category_code=bags",
		"answer_times?brand_code=contoso&category_code=bags&locale=ja",
		"answer_times?brand_code=northwind&category_code=shoes", "answer_times?brand_code=contoso&category_code=watches",
		"answer_times?brand_code=nobody&category_code=bags", "answer_times", "photo_indexes?category_code=bags",
		"photo_indexes?category_code=bags&brand_code=contoso&locale=ja",
		"photo_indexes?category_code=bags&brand_code=northwind&model_code=northwind-tote",
		"photo_indexes?category_code=watches", "photo_indexes",
		"photo_indexes?category_code=bags&model_code=northwind-tote",
		"photo_indexes?category_code=bags&brand_code=northwind&model_code=northwind-runner",
		"photo_indexes?category_code=bags&brand_code=northwind&model_code=nothing",
		"photo_indexes?category_code=shoes&brand_code=contoso",
	} {
		c.get(query, r.test, prefix+"/catalog/"+query)
	}
	for _, path := range []string{
		"categories", "brands", "models?brand_code=northwind&category_code=bags", "photo_indexes?category_code=bags",
		"answer_times?brand_code=contoso&category_code=bags",
	} {
		path = prefix + "/catalog/" + path
		tag := r.site.get(r.t, r.test.token, path).Header.Get("ETag")
		c.get("not modified", r.test, path, "If-None-Match", tag)
		c.get("another entity tag", r.test, path, "If-None-Match", `"other", W/"another"`)
	}
	c.get("a price of the account does not count for others", r.poor,
		prefix+"/catalog/answer_times?brand_code=northwind&category_code=bags")
}

// operations are all operations of the integration API that need a key.
var operations = []struct{ method, path string }{
	{http.MethodGet, "/catalog/categories"},
	{http.MethodGet, "/catalog/brands"},
	{http.MethodGet, "/catalog/models?brand_code=northwind&category_code=bags"},
	{http.MethodGet, "/catalog/answer_times?brand_code=northwind&category_code=bags"},
	{http.MethodGet, "/catalog/photo_indexes?category_code=bags"},
	{http.MethodPost, "/photos"},
	{http.MethodGet, "/balance"},
	{http.MethodPost, "/orders"},
	{http.MethodGet, "/orders"},
	{http.MethodGet, "/orders/" + unknownID},
	{http.MethodPost, "/orders/" + unknownID + "/update_photos"},
	{http.MethodGet, "/audit/events"},
	{http.MethodPost, "/webhooks"},
	{http.MethodGet, "/webhooks"},
	{http.MethodDelete, "/webhooks/" + unknownID},
}

// recordAccess records who may not do what, and addresses that do not exist.
func (r *recorder) recordAccess() {
	c := r.chapter("access")
	for _, o := range operations {
		c.send("no key", nobody, o.method, prefix+o.path, "")
		c.send("from another network", r.foreign, o.method, prefix+o.path, "")
		c.send("default limit", r.defaults, o.method, prefix+o.path, "")
	}
	for _, o := range operations[5:] {
		if o.path != "/balance" && o.path != "/audit/events" {
			c.send("without the scope", r.auditor, o.method, prefix+o.path, "")
		}
	}
	c.get("without the scope", r.reader, prefix+"/audit/events")

	balance := prefix + "/balance"
	c.get("balance of Test", r.test, balance)
	c.get("balance of Live", r.live, balance)
	c.get("a revoked key", r.revoked, balance)
	c.get("a staff token", r.reviewer, balance)
	wrong := caller{"a wrong key", "assay_test_0000000000000000000000000000000000000000"}
	c.get("a key that does not exist", wrong, balance)
	c.get("another scheme", nobody, balance, "Authorization", "Basic YTpi")
	c.get("one read is left", r.limited, balance)
	c.get("no read is left", r.limited, balance)

	c.get("no such path", r.test, prefix+"/nothing")
	c.get("no such path without a key", nobody, prefix+"/nothing")
	c.get("the prefix alone", r.test, prefix)
	c.get("a slash at the end", r.test, prefix+"/balance/")
	c.get("double slash", r.test, prefix+"//balance")
	c.send("no such method", r.test, http.MethodPut, balance, "")
	c.send("no such method", r.test, http.MethodPatch, prefix+"/orders", "{}")
	c.send("HEAD", r.test, http.MethodHead, balance, "")
	c.send("OPTIONS", r.test, http.MethodOptions, prefix+"/orders", "")
}
