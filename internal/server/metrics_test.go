package server

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/testkit/must"
)

// TestEventStreamTime checks that a stream of events is counted as a request, and that its life is no time to answer.
func TestEventStreamTime(t *testing.T) {
	s, _ := startWith(t, func(s *Settings) { s.SecondFactor = "none" })
	staff, err := s.app.Service.CreateStaff(t.Context(), access.Operator, "mika@example.com", "Mika", access.Reviewer)
	must.NoError(t, err)
	_, token, err := s.app.Service.StartSession(t.Context(), access.Desk, staff.Staff.ID, access.Origin{})
	must.NoError(t, err)
	plain := "http://" + s.listener["listen"].Addr().String()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	for _, path := range []string{"/desk/events", "/desk/rows"} {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, plain+path, http.NoBody)
		must.NoError(t, err)
		r.AddCookie(&http.Cookie{Name: "assay_desk", Value: token})
		answer, err := http.DefaultTransport.RoundTrip(r)
		must.NoError(t, err)
		t.Cleanup(func() { _ = answer.Body.Close() })
		if _, err := bufio.NewReader(answer.Body).ReadString('\n'); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	leave()
	var metrics string
	has := func(line string) bool { return strings.Contains(metrics, "\n"+line+"\n") }
	must.Eventually(t, time.Minute, "the requests are counted", func() bool {
		_, metrics = fetch(t, "http://"+s.listener["ops-listen"].Addr().String()+"/metrics")
		return has(`assay_http_requests_total{route="GET /desk/events",status="200"} 1`) &&
			has(`assay_http_request_seconds_count{route="GET /desk/rows"} 1`)
	})
	if has(`assay_http_request_seconds_count{route="GET /desk/events"} 1`) {
		t.Error("the life of the stream is a time to answer")
	}
}
