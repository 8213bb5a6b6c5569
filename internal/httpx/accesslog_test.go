package httpx

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/testkit/expect"
)

// TestAccessLine compares lines of the access log with those of slog.
func TestAccessLine(t *testing.T) {
	lines := map[string]accessLine{
		"Ordinary": {
			time: noon, method: "GET", path: "/v1/orders/1", route: "GET /v1/orders/{id}", status: 200, bytes: 319,
			duration: 1234567, requestID: newRequestID(noon).String(), remote: "192.0.2.7",
		},
		"Aborted": {time: noon.In(time.FixedZone("JST", 9*3600)), method: "POST", status: 0, aborted: true},
		"Escaped": {
			time: noon.Add(123456789), method: "GET", path: "/a\"b\\c\n<&>\x7fé\u2028", route: "テスト \x00",
			status: 404, duration: -1, remote: "2001:db8::1",
		},
	}
	for name, line := range lines {
		t.Run(name, func(t *testing.T) {
			var want bytes.Buffer
			record := slog.NewRecord(line.time, slog.LevelInfo, accessMessage, 0)
			record.AddAttrs(line.attrs()...)
			if err := slog.NewJSONHandler(&want, nil).Handle(t.Context(), record); err != nil {
				t.Fatal(err)
			}
			if got := string(line.append(nil)); got != want.String() {
				t.Errorf("got  %swant %s", got, &want)
			}
		})
	}
}

func TestJSONLog(t *testing.T) {
	var out bytes.Buffer
	log := NewJSONLog(&out)
	log.InfoContext(t.Context(), "first", "a", 1)
	p := &Responder{Log: log}
	serve := func(p *Responder) {
		handler := RequestID(p.AccessLog(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			WriteRaw(w, http.StatusTeapot, []byte("{}"))
		})))
		handler.ServeHTTP(httptest.NewRecorder(), get(t, "/x?secret"))
	}
	serve(p)
	serve(&Responder{Log: log.With("node", "b")})
	lines := strings.SplitAfter(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 || !strings.Contains(lines[0], `"msg":"first","a":1}`) ||
		!strings.Contains(lines[1], `"msg":"request","method":"GET","path":"/x","route":"","status":418,"bytes":2,`) ||
		!strings.Contains(lines[2], `"msg":"request","node":"b","method":"GET","path":"/x"`) {
		t.Errorf("logged %s", &out)
	}
	if !log.Enabled(context.Background(), slog.LevelInfo) || log.Enabled(context.Background(), slog.LevelDebug) {
		t.Error("the log does not begin at info")
	}
}

// TestLoggedPath checks that the secret of a capture link is not logged, however its address is written.
func TestLoggedPath(t *testing.T) {
	expect.Results(t, func(path string) string { return LoggedPath(get(t, path)) }, map[string]string{
		"/capture/SECRET":                     "/capture/-",
		"/capture/SECRET?lang=ja":             "/capture/-",
		"/capture/SECRET/photos/abc":          "/capture/-/photos/abc",
		"//capture/SECRET":                    "//capture/-",
		"/capture//SECRET/x":                  "/capture//-/x",
		"/./capture/SECRET":                   "/./capture/-",
		"/capt%75re/SECRET":                   "/capt%75re/-",
		"/capture%2FSECRET":                   "/-",
		"/capture":                            "/capture",
		"/v1/integrations/capture_links/some": "/v1/integrations/capture_links/some",

		"/v1/integrations/orders/capture/update_photos": "/v1/integrations/orders/capture/update_photos",
		"/v1/integrations/orders/photo-capture%2F123":   "/v1/integrations/orders/photo-capture%2F123",
	})
}
