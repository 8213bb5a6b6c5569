package e2e_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/program"
)

func TestOps(t *testing.T) {
	t.Parallel()
	s := start(t, program.Settings{"pprof": "true"})
	a := s.open(t)
	s.get(t, a.Test.Key, prefix+"/balance?hidden=value").wantStatus(t, http.StatusOK)
	s.get(t, a.Test.Key, prefix+"/orders/never-made").wantStatus(t, http.StatusNotFound)

	for _, path := range []string{
		"/healthz", "/readyz", "/metrics", "/debug/pprof/", "/debug/pprof/goroutine?debug=1", "/debug/pprof/heap",
	} {
		t.Run(path, func(t *testing.T) {
			s.ops(t, path).wantStatus(t, http.StatusOK)
			if got := s.get(t, "", path); got.StatusCode != http.StatusNotFound {
				t.Errorf("the public listener answers %d: it must not know the path", got.StatusCode)
			}
		})
	}
	t.Run("Metrics", func(t *testing.T) {
		metrics := string(s.ops(t, "/metrics").body)
		for _, want := range []string{
			`assay_http_requests_total{route="GET /v1/integrations/balance",status="200"} 1`,
			`assay_http_requests_total{route="GET /v1/integrations/orders/{id}",status="404"} 1`,
			`assay_http_request_seconds_count{route="GET /v1/integrations/balance"} 1`,
			"go_goroutines", "process_resident_memory_bytes",
		} {
			if !strings.Contains(metrics, want) {
				t.Errorf("metrics lack %s", want)
			}
		}
		for _, hidden := range []string{"never-made", "hidden", a.Test.Key} {
			if strings.Contains(metrics, hidden) {
				t.Errorf("metrics hold %s, which a client chose", hidden)
			}
		}
	})
}

// TestSecurityText checks that who has found a hole is told whom to tell, by the running program, in both ways that it
// listens; and that nobody is named where no operator has said who it is.
func TestSecurityText(t *testing.T) {
	t.Parallel()
	const path = "/.well-known/security.txt"
	s := start(t, program.Settings{
		"security-contact": "mailto:security@example.org", "public-url": "https://" + publicHost,
	})
	for name, browser := range map[string]*http.Client{"HTTP": http.DefaultClient, "TLS": {Transport: s.transport(t)}} {
		address := s.URL(path)
		if name == "TLS" {
			address = "https://" + publicHost + path
		}
		answer, body := must.Get(t, browser, address)
		text := string(body)
		expires, err := time.Parse(time.RFC3339, fieldOf(text, "Expires"))
		if err != nil || time.Until(expires) < 24*time.Hour || time.Until(expires) > 365*24*time.Hour {
			t.Errorf("%s: it ends %v: %v", name, expires, err)
		}
		if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "text/plain; charset=utf-8" ||
			fieldOf(text, "Contact") != "mailto:security@example.org" ||
			fieldOf(text, "Canonical") != "https://"+publicHost+path {
			t.Errorf("%s: %d %v\n%s", name, answer.StatusCode, answer.Header, text)
		}
	}
	start(t, program.Settings{}).get(t, "", path).wantStatus(t, http.StatusNotFound)
}

// fieldOf returns the value of a line such as "Name: value".
func fieldOf(text, name string) string {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, name+": "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// TestDatabaseOutage stops PostgreSQL under the running server: readiness fails, and recovers by itself.
func TestDatabaseOutage(t *testing.T) {
	t.Parallel()
	cluster, database, s := startOnCluster(t)
	a := s.open(t)
	s.ops(t, "/readyz").wantStatus(t, http.StatusOK)
	paths := []string{prefix + "/balance", prefix + "/orders", prefix + "/orders/some-id", prefix + "/audit/events"}

	for round, stop := range []func() error{cluster.Stop, cluster.Crash} {
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		must.Eventually(t, time.Minute, "readyz tells that the database is away", func() bool {
			return s.ops(t, "/readyz").StatusCode == http.StatusServiceUnavailable
		})
		s.ops(t, "/healthz").wantStatus(t, http.StatusOK)
		for _, path := range paths {
			refused := s.get(t, a.Test.Key, path)
			refused.wantFailure(t, http.StatusServiceUnavailable, "service-unavailable")
			if refused.Header.Get("Retry-After") == "" {
				t.Errorf("%s: no Retry-After", path)
			}
			if strings.Contains(string(refused.body), "connect") || strings.Contains(string(refused.body), "postgres") {
				t.Errorf("the driver's words are shown: %s", refused.body)
			}
		}
		if err := cluster.Start(); err != nil {
			t.Fatal(err)
		}
		must.Eventually(t, time.Minute, "the server works again", func() bool {
			return s.get(t, a.Test.Key, prefix+"/balance").StatusCode == http.StatusOK
		})
		s.ops(t, "/readyz").wantStatus(t, http.StatusOK)
		for _, path := range paths {
			if got := s.get(t, a.Test.Key, path); got.StatusCode >= http.StatusInternalServerError {
				t.Errorf("round %d: %s answers %d after the outage", round, path, got.StatusCode)
			}
		}
	}
	importContoso(t, s, a, "Fabrikam")
	if password := passwordOf(t, database); strings.Contains(s.Stderr(), password) {
		t.Error("the log holds the password of the database")
	}
}
