package httpx

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/jsonlog"
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

// TestAccessLog_JSON checks the lines in the log of the program, and in one with attributes of its own.
func TestAccessLog_JSON(t *testing.T) {
	var out bytes.Buffer
	log := jsonlog.New(&out)
	for _, log := range []*slog.Logger{log, log.With("node", "b")} {
		p := &Responder{Log: log}
		handler := RequestID(p.AccessLog(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			WriteRaw(w, http.StatusTeapot, []byte("{}"))
		})))
		handler.ServeHTTP(httptest.NewRecorder(), get(t, "/x?secret"))
	}
	jsonlog.Flush(log)
	lines := strings.SplitAfter(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 ||
		!strings.Contains(lines[0], `"msg":"request","method":"GET","path":"/x","route":"","status":418,"bytes":2,`) ||
		!strings.Contains(lines[1], `"msg":"request","node":"b","method":"GET","path":"/x"`) {
		t.Errorf("logged %s", &out)
	}
}
