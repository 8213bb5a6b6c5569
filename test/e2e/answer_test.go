package e2e_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/assayhq/assay/internal/testkit/must"
)

// answer is a response whose body has been read.
type answer struct {
	*http.Response
	body []byte
}

// send sends a request and reads the answer to its end.
func send(t *testing.T, through *http.Client, request *http.Request) *answer {
	t.Helper()
	response, body := must.Do(t, through, request)
	return &answer{response, body}
}

// envelope is the body of a failed request.
type envelope struct {
	StatusCode int            `json:"statusCode"`
	Code       string         `json:"code"`
	Message    string         `json:"message"`
	Details    map[string]any `json:"details"`
	RequestID  string         `json:"request_id"`
}

// wantFailure checks status and code of a refusal, and that its envelope names the request.
func (a *answer) wantFailure(t *testing.T, status int, code string) {
	t.Helper()
	var e envelope
	if err := json.Unmarshal(a.body, &e); err != nil {
		t.Fatalf("status %d, not an envelope: %v\n%s", a.StatusCode, err, a.body)
	}
	if a.StatusCode != status || e.StatusCode != status || e.Code != code {
		t.Fatalf("status %d, envelope %d %s; want %d %s\n%s", a.StatusCode, e.StatusCode, e.Code, status, code, a.body)
	}
	if e.RequestID == "" || e.RequestID != a.Header.Get("X-Request-Id") {
		t.Errorf("request_id %q, X-Request-Id %q; want the same id", e.RequestID, a.Header.Get("X-Request-Id"))
	}
}

func (a *answer) wantStatus(t *testing.T, status int) {
	t.Helper()
	if a.StatusCode != status {
		t.Fatalf("%s %s: status %d, want %d\n%s", a.Request.Method, a.Request.URL, a.StatusCode, status, a.body)
	}
}
