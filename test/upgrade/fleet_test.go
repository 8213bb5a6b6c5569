package upgrade_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/program"
)

// fleet is nodes on one database behind a proxy that follows /readyz.
type fleet struct {
	settings program.Settings

	mu    sync.Mutex
	nodes []*node
	next  int
}

// node is a server of this program, or of the former one.
type node struct {
	*program.Process
	address *url.URL
	ready   bool
}

// installation is the settings for a binary; empty: this program.
func (f *fleet) installation(t *testing.T, binary string) *program.Installation {
	t.Helper()
	settings := maps.Clone(f.settings)
	settings["data"] = t.TempDir()
	i := program.New(t, settings)
	if binary != "" {
		i = i.As(binary)
	}
	return i
}

// start adds a node.
func (f *fleet) start(t *testing.T, binary string) *node {
	t.Helper()
	n := f.launch(t, binary)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nodes = append(f.nodes, n)
	return n
}

func (f *fleet) launch(t *testing.T, binary string) *node {
	t.Helper()
	n := &node{Process: f.installation(t, binary).Start(t)}
	var err error
	n.address, err = url.Parse(n.URL(""))
	must.NoError(t, err)
	return n
}

// replace stops a node and starts another in its place.
func (f *fleet) replace(t *testing.T, i int, binary string) {
	t.Helper()
	f.mu.Lock()
	old := f.nodes[i]
	f.mu.Unlock()
	if code := old.Stop(t); code != 0 {
		t.Errorf("node %d ended with exit code %d", i, code)
	}
	n := f.launch(t, binary)
	f.mu.Lock()
	f.nodes[i] = n
	f.mu.Unlock()
	must.Eventually(t, 2*time.Minute, "the proxy uses the node", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return n.ready
	})
}

// proxy starts a proxy and returns its address.
func (f *fleet) proxy(t *testing.T) string {
	t.Helper()
	stop := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() { f.watch(stop) })
	server := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			if to := f.pick(); to != nil {
				r.SetURL(to)
			}
			r.Out.Host = r.In.Host
		},
		Transport: &http.Transport{MaxIdleConnsPerHost: customers},
	})
	t.Cleanup(func() {
		server.Close()
		close(stop)
		watching.Wait()
	})
	must.Eventually(t, 2*time.Minute, "the proxy uses all nodes", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, n := range f.nodes {
			if !n.ready {
				return false
			}
		}
		return true
	})
	return server.URL
}

// pick returns the next node that is ready.
func (f *fleet) pick() *url.URL {
	f.mu.Lock()
	defer f.mu.Unlock()
	for range f.nodes {
		f.next++
		if n := f.nodes[f.next%len(f.nodes)]; n.ready {
			return n.address
		}
	}
	return nil
}

// watch asks the nodes whether they are ready.
func (f *fleet) watch(stop <-chan struct{}) {
	asks := &http.Client{Timeout: 2 * time.Second}
	for {
		f.mu.Lock()
		nodes := append([]*node(nil), f.nodes...)
		f.mu.Unlock()
		for _, n := range nodes {
			answer, err := asks.Get("http://" + n.Ops + "/readyz")
			ready := err == nil && answer.StatusCode == http.StatusOK
			if err == nil {
				_ = answer.Body.Close()
			}
			f.mu.Lock()
			n.ready = ready
			f.mu.Unlock()
		}
		select {
		case <-stop:
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}
