package apitest

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/assayhq/assay/internal/testkit/must"
)

// listener is a testing.TB that records what a validator reports.
type listener struct {
	testing.TB
	errors []string
}

func (l *listener) Helper() {}
func (l *listener) Errorf(format string, args ...any) {
	l.errors = append(l.errors, fmt.Sprintf(format, args...))
}

// answer is a scripted response. The request id and {id} in the body are filled in.
type answer struct {
	status int
	header map[string]string
	body   string
}

var limits = map[string]string{"X-RateLimit-Limit": "300", "X-RateLimit-Remaining": "299"}

func with(base map[string]string, more ...string) map[string]string {
	out := maps.Clone(base)
	for i := 0; i < len(more); i += 2 {
		out[more[i]] = more[i+1]
	}
	return out
}

func failure(status int, code, path, details string) string {
	return fmt.Sprintf(`{"statusCode":%d,"code":%q,"message":"m","details":%s,"timestamp":"2025-11-15T02:00:00.000Z",`+
		`"path":%q,"request_id":"{id}"}`, status, code, details, path)
}

// exchangeWith sends a request to a server with a scripted response, and returns what the validator reports.
func exchangeWith(t *testing.T, v *Validator, a answer, method, path, body string) []string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		id := uuid.NewString()
		w.Header().Set("X-Request-Id", id)
		if a.body != "" {
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
		}
		for name, value := range a.header {
			w.Header().Set(name, value)
		}
		w.WriteHeader(a.status)
		_, _ = io.WriteString(w, strings.ReplaceAll(a.body, "{id}", id))
	}))
	defer server.Close()
	l := &listener{TB: t}
	client := &http.Client{
		Transport:     v.For(l).Transport(server.Client().Transport),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	_, got := must.Do(t, client, must.Request(t, method, server.URL+path, strings.NewReader(body)))
	if method != http.MethodHead && len(got) == 0 && a.body != "" {
		t.Error("the caller does not get the body")
	}
	return l.errors
}

