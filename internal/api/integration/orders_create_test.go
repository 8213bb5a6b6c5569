package integration_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/testkit/integrationtest"
)

// TestCreateOrder creates orders with a Live key.
func TestCreateOrder(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		c := w.Live(t)
		t.Run("Queued", func(t *testing.T) {
			r := c.Create(t, obj{"external_id": "shop-1", "model_code": "boy-bag", "answer_time": 30})
			if got := r.Keys(t, ""); !slices.Equal(got, []string{"due_date", "external_id", "id", "order_number", "status"}) {
				t.Errorf("the properties are %q", got)
			}
			r.Is(t, "external_id", "shop-1").Is(t, "status", "queued").Is(t, "due_date", "2026-03-02T01:30:00.000Z")
			if id, err := uuid.Parse(r.Text(t, "id")); err != nil || id.String() != r.Text(t, "id") {
				t.Errorf("the id is %s", r.Text(t, "id"))
			}
			if number := r.Text(t, "order_number"); !order.ValidNumber(number) || !strings.HasPrefix(number, "AS-") ||
				len(number) != 11 {
				t.Errorf("the order number is %s", number)
			}
		})
		t.Run("WithoutOptionalProperties", func(t *testing.T) {
			r := c.Create(t).Is(t, "external_id", nil)
			c.Get(t, "/orders/"+r.Text(t, "id")).Is(t, "classification.model_code", nil)
		})
		t.Run("Charged", func(t *testing.T) {
			before := c.Account.Balance(t, access.Live)
			id := c.CreateID(t, obj{"answer_time": 30}) // 20 credits for a chanel bag
			if got := c.Account.Balance(t, access.Live); got != before-20 {
				t.Errorf("the balance went from %d to %d", before, got)
			}
			entry := rows(t, w, "SELECT kind, amount, balance_after FROM ledger_entries WHERE order_id = $1", id)
			if len(entry) != 1 || entry[0][0] != "charge" || entry[0][1] != "-20" {
				t.Errorf("the ledger has %v", entry)
			}
		})
		t.Run("ExternalIDNeedNotBeUnique", func(t *testing.T) {
			a, b := c.CreateID(t, obj{"external_id": "same"}), c.CreateID(t, obj{"external_id": "same"})
			if a == b {
				t.Error("one order was made")
			}
		})
		t.Run("ExactlyEnoughCredits", func(t *testing.T) {
			poor := w.NewAccount(t)
			poor.SetCredits(t, access.Live, 4)
			poor.Live(t).Create(t)
			if got := poor.Balance(t, access.Live); got != 0 {
				t.Errorf("the balance is %d", got)
			}
		})
		t.Run("NotEnoughCredits", func(t *testing.T) {
			poor := w.NewAccount(t)
			poor.SetCredits(t, access.Live, 3)
			p := poor.Live(t)
			p.Post(t, "/orders", p.Bag(t)).Refused(t, 402, "not-enough-credits").
				Is(t, "details", obj{"required_credits": 4, "available_credits": 3})
			p.Get(t, "/orders").Is(t, "total", 0)
			if got := poor.Balance(t, access.Live); got != 3 {
				t.Errorf("the balance is %d", got)
			}
			if used := rows(t, w, "SELECT name FROM photos WHERE used = 1 AND account_id = $1",
				poor.Account.ID); len(used) != 0 {
				t.Errorf("%d photos are marked as used", len(used))
			}
		})
		t.Run("NotEnoughTestCredits", func(t *testing.T) { // a rehearsal
			poor := w.NewAccount(t)
			poor.SetCredits(t, access.Test, 0)
			p := poor.Test(t)
			p.Post(t, "/orders", p.Bag(t)).Refused(t, 402, "not-enough-credits")
		})
		t.Run("Free", func(t *testing.T) {
			w.ImportCatalog(t, []byte(strings.Replace(string(integrationtest.Catalog), "    price: 4\n", "    price: 0\n", 1)))
			defer w.ImportCatalog(t, integrationtest.Catalog)
			poor := w.NewAccount(t)
			poor.SetCredits(t, access.Live, 0)
			poor.Live(t).Create(t)
		})
		t.Run("PhotosAndTimelineAreKept", func(t *testing.T) {
			id := c.CreateID(t)
			photos, err := w.Store.OrderPhotos(t.Context(), id)
			if err != nil || len(photos) != 2 || photos[0].IndexCode != "overall" || photos[1].IndexCode != "serial" {
				t.Errorf("the photos are %v, %v", photos, err)
			}
			timeline, err := w.Store.Timeline(t.Context(), id)
			if err != nil || len(timeline) != 1 || timeline[0].Event != "created" || timeline[0].Actor.ID != c.Key.ID ||
				timeline[0].Actor.Kind != access.ByAPIKey || timeline[0].Actor.Name != c.Key.Name {
				t.Errorf("the timeline is %+v, %v", timeline, err)
			}
		})
	})
}

