package server

import (
	"bufio"
	"context"
	"log/slog"
	"maps"
	"net/http"
	"regexp"
	"strconv"
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

// TestMediaRoute checks that photos are counted under one route, whatever their names are, and derived images under
// those of the pages that show them.
func TestMediaRoute(t *testing.T) {
	const photo = "/abcdefghijklmnopqrstuvwxyz234567.jpg"
	for name, test := range map[string]struct {
		media string
		want  map[string]string // by method and path
	}{
		"Path": {"https://localhost:8443/media", map[string]string{
			"GET /media" + photo:                  `route="GET /media/{name}",status="404"`,
			"GET /media/no-photo":                 `route="GET /media/{name}",status="404"`,
			"HEAD /media/x/y":                     `route="GET /media/{name}",status="404"`,
			"POST /media" + photo:                 `route="other",status="405"`,
			"GET /desk/photos" + photo + "/thumb": `route="GET /desk/photos/{name}/{size}",status="303"`,
		}},
		"Host": {"https://localhost", map[string]string{
			"GET " + photo: `route="GET /{name}",status="404"`,
			"GET /no-page": `route="/",status="404"`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := run(t, nodeSettings(t, "--media-url", test.media), slog.New(slog.DiscardHandler))
			want := make(map[string]int)
			for request, labels := range test.want {
				method, path, _ := strings.Cut(request, " ")
				r := must.Request(t, method, s.BaseURL()+path, http.NoBody)
				r.Host = "localhost"
				answer, err := http.DefaultTransport.RoundTrip(r)
				must.NoError(t, err)
				must.NoError(t, answer.Body.Close())
				want[labels]++
			}
			got := make(map[string]int)
			must.Eventually(t, time.Minute, "the requests are counted", func() bool {
				_, metrics := fetch(t, "http://"+s.listener["ops-listen"].Addr().String()+"/metrics")
				clear(got)
				sum := 0
				for _, m := range requestLine.FindAllStringSubmatch(metrics, -1) {
					n, err := strconv.Atoi(m[2])
					must.NoError(t, err)
					got[m[1]] = n
					sum += n
				}
				return sum == len(test.want)
			})
			if !maps.Equal(got, want) {
				t.Errorf("counted %v, want %v", got, want)
			}
		})
	}
}

// requestLine is a line of the metrics that counts requests: its labels, and how many they are.
var requestLine = regexp.MustCompile(`(?m)^assay_http_requests_total\{(.*)\} (\d+)$`)
