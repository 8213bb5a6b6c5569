package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/client"
)

const createdOrder = `{"id":"0198c0de-0000-7000-8000-000000000001","external_id":"shop/1",` +
	`"order_number":"AS-0000000X",` +
	`"status":"queued","due_date":"2026-03-01T10:30:00.250Z"}`

func TestCreateOrder(t *testing.T) {
	t.Run("FullRequest", func(t *testing.T) {
		s := newService(t, answer(201, createdOrder))
		got, err := s.client().CreateOrder(t.Context(), client.CreateOrder{
			BrandCode: "chanel", CategoryCode: "bags", ModelCode: "flap", ExternalID: "shop/1", AnswerTime: 30,
			MockOutcome: client.MockUpdatePhotos,
			Photos:      []client.OrderPhoto{{URL: "https://m.example/media/a", IndexCode: "overall"}},
		})
		noError(t, err)
		external, number, due := "shop/1", "AS-0000000X", time.Date(2026, 3, 1, 10, 30, 0, 250_000_000, time.UTC)
		equal(t, "order", got, &client.CreatedOrder{
			ID: "0198c0de-0000-7000-8000-000000000001", ExternalID: &external, OrderNumber: &number,
			Status: client.StatusQueued, DueDate: &due,
		})
		r := s.only()
		equal(t, "method", r.Method, "POST")
		equal(t, "URI", r.URI, "/v1/integrations/orders")
		equal(t, "body", r.Body, `{"brand_code":"chanel","category_code":"bags",`+
			`"photos":[{"url":"https://m.example/media/a","index_code":"overall"}],`+
			`"model_code":"flap","external_id":"shop/1","answer_time":30,"mock_outcome":"update-photos"}`)
		equal(t, "Idempotency-Key", r.Header.Values("Idempotency-Key"), []string(nil))
	})
	t.Run("OptionalFieldsAreLeftOut", func(t *testing.T) {
		s := newService(t, answer(201, createdOrder))
		_, err := s.client().CreateOrder(t.Context(), client.CreateOrder{
			BrandCode: "b", CategoryCode: "c", Photos: []client.OrderPhoto{},
		})
		noError(t, err)
		equal(t, "body", s.only().Body, `{"brand_code":"b","category_code":"c","photos":[]}`)
	})
	t.Run("Replayed", func(t *testing.T) {
		s := newService(t, answerWith(201, createdOrder, map[string]string{"Idempotency-Replayed": "true"}))
		got, err := s.client().CreateOrder(t.Context(), client.CreateOrder{}, client.WithIdempotencyKey("key 1"))
		noError(t, err)
		equal(t, "replayed", got.Replayed, true)
		equal(t, "Idempotency-Key", s.only().Header.Get("Idempotency-Key"), "key 1")
	})
	for _, key := range []string{"", " ", "a\nb", "a\x00"} {
		t.Run("InvalidIdempotencyKey", func(t *testing.T) {
			s := newService(t)
			_, err := s.client().CreateOrder(t.Context(), client.CreateOrder{}, client.WithIdempotencyKey(key))
			if err == nil || client.IsAmbiguous(err) {
				t.Errorf("key %q: got %v", key, err)
			}
		})
	}
	t.Run("NewKeysDiffer", func(t *testing.T) {
		a, b := client.NewIdempotencyKey(), client.NewIdempotencyKey()
		if a == b || len(a) < 26 {
			t.Errorf("keys %q and %q", a, b)
		}
	})
}

func TestListOrders(t *testing.T) {
	s := newService(t, answer(200, `{"data":[{"id":"o1","external_id":null,"order_number":"AS-1","status":"completed",
		"outcome":"fake","due_date":null,"updated_at":"2026-03-01T10:30:00.000Z"}],"page":2,"limit":1,"total":2}`))
	got, err := s.client().ListOrders(t.Context(), client.OrdersQuery{Page: 2, Limit: 1})
	noError(t, err)
	number, outcome, updated := "AS-1", client.OutcomeFake, time.Date(2026, 3, 1, 10, 30, 0, 0, time.UTC)
	equal(t, "page", got, &client.Page[client.OrderListItem]{
		Page: 2, Limit: 1, Total: 2,
		Data: []client.OrderListItem{{
			ID: "o1", OrderNumber: &number, Status: client.StatusCompleted, Outcome: &outcome, UpdatedAt: &updated,
		}},
	})
	equal(t, "URI", s.only().URI, "/v1/integrations/orders?limit=1&page=2")
}

