package httpx

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/httpx/input"
	"github.com/assayhq/assay/internal/jsonlog"
	"github.com/assayhq/assay/internal/testkit/expect"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 56_789_000, time.UTC)

// testResponder returns a responder with a fixed clock, and the log it writes.
func testResponder() (*Responder, *bytes.Buffer) {
	var log bytes.Buffer
	options := jsonlog.Options()
	options.Level = slog.LevelDebug
	h := slog.NewJSONHandler(&log, options)
	return &Responder{Log: slog.New(h), Now: func() time.Time { return noon }}, &log
}

func get(t *testing.T, target string) *http.Request {
	t.Helper()
	return httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, http.NoBody)
}

// failWith serves one request whose handler returns err.
func failWith(p *Responder, r *http.Request, err error) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	RequestID(p.Handle(func(http.ResponseWriter, *http.Request) error { return err })).ServeHTTP(w, r)
	return w
}

func TestEnvelope(t *testing.T) {
	const orders = "/v1/integrations/orders"
	closing := noon.Add(time.Hour)
	tests := map[string]struct {
		target string
		err    error
		status int
		header map[string]string
	}{
		"validation": {
			"/v1/integrations/orders?locale=ja",
			fault.Validation(
				fault.Problem{Field: "brand_code", Code: input.CodeRequired, Message: "is required"},
				fault.Problem{
					Field: "photos[3].url", Code: input.CodeMaxLength, Message: "must be at most 2048 characters, has 3000",
				},
			),
			400, nil,
		},
		"bad_request": {orders, fault.BadRequest("A <b> & \"c\" stay as they are.").With("offset", 3), 400, nil},
		"unauthorized": {
			orders, fault.New(fault.Unauthorized, "unauthorized", "No valid API key."), 401,
			map[string]string{"WWW-Authenticate": "Bearer"},
		},
		"payment_required": {orders, fault.New(fault.PaymentRequired, "not-enough-credits", "Not enough credits."), 402, nil},
		"forbidden": {
			orders, fault.New(fault.Forbidden, "forbidden", "The key lacks a scope.").With("required_scope", "orders:write"),
			403, nil,
		},
		"not_found": {
			"/v1/integrations/orders/a%20b%2Fc%3F?x=1",
			fault.New(fault.NotFound, "order-not-found", "No such order."), 404, nil,
		},
		"conflict": {orders, fault.New(fault.Conflict, "webhook-already-exists", "Already registered."), 409, nil},
		"too_large": {
			"/v1/integrations/photos",
			fault.New(fault.TooLarge, "FILE_TOO_LARGE", "Too large.").With("max_bytes", 10485760), 413, nil,
		},
		"rate_limited": {
			orders,
			fault.New(fault.RateLimited, fault.CodeRateLimited, "Rate limit exceeded").
				With("retry_after_seconds", 13).After(12*time.Second + 1),
			429,
			map[string]string{"Retry-After": "13"},
		},
		"unavailable": {
			orders, fault.UnavailableError(errors.New("dial tcp 10.0.0.7: refused")), 503,
			map[string]string{"Retry-After": "5"},
		},
		"internal": {orders, errors.New("sql: secret detail"), 500, nil},
		"deadline": {
			orders, fmt.Errorf("read rows: %w", context.DeadlineExceeded), 503, map[string]string{"Retry-After": "5"},
		},
		"wrapped": {
			orders, fmt.Errorf("create order: %w", fault.New(fault.Conflict, "request-in-progress", "Still running.")),
			409, nil,
		},
		"times_in_details": {
			orders,
			fault.New(fault.Invalid, "answer-time-unavailable", "Not now.").
				With("next_available_at", closing).With("until", &closing).With("never", (*time.Time)(nil)),
			400, nil,
		},
		"broken_details": {orders, fault.BadRequest("Details that are no JSON.").With("f", func() {}), 400, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, _ := testResponder()
			w := failWith(p, get(t, tt.target), tt.err)
			if w.Code != tt.status {
				t.Errorf("status %d, want %d", w.Code, tt.status)
			}
			id := w.Header().Get("X-Request-Id")
			if len(id) != 36 {
				t.Errorf("X-Request-Id is %q", id)
			}
			if tt.status != 401 && w.Header().Get("WWW-Authenticate") != "" {
				t.Error("a challenge without a 401")
			}
			for k, v := range tt.header {
				if got := w.Header().Get(k); got != v {
					t.Errorf("%s is %q, want %q", k, got, v)
				}
			}
			expect.Golden(t, "testdata/envelope_"+name+".json", strings.ReplaceAll(w.Body.String(), id, "REQUEST-ID")+"\n")
		})
	}
}

func TestRetrySeconds(t *testing.T) {
	expect.Results(t, RetrySeconds, map[time.Duration]int{
		time.Nanosecond: 1, time.Second: 1, time.Second + 1: 2, 59*time.Second + 999*time.Millisecond: 60, 0: 1,
		-time.Hour: 1,
	})
}

