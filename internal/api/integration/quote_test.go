package integration_test

import (
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/testkit/integrationtest"
)

// TestQuote asks what orders would cost.
func TestQuote(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		account := w.NewAccount(t)
		c := account.Live(t, integrationtest.Scopes(access.AuditRead))
		bag := obj{"category_code": "bags", "brand_code": "chanel"}
		t.Run("Default", func(t *testing.T) {
			before := account.Balance(t, "live")
			q := c.Post(t, "/quote?locale=ja", bag).Want(t, 200).
				Is(t, "answer_time", 1440).Is(t, "price", 4).Is(t, "affordable", true).
				Is(t, "due_date", "2026-03-03T01:00:00.000Z")
			q.Is(t, "answer_times", c.Get(t, bagTimes+"&locale=ja").At(t, "data"))
			q.Is(t, "photo_indexes",
				c.Get(t, "/catalog/photo_indexes?category_code=bags&brand_code=chanel&locale=ja").At(t, "data"))
			if got := account.Balance(t, "live"); got != before {
				t.Errorf("the balance is %d, not %d", got, before)
			}
		})
		t.Run("Requested", func(t *testing.T) {
			c.Post(t, "/quote", with(bag, "answer_time", 30)).Want(t, 200).Is(t, "answer_time", 30).Is(t, "price", 20).
				Is(t, "due_date", "2026-03-02T01:30:00.000Z")
			c.Post(t, "/quote", with(bag, "answer_time", 7)).Refused(t, 400, "answer-time-unavailable").
				Is(t, "details", obj{"available_answer_times": []int{30, 60, 1440}, "next_available_at": nil})
		})
		t.Run("Model", func(t *testing.T) {
			c.Post(t, "/quote", with(bag, "model_code", "boy-bag")).Want(t, 200).Is(t, "photo_indexes",
				c.Get(t, "/catalog/photo_indexes?category_code=bags&brand_code=chanel&model_code=boy-bag").At(t, "data"))
		})
		t.Run("NotAffordable", func(t *testing.T) {
			poor := w.NewAccount(t)
			poor.SetCredits(t, "live", 3)
			poor.Live(t).Post(t, "/quote", bag).Want(t, 200).Is(t, "price", 4).Is(t, "affordable", false)
		})
		t.Run("NoneAvailable", func(t *testing.T) {
			w.Clock.Set(time.Date(2026, time.March, 7, 3, 0, 0, 0, time.UTC)) // Saturday
			defer w.Clock.Set(integrationtest.Start)
			c.Post(t, "/quote", obj{"category_code": "watches", "brand_code": "omega"}).Want(t, 200).
				Is(t, "answer_time", nil).Is(t, "price", nil).Is(t, "due_date", nil).Is(t, "affordable", false).
				Is(t, "answer_times.0.available", false)
		})
		t.Run("Refused", func(t *testing.T) {
			c.Post(t, "/quote", obj{"brand_code": "", "answer_time": 0, "photos": []any{}}).
				Invalid(t, "brand_code empty", "category_code required", "answer_time min", "photos unknown")
			c.Post(t, "/quote", with(bag, "brand_code", "none")).Refused(t, 404, "not-found").
				Is(t, "details.entity", "brand")
			c.Post(t, "/quote", with(bag, "category_code", "watches")).Refused(t, 400, "bad-request")
			c.Post(t, "/quote", "{").Refused(t, 400, "bad-request")
			c.Post(t, "/quote?locale=fr", bag).Invalid(t, "locale enum")
		})
		t.Run("AsACreationWouldDo", func(t *testing.T) {
			creator := account.Live(t)
			q := creator.Post(t, "/quote", bag)
			created := creator.Create(t)
			created.Is(t, "due_date", q.At(t, "due_date"))
		})
	})
}
