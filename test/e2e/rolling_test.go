package e2e_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assayhq/assay/client"
	"github.com/assayhq/assay/internal/testkit/child"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pgtest"
	"github.com/assayhq/assay/internal/testkit/program"
	"github.com/assayhq/assay/internal/testkit/redistest"
	"github.com/assayhq/assay/internal/testkit/requires"
	"github.com/assayhq/assay/internal/testkit/s3test"
)

// TestRollingRestart restarts three nodes one by one behind the proxy of deploy, while customers read, upload and
// order: no request fails, and all that was acknowledged is there.
func TestRollingRestart(t *testing.T) {
	caddy := requires.Tool(t, "install-deploy-tools", "caddy")
	settings := program.Settings{
		"database": pgtest.Database(t), "secret-key": secretKey, "redis": redistest.Start(t).URL(),
		"media":           s3test.Start(t).Bucket(t),
		"tls-listen":      "",
		"trusted-proxies": "127.0.0.0/8", "shutdown-delay": "8s",
	}
	cluster := startNodes(t, settings, 3)
	base := startCaddy(t, caddy, cluster)
	a := cluster.nodes[0].open(t)

	load := newBuyers(t, base, a.Live, 4)
	c := load.customers[0]
	full := balance(t.Context(), t, c)
	if err := load.round(c); err != nil {
		t.Fatal(err)
	}
	price := full - balance(t.Context(), t, c)
	load.start(t)
	load.wait(t, 20)
	for i := range cluster.nodes {
		if code := cluster.nodes[i].Stop(t); code != 0 {
			t.Errorf("node %d ended with exit code %d", i, code)
		}
		cluster.start(t, i)
		must.Eventually(t, time.Minute, "the proxy uses the node again", func() bool {
			return strings.Contains(string(cluster.nodes[i].ops(t, "/metrics").body), `route="POST /v1/integrations/orders"`)
		})
	}
	load.wait(t, 20)
	orders := load.stop()
	if proof := runCheck(t, cluster.nodes[0]); proof.Orders != len(orders) {
		t.Errorf("%d orders were acknowledged, the proof finds %d", len(orders), proof.Orders)
	}
	if got, want := balance(t.Context(), t, c), full-int64(len(orders))*price; got != want {
		t.Errorf("the balance is %d, want %d: each order is charged once", got, want)
	}
}

// nodes are servers on one database. They have the same ports on addresses of their own, as machines do.
type nodes struct {
	settings  program.Settings
	http, ops int
	nodes     []*site
}

func startNodes(t *testing.T, settings program.Settings, count int) *nodes {
	t.Helper()
	n := &nodes{settings: settings, nodes: make([]*site, count)}
	var err error
	if n.http, err = child.FreePort(); err != nil {
		t.Fatal(err)
	}
	if n.ops, err = child.FreePort(); err != nil {
		t.Fatal(err)
	}
	for i := range n.nodes {
		n.start(t, i)
	}
	return n
}

func (n *nodes) host(i int) string { return "127.97.0." + strconv.Itoa(i+1) }

func (n *nodes) start(t *testing.T, i int) {
	t.Helper()
	all := program.Settings{
		"listen":     fmt.Sprintf("%s:%d", n.host(i), n.http),
		"ops-listen": fmt.Sprintf("%s:%d", n.host(i), n.ops),
	}
	for name, value := range n.settings {
		all[name] = value
	}
	n.nodes[i] = start(t, all)
}

// startCaddy starts the proxy with the configuration of deploy and returns its address.
func startCaddy(t *testing.T, caddy string, n *nodes) string {
	t.Helper()
	port, err := child.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	config, err := filepath.Abs("../../deploy/proxy/Caddyfile")
	if err != nil {
		t.Fatal(err)
	}
	main := filepath.Join(folder, "Caddyfile")
	if err := os.WriteFile(main, []byte("{\n\tadmin off\n}\nimport "+config+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var hosts []string
	for i := range n.nodes {
		hosts = append(hosts, fmt.Sprintf("%s:%d", n.host(i), n.http))
	}
	site := fmt.Sprintf("http://127.0.0.1:%d", port)
	cmd := exec.Command(caddy, "run", "--config", main, "--adapter", "caddyfile")
	cmd.Env = append(os.Environ(), "ASSAY_SITE="+site, "ASSAY_NODES="+strings.Join(hosts, " "),
		"ASSAY_OPS_PORT="+strconv.Itoa(n.ops), "HOME="+folder, "XDG_DATA_HOME="+folder, "XDG_CONFIG_HOME="+folder)
	child.Run(t, cmd)
	must.Eventually(t, time.Minute, "the proxy answers", func() bool {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, site+prefix+"/openapi.json", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return false
		}
		return response.Body.Close() == nil && response.StatusCode == http.StatusOK
	})
	return site
}

// buyers are customers that go on until they are stopped. Each failed request fails the test.
type buyers struct {
	customers []*client.Client
	cancel    context.CancelFunc
	running   sync.WaitGroup
	rounds    atomic.Int64
	photo     []byte

	mu     sync.Mutex
	orders []string
}

func newBuyers(t *testing.T, base string, k key, count int) *buyers {
	t.Helper()
	s := &buyers{photo: newPhoto(64 << 10)}
	for range count {
		transport := &http.Transport{MaxIdleConnsPerHost: 1}
		t.Cleanup(transport.CloseIdleConnections)
		c, err := client.New(base+prefix, k.Key, client.WithHTTPClient(&http.Client{Transport: transport}),
			client.WithoutRetry())
		if err != nil {
			t.Fatal(err)
		}
		s.customers = append(s.customers, c)
	}
	return s
}

func (s *buyers) start(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	s.cancel = cancel
	t.Cleanup(func() { s.stop() })
	for _, c := range s.customers {
		s.running.Go(func() {
			for ctx.Err() == nil {
				if err := s.round(c); err != nil {
					t.Errorf("a request failed: %v", err)
					return
				}
				s.rounds.Add(1)
			}
		})
	}
}

// round is one purchase. It is not interrupted, so that what was acknowledged is known.
func (s *buyers) round(c *client.Client) error {
	ctx := context.Background()
	if _, err := c.GetBalance(ctx); err != nil {
		return fmt.Errorf("balance: %w", err)
	}
	uploaded, err := c.UploadPhotos(ctx, client.File{Name: "bag.png", Content: bytes.NewReader(s.photo)})
	if err != nil {
		return fmt.Errorf("upload: %w", err)
	}
	if err := uploaded[0].Err(); err != nil {
		return fmt.Errorf("upload: %w", err)
	}
	created, err := c.CreateOrder(ctx, tote(uploaded[0].URL))
	if err != nil {
		return fmt.Errorf("order: %w", err)
	}
	s.mu.Lock()
	s.orders = append(s.orders, created.ID)
	s.mu.Unlock()
	if _, err := c.GetOrder(ctx, created.ID); err != nil {
		return fmt.Errorf("read: %w", err)
	}
	return nil
}

// wait waits until the customers have done more rounds.
func (s *buyers) wait(t *testing.T, rounds int64) {
	t.Helper()
	goal := s.rounds.Load() + rounds
	must.Eventually(t, 2*time.Minute, "the customers have ordered", func() bool { return s.rounds.Load() >= goal })
}

// stop waits until the customers have ended and returns the orders that were acknowledged.
func (s *buyers) stop() []string {
	s.cancel()
	s.running.Wait()
	return s.orders
}
