package integration_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/integrationtest"
)

// TestListOrders lists orders.
func TestListOrders(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		c := w.Test(t)
		t.Run("None", func(t *testing.T) {
			c.Get(t, "/orders").Want(t, 200).Is(t, "", obj{"data": []any{}, "page": 1, "limit": 10, "total": 0})
		})
		ids := make([]string, 12)
		for i := range ids {
			ids[i] = c.CreateID(t, obj{
				"external_id":  fmt.Sprint("e", i),
				"mock_outcome": []string{"authentic", "fake", "unable-to-verify", "update-photos"}[i%4],
			})
			w.Clock.Advance(time.Minute)
		}
		newest := slices.Clone(ids)
		slices.Reverse(newest)
		t.Run("NewestFirst", func(t *testing.T) {
			r := c.Get(t, "/orders").Want(t, 200).Is(t, "page", 1).Is(t, "limit", 10).Is(t, "total", 12)
			if got := r.List(t, "data", "id"); !slices.Equal(got, newest[:10]) {
				t.Errorf("the orders are %q, not %q", got, newest[:10])
			}
		})
		t.Run("Pages", func(t *testing.T) {
			r := c.Get(t, "/orders?page=2").Is(t, "page", 2).Is(t, "total", 12)
			if got := r.List(t, "data", "id"); !slices.Equal(got, newest[10:]) {
				t.Errorf("page 2 is %q", got)
			}
			r = c.Get(t, "/orders?page=3&limit=5")
			if got := r.List(t, "data", "id"); !slices.Equal(got, newest[10:]) {
				t.Errorf("page 3 of 5 is %q", got)
			}
			r = c.Get(t, "/orders?limit=50")
			if got := r.List(t, "data", "id"); !slices.Equal(got, newest) {
				t.Errorf("the page of 50 is %q", got)
			}
			c.Get(t, "/orders?page=4&limit=4").Is(t, "data", []any{}).Is(t, "total", 12)
		})
		t.Run("Items", func(t *testing.T) {
			r := c.Get(t, "/orders?limit=50")
			number := r.Text(t, "data.0.order_number")
			r.Is(t, "data.0", obj{
				"id": ids[11], "external_id": "e11", "order_number": number, "status": "update-photos", "outcome": nil,
				"due_date":   nil,
				"updated_at": "2026-03-02T01:11:00.000Z",
			})
			r.Is(t, "data.1.outcome", "unable-to-verify").Is(t, "data.1.status", "completed").
				Is(t, "data.1.due_date", "2026-03-03T01:10:00.000Z")
			r.Is(t, "data.2.outcome", "fake").Is(t, "data.3.outcome", "authentic")
		})
		t.Run("Statuses", func(t *testing.T) {
			live := c.Account.Live(t)
			queued, processing, failed, canceled := live.CreateID(t), live.CreateID(t), live.CreateID(t), live.CreateID(t)
			w.Claim(t, processing)
			w.Fail(t, failed)
			w.Cancel(t, canceled)
			r := live.Get(t, "/orders").Is(t, "data.3.id", queued)
			if got := fmt.Sprint(r.List(t, "data", "status")); got != "[completed error processing queued]" {
				t.Errorf("the statuses are %s", got)
			}
			r.Is(t, "data.0.outcome", "canceled").Is(t, "data.1.outcome", nil)
			live.Get(t, "/orders/"+failed).Is(t, "status", "error").Is(t, "outcome", nil).Is(t, "outcome_locale", nil).
				Lacks(t, "certificate_url", "outcome_reasons")
			live.Get(t, "/orders/"+canceled+"?locale=ja").Is(t, "outcome", "canceled").Is(t, "outcome_locale", "キャンセル").
				Is(t, "certificate_url", nil).
				Lacks(t, "outcome_reasons", "outcome_reasons_locale", "outcome_indexes", "photos_to_resubmit")
		})
	})
}