func TestTransport(t *testing.T) {
	const (
		balance   = "/v1/integrations/balance"
		orders    = "/v1/integrations/orders"
		oneOrder  = orders + "/a"
		nothing   = "/v1/integrations/nothing"
		webhooks  = "/v1/integrations/webhooks/0199c3a8-3c0f-7d84-b1a6-9e2c4f6b8d10"
		good      = `{"availableCredits":5}`
		createdOK = `{"id":"0199c3a2-91f4-7d20-b6c8-3e5a7f1d2b40","external_id":null,"order_number":"AS-7K3QX0ZS",` +
			`"status":"queued","due_date":null}`
	)
	for _, test := range []struct {
		name, method, path, body string
		answer                   answer
		report                   string // part of the report; empty: none
	}{
		{"Good", "GET", balance, "", answer{200, limits, good}, ""},
		{"OtherPrefix", "GET", "/healthz", "", answer{500, nil, "oops"}, ""},
		{
			"ErrorGood", "GET", balance, "",
			answer{401, map[string]string{"WWW-Authenticate": "Bearer"}, failure(401, "unauthorized", balance, `{}`)},
			"",
		},
		{"UnknownRoute", "GET", nothing, "", answer{404, nil, failure(404, "not-found", nothing, `{}`)}, ""},
		{"UnknownMethod", "PUT", balance, "", answer{404, nil, failure(404, "not-found", balance, `{}`)}, ""},
		{"Head", "HEAD", balance, "", answer{200, limits, ""}, ""},
		{"NoContent", "DELETE", webhooks, "", answer{204, limits, ""}, ""},
		{
			"EncodedSlashInId", "GET", "/v1/integrations/orders/a%2Fb", "",
			answer{404, limits, failure(404, "order-not-found", "/v1/integrations/orders/a%2Fb", `{}`)},
			"",
		},

		{"UndocumentedStatus", "GET", balance, "", answer{202, limits, good}, "status: is not documented"},
		{"MissingHeader", "GET", balance, "", answer{200, nil, good}, "X-RateLimit-Limit: is missing"},
		{
			"HeaderNotANumber", "GET", balance, "",
			answer{200, with(limits, "X-RateLimit-Limit", "many"), good},
			"not a whole number",
		},
		{"HeaderOutOfBounds", "GET", balance, "", answer{200, with(limits, "X-RateLimit-Remaining", "-1"), good}, "minimum"},
		{
			"UndocumentedHeader", "GET", balance, "",
			answer{200, with(limits, "X-RateLimit-Reset", "9"), good},
			"X-Ratelimit-Reset: is not documented",
		},
		{
			"LimitsOnUnauthorized", "GET", balance, "",
			answer{401, with(limits, "WWW-Authenticate", "Bearer"), failure(401, "unauthorized", balance, `{}`)},
			"is not documented",
		},
		{"NoRequestId", "GET", balance, "", answer{200, with(limits, "X-Request-Id", ""), good}, "X-Request-Id: is missing"},
		{"WrongMediaType", "GET", balance, "", answer{200, with(limits, "Content-Type", "text/plain"), good}, "Content-Type"},
		{"BodyNotJSON", "GET", balance, "", answer{200, limits, "{"}, "is not JSON"},
		{"WrongType", "GET", balance, "", answer{200, limits, `{"availableCredits":"5"}`}, "availableCredits"},
		{
			"UnknownProperty", "GET", balance, "",
			answer{200, limits, `{"availableCredits":5,"credits":5}`},
			"additional properties",
		},
		{
			"MissingETag", "GET", "/v1/integrations/catalog/categories", "",
			answer{200, limits, `{"data":[]}`},
			"ETag: is missing",
		},
		{
			"CodeOfAnotherOperation", "GET", oneOrder, "",
			answer{404, limits, failure(404, "not-found", oneOrder, `{}`)},
			"code",
		},
		{
			"CodeOfAnotherStatus", "GET", orders, "",
			answer{400, limits, failure(404, "validation-error", orders, `{"errors":[{"field":"a","code":"b","message":"c"}]}`)},
			"statusCode",
		},
		{"DetailsMissing", "GET", orders, "", answer{400, limits, failure(400, "validation-error", orders, `{}`)}, "errors"},
		{
			"OtherPath", "GET", oneOrder, "",
			answer{404, limits, failure(404, "order-not-found", "/orders/a", `{}`)},
			"path is /orders/a",
		},
		{
			"OtherRequestId", "GET", oneOrder, "",
			answer{
				404, limits, strings.Replace(failure(404, "order-not-found", oneOrder, `{}`), "{id}",
					"0199c3a2-7b5e-7c41-9a2f-5d1e8b7c6a10", 1),
			},
			"is not the header's",
		},
		{
			"OtherRetryAfter", "GET", balance, "",
			answer{
				429, with(limits, "Retry-After", "3"),
				strings.Replace(failure(429, "rate-limit-exceeded", balance, `{"retry_after_seconds":4}`), `"m"`,
					`"Rate limit exceeded"`, 1),
			},
			"retry_after_seconds 4",
		},
		{"UnknownRouteWithoutEnvelope", "GET", nothing, "", answer{404, nil, `{"error":"no"}`}, "missing properties"},
		{
			"UnknownRouteRedirects", "GET", "/v1/integrations//balance", "",
			answer{301, map[string]string{"Location": "/v1/integrations/balance"}, ""},
			"not one that an unknown route answers",
		},
		{"AcceptedWhatIsForbidden", "POST", orders, `{"brand_code":"a"}`, answer{201, limits, createdOK}, "accepted body"},
		{
			"AcceptedWithoutParameter", "GET", "/v1/integrations/catalog/models", "",
			answer{200, with(limits, "ETag", `"x"`), `{"data":[],"page":1,"limit":50,"total":0}`},
			"accepted without the query parameter brand_code",
		},
		{
			"AcceptedOutOfBounds", "GET", "/v1/integrations/orders?limit=51", "",
			answer{200, limits, `{"data":[],"page":1,"limit":50,"total":0}`},
			"accepted query parameter limit",
		},
		{
			"AcceptedGood", "POST", orders,
			`{"brand_code":"a","category_code":"b","external_id":null,"photos":[{"url":"https://m/x","index_code":"c"}]}`,
			answer{201, limits, createdOK},
			"",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			reports := exchangeWith(t, New(t), test.answer, test.method, test.path, test.body)
			switch {
			case test.report == "" && len(reports) > 0:
				t.Errorf("reported %s", reports)
			case test.report != "" && !strings.Contains(strings.Join(reports, "\n"), test.report):
				t.Errorf("reported %s, want something with %q", reports, test.report)
			}
		})
	}
}

func TestRequestIdIsFresh(t *testing.T) {
	v := New(t)
	a := answer{200, with(limits, "X-Request-Id", uuid.NewString()), `{"availableCredits":5}`}
	if reports := exchangeWith(t, v, a, "GET", "/v1/integrations/balance", ""); len(reports) > 0 {
		t.Errorf("the first use is reported: %s", reports)
	}
	if reports := exchangeWith(t, v, a, "GET", "/v1/integrations/balance", ""); len(reports) != 1 ||
		!strings.Contains(reports[0], "was used before") {
		t.Errorf("reported %s", reports)
	}
}

func TestCoverage(t *testing.T) {
	v := New(t)
	success := Case{Operation: "getBalance", Status: 200}
	refusal := Case{Operation: "getBalance", Status: 401, Code: "unauthorized"}
	if !slices.Contains(v.Coverage().Missing, success) || !slices.Contains(v.Coverage().Missing, refusal) {
		t.Error("what has not been seen is not missing")
	}
	exchangeWith(t, v, answer{200, limits, `{"availableCredits":5}`}, "GET", "/v1/integrations/balance", "")
	got := v.Coverage()
	if got.Seen[success] != 1 || slices.Contains(got.Missing, success) || !slices.Contains(got.Missing, refusal) {
		t.Errorf("coverage is %v", got)
	}
}

func TestMatch(t *testing.T) {
	v := NewDesk(t)
	for path, want := range map[string]string{
		"/v1/desk/orders/next":     "takeNextOrder",
		"/v1/desk/orders/x/claim":  "claimOrder",
		"/v1/desk/orders//claim":   "",
		"/v1/desk/orders/x/claim/": "",
		"/v1/other/orders/next":    "",
	} {
		got := ""
		if op := v.match("POST", path); op != nil {
			got = op.ID
		}
		if got != want {
			t.Errorf("%s matches %q, want %q", path, got, want)
		}
	}
}
