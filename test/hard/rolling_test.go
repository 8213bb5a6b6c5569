package hard_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/program"
)

// balancer is a small proxy that sends requests to the nodes that say they are ready.
type balancer struct {
	*httptest.Server
	mu     sync.Mutex
	behind []*backend
	next   int
}

type backend struct {
	member *member
	ready  atomic.Bool
}

const probeEvery = 50 * time.Millisecond

func newBalancer(t *testing.T, c *cluster) *balancer {
	t.Helper()
	b := new(balancer)
	for _, m := range c.members {
		b.behind = append(b.behind, &backend{member: m})
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: *b.choose().address.Load()})
		},
		Transport: &http.Transport{MaxIdleConnsPerHost: 64},
	}
	b.Server = httptest.NewServer(proxy)
	t.Cleanup(b.Close)
	stop := make(chan struct{})
	var probing sync.WaitGroup
	for _, one := range b.behind {
		probing.Go(func() { one.probe(stop) })
	}
	t.Cleanup(func() {
		close(stop)
		probing.Wait()
	})
	return b
}

// choose returns the next node that is ready; it waits where there is none.
func (b *balancer) choose() *node {
	for {
		b.mu.Lock()
		for range b.behind {
			b.next++
			if one := b.behind[b.next%len(b.behind)]; one.ready.Load() {
				b.mu.Unlock()
				return one.member.node
			}
		}
		b.mu.Unlock()
		time.Sleep(probeEvery)
	}
}

func (one *backend) probe(stop <-chan struct{}) {
	client := &http.Client{Timeout: 5 * time.Second}
	for {
		one.member.mu.Lock()
		address := "http://" + one.member.process.Ops + "/readyz"
		one.member.mu.Unlock()
		resp, err := client.Get(address)
		if err == nil {
			_ = resp.Body.Close()
		}
		one.ready.Store(err == nil && resp.StatusCode == http.StatusOK)
		select {
		case <-stop:
			return
		case <-time.After(probeEvery):
		}
	}
}

// TestNodesTogether checks what several nodes are one service in: limits, and restarts behind a proxy.
func TestNodesTogether(t *testing.T) {
	_, seed := newRandom(t)
	c := newCluster(t, program.Settings{"shutdown-delay": "3s"})
	t.Run("Limits", func(t *testing.T) { c.limits(t, seed) })
	c.rollingRestart(t, seed)
}

// rollingRestart restarts all nodes, one after the other, under load behind a proxy that follows /readyz: no request
// fails.
func (c *cluster) rollingRestart(t *testing.T, seed uint64) {
	t.Helper()
	front := newBalancer(t, c)
	through := newNode(callTimeout)
	u, err := url.Parse(front.URL)
	must.NoError(t, err)
	through.moveTo(u.Host)
	c.nodes = []*node{through}
	crowd := c.newCrowd(t, seed)
	for range 4 {
		crowd.creator(through, 40*time.Millisecond, nil)
	}
	crowd.others()
	rounds := pick(1, 3)
	for range rounds {
		for i, m := range c.members {
			if code := m.process.Stop(t); code != 0 {
				t.Errorf("node %d ended with exit code %d", i+1, code)
			}
			process := m.installation.Start(t)
			m.mu.Lock()
			m.process = process
			m.mu.Unlock()
			m.moveTo(process.HTTP)
			if err := awaitReady(t.Context(), process.Ops, 2*time.Minute); err != nil {
				t.Error(err)
			}
		}
	}
	crowd.end()
	if n := c.answers.of("503") + c.answers.of("no answer"); n > 0 {
		t.Errorf("%d requests failed: %s", n, &c.answers)
	}
	p := c.prove(t)
	figure(t, "Three nodes, rolling restart", fmt.Sprintf("%d restarts behind a proxy that follows `/readyz`; %d orders",
		rounds*members, c.books.acknowledged()), fmt.Sprintf("%d failed requests; %s; answers %s",
		c.answers.of("503")+c.answers.of("no answer"), p, &c.answers))
}

// limits checks that a limit holds over all nodes together.
func (c *cluster) limits(t *testing.T, seed uint64) {
	t.Helper()
	const limit, clients = 300, 50
	var key struct{ Key string }
	c.CLI(t, &key, "keys", "create", "--account", c.account, "--env", "live", "--name", "limited", "--scopes", "all")
	var allowed, refused atomic.Int64
	var running sync.WaitGroup
	for i := range clients {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		running.Go(func() {
			for range (limit + 100) / clients {
				a := c.nodes[random.IntN(members)].send(t.Context(),
					&request{method: http.MethodGet, path: apiPrefix + "/balance", token: key.Key})
				switch {
				case a.done():
					allowed.Add(1)
				case a.status == http.StatusTooManyRequests:
					refused.Add(1)
				default:
					t.Errorf("%s", a)
				}
			}
		})
	}
	running.Wait()
	// A node that has no answer of Redis within 5 ms decides by itself, so that a busy machine may let a few more through.
	own := int64(0)
	for _, m := range c.members {
		own += m.metric(t, "assay_redis_own_decisions_total")
	}
	figure(t, "Three nodes, limit of 300", fmt.Sprintf("%d reads by %d clients", allowed.Load()+refused.Load(), clients),
		fmt.Sprintf("%d allowed, %d refused; %d decided without Redis, which was slower than 5 ms", allowed.Load(),
			refused.Load(), own))
	if allowed.Load() < limit || allowed.Load() > limit+own {
		t.Errorf("%d requests were allowed, %d of them decided without Redis, want %d", allowed.Load(), own, limit)
	}
}
