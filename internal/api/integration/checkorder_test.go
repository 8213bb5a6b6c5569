package integration_test

import (
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/testkit/integrationtest"
)

// TestOrderOfChecks sends requests that break two rules at once: the one that is told has to be the earlier of the two.
// With every adjacent pair in order, the whole chain is.
func TestOrderOfChecks(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		account := w.NewAccount(t)
		t.Run("AuthenticationBeforeRoute", func(t *testing.T) {
			w.Anonymous().Get(t, "/nothing").Refused(t, 401, "unauthorized")
		})
		t.Run("RouteBeforeRateLimit", func(t *testing.T) {
			c := account.Test(t, integrationtest.Limit("read", 1))
			c.Get(t, "/balance").Want(t, 200)
			c.Get(t, "/balance").Refused(t, 429, "rate-limit-exceeded")
			c.Get(t, "/balance/x").Refused(t, 404, "not-found")
		})
		t.Run("RateLimitBeforeScope", func(t *testing.T) {
			c := account.Test(t, integrationtest.Limit("read", 1), integrationtest.Scopes(access.AuditRead))
			c.Get(t, "/orders").Refused(t, 403, "forbidden")
			c.Get(t, "/orders").Refused(t, 429, "rate-limit-exceeded")
		})
		t.Run("ScopeBeforeBody", func(t *testing.T) {
			c := account.Test(t, integrationtest.Scopes(access.AuditRead))
			c.Post(t, "/orders", "{").Refused(t, 403, "forbidden")
			c.Post(t, "/photos", "x").Refused(t, 403, "forbidden")
			c.Post(t, "/webhooks", "{").Refused(t, 403, "forbidden")
			c.Post(t, "/orders/none/update_photos", "{").Refused(t, 403, "forbidden")
			c.Get(t, "/orders?limit=0").Refused(t, 403, "forbidden")
		})
		t.Run("BodyBeforeRules", func(t *testing.T) {
			c := account.Test(t)
			c.Post(t, "/orders/none/update_photos", "{").Refused(t, 400, "bad-request")
			c.Post(t, "/orders/none/update_photos", "{}").Refused(t, 400, "validation-error")
			c.Get(t, "/orders/none?locale=fr").Refused(t, 400, "validation-error")
		})
	})
}

// TestCreateOrder_OrderOfChecks proves each adjacent pair of the order in which a creation is checked.
func TestCreateOrder_OrderOfChecks(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		account := w.NewAccount(t)
		test, live := account.Test(t), account.Live(t)
		account.SetCredits(t, access.Live, 3) // no order is so cheap
		foreign := "https://elsewhere.example/a.jpg"

		t.Run("JSONBeforeShape", func(t *testing.T) {
			test.Post(t, "/orders", `{"brand_code": 1,`).Refused(t, 400, "bad-request")
		})
		t.Run("ShapeBeforeMockOutcome", func(t *testing.T) {
			test.Post(t, "/orders", with(with(test.Bag(t), "mock_outcome", nil), "external_id", "")).
				Invalid(t, "external_id empty")
			live.Post(t, "/orders", with(with(live.Bag(t), "mock_outcome", "fake"), "external_id", "")).
				Invalid(t, "external_id empty")
		})
		t.Run("MockOutcomeBeforeCategory", func(t *testing.T) {
			test.Post(t, "/orders", with(with(test.Bag(t), "mock_outcome", nil), "category_code", "x")).
				Refused(t, 400, "mock-outcome-required")
			live.Post(t, "/orders", with(with(live.Bag(t), "mock_outcome", "fake"), "category_code", "x")).
				Refused(t, 400, "mock-outcome-required")
		})
		t.Run("UnknownEntityBeforeMismatch", func(t *testing.T) {
			body := with(with(live.Bag(t), "category_code", "watches"), "model_code", "x") // chanel makes no watches
			live.Post(t, "/orders", body).Refused(t, 404, "not-found").Is(t, "details", obj{"entity": "model", "code": "x"})
		})
		t.Run("EntityBeforePhotoIndex", func(t *testing.T) {
			photos := []any{obj{"url": live.Photos(t, 1)[0], "index_code": "x"}}
			live.Post(t, "/orders", with(with(live.Bag(t), "photos", photos), "brand_code", "x")).Refused(t, 404, "not-found")
			live.Post(t, "/orders", with(with(live.Bag(t), "photos", photos), "brand_code", "nike")).
				Refused(t, 400, "bad-request")
		})
		t.Run("PhotoIndexBeforePhotoURL", func(t *testing.T) {
			photos := []any{obj{"url": foreign, "index_code": "overall"}, obj{"url": foreign, "index_code": "x"}}
			live.Post(t, "/orders", with(live.Bag(t), "photos", photos)).Refused(t, 400, "photo-index-not-found")
		})
		t.Run("PhotoURLBeforeMissingIndexes", func(t *testing.T) {
			photos := []any{obj{"url": foreign, "index_code": "overall"}}
			live.Post(t, "/orders", with(live.Bag(t), "photos", photos)).Refused(t, 400, "unsupported-photo-url")
		})
		t.Run("UnknownPhotoBeforeMissingIndexes", func(t *testing.T) { // the URL is managed, the photo is another's
			photos := []any{obj{"url": test.Photos(t, 1)[0], "index_code": "overall"}}
			live.Post(t, "/orders", with(live.Bag(t), "photos", photos)).Refused(t, 400, "unsupported-photo-url")
		})
		t.Run("MissingIndexesBeforePhotoLimit", func(t *testing.T) {
			photos := photosOf(live.Photos(t, 3), "overall", "overall", "overall")
			live.Post(t, "/orders", with(live.Bag(t), "photos", photos)).Refused(t, 400, "missing-required-photo-indexes")
		})
		t.Run("PhotoLimitBeforeAnswerTime", func(t *testing.T) {
			photos := photosOf(live.Photos(t, 4), "overall", "overall", "overall", "serial")
			live.Post(t, "/orders", with(with(live.Bag(t), "photos", photos), "answer_time", 7)).
				Refused(t, 400, "photo-limit-exceeded")
		})
		t.Run("AnswerTimeBeforeCredits", func(t *testing.T) {
			live.Post(t, "/orders", with(live.Bag(t), "answer_time", 7)).Refused(t, 400, "answer-time-unavailable")
		})
		t.Run("CreditsLast", func(t *testing.T) {
			live.Post(t, "/orders", live.Bag(t)).Refused(t, 402, "not-enough-credits")
		})
		t.Run("NothingWasMade", func(t *testing.T) {
			test.Get(t, "/orders").Is(t, "total", 0)
			live.Get(t, "/orders").Is(t, "total", 0)
			if got := account.Balance(t, access.Live); got != 3 {
				t.Errorf("the balance is %d, not 3", got)
			}
		})
	})
}