// TestOrderDetail reads orders by id and by external id.
func TestOrderDetail(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		c := w.Live(t)
		t.Run("Queued", func(t *testing.T) {
			id := c.CreateID(t, obj{"model_code": "boy-bag"})
			c.Get(t, "/orders/"+id+"?locale=ja").Want(t, 200).Is(t, "", obj{
				"id": id, "status": "queued", "outcome": nil, "outcome_locale": nil, "delayed": false,
				"classification": obj{
					"brand_code": "chanel", "category_code": "bags", "model_code": "boy-bag", "model_name": "Boy Bag",
					"model_name_locale": "ボーイバッグ",
				},
				"due_date": "2026-03-03T01:00:00.000Z", "updated_at": "2026-03-02T01:00:00.000Z",
			})
		})
		t.Run("ModelNameFallsBackToEnglish", func(t *testing.T) {
			id := c.CreateID(t, obj{"model_code": "classic-flap"})
			c.Get(t, "/orders/"+id+"?locale=ja").Is(t, "classification.model_name_locale", "Classic Flap")
		})
		t.Run("WithoutModel", func(t *testing.T) {
			c.Get(t, "/orders/"+c.CreateID(t)).Is(t, "classification", obj{
				"brand_code": "chanel", "category_code": "bags", "model_code": nil, "model_name": nil, "model_name_locale": nil,
			})
		})
		t.Run("UpdatedAtFollowsMoves", func(t *testing.T) {
			id := c.CreateID(t)
			w.Clock.Advance(time.Hour)
			w.Claim(t, id)
			c.Get(t, "/orders/"+id).Is(t, "status", "processing").Is(t, "updated_at", "2026-03-02T02:00:00.000Z")
		})
		t.Run("IDInUpperCase", func(t *testing.T) {
			id := c.CreateID(t)
			c.Get(t, "/orders/"+strings.ToUpper(id)).Want(t, 200).Is(t, "id", id)
		})
		t.Run("NotFound", func(t *testing.T) {
			for _, id := range []string{
				uuid7.New(), "x", "-", "%20", ".", "..", "%2e%2e", "a%00b", "%FF", "%ED%A0%80", strings.Repeat("x", 101),
				strings.Repeat("x", 5000), "none%2Fnone", "*", "null", "{id}", "00000000-0000-0000-0000-000000000000",
				"%27%20OR%201%3D1", "%25", "_",
			} {
				c.Get(t, "/orders/"+id).Refused(t, 404, "order-not-found")
				c.Post(t, "/orders/"+id+"/update_photos", obj{"photos": []any{obj{"index_code": "x"}}}).
					Refused(t, 404, "order-not-found")
			}
		})
	})
}

// TestOrderDetail_ExternalID finds orders by the reference of the client.
func TestOrderDetail_ExternalID(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		c := w.Live(t)
		t.Run("StrangeCharacters", func(t *testing.T) {
			for _, external := range []string{
				"shop-1", "a b", "a/b", "a//b/", "/", "a%2Fb", "%", "%zz", "100%", "?", "a?b=c", "#", "a#b", "+", "a+b", "&", "=",
				";", ":", "@", `"`, `'; DROP TABLE orders; --`, `\`, "<b>", ".", "..", "../..", "...", "日本語", "😀", "é", "e\u0301",
				"\u200b", "\u202e", "\t", "\n", " ", " a ", "update_photos", "a/update_photos", "\x7f", "{id}", "*",
				strings.Repeat("界", 100), "ＡＢＣ", "_", "%_%", "NULL", "0", "\u0001",
			} {
				id := c.CreateID(t, obj{"external_id": external})
				c.Get(t, "/orders/"+url.PathEscape(external)).Want(t, 200).Is(t, "id", id)
				c.Get(t, "/orders/"+everyByteEscaped(external)).Want(t, 200).Is(t, "id", id)
				c.Post(t, "/orders/"+everyByteEscaped(external)+"/update_photos", obj{"photos": []any{obj{"index_code": "x"}}}).
					Refused(t, 409, "order-not-awaiting-update-photos")
			}
		})
		t.Run("IsExact", func(t *testing.T) { // no case folding, no normal forms, no trimming, no patterns
			c.Create(t, obj{"external_id": "Exact É"})
			for _, other := range []string{"exact É", "Exact E\u0301", "Exact É ", " Exact É", "Exact%", "Exact"} {
				c.Get(t, "/orders/"+url.PathEscape(other)).Refused(t, 404, "order-not-found")
			}
		})
		t.Run("NewestWins", func(t *testing.T) {
			var last string
			for range 3 { // at one moment of the clock
				last = c.CreateID(t, obj{"external_id": "repeated"})
			}
			c.Get(t, "/orders/repeated").Is(t, "id", last)
		})
		t.Run("IDOfAVisibleOrderWins", func(t *testing.T) {
			id := c.CreateID(t)
			other := c.CreateID(t, obj{"external_id": id})
			c.Get(t, "/orders/"+id).Is(t, "id", id)
			c.Get(t, "/orders/"+other).Is(t, "id", other)
		})
		t.Run("IDOfAnInvisibleOrderDoesNot", func(t *testing.T) {
			hidden := w.Live(t).CreateID(t)
			id := c.CreateID(t, obj{"external_id": hidden})
			c.Get(t, "/orders/"+hidden).Is(t, "id", id)
			unused := uuid7.New()
			id = c.CreateID(t, obj{"external_id": unused})
			c.Get(t, "/orders/"+unused).Is(t, "id", id)
		})
	})
}

func everyByteEscaped(s string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, "%%%02x", s[i])
	}
	return b.String()
}