// TestCreateOrder_Shape checks the rules of form of a creation, one at a time; TestBody has those of every body.
func TestCreateOrder_Shape(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		c := w.Live(t)
		url := c.Photos(t, 1)[0]
		many := func(n int) []any {
			photos := make([]any, n)
			for i := range photos {
				photos[i] = obj{"url": url, "index_code": "pair"}
			}
			return photos
		}
		shoes := c.Bag(t, obj{"category_code": "shoes", "photos": many(1)})
		for _, shape := range []struct {
			name     string
			property string
			value    any
			problem  string
		}{
			{name: "BrandMissing", property: "brand_code", value: nil, problem: "brand_code required"},
			{name: "BrandEmpty", property: "brand_code", value: "", problem: "brand_code empty"},
			{name: "BrandNotAString", property: "brand_code", value: 1, problem: "brand_code type"},
			{name: "CategoryMissing", property: "category_code", value: nil, problem: "category_code required"},
			{name: "CategoryEmpty", property: "category_code", value: "", problem: "category_code empty"},
			{name: "CategoryNotAString", property: "category_code", value: []any{"bags"}, problem: "category_code type"},
			{name: "ModelEmpty", property: "model_code", value: "", problem: "model_code empty"},
			{name: "ModelNotAString", property: "model_code", value: false, problem: "model_code type"},
			{name: "ExternalIDEmpty", property: "external_id", value: "", problem: "external_id empty"},
			{
				name: "ExternalIDTooLong", property: "external_id", value: strings.Repeat("x", 101),
				problem: "external_id max_length",
			},
			{name: "ExternalIDNotAString", property: "external_id", value: 7, problem: "external_id type"},
			{name: "AnswerTimeZero", property: "answer_time", value: 0, problem: "answer_time min"},
			{name: "AnswerTimeNotAnInteger", property: "answer_time", value: 1.5, problem: "answer_time type"},
			{name: "PhotosMissing", property: "photos", value: nil, problem: "photos required"},
			{name: "PhotosNotAnArray", property: "photos", value: obj{"url": url, "index_code": "pair"}, problem: "photos type"},
			{name: "PhotosEmpty", property: "photos", value: []any{}, problem: "photos min_items"},
			{name: "TooManyPhotos", property: "photos", value: many(76), problem: "photos max_items"},
			{name: "PhotoNotAnObject", property: "photos", value: []any{url}, problem: "photos[0] type"},
			{
				name: "PhotoWithoutURL", property: "photos", value: []any{obj{"index_code": "pair"}},
				problem: "photos[0].url required",
			},
			{
				name: "PhotoURLNotAString", property: "photos", value: []any{obj{"url": 1, "index_code": "pair"}},
				problem: "photos[0].url type",
			},
			{
				name: "PhotoURLTooLong", property: "photos",
				value: []any{obj{"url": strings.Repeat("x", 2049), "index_code": "pair"}}, problem: "photos[0].url max_length",
			},
			{
				name: "PhotoWithoutIndex", property: "photos", value: []any{obj{"url": url}},
				problem: "photos[0].index_code required",
			},
			{
				name: "PhotoIndexEmpty", property: "photos", value: []any{obj{"url": url, "index_code": ""}},
				problem: "photos[0].index_code empty",
			},
		} {
			t.Run(shape.name, func(t *testing.T) {
				c.Post(t, "/orders", with(shoes, shape.property, shape.value)).Invalid(t, shape.problem)
			})
		}
		t.Run("LongestExternalID", func(t *testing.T) {
			c.Post(t, "/orders", with(shoes, "external_id", strings.Repeat("x", 100))).Want(t, 201)
		})
		t.Run("MostPhotos", func(t *testing.T) { c.Post(t, "/orders", with(shoes, "photos", many(75))).Want(t, 201) })
	})
}

