package integration_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/testkit/integrationtest"
)

const (
	bagTimes   = "/catalog/answer_times?brand_code=chanel&category_code=bags"
	shoeTimes  = "/catalog/answer_times?brand_code=chanel&category_code=shoes"
	watchTimes = "/catalog/answer_times?brand_code=omega&category_code=watches"
)

// TestAnswerTimes reads the answer times of contexts.
func TestAnswerTimes(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		c := w.Test(t)
		t.Run("OfAContext", func(t *testing.T) { // the price of 30 minutes is the one for chanel bags
			c.Get(t, bagTimes+"&locale=ja").Want(t, 200).Is(t, "", obj{"data": []any{
				obj{
					"code": 30, "name": "30 minutes", "name_locale": "30分", "price": 20, "default": false, "available": true,
					"next_available_at": nil,
				},
				obj{
					"code": 60, "name": "1 hour", "name_locale": "1 hour", "price": 8, "default": false, "available": true,
					"next_available_at": nil,
				},
				obj{
					"code": 1440, "name": "24 hours", "name_locale": "24時間", "price": 4, "default": true, "available": true,
					"next_available_at": nil,
				},
			}})
		})
		t.Run("NotOffered", func(t *testing.T) {
			c.Get(t, shoeTimes).Want(t, 200).Is(t, "data.0.code", 60).Is(t, "data.1.code", 1440).Lacks(t, "data.2")
		})
		t.Run("RequiredParameters", func(t *testing.T) {
			c.Get(t, "/catalog/answer_times").Invalid(t, "brand_code required", "category_code required")
			c.Get(t, "/catalog/answer_times?brand_code=chanel&category_code=&locale=x").
				Invalid(t, "category_code empty", "locale enum")
		})
		t.Run("UnknownCodes", func(t *testing.T) {
			wantUnknown(t, c.Get(t, "/catalog/answer_times?brand_code=x&category_code=bags"), "brand")
			wantUnknown(t, c.Get(t, "/catalog/answer_times?brand_code=chanel&category_code=x"), "category")
		})
		t.Run("BrandDoesNotServeCategory", func(t *testing.T) {
			c.Get(t, "/catalog/answer_times?brand_code=nike&category_code=bags").Refused(t, 400, "bad-request")
		})
	})
}

// TestAnswerTimes_Availability follows opening hours and capacity.
func TestAnswerTimes_Availability(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		account := w.NewAccount(t)
		live, test := account.Live(t), account.Test(t)
		t.Run("ClosedAtNight", func(t *testing.T) { // 18:00 in Tokyo
			w.Clock.Set(time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC))
			live.Get(t, bagTimes).Is(t, "data.0.available", false).Is(t, "data.0.next_available_at", "2026-03-03T00:00:00.000Z")
		})
		t.Run("ClosedOnWeekends", func(t *testing.T) {
			w.Clock.Set(time.Date(2026, time.March, 7, 3, 0, 0, 0, time.UTC))
			live.Get(t, bagTimes).Is(t, "data.0.available", false).Is(t, "data.0.next_available_at", "2026-03-09T00:00:00.000Z")
		})
		t.Run("CapacityUsedUp", func(t *testing.T) {
			var ids []string
			for range 3 {
				ids = append(ids, live.CreateID(t, obj{"answer_time": 60}))
				w.Clock.Advance(time.Minute)
			}
			live.Get(t, bagTimes).Is(t, "data.1.available", false).Is(t, "data.1.next_available_at", "2026-03-07T04:00:00.000Z")
			// It is used up for every account.
			w.Live(t).Get(t, bagTimes).Is(t, "data.1.available", false)

			// An order that waits for photos holds no capacity; one that ends gives it back.
			w.RequestPhotos(t, ids[0])
			live.Get(t, bagTimes).Is(t, "data.1.available", true).Is(t, "data.1.next_available_at", nil)
			live.CreateID(t, obj{"answer_time": 60})
			live.Get(t, bagTimes).Is(t, "data.1.available", false).Is(t, "data.1.next_available_at", "2026-03-07T04:01:00.000Z")
			w.Cancel(t, ids[1])
			live.Get(t, bagTimes).Is(t, "data.1.available", true)
		})
		t.Run("TestOrdersHoldNoCapacity", func(t *testing.T) {
			for range 5 {
				test.CreateID(t, obj{"answer_time": 60})
			}
			live.Get(t, bagTimes).Is(t, "data.1.available", true)
		})
		t.Run("UnknownWhenOverdue", func(t *testing.T) { // the earliest due date has passed: nothing is known
			live.CreateID(t, obj{"answer_time": 60})
			w.Clock.Advance(24 * time.Hour)
			live.Get(t, bagTimes).Is(t, "data.1.available", false).Is(t, "data.1.next_available_at", nil)
		})
	})
}

