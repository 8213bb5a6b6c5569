package client_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/client"
)

// failure makes a read fail with the given answer and returns its error.
func failure(t *testing.T, handler http.HandlerFunc) *client.Error {
	t.Helper()
	s := newService(t, handler)
	_, err := s.client(client.WithoutRetry()).GetOrder(t.Context(), "shop/1", client.LocaleEnglish)
	var e *client.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a *client.Error", err)
	}
	return e
}

func TestErrorEnvelope(t *testing.T) {
	e := failure(t, answerWith(429, `{"statusCode":429,"code":"rate-limit-exceeded","message":"Rate limit exceeded",
		"details":{"category":"read","limit":300,"window_seconds":60,"retry_after_seconds":12},
		"timestamp":"2026-03-01T10:00:00.500Z","path":"/v1/integrations/orders/shop%2F1",
		"request_id":"0198c0de-0000-7000-8000-00000000000a"}`,
		map[string]string{"Retry-After": "12", "X-Request-Id": "0198c0de-0000-7000-8000-00000000000a"}))
	equal(t, "status", e.StatusCode, 429)
	equal(t, "code", e.Code, client.CodeRateLimitExceeded)
	equal(t, "message", e.Message, "Rate limit exceeded")
	equal(t, "timestamp", e.Timestamp, time.Date(2026, 3, 1, 10, 0, 0, 500_000_000, time.UTC))
	equal(t, "path", e.Path, "/v1/integrations/orders/shop%2F1")
	equal(t, "request id", e.RequestID, "0198c0de-0000-7000-8000-00000000000a")
	equal(t, "retry after", e.RetryAfter, 12*time.Second)
	equal(t, "method", e.Method, "GET")
	equal(t, "body", e.Body, []byte(nil))
	equal(t, "unexpected", errors.Is(e, client.ErrUnexpectedAnswer), false)
	limit, ok := e.RateLimitDetails()
	equal(t, "has details", ok, true)
	equal(t, "details", limit, client.RateLimitDetails{
		Category: client.RateRead, Limit: 300, WindowSeconds: 60, RetryAfterSeconds: 12,
	})
	equal(t, "text", e.Error(), "assay: GET /v1/integrations/orders/shop%2F1: 429 rate-limit-exceeded: "+
		"Rate limit exceeded (request 0198c0de-0000-7000-8000-00000000000a)")
}

func TestErrorWithStrangeEnvelope(t *testing.T) {
	// Every property but the code has the wrong type or is absent.
	e := failure(t, answerWith(404, `{"statusCode":"200","code":"order-not-found","message":{},"details":[1],
		"timestamp":"yesterday","request_id":7}`, map[string]string{"X-Request-Id": "from-header"}))
	equal(t, "status", e.StatusCode, 404)
	equal(t, "code", e.Code, client.CodeOrderNotFound)
	equal(t, "message", e.Message, "")
	equal(t, "details", e.Details, json.RawMessage(nil))
	equal(t, "timestamp", e.Timestamp, time.Time{})
	equal(t, "path", e.Path, "/v1/integrations/orders/shop%2F1")
	equal(t, "request id", e.RequestID, "from-header")
}

func TestStatusOfTheAnswerWins(t *testing.T) {
	e := failure(t, answer(403, `{"statusCode":200,"code":"forbidden"}`))
	equal(t, "status", e.StatusCode, 403)
}