// TestCreateOrder_Rules checks the rules of a creation whose form is right.
func TestCreateOrder_Rules(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		c := w.Live(t)
		photos := func(t *testing.T, indexes ...string) []any {
			t.Helper()
			list := make([]any, len(indexes))
			for i, url := range c.Photos(t, len(indexes)) {
				list[i] = obj{"url": url, "index_code": indexes[i]}
			}
			return list
		}
		t.Run("UnknownCategory", func(t *testing.T) {
			c.Post(t, "/orders", with(c.Bag(t), "category_code", "x")).Refused(t, 404, "not-found").
				Is(t, "details", obj{"entity": "category", "code": "x"})
		})
		t.Run("UnknownBrand", func(t *testing.T) {
			c.Post(t, "/orders", with(c.Bag(t), "brand_code", "x")).Refused(t, 404, "not-found").
				Is(t, "details", obj{"entity": "brand", "code": "x"})
		})
		t.Run("UnknownModel", func(t *testing.T) {
			c.Post(t, "/orders", with(c.Bag(t), "model_code", "x")).Refused(t, 404, "not-found").
				Is(t, "details", obj{"entity": "model", "code": "x"})
		})
		t.Run("NamesAreNoCodes", func(t *testing.T) {
			c.Post(t, "/orders", with(c.Bag(t), "brand_code", "Chanel")).Refused(t, 404, "not-found")
			c.Post(t, "/orders", with(c.Bag(t), "brand_code", "chanel ")).Refused(t, 404, "not-found")
		})
		t.Run("BrandDoesNotServeCategory", func(t *testing.T) {
			c.Post(t, "/orders", with(c.Bag(t), "brand_code", "nike")).Refused(t, 400, "bad-request")
		})
		t.Run("ModelOfOtherBrand", func(t *testing.T) {
			c.Post(t, "/orders", c.Bag(t, obj{"category_code": "shoes", "model_code": "air-max"})).Refused(t, 400, "bad-request")
		})
		t.Run("ModelOfOtherCategory", func(t *testing.T) {
			c.Post(t, "/orders", with(c.Bag(t), "model_code", "slingback")).Refused(t, 400, "bad-request")
		})
		t.Run("PhotoIndexNotFound", func(t *testing.T) {
			c.Post(t, "/orders", with(c.Bag(t), "photos", photos(t, "overall", "serial", "pair"))).
				Refused(t, 400, "photo-index-not-found").
				Is(t, "details", obj{"field": "photos[2].index_code", "index_code": "pair"})
		})
		t.Run("LongCodesAreCut", func(t *testing.T) { // what is told back must not grow with what was sent
			long := strings.Repeat("x", 5000)
			for _, body := range []any{
				with(c.Bag(t), "photos", photos(t, "overall", "serial", long)), with(c.Bag(t), "brand_code", long),
				with(c.Bag(t), "category_code", long), with(c.Bag(t), "model_code", long),
			} {
				if r := c.Post(t, "/orders", body); r.Status/100 != 4 || len(r.Body) > 1000 {
					t.Errorf("%d with %d bytes", r.Status, len(r.Body))
				}
			}
		})
		t.Run("PhotoIndexExcludedForModel", func(t *testing.T) {
			c.Post(t, "/orders", c.Bag(t, obj{"photos": photos(t, "overall", "serial", "interior")})).Want(t, 201)
			c.Post(t, "/orders", c.Bag(t, obj{"model_code": "boy-bag", "photos": photos(t, "overall", "serial", "interior")})).
				Refused(t, 400, "photo-index-not-found")
		})
		t.Run("MissingRequiredIndexes", func(t *testing.T) {
			c.Post(t, "/orders", with(c.Bag(t), "photos", photos(t, "interior"))).
				Refused(t, 400, "missing-required-photo-indexes").
				Is(t, "details", obj{"missing_index_codes": []string{"overall", "serial"}})
			c.Post(t, "/orders", with(c.Bag(t), "photos", photos(t, "serial"))).
				Refused(t, 400, "missing-required-photo-indexes").
				Is(t, "details", obj{"missing_index_codes": []string{"overall"}})
		})
		t.Run("RequiredByContext", func(t *testing.T) { // the model does not require a serial number
			c.Post(t, "/orders", c.Bag(t, obj{"model_code": "classic-flap", "photos": photos(t, "overall")})).Want(t, 201)
		})
		t.Run("PhotoLimitExceeded", func(t *testing.T) {
			c.Post(t, "/orders", with(c.Bag(t), "photos", photos(t, "overall", "overall", "serial"))).Want(t, 201)
			c.Post(t, "/orders", with(c.Bag(t), "photos", photos(t, "overall", "overall", "overall", "serial"))).
				Refused(t, 400, "photo-limit-exceeded").
				Is(t, "details", obj{"index_code": "overall", "max_photos": 2, "received_photos": 3})
		})
		t.Run("PhotoLimitByContext", func(t *testing.T) {
			four := photos(t, "overall", "serial", "serial", "serial", "serial")
			c.Post(t, "/orders", c.Bag(t, obj{"model_code": "classic-flap", "photos": four})).Want(t, 201)
			c.Post(t, "/orders", c.Bag(t, obj{"photos": four})).Refused(t, 400, "photo-limit-exceeded").
				Is(t, "details.max_photos", 3)
		})
	})
}