// TestAnswerTimes_AccountPrice checks that an account's own price wins over every rule of context.
func TestAnswerTimes_AccountPrice(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		agreed, usual := w.NewAccount(t), w.NewAccount(t)
		w.ImportCatalog(t, []byte(string(integrationtest.Catalog)+"account_prices: [{account: "+agreed.Account.Name+
			", code: 30, price: 3}]\n"))
		t.Run("OwnPriceWins", func(t *testing.T) {
			c := agreed.Live(t)
			c.Get(t, bagTimes).Is(t, "data.0.price", 3)
			usual.Live(t).Get(t, bagTimes).Is(t, "data.0.price", 20)
			c.Create(t, obj{"answer_time": 30})
			if got := agreed.Balance(t, "live"); got != integrationtest.LiveCredits-3 {
				t.Errorf("the balance is %d", got)
			}
		})
	})
}

// TestCreateOrder_AnswerTime checks which answer time an order gets.
func TestCreateOrder_AnswerTime(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		live := w.Live(t)
		used := func(t *testing.T, r *integrationtest.Response) int {
			t.Helper()
			return w.Order(t, r.Text(t, "id")).AnswerTime
		}

		t.Run("Requested", func(t *testing.T) {
			if got := used(t, live.Create(t, obj{"answer_time": 30})); got != 30 {
				t.Errorf("the order has answer time %d", got)
			}
		})
		t.Run("OmittedIsTheDefault", func(t *testing.T) {
			if got := used(t, live.Create(t)); got != 1440 {
				t.Errorf("the order has answer time %d", got)
			}
		})
		t.Run("NotOffered", func(t *testing.T) {
			live.Post(t, "/orders", with(live.Bag(t), "answer_time", 7)).Refused(t, 400, "answer-time-unavailable").
				Is(t, "details", obj{"available_answer_times": []int{30, 60, 1440}, "next_available_at": nil})
		})
		t.Run("HugeNumber", func(t *testing.T) {
			live.Post(t, "/orders", with(live.Bag(t), "answer_time", int64(1)<<62)).Refused(t, 400, "answer-time-unavailable")
		})
		t.Run("Closed", func(t *testing.T) {
			w.Clock.Set(time.Date(2026, time.March, 7, 3, 0, 0, 0, time.UTC)) // Saturday
			live.Post(t, "/orders", with(live.Bag(t), "answer_time", 30)).Refused(t, 400, "answer-time-unavailable").
				Is(t, "details", obj{"available_answer_times": []int{60, 1440}, "next_available_at": "2026-03-09T00:00:00.000Z"})
		})
		t.Run("CapacityUsedUp", func(t *testing.T) {
			for range 2 {
				live.Create(t, obj{"answer_time": 60})
			}
			body := with(live.Bag(t), "answer_time", 60)
			last := live.Post(t, "/orders", body, "Idempotency-Key", "last").Want(t, 201)
			live.Post(t, "/orders", body, "Idempotency-Key", "one too many").Refused(t, 400, "answer-time-unavailable").
				Is(t, "details", obj{"available_answer_times": []int{1440}, "next_available_at": "2026-03-07T04:00:00.000Z"})
			again := live.Post(t, "/orders", body, "Idempotency-Key", "last").Want(t, 201)
			if again.Header.Get("Idempotency-Replayed") != "true" || !bytes.Equal(again.Body, last.Body) {
				t.Errorf("the repetition is answered with %s", again.Body)
			}
		})
		document := string(integrationtest.Catalog)
		t.Run("OmittedIsTheSlowestAvailable", func(t *testing.T) { // no default; 60 is the slowest that is left
			w.ImportCatalog(t,
				[]byte(strings.NewReplacer("    default: true\n", "", "max_open_orders: 3", "max_open_orders: 9").
					Replace(document)))
			if got := used(t, live.Create(t)); got != 1440 {
				t.Errorf("the order has answer time %d", got)
			}
			w.ImportCatalog(t, []byte(strings.NewReplacer("max_open_orders: 3", "max_open_orders: 9", "    price: 4\n",
				"    price: 4\n    open: {timezone: UTC, days: [sun], from: \"00:00\", to: \"24:00\"}\n").Replace(document)))
			if got := used(t, live.Create(t)); got != 60 {
				t.Errorf("the order has answer time %d", got)
			}
		})
		t.Run("OmittedAndNoneAvailable", func(t *testing.T) {
			body := live.Bag(t, obj{
				"brand_code": "omega", "category_code": "watches",
				"photos": []any{obj{"url": live.Photos(t, 1)[0], "index_code": "dial"}},
			})
			live.Get(t, watchTimes).Is(t, "data.0.code", 30).Is(t, "data.0.available", false).Lacks(t, "data.1")
			live.Post(t, "/orders", body).Refused(t, 400, "answer-time-unavailable").
				Is(t, "details", obj{"available_answer_times": []int{}, "next_available_at": "2026-03-09T00:00:00.000Z"})
		})
		t.Run("OmittedTellsTheEarliest", func(t *testing.T) {
			w.ImportCatalog(t, []byte(strings.NewReplacer("max_open_orders: 3", "max_open_orders: 1", "    price: 4\n",
				"    price: 4\n    open: {timezone: UTC, days: [sun], from: \"06:00\", to: \"24:00\"}\n").Replace(document)))
			live.Post(t, "/orders", live.Bag(t)).Refused(t, 400, "answer-time-unavailable").
				Is(t, "details", obj{"available_answer_times": []int{}, "next_available_at": "2026-03-07T04:00:00.000Z"})
		})
	})
}