func TestGetOrderPath(t *testing.T) {
	for _, tt := range []struct{ id, want string }{
		{"0198c0de-0000-7000-8000-000000000001", "0198c0de-0000-7000-8000-000000000001"},
		{"shop/1", "shop%2F1"},
		{"a?b#c", "a%3Fb%23c"},
		{"100%", "100%25"},
		{"%2F", "%252F"},
		{"a b+c", "a%20b+c"},
		{"注文;1,2", "%E6%B3%A8%E6%96%87%3B1%2C2"},
		{".", "%2E"},
		{"..", "%2E%2E"},
		{"...", "..."},
		{"../x", "..%2Fx"},
		{"//", "%2F%2F"},
		{`a\b"<>`, "a%5Cb%22%3C%3E"},
		{" ", "%20"},
		{"update_photos", "update_photos"},
	} {
		t.Run(tt.id, func(t *testing.T) {
			s := newService(t, answer(200, `{"id":"o1","status":"queued"}`))
			_, err := s.client().GetOrder(t.Context(), tt.id, client.LocaleJapanese)
			noError(t, err)
			equal(t, "URI", s.only().URI, "/v1/integrations/orders/"+tt.want+"?locale=ja")
		})
	}
	t.Run("Empty", func(t *testing.T) {
		s := newService(t)
		_, err := s.client().GetOrder(t.Context(), "")
		if err == nil || !strings.Contains(err.Error(), "order identifier is empty") {
			t.Errorf("got %v", err)
		}
	})
}