// TestMockOutcome checks when mock_outcome has to be sent.
func TestMockOutcome(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		account := w.NewAccount(t)
		test, live := account.Test(t), account.Live(t)
		all := obj{"allowed_mock_outcomes": []string{"authentic", "fake", "unable-to-verify", "update-photos"}}
		t.Run("TestKeyWithout", func(t *testing.T) {
			test.Post(t, "/orders", with(test.Bag(t), "mock_outcome", nil)).Refused(t, 400, "mock-outcome-required").
				Is(t, "details", all)
		})
		t.Run("TestKeyWithNull", func(t *testing.T) {
			text := encoded(t, with(test.Bag(t), "mock_outcome", nil))
			test.Post(t, "/orders", `{"mock_outcome":null,`+text[1:]).Refused(t, 400, "mock-outcome-required").
				Is(t, "details", all)
		})
		t.Run("TestKeyWithWrongValue", func(t *testing.T) {
			for _, value := range []any{
				"", "Authentic", "authentic ", "canceled", "error", "queued", 1, true, []any{"fake"}, obj{"a": "fake"},
			} {
				test.Post(t, "/orders", with(test.Bag(t), "mock_outcome", value)).Refused(t, 400, "mock-outcome-required").
					Is(t, "details", all)
			}
		})
		t.Run("LiveKeyWith", func(t *testing.T) {
			for _, value := range []any{"authentic", "", "x", 1, false, []any{}} {
				live.Post(t, "/orders", with(live.Bag(t), "mock_outcome", value)).Refused(t, 400, "mock-outcome-required").
					Is(t, "details", obj{"allowed_mock_outcomes": []any{}})
			}
		})
		t.Run("LiveKeyWithNull", func(t *testing.T) {
			text := encoded(t, live.Bag(t))
			live.Post(t, "/orders", `{"mock_outcome":null,`+text[1:]).Want(t, 201)
		})
	})
}

