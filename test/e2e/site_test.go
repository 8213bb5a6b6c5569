// Package e2e_test tests the real program as its users see it: started as a process, used over the network and by
// its commands, stopped and killed.
package e2e_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/api/apitest"
	"github.com/assayhq/assay/client"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pgtest"
	"github.com/assayhq/assay/internal/testkit/program"
)

const (
	// The default --media-url has this host; transports of these tests dial the actual port of the server.
	publicHost = "localhost:8443"
	baseURL    = "https://" + publicHost + prefix
	prefix     = "/v1/integrations"

	secretKey   = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	catalogFile = "testdata/catalog.yaml"

	liveCredits = 1_000_000
)

// categories are the rate-limit categories for which test keys get a high limit.
var categories = []string{"catalog", "read", "create", "update", "upload", "webhook"}

// site is an installation with its server.
type site struct {
	*program.Process
	data     string
	failures bool // the test makes the server fail: errors in its log are expected
}

// engines runs the test on each database, with its settings.
func engines(t *testing.T, f func(t *testing.T, settings program.Settings)) {
	t.Helper()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		f(t, program.Settings{})
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		f(t, program.Settings{"database": pgtest.Database(t), "secret-key": secretKey})
	})
}

// start starts a server with an empty data directory.
func start(t *testing.T, settings program.Settings, arguments ...string) *site {
	t.Helper()
	all := program.Settings{"data": t.TempDir()}
	for name, value := range settings {
		all[name] = value
	}
	return run(t, program.New(t, all), all["data"], arguments...)
}

// startIntegrator starts a server that delivers webhooks to this computer, and returns an account with its Test client.
func startIntegrator(t *testing.T, settings program.Settings) (*site, *account, *client.Client) {
	t.Helper()
	settings["webhook-allow-private"] = "true"
	s := start(t, settings)
	a := s.open(t)
	return s, a, s.client(t, a.Test)
}

// startOnCluster starts a server on a PostgreSQL of its own, which may fail under it.
func startOnCluster(t *testing.T) (cluster *pgtest.Instance, database string, s *site) {
	t.Helper()
	cluster = pgtest.Cluster(t)
	database, err := cluster.Database()
	if err != nil {
		t.Fatal(err)
	}
	s = start(t, program.Settings{"database": database, "secret-key": secretKey})
	s.failures = true
	return cluster, database, s
}

// again starts a server on the same settings, after the first has ended.
func (s *site) again(t *testing.T, arguments ...string) *site {
	t.Helper()
	return run(t, s.Installation(), s.data, arguments...)
}

func run(t *testing.T, installation *program.Installation, data string, arguments ...string) *site {
	t.Helper()
	s := &site{data: data}
	t.Cleanup(func() { // after the server has ended
		if s.Process == nil || s.failures {
			return
		}
		for _, line := range lines(s.Stderr()) {
			if strings.Contains(line, `"level":"ERROR"`) {
				t.Errorf("the server logged an error: %s", line)
			}
		}
	})
	s.Process = installation.Start(t, arguments...)
	return s
}

// transport trusts the certificate in the server's data directory, and dials the server for the public host.
func (s *site) transport(t *testing.T) *http.Transport {
	t.Helper()
	certificate, err := os.ReadFile(filepath.Join(s.data, "tls.crt"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(certificate) {
		t.Fatal("tls.crt holds no certificate")
	}
	transport := &http.Transport{
		TLSClientConfig:     &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: 64,
		// Without it HTTP/2 does not wait for the server to begin to read.
		ExpectContinueTimeout: 30 * time.Second,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if address == publicHost {
				address = s.TLS
			}
			return new(net.Dialer).DialContext(ctx, network, address)
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return transport
}

// account is a customer of the service.
type account struct {
	ID       string `json:"account_id"`
	Password string `json:"password"`
	Name     string
	Test     key
	Live     key
}

type key struct {
	ID          string   `json:"id"`
	Key         string   `json:"key"`
	Environment string   `json:"environment"`
	Scopes      []string `json:"scopes"`
}

// open imports the test catalog and creates an account with a key per environment and Live credits.
func (s *site) open(t *testing.T) *account {
	t.Helper()
	s.CLI(t, new(any), "catalog", "import", catalogFile)
	a := &account{Name: "Acme"}
	s.CLI(t, a, "accounts", "create", "--name", a.Name, "--owner", "owner@acme.example")
	s.CLI(t, &a.Test, keyArguments(a.Name, "test")...)
	s.CLI(t, &a.Live, keyArguments(a.Name, "live")...)
	s.CLI(t, new(any), "credits", "grant", "--account", a.Name, "--env", "live", "--amount", strconv.Itoa(liveCredits),
		"--note", "to start with")
	must.Eventually(t, time.Minute, "the imported catalog is served", func() bool {
		return s.get(t, a.Test.Key, prefix+"/catalog/categories?brand_code=contoso").StatusCode == http.StatusOK
	})
	return a
}

func keyArguments(account, environment string) []string {
	arguments := []string{
		"keys", "create", "--account", account, "--env", environment, "--name", environment + " shop", "--scopes", "all",
	}
	for _, category := range categories {
		arguments = append(arguments, "--limit", category+"=1000000")
	}
	return arguments
}

// client returns a client over TLS that checks every response against the OpenAPI document and does not retry.
func (s *site) client(t *testing.T, k key) *client.Client {
	t.Helper()
	checked := apitest.New(t).Transport(s.transport(t))
	c, err := client.New(baseURL, k.Key, client.WithHTTPClient(&http.Client{Transport: checked}), client.WithoutRetry())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// get sends a request with the key over plain HTTP, for tests of headers and error envelopes.
func (s *site) get(t *testing.T, k, path string) *answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL(path), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if k != "" {
		request.Header.Set("Authorization", "Bearer "+k)
	}
	return send(t, http.DefaultClient, request)
}

// ops reads a path of the ops listener.
func (s *site) ops(t *testing.T, path string) *answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Ops+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	return send(t, http.DefaultClient, request)
}

// lines returns the lines of a text without its empty ones.
func lines(text string) []string {
	var some []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			some = append(some, line)
		}
	}
	return some
}
