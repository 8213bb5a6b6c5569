package client_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
)

// exampleService plays the service for the examples: one order that asks for a photo once and is then authentic.
func exampleService() *httptest.Server {
	var photosUpdated atomic.Bool
	mux := http.NewServeMux()
	reply := func(pattern string, status int, body func() string) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("X-RateLimit-Limit", "300")
			w.Header().Set("X-RateLimit-Remaining", "299")
			w.WriteHeader(status)
			_, _ = fmt.Fprint(w, body())
		})
	}
	fixed := func(body string) func() string { return func() string { return body } }

	reply("GET /v1/integrations/catalog/photo_indexes", 200, fixed(`{"data":[{"code":"overall-picture",
		"name":"Overall picture","name_locale":"Overall picture","required":true,"photo_limit":2,
		"icon_url":null,"example_urls":[]}]}`))
	reply("POST /v1/integrations/photos", 201, fixed(`{"data":[{"status":"uploaded",
		"url":"https://assay.example/media/p1","original_name":"overall-picture.jpg"}]}`))
	reply("POST /v1/integrations/orders", 201, fixed(`{"id":"0198c0de-0000-7000-8000-000000000001",
		"external_id":"shop/1001","order_number":"AS-7K2M9QXA","status":"update-photos","due_date":null}`))
	reply("GET /v1/integrations/orders", 200, fixed(`{"data":[
		{"id":"0198c0de-0000-7000-8000-000000000001","order_number":"AS-7K2M9QXA","status":"queued"},
		{"id":"0198c0de-0000-7000-8000-000000000000","order_number":"AS-5T1C8RWB","status":"completed","outcome":"fake"}],
		"page":1,"limit":50,"total":2}`))
	reply("POST /v1/integrations/orders/{id}/update_photos", 202, func() string {
		photosUpdated.Store(true)
		return `{"id":"0198c0de-0000-7000-8000-000000000001","status":"accepted"}`
	})
	reply("GET /v1/integrations/orders/{id}", 200, func() string {
		if photosUpdated.Load() {
			return `{"id":"0198c0de-0000-7000-8000-000000000001","status":"completed","outcome":"authentic",
				"outcome_locale":"Authentic","delayed":false,"classification":{},"due_date":null,"updated_at":null}`
		}
		return `{"id":"0198c0de-0000-7000-8000-000000000001","status":"update-photos","outcome":null,"outcome_locale":null,
			"delayed":false,"classification":{},"due_date":null,"updated_at":null,"photos_to_resubmit":[
			{"index_code":"overall-picture","name":"Overall picture","name_locale":"Overall picture","condition":"unclear",
			"condition_locale":"Unclear","requirements":[],"requirements_locale":[],"comment":null,
			"reference_photo_url":null,"max_photos":1}]}`
	})
	return httptest.NewServer(mux)
}