// TestDueDate follows the clock of orders.
func TestDueDate(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		account := w.NewAccount(t)
		live, test := account.Live(t), account.Test(t)
		at := func(d time.Duration) string { return integrationtest.Start.Add(d).Format("2006-01-02T15:04:05.000Z") }
		submit := func(t *testing.T, c *client, id string) {
			t.Helper()
			c.Post(t, "/orders/"+id+"/update_photos", obj{"photos": []any{
				obj{"index_code": "overall", "is_unable_to_provide": true},
				obj{"index_code": "serial", "is_unable_to_provide": true},
			}}).Want(t, 202)
		}
		t.Run("AcceptancePlusAnswerTime", func(t *testing.T) {
			w.Clock.Set(integrationtest.Start)
			live.Create(t, obj{"answer_time": 30}).Is(t, "due_date", at(30*time.Minute))
			test.Create(t, obj{"answer_time": 30}).Is(t, "due_date", at(30*time.Minute))
			test.Create(t).Is(t, "due_date", at(24*time.Hour))
		})
		t.Run("StopsWhilePhotosAreRequested", func(t *testing.T) {
			w.Clock.Set(integrationtest.Start)
			id := live.CreateID(t, obj{"answer_time": 30})
			w.Clock.Advance(10 * time.Minute)
			w.RequestPhotos(t, id)
			live.Get(t, "/orders/"+id).Is(t, "due_date", nil).Is(t, "updated_at", at(10*time.Minute)).Is(t, "delayed", false)
			w.Clock.Advance(5 * time.Hour)
			live.Get(t, "/orders/"+id).Is(t, "due_date", nil).Is(t, "delayed", false)
			live.Get(t, "/orders?limit=1").Is(t, "data.0.due_date", nil)

			submit(t, live, id) // 20 minutes were left
			live.Get(t, "/orders/"+id).Is(t, "status", "processing").
				Is(t, "due_date", at(10*time.Minute+5*time.Hour+20*time.Minute)).Is(t, "delayed", false)
		})
		t.Run("StopsAndGoesOnTwice", func(t *testing.T) {
			w.Clock.Set(integrationtest.Start)
			id := live.CreateID(t, obj{"answer_time": 30})
			w.Clock.Advance(10 * time.Minute)
			w.RequestPhotos(t, id)
			w.Clock.Advance(time.Hour)
			submit(t, live, id)
			w.Clock.Advance(5 * time.Minute)
			w.RequestPhotos(t, id)
			w.Clock.Advance(time.Hour)
			submit(t, live, id)
			live.Get(t, "/orders/"+id).Is(t, "due_date", at(2*time.Hour+30*time.Minute))
		})
		t.Run("DelayedPastTheDueDate", func(t *testing.T) {
			w.Clock.Set(integrationtest.Start)
			id := live.CreateID(t, obj{"answer_time": 30})
			w.Clock.Advance(30 * time.Minute)
			live.Get(t, "/orders/"+id).Is(t, "delayed", false)
			w.Clock.Advance(time.Millisecond)
			live.Get(t, "/orders/"+id).Is(t, "delayed", true).Is(t, "status", "queued").Is(t, "outcome", nil)
		})
		t.Run("DelayedStaysWhileStopped", func(t *testing.T) {
			w.Clock.Set(integrationtest.Start)
			id := live.CreateID(t, obj{"answer_time": 30})
			w.Clock.Advance(31 * time.Minute)
			w.RequestPhotos(t, id)
			live.Get(t, "/orders/"+id).Is(t, "delayed", true).Is(t, "due_date", nil)
			submit(t, live, id)
			live.Get(t, "/orders/"+id).Is(t, "delayed", true).Is(t, "due_date", at(30*time.Minute))
		})
		t.Run("DelayedAtCompletion", func(t *testing.T) {
			w.Clock.Set(integrationtest.Start)
			inTime, late := live.CreateID(t, obj{"answer_time": 30}), live.CreateID(t, obj{"answer_time": 30})
			w.Clock.Advance(30 * time.Minute)
			w.Complete(t, inTime, order.Verdict{Outcome: order.UnableToVerify})
			w.Clock.Advance(time.Minute)
			w.Complete(t, late, order.Verdict{Outcome: order.UnableToVerify})
			w.Clock.Advance(24 * time.Hour)
			live.Get(t, "/orders/"+inTime).Is(t, "delayed", false).Is(t, "due_date", at(30*time.Minute))
			live.Get(t, "/orders/"+late).Is(t, "delayed", true).Is(t, "due_date", at(30*time.Minute))
		})
	})
}