// TestUpdatePhotos_OrderOfChecks proves each adjacent pair of the order in which a photo submission is checked.
func TestUpdatePhotos_OrderOfChecks(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		account := w.NewAccount(t)
		live := account.Live(t)
		id := live.CreateID(t)
		done := account.Test(t)
		completed := done.CreateID(t)
		w.RequestPhotos(t, id)
		path := "/orders/" + id + "/update_photos"
		foreign := "https://elsewhere.example/a.jpg"
		submit := func(t *testing.T, entries ...obj) *integrationtest.Response {
			t.Helper()
			return live.Post(t, path, obj{"photos": entries})
		}

		t.Run("JSONBeforeShape", func(t *testing.T) { live.Post(t, path, `{"photos": 1`).Refused(t, 400, "bad-request") })
		t.Run("ShapeBeforeOrder", func(t *testing.T) {
			live.Post(t, "/orders/none/update_photos", obj{}).Invalid(t, "photos required")
		})
		t.Run("OrderBeforeState", func(t *testing.T) { // the order is completed, and another environment's
			live.Post(t, "/orders/"+completed+"/update_photos", obj{"photos": []any{obj{"index_code": "x"}}}).
				Refused(t, 404, "order-not-found")
		})
		t.Run("StateBeforeIndexes", func(t *testing.T) {
			e := done.Post(t, "/orders/"+completed+"/update_photos", obj{"photos": []any{obj{"index_code": "x"}}})
			e.Refused(t, 409, "order-not-awaiting-update-photos")
		})
		t.Run("IndexesBeforeForm", func(t *testing.T) {
			submit(t, obj{"index_code": "overall"}, obj{"index_code": "interior"}).Refused(t, 400, "photo-index-not-requested")
		})
		t.Run("FormBeforeURL", func(t *testing.T) {
			submit(t, obj{"index_code": "overall", "url": foreign}, obj{"index_code": "serial"}).
				Refused(t, 400, "invalid-update-photo")
		})
		t.Run("URLBeforeLimit", func(t *testing.T) {
			urls := live.Photos(t, 2)
			submit(t, obj{"index_code": "overall", "url": urls[0]}, obj{"index_code": "overall", "url": urls[1]},
				obj{"index_code": "overall", "url": foreign}).
				Refused(t, 400, "unsupported-photo-url")
		})
		t.Run("UnknownPhotoBeforeLimit", func(t *testing.T) {
			urls := live.Photos(t, 2)
			submit(t, obj{"index_code": "overall", "url": urls[0]}, obj{"index_code": "overall", "url": urls[1]},
				obj{"index_code": "overall", "url": done.Photos(t, 1)[0]}).Refused(t, 400, "unsupported-photo-url")
		})
		t.Run("LimitBeforeMissing", func(t *testing.T) {
			urls := live.Photos(t, 3)
			submit(t, obj{"index_code": "overall", "url": urls[0]}, obj{"index_code": "overall", "url": urls[1]},
				obj{"index_code": "overall", "url": urls[2]}).
				Refused(t, 400, "photo-limit-exceeded")
		})
		t.Run("MissingLast", func(t *testing.T) {
			submit(t, obj{"index_code": "overall", "url": live.Photos(t, 1)[0]}).
				Refused(t, 400, "missing-requested-photo-indexes")
		})
		t.Run("NothingWasApplied", func(t *testing.T) {
			if o := w.Order(t, id); o.Status != "update-photos" || o.Round != 1 {
				t.Errorf("the order is in %s, round %d", o.Status, o.Round)
			}
			used := rows(t, w, "SELECT name FROM photos WHERE used = 1 AND environment = 'live'")
			if len(used) != 2 { // those of the creation
				t.Errorf("%d photos are marked as used: %s", len(used), strings.Join(used[0], ","))
			}
		})
	})
}

// photosOf are photos of an order, one for each index.
func photosOf(urls []string, indexes ...string) []any {
	photos := make([]any, len(indexes))
	for i, index := range indexes {
		photos[i] = obj{"url": urls[i], "index_code": index}
	}
	return photos
}