func TestWriteErrorLog(t *testing.T) {
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	late, cancelLate := context.WithDeadline(context.Background(), time.Unix(0, 0))
	defer cancelLate()
	tests := map[string]struct {
		ctx    context.Context
		err    error
		status int
		level  string // "" nothing is logged
		holds  string
	}{
		"Opaque": {
			context.Background(), fmt.Errorf("insert: %w", errors.New("disk full")), 500, "ERROR", "insert: disk full",
		},
		"FaultCause": {
			context.Background(), fault.UnavailableError(errors.New("no route to host")), 503, "WARN", "no route to host",
		},
		"InternalFault": {
			context.Background(),
			fault.New(fault.Internal, "internal-error", "m").Because(errors.New("why")), 500, "WARN", "why",
		},
		"CallersMistake":   {context.Background(), fault.BadRequest("m").Because(errors.New("EOF")), 400, "", ""},
		"ClientGone":       {gone, fmt.Errorf("query: %w", context.Canceled), 503, "DEBUG", "query"},
		"ClientGoneFault":  {gone, fault.UnavailableError(context.Canceled), 503, "DEBUG", "canceled"},
		"ClientGoneDriver": {gone, errors.New("interrupted (9)"), 503, "DEBUG", "interrupted"},
		"CanceledByUs":     {context.Background(), context.Canceled, 500, "ERROR", "context canceled"},
		"Deadline":         {context.Background(), context.DeadlineExceeded, 503, "WARN", "deadline"},
		"DeadlineDriver":   {late, errors.New("interrupted (9)"), 503, "WARN", "interrupted"},
		"NilFault":         {context.Background(), (*fault.Error)(nil), 500, "ERROR", "<nil>"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, log := testResponder()
			w := failWith(p, get(t, "/x?token=secret").WithContext(tt.ctx), tt.err)
			if w.Code != tt.status {
				t.Errorf("status %d, want %d", w.Code, tt.status)
			}
			if tt.level == "" {
				if log.Len() > 0 {
					t.Errorf("logged %s", log)
				}
				return
			}
			var line map[string]any
			if err := json.Unmarshal(log.Bytes(), &line); err != nil {
				t.Fatalf("want one line, got %s", log)
			}
			if line["level"] != tt.level || !strings.Contains(log.String(), tt.holds) {
				t.Errorf("logged %s, want %s with %q", log, tt.level, tt.holds)
			}
			if line["request_id"] != w.Header().Get("X-Request-Id") || line["path"] != "/x" {
				t.Errorf("the line does not name the request: %s", log)
			}
			if strings.Contains(w.Body.String(), tt.holds) || strings.Contains(log.String(), "secret") {
				t.Error("something hidden is shown")
			}
		})
	}
}

func TestWriteError(t *testing.T) {
	t.Run("DropsHeadersOfTheBodyNotSent", func(t *testing.T) {
		p, _ := testResponder()
		w := httptest.NewRecorder()
		p.Handle(func(w http.ResponseWriter, _ *http.Request) error {
			w.Header().Set("ETag", `"1"`)
			w.Header().Set("Cache-Control", "public, max-age=60")
			w.Header().Set("Content-Type", "image/png")
			w.Header().Set("Content-Length", "5")
			w.Header().Set("X-RateLimit-Limit", "30")
			return fault.BadRequest("m")
		}).ServeHTTP(w, get(t, "/x"))
		h := w.Header()
		if h.Get("ETag") != "" || h.Get("Cache-Control") != "no-store" ||
			h.Get("Content-Type") != "application/json; charset=utf-8" {
			t.Errorf("headers %v", h)
		}
		if h.Get("X-RateLimit-Limit") != "30" {
			t.Error("the rate limit headers are lost")
		}
	})
	t.Run("WithoutRequestIDMiddleware", func(t *testing.T) {
		p, _ := testResponder()
		w := httptest.NewRecorder()
		p.WriteError(w, get(t, "/x"), fault.BadRequest("m"))
		var body struct {
			ID string `json:"request_id"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
			t.Fatal(err)
		}
		if body.ID == "" || body.ID != w.Header().Get("X-Request-Id") {
			t.Errorf("request_id %q, header %q", body.ID, w.Header().Get("X-Request-Id"))
		}
	})
	t.Run("PathBeforePrefixWasStripped", func(t *testing.T) {
		p, _ := testResponder()
		w := httptest.NewRecorder()
		refuse := p.Handle(func(http.ResponseWriter, *http.Request) error { return fault.BadRequest("m") })
		h := RequestID(http.StripPrefix("/v1", refuse))
		h.ServeHTTP(w, get(t, "/v1/a%2Fb?c"))
		if !strings.Contains(w.Body.String(), `"path":"/v1/a%2Fb"`) {
			t.Errorf("body %s", w.Body)
		}
	})
	t.Run("ZeroResponder", func(t *testing.T) {
		w := httptest.NewRecorder()
		new(Responder).WriteError(w, get(t, "/x"), fault.BadRequest("m"))
		if w.Code != 400 {
			t.Errorf("status %d", w.Code)
		}
	})
}