// TestIdentifiersReachARouter checks the escaping against the standard router, which cleans paths and redirects.
func TestIdentifiersReachARouter(t *testing.T) {
	var got string
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/integrations/orders/{id}", func(w http.ResponseWriter, r *http.Request) {
		got = r.PathValue("id")
		answer(200, `{"id":"o1","status":"queued"}`)(w, r)
	})
	mux.HandleFunc("POST /v1/integrations/orders/{id}/update_photos", func(w http.ResponseWriter, r *http.Request) {
		got = r.PathValue("id")
		answer(202, `{"id":"o1","status":"accepted"}`)(w, r)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	c, err := client.New(server.URL+"/v1/integrations/", testKey)
	noError(t, err)
	for _, id := range []string{
		".", "..", "a/b", "a/../b", "//", "?", "#", "%", "%2e", "注文 1", "a;b", "a+b", "a:b@c", "~",
	} {
		_, err := c.GetOrder(t.Context(), id)
		noError(t, err)
		equal(t, "identifier of a read", got, id)
		got = ""
		_, err = c.SubmitUpdatePhotos(t.Context(), id, client.UpdatePhotos{})
		noError(t, err)
		equal(t, "identifier of an update", got, id)
	}
}

func TestGetOrderDecodes(t *testing.T) {
	s := newService(t, answer(200, `{
		"id":"o1","status":"update-photos","outcome":null,"outcome_locale":null,"delayed":true,
		"classification":{"brand_code":"chanel","category_code":"bags","model_code":null,"model_name":null,
			"model_name_locale":null},
		"due_date":null,"updated_at":"2026-03-01T10:30:00.001Z",
		"photos_to_resubmit":[{"index_code":"serial","name":"Serial","name_locale":"番号","condition":"unclear",
			"condition_locale":"不鮮明です","requirements":["sharp-focus"],"requirements_locale":["ピント"],
			"comment":null,"reference_photo_url":null,"max_photos":2}]}`))
	got, err := s.client().GetOrder(t.Context(), "o1")
	noError(t, err)
	equal(t, "URI", s.only().URI, "/v1/integrations/orders/o1")
	brand, category, updated := "chanel", "bags", time.Date(2026, 3, 1, 10, 30, 0, 1_000_000, time.UTC)
	condition, conditionLocale := "unclear", "不鮮明です"
	equal(t, "order", got, &client.OrderDetail{
		ID: "o1", Status: client.StatusUpdatePhotos, Delayed: true, UpdatedAt: &updated,
		Classification: client.Classification{BrandCode: &brand, CategoryCode: &category},
		PhotosToResubmit: []client.PhotoToResubmit{{
			IndexCode: "serial", Name: "Serial", NameLocale: "番号", Condition: &condition, ConditionLocale: &conditionLocale,
			Requirements: []string{"sharp-focus"}, RequirementsLocale: []string{"ピント"}, MaxPhotos: 2,
		}},
	})
	equal(t, "outcome", got.HasOutcome(client.OutcomeFake), false)
}

func TestGetCompletedOrder(t *testing.T) {
	s := newService(t, answer(200,
		`{"id":"o1","status":"completed","outcome":"fake","outcome_locale":"偽物","delayed":false,
		"classification":{},"due_date":null,"updated_at":null,"certificate_url":"https://a.example/c/1",
		"outcome_reasons":["Logo"],"outcome_reasons_locale":["ロゴ"],"outcome_indexes":["serial"]}`))
	got, err := s.client().GetOrder(t.Context(), "o1", client.LocaleJapanese)
	noError(t, err)
	equal(t, "has fake", got.HasOutcome(client.OutcomeFake), true)
	equal(t, "final", got.Status.Final(), true)
	equal(t, "certificate", *got.CertificateURL, "https://a.example/c/1")
	equal(t, "reasons", got.OutcomeReasonsLocale, []string{"ロゴ"})
	equal(t, "indexes", got.OutcomeIndexes, []string{"serial"})
}

func TestSubmitUpdatePhotos(t *testing.T) {
	s := newService(t, answer(202, `{"id":"o1","status":"accepted"}`))
	got, err := s.client().SubmitUpdatePhotos(t.Context(), "shop/1", client.UpdatePhotos{
		Photos: []client.UpdatePhoto{
			{IndexCode: "serial", URL: "https://m.example/media/a"},
			{IndexCode: "sole", IsUnableToProvide: true},
		},
		Note: "the sole is worn",
	})
	noError(t, err)
	equal(t, "result", got, &client.UpdatePhotosResult{ID: "o1", Status: client.UpdatePhotosAccepted})
	r := s.only()
	equal(t, "method", r.Method, "POST")
	equal(t, "URI", r.URI, "/v1/integrations/orders/shop%2F1/update_photos")
	equal(t, "body", r.Body, `{"photos":[{"index_code":"serial","url":"https://m.example/media/a"},`+
		`{"index_code":"sole","is_unable_to_provide":true}],"note":"the sole is worn"}`)
}

func TestWaitForOrder(t *testing.T) {
	state := func(status string) http.HandlerFunc { return answer(200, `{"id":"o1","status":"`+status+`"}`) }
	for _, end := range []client.OrderStatus{client.StatusCompleted, client.StatusError, client.StatusUpdatePhotos} {
		t.Run("Until-"+string(end), func(t *testing.T) {
			s := newService(t, state("queued"), state("queued"), state("processing"), state(string(end)))
			got, err := s.client().WaitForOrder(t.Context(), "o1", client.PollPolicy{Locale: client.LocaleJapanese})
			noError(t, err)
			equal(t, "status", got.Status, end)
			equal(t, "waits", s.slept, []time.Duration{5 * time.Second, 7500 * time.Millisecond, 11250 * time.Millisecond})
			equal(t, "URI", s.requests()[3].URI, "/v1/integrations/orders/o1?locale=ja")
		})
	}
	t.Run("AtOnce", func(t *testing.T) {
		s := newService(t, state("completed"))
		_, err := s.client().WaitForOrder(t.Context(), "o1", client.PollPolicy{})
		noError(t, err)
		equal(t, "waits", s.slept, []time.Duration(nil))
	})
	t.Run("WaitsAreCapped", func(t *testing.T) {
		s := newService(t, state("queued"), state("queued"), state("queued"), state("completed"))
		_, err := s.client().WaitForOrder(t.Context(), "o1", client.PollPolicy{
			Interval: 4 * time.Second, MaxInterval: 5 * time.Second,
		})
		noError(t, err)
		equal(t, "waits", s.slept, []time.Duration{4 * time.Second, 5 * time.Second, 5 * time.Second})
	})
	t.Run("LongIntervalIsKept", func(t *testing.T) {
		s := newService(t, state("queued"), state("queued"), state("completed"))
		_, err := s.client().WaitForOrder(t.Context(), "o1", client.PollPolicy{Interval: time.Hour})
		noError(t, err)
		equal(t, "waits", s.slept, []time.Duration{time.Hour, time.Hour})
	})
	t.Run("Cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := newService(t, state("processing"))
		c := s.client(client.WithSleep(func(ctx context.Context, _ time.Duration) error {
			cancel()
			return ctx.Err()
		}))
		_, err := c.WaitForOrder(ctx, "o1", client.PollPolicy{})
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "still processing") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("FailedRead", func(t *testing.T) {
		s := newService(t, state("queued"), answer(404, `{"code":"order-not-found"}`))
		_, err := s.client().WaitForOrder(t.Context(), "o1", client.PollPolicy{})
		equal(t, "is order-not-found", client.IsCode(err, client.CodeOrderNotFound), true)
	})
	t.Run("NegativeInterval", func(t *testing.T) {
		_, err := newService(t).client().WaitForOrder(t.Context(), "o1", client.PollPolicy{Interval: -1})
		if err == nil {
			t.Error("no error")
		}
	})
}

func TestDetailIsWrittenAsItIsRead(t *testing.T) {
	const document = `{"id":"o1","status":"queued","outcome":null,"outcome_locale":null,"delayed":false,` +
		`"classification":{"brand_code":"b","category_code":"c","model_code":null,"model_name":null,` +
		`"model_name_locale":null},` +
		`"due_date":"2026-03-01T10:30:00Z","updated_at":null}`
	var order client.OrderDetail
	noError(t, json.Unmarshal([]byte(document), &order))
	written, err := json.Marshal(order)
	noError(t, err)
	equal(t, "document", string(written), document)
}
