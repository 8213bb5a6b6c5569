package hard_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/testkit/pgtest"
	"github.com/assayhq/assay/internal/testkit/program"
	"github.com/assayhq/assay/internal/testkit/receiver"
	"github.com/assayhq/assay/internal/testkit/redistest"
	"github.com/assayhq/assay/internal/testkit/s3test"
	"github.com/assayhq/assay/internal/testkit/tcpproxy"
)

// cluster is three nodes on a PostgreSQL, an S3 server and a Redis of their own. What the last node reaches, it reaches
// through a network of its own.
type cluster struct {
	*site
	t        *testing.T // of all faults: servers outlive one
	members  []*member
	database *pgtest.Instance
	storage  *s3test.Server
	redis    *redistest.Server
	network  *network
	sql      *tcpproxy.Proxy // between the second node and PostgreSQL
}

// member is a node with the program that runs it.
type member struct {
	*node
	installation *program.Installation
	process      *program.Process

	mu      sync.Mutex
	created []time.Time
}

const members = 3

func newCluster(t *testing.T, settings program.Settings) *cluster {
	t.Helper()
	c := &cluster{
		t: t, database: pgtest.Cluster(t), storage: s3test.Start(t), redis: redistest.Start(t), network: newNetwork(t),
	}
	database, err := c.database.Database()
	if err != nil {
		t.Fatal(err)
	}
	all := program.Settings{
		"database": database, "secret-key": secretKey, "redis": c.redis.URL(), "media": c.storage.Bucket(t),
		"auth-failure-limit": "1000000",
	}
	maps.Copy(all, settings)
	c.site = newSite(t, all, receiver.Start(t, c.network.host))
	for i := range members {
		m := &member{node: newNode(callTimeout), installation: c.Installation}
		own := maps.Clone(all)
		own["data"] = t.TempDir()
		switch i {
		case 1:
			c.sql, own["database"] = tcpproxy.Before(t, database)
		case 2:
			m.client.Timeout, m.remote = 5*time.Second, true
			for _, name := range []string{"database", "redis", "media"} {
				own[name] = c.network.through(t, own[name])
			}
			own["listen"], own["ops-listen"] = c.network.node+":0", c.network.node+":0"
		}
		m.installation = program.New(t, own)
		if i == 2 {
			m.installation = m.installation.Through(c.network.launcher...)
		}
		m.start(t)
		c.members = append(c.members, m)
		c.nodes = append(c.nodes, m.node)
	}
	c.open(t)
	return c
}

func (m *member) start(t *testing.T) {
	t.Helper()
	m.process = m.installation.Start(t)
	m.moveTo(m.process.HTTP)
}

// count notes an order that was created through the node.
func (m *member) count() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.created = append(m.created, time.Now())
}

// rate is how many orders a second were created through the node in a time.
func (m *member) rate(from, to time.Time) float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, at := range m.created {
		if !at.Before(from) && at.Before(to) {
			n++
		}
	}
	return float64(n) / to.Sub(from).Seconds()
}

// metric returns the sum of a metric of the node.
func (m *member) metric(t *testing.T, name string) int64 {
	t.Helper()
	return metric(t, m.process.Ops, name)
}

// load puts the constant load on the cluster: creations at each node, and everybody else at those that are not broken.
func (c *cluster) load(t *testing.T, seed uint64, pace time.Duration) *crowd {
	t.Helper()
	crowd := c.newCrowd(t, seed)
	for _, m := range c.members {
		for range 2 {
			crowd.creator(m.node, 2*pace, m.count)
		}
	}
	crowd.others()
	return crowd
}

// network is how the last node is connected: by a pair of virtual devices into a namespace, where this may be made,
// else by proxies.
type network struct {
	host, node string // addresses
	launcher   []string
	device     string // empty: there are only the proxies
	proxies    []*tcpproxy.Proxy
}

func newNetwork(t *testing.T) *network {
	t.Helper()
	n := &network{host: "127.0.0.1", node: "127.0.0.1"}
	name := fmt.Sprintf("ah%d", os.Getpid()%100_000)
	net := fmt.Sprintf("10.213.%d.", os.Getpid()%250)
	steps := [][]string{
		{"ip", "netns", "add", name},
		{"ip", "link", "add", name, "type", "veth", "peer", "name", name + "n", "netns", name},
		{"ip", "address", "add", net + "1/30", "dev", name},
		{"ip", "link", "set", name, "up"},
		{"ip", "-n", name, "address", "add", net + "2/30", "dev", name + "n"},
		{"ip", "-n", name, "link", "set", name + "n", "up"},
		{"ip", "-n", name, "link", "set", "lo", "up"},
	}
	for i, step := range steps {
		if output, err := exec.CommandContext(t.Context(), step[0], step[1:]...).CombinedOutput(); err != nil {
			t.Logf("no network namespace (%v: %s): the last node is cut off by proxies", err, strings.TrimSpace(string(output)))
			return n
		}
		if i == 0 {
			t.Cleanup(func() {
				if output, err := exec.Command("ip", "netns", "delete", name).CombinedOutput(); err != nil {
					t.Errorf("%v: %s", err, output)
				}
			})
		}
	}
	n.host, n.node, n.device = net+"1", net+"2", name
	n.launcher = []string{"ip", "netns", "exec", name}
	return n
}

// through returns the address of a server as the last node reaches it.
func (n *network) through(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	host := u.Host
	endpoint, err := url.Parse(query.Get("endpoint")) // of a bucket
	if err != nil {
		t.Fatal(err)
	}
	if endpoint.Host != "" {
		host = endpoint.Host
	}
	p := tcpproxy.StartAt(t, n.host, host)
	n.proxies = append(n.proxies, p)
	if endpoint.Host != "" {
		endpoint.Host = p.Addr()
		query.Set("endpoint", endpoint.String())
		u.RawQuery = query.Encode()
		return u.String()
	}
	u.Host = p.Addr()
	return u.String()
}

// cut cuts the last node off, or connects it again. Nobody is told.
func (n *network) cut(t *testing.T, off bool) {
	t.Helper()
	if n.device == "" {
		for _, p := range n.proxies {
			p.Cut(off)
		}
		return
	}
	state := "up"
	if off {
		state = "down"
	}
	if output, err := exec.Command("ip", "link", "set", n.device, state).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, output)
	}
}

// awaitReady waits until a node says that it is ready.
func awaitReady(ctx context.Context, ops string, limit time.Duration) error {
	n := newNode(10 * time.Second)
	n.moveTo(ops)
	began := time.Now()
	var a *answer
	for time.Since(began) < limit {
		if a = n.send(ctx, &request{method: http.MethodGet, path: "/readyz"}); a.done() {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return fmt.Errorf("not ready within %s: %s", limit, a)
}
