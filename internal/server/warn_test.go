package server

import (
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/testkit/child"
	"github.com/assayhq/assay/internal/testkit/must"
)

// startWith runs a server with changed settings on free ports of this machine, and returns it with its log.
func startWith(t *testing.T, change func(*Settings)) (*Server, *child.Output) {
	t.Helper()
	var set Settings
	set.Bind(flag.NewFlagSet("", flag.ContinueOnError))
	set.Data = filepath.Join(t.TempDir(), "data")
	set.Listen, set.TLSListen, set.OpsListen = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	change(&set)
	log := new(child.Output)
	return run(t, set, slog.New(slog.NewJSONHandler(log, nil))), log
}

// loud returns the words in capitals with which the warnings of a log begin.
func loud(t *testing.T, log *child.Output) string {
	t.Helper()
	var found []string
	for line := range strings.Lines(log.String()) {
		var entry struct{ Level, Msg string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatal(err)
		}
		if title, _, ok := strings.Cut(entry.Msg, ":"); ok && entry.Level == "WARN" {
			found = append(found, title)
		}
	}
	return strings.Join(found, ", ")
}

// TestWarnings checks what is said loudly at the start.
func TestWarnings(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Settings)
		want   string
	}{
		"Default": {func(*Settings) {}, ""},
		"PlainHTTP": {
			func(s *Settings) { s.Listen = "0.0.0.0:0" }, "PLAIN HTTP ON A PUBLIC ADDRESS",
		},
		"BehindTLS": {
			func(s *Settings) { s.Listen, s.PublicURL = "0.0.0.0:0", "https://assay.example" }, "",
		},
		"Ops": {func(s *Settings) { s.OpsListen = "0.0.0.0:0" }, "OPERATIONS ON A PUBLIC ADDRESS"},
		"Demo": {
			func(s *Settings) { s.TLSListen, s.Demo = "0.0.0.0:0", true }, "DEMO ON A PUBLIC ADDRESS",
		},
		"DemoHere": {func(s *Settings) { s.Demo = true }, ""},
		"DataFolder": {func(s *Settings) {
			if err := os.Mkdir(s.Data, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(s.Data, 0o777); err != nil {
				t.Fatal(err)
			}
		}, "OPEN DATA FOLDER"},
		"Certificate": {func(s *Settings) {
			files := pairSettings(t, time.Now().Add(certificateEnds+time.Hour))
			s.TLSCert, s.TLSKey = files.TLSCert, files.TLSKey
		}, ""},
		"CertificateEnds": {func(s *Settings) {
			files := pairSettings(t, time.Now().Add(certificateEnds-time.Hour))
			s.TLSCert, s.TLSKey = files.TLSCert, files.TLSKey
		}, "THE CERTIFICATE ENDS SOON"},
		"CertificateEnded": {func(s *Settings) {
			files := pairSettings(t, time.Now().Add(-time.Hour))
			s.TLSCert, s.TLSKey = files.TLSCert, files.TLSKey
		}, "THE CERTIFICATE HAS EXPIRED"},
	} {
		t.Run(name, func(t *testing.T) {
			_, log := startWith(t, c.change)
			if got := loud(t, log); got != c.want {
				t.Errorf("warned of %q, want %q", got, c.want)
			}
		})
	}
}

func get(t *testing.T, address string, header http.Header) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header
	client := http.Client{
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return res
}

// TestHSTS checks that browsers that came over TLS are told to come back so.
func TestHSTS(t *testing.T) {
	const want = "max-age=31536000; includeSubDomains"
	s, _ := startWith(t, func(*Settings) {})
	plain, secure := "http://"+s.listener["listen"].Addr().String(), "https://"+s.listener["tls-listen"].Addr().String()
	for _, path := range []string{"/portal/sign-in", "/v1/integrations/balance", "/media/none.jpg"} {
		if got := get(t, secure+path, nil).Header.Get("Strict-Transport-Security"); got != want {
			t.Errorf("%s over TLS: %q", path, got)
		}
		if got := get(t, plain+path, nil).Header.Get("Strict-Transport-Security"); got != "" {
			t.Errorf("%s without TLS: %q", path, got)
		}
	}
	s, _ = startWith(t, func(s *Settings) { s.PublicURL = "https://assay.example" })
	plain = "http://" + s.listener["listen"].Addr().String()
	if got := get(t, plain+"/portal/sign-in", nil).Header.Get("Strict-Transport-Security"); got != want {
		t.Errorf("behind a proxy with TLS: %q", got)
	}
}

// TestPprof checks that profiles are served when asked for only, and the command line never: it may hold secrets.
func TestPprof(t *testing.T) {
	for on, want := range map[bool]int{false: http.StatusNotFound, true: http.StatusOK} {
		s, _ := startWith(t, func(s *Settings) { s.Pprof = on })
		ops := "http://" + s.listener["ops-listen"].Addr().String()
		for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/symbol"} {
			if got := get(t, ops+path, nil).StatusCode; got != want {
				t.Errorf("--pprof=%t: %s is %d", on, path, got)
			}
		}
		if got := get(t, ops+"/debug/pprof/cmdline", nil).StatusCode; got != http.StatusNotFound {
			t.Errorf("--pprof=%t: the command line is %d", on, got)
		}
	}
}

// TestProxySettings checks whom the log names as the client, and what is said when a proxy is not told of.
func TestProxySettings(t *testing.T) {
	forwarded := http.Header{"X-Forwarded-For": {"198.51.100.1, 203.0.113.7"}}
	for setting, want := range map[string]string{
		"": `"remote":"127.0.0.1"`, "172.30.97.0/24": `"remote":"127.0.0.1"`, "127.0.0.0/8": `"remote":"203.0.113.7"`,
	} {
		s, log := startWith(t, func(s *Settings) {
			if err := s.TrustedProxies.Set(setting); err != nil {
				t.Fatal(err)
			}
		})
		get(t, s.BaseURL()+"/portal/sign-in", forwarded)
		// The line of a request is written after its answer.
		must.Eventually(t, time.Minute, fmt.Sprintf("--trusted-proxies %q: %s is in the log", setting, want), func() bool {
			return strings.Contains(log.String(), want)
		})
		if warned := strings.Contains(log.String(), "PROXY NOT IN --trusted-proxies"); warned != (setting != "127.0.0.0/8") {
			t.Errorf("--trusted-proxies %q: warned %t", setting, warned)
		}
	}
}
