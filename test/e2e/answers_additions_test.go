package e2e_test

// recordAdditions records what the interface has beyond its contract.
func (r *recorder) recordAdditions() {
	c := r.chapter("additions")
	got := send(r.t, r.client, r.request(nobody, "GET", r.site.URL(prefix+"/openapi-3.0.json"), ""))
	c.title("the document of the integration API as OpenAPI 3.0, without its body")
	got.Header.Del("Content-Length")
	c.header(got.Header)
}