func TestForeignAnswers(t *testing.T) {
	for _, tt := range []struct {
		name    string
		handler http.HandlerFunc
		status  int
		text    string // part of the error's text
		body    string
	}{
		{
			"HTML",
			answerWith(502, "<html>Bad Gateway</html>", map[string]string{"Content-Type": "text/html"}),
			502, `502 Bad Gateway: the answer ("text/html", 24 bytes)`, "<html>Bad Gateway</html>",
		},
		{"Empty", answer(503, ""), 503, "the answer is empty", ""},
		{"ForeignJSON", answer(403, `{"error":"blocked"}`), 403, "not an error of the service", `{"error":"blocked"}`},
		{"NotAnObject", answer(400, `["code"]`), 400, "not an error of the service", `["code"]`},
		{"Null", answer(400, `null`), 400, "not an error of the service", `null`},
		{"UnknownStatus", answer(599, ``), 599, "599: the answer is empty", ""},
		{"SuccessWithHTML", answer(200, `<html>Log in</html>`), 200, "cannot be decoded", `<html>Log in</html>`},
		{"SuccessWithoutBody", answer(200, ``), 200, "cannot be decoded", ""},
		{"SuccessWithForeignJSON", answer(200, `{"ok":true}`), 200, "the answer has no id", `{"ok":true}`},
		{
			"SuccessWithTrailingData", answer(200, `{"id":"o1","status":"queued"}{}`), 200, "cannot be decoded",
			`{"id":"o1","status":"queued"}{}`,
		},
		{"SuccessWithWrongType", answer(200, `{"id":1}`), 200, "cannot be decoded", `{"id":1}`},
		{
			"SuccessWithBadTime", answer(200, `{"id":"o1","status":"queued","due_date":"soon"}`), 200, "cannot be decoded",
			`{"id":"o1","status":"queued","due_date":"soon"}`,
		},
		{"CutOffFailure", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"code":"forb`))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, 403, "not an error of the service", `{"code":"forb`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := failure(t, tt.handler)
			equal(t, "status", e.StatusCode, tt.status)
			equal(t, "code", e.Code, client.Code(""))
			equal(t, "body", string(e.Body), tt.body)
			equal(t, "unexpected", errors.Is(e, client.ErrUnexpectedAnswer), true)
			if !strings.Contains(e.Error(), tt.text) || !strings.Contains(e.Error(), "GET /v1/integrations/orders/shop%2F1") {
				t.Errorf("text %q lacks %q or the request", e.Error(), tt.text)
			}
		})
	}
}

// TestForeignAnswers_WrongBase checks that the error tells of a base URL without the prefix of the API, and only then.
func TestForeignAnswers_WrongBase(t *testing.T) {
	const question = "does the base URL end in /v1/integrations?"
	for prefix, asks := range map[string]bool{"": true, "/assay": true, "/v1/integrations": false} {
		s := newService(t, answer(404, "<html>Not found</html>"))
		c, err := client.New(strings.TrimSuffix(s.url, "/v1/integrations")+prefix, testKey)
		noError(t, err)
		_, err = c.GetMe(t.Context())
		if err == nil || strings.Contains(err.Error(), question) != asks {
			t.Errorf("%q: got %v", prefix, err)
		}
	}
}

func TestListsWithoutData(t *testing.T) {
	for _, body := range []string{`{}`, `{"data":null}`} {
		s := newService(t, answer(200, body), answer(200, body), answer(200, body))
		c := s.client()
		_, errPage := c.ListOrders(t.Context(), client.OrdersQuery{})
		_, errList := c.ListCategories(t.Context(), client.CategoriesQuery{})
		_, errBalance := c.GetBalance(t.Context())
		for _, err := range []error{errPage, errList, errBalance} {
			if !errors.Is(err, client.ErrUnexpectedAnswer) {
				t.Errorf("answer %s: got %v", body, err)
			}
		}
	}
}

func TestIsCode(t *testing.T) {
	err := fmt.Errorf("order 7: %w", &client.Error{Code: client.CodeNotEnoughCredits})
	equal(t, "same", client.IsCode(err, client.CodeNotEnoughCredits), true)
	equal(t, "one of", client.IsCode(err, client.CodeNotFound, client.CodeNotEnoughCredits), true)
	equal(t, "other", client.IsCode(err, client.CodeNotFound), false)
	equal(t, "case", client.IsCode(err, "NOT-ENOUGH-CREDITS"), false)
	equal(t, "nil", client.IsCode(nil, client.CodeNotFound), false)
	equal(t, "typed nil", client.IsCode(client.UploadResult{}.Error, client.CodeNotFound), false)
	equal(t, "foreign", client.IsCode(errors.New("x"), ""), false)
}

func TestErrorDetails(t *testing.T) {
	with := func(code client.Code, details string) *client.Error {
		return &client.Error{Code: code, Details: json.RawMessage(details)}
	}
	equal(t, "problems", with(client.CodeValidation,
		`{"errors":[{"field":"photos[3].url","code":"required","message":"is required"}]}`).
		ValidationProblems(), []client.ValidationProblem{{Field: "photos[3].url", Code: "required", Message: "is required"}})
	equal(t, "missing", with(client.CodeMissingRequiredPhotoIndexes, `{"missing_index_codes":["a","b"]}`).
		MissingIndexCodes(), []string{"a", "b"})
	equal(t, "requested", with(client.CodePhotoIndexNotRequested, `{"requested_index_codes":["a"]}`).
		RequestedIndexCodes(), []string{"a"})
	equal(t, "mock outcomes", with(client.CodeMockOutcomeRequired, `{"allowed_mock_outcomes":["fake"]}`).
		AllowedMockOutcomes(), []client.MockOutcome{client.MockFake})
	equal(t, "scope", with(client.CodeForbidden, `{"required_scope":"audit:read"}`).RequiredScope(), "audit:read")
	equal(t, "address", with(client.CodeForbidden, `{"address":"203.0.113.7"}`).Address(), "203.0.113.7")
	equal(t, "expected", with(client.CodeOrderNotAwaitingUpdatePhotos, `{"expected_status":"update-photos"}`).
		ExpectedStatus(), client.StatusUpdatePhotos)
	equal(t, "reason", with(client.CodeUnsafeWebhookURL, `{"reason":"private address"}`).UnsafeURLReason(),
		"private address")
	equal(t, "bytes", with(client.CodeFileTooLarge, `{"max_bytes":10485760}`).MaxBytes(), int64(10485760))
	entity, code := with(client.CodeNotFound, `{"entity":"brand","code":"x"}`).NotFoundEntity()
	equal(t, "entity", entity+" "+code, "brand x")

	limit, ok := with(client.CodePhotoLimitExceeded,
		`{"index_code":"a","max_photos":2,"received_photos":3}`).PhotoLimitDetails()
	equal(t, "photo limit", ok, true)
	equal(t, "photo limit", limit, client.PhotoLimitDetails{IndexCode: "a", MaxPhotos: 2, ReceivedPhotos: 3})

	next := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	times, ok := with(client.CodeAnswerTimeUnavailable,
		`{"available_answer_times":[60,1440],"next_available_at":"2026-03-02T00:00:00.000Z"}`).AnswerTimeDetails()
	equal(t, "answer times", ok, true)
	equal(t, "answer times", times, client.AnswerTimeDetails{
		AvailableAnswerTimes: []int{60, 1440},
		NextAvailableAt:      &next,
	})

	var own struct{ Later int }
	noError(t, with("later-code", `{"later":4}`).DecodeDetails(&own))
	equal(t, "own", own.Later, 4)
}

func TestErrorDetailsOfAnotherForm(t *testing.T) {
	for _, details := range []string{
		"", `{}`, `{"errors":7,"missing_index_codes":"a","max_bytes":"x","data":{},"entity":[]}`,
	} {
		e := &client.Error{Code: client.CodeValidation, Details: json.RawMessage(details)}
		equal(t, "problems", e.ValidationProblems(), []client.ValidationProblem(nil))
		equal(t, "missing", e.MissingIndexCodes(), []string(nil))
		equal(t, "bytes", e.MaxBytes(), int64(0))
		equal(t, "results", e.UploadResults(), []client.UploadResult(nil))
		entity, code := e.NotFoundEntity()
		equal(t, "entity", entity+code, "")
		_, ok := e.AnswerTimeDetails()
		equal(t, "answer times", ok, false)
	}
	e := &client.Error{Code: client.CodePhotoLimitExceeded, Details: json.RawMessage(`{"max_photos":"two"}`)}
	_, ok := e.PhotoLimitDetails()
	equal(t, "photo limit", ok, false)
	if (&client.Error{}).DecodeDetails(new(any)) == nil {
		t.Error("no error without details")
	}
}
