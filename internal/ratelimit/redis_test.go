package ratelimit

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/assayhq/assay/internal/testkit/child"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/redistest"
)

// patient is how long the nodes of these tests wait: the machine may be busy. What must not wait is tested with the
// usual patience.
const patient = 10 * time.Second

type redisNode struct {
	*Redis
	log *child.Output
}

func newRedisNode(t *testing.T, address string, failureLimit int) *redisNode {
	t.Helper()
	n := &redisNode{log: new(child.Output)}
	var err error
	n.Redis, err = NewRedis(RedisConfig{
		URL: address, FailureLimit: failureLimit, Patience: patient, Now: time.Now,
		Log:     slog.New(slog.NewTextHandler(n.log, nil)),
		Metrics: prometheus.NewRegistry(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = n.Close()
		if t.Failed() {
			t.Logf("log:\n%s", n.log)
		}
	})
	return n
}

// run runs the node's worker until the test ends.
func (n *redisNode) run(t *testing.T) {
	t.Helper()
	done := make(chan struct{})
	ctx := t.Context() // ends before the cleanup
	go func() {
		defer close(done)
		_ = n.Run(ctx)
	}()
	t.Cleanup(func() { <-done })
}

// wait waits until Redis is up or away for the node.
func (n *redisNode) wait(t *testing.T, up bool) {
	t.Helper()
	must.Eventually(t, time.Minute, fmt.Sprintf("up = %v", up), func() bool { return n.up.Load() == up })
}

func (n *redisNode) take(t *testing.T, key string, limit int) Decision {
	t.Helper()
	d, err := n.Take(t.Context(), key, Read, limit)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestRedis_ExactOverNodes(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	nodes := []*redisNode{
		newRedisNode(t, server.URL(), 0), newRedisNode(t, server.URL(), 0), newRedisNode(t, server.URL(), 0),
	}
	var allowed, refused atomic.Int64
	remaining := make([]atomic.Int64, 300)
	var clients sync.WaitGroup
	for client := range 50 {
		clients.Go(func() {
			for i := range 20 {
				d, err := nodes[(client+i)%len(nodes)].Take(t.Context(), "key", Read, 300)
				switch {
				case err != nil:
					t.Error(err)
				case d.Allowed:
					allowed.Add(1)
					remaining[d.Remaining].Add(1)
				default:
					refused.Add(1)
					if d.RetryAfter <= 0 || d.RetryAfter > Window || d.Remaining != 0 {
						t.Errorf("refused with %+v", d)
					}
				}
			}
		})
	}
	clients.Wait()
	if allowed.Load() != 300 || refused.Load() != 700 {
		t.Errorf("%d allowed and %d refused, want 300 and 700", allowed.Load(), refused.Load())
	}
	for left := range remaining {
		if n := remaining[left].Load(); n != 1 {
			t.Errorf("%d requests were told that %d are left", n, left)
		}
	}
	for _, n := range nodes {
		if own := testutil.ToFloat64(n.late); own != 0 {
			t.Errorf("a node has decided %v requests by itself", own)
		}
		uses, err := n.Uses(t.Context(), []Quota{{"key", Read}, {"key", Create}})
		if err != nil || uses[0].Count != 300 || uses[0].Left <= 0 || uses[1] != (Use{}) {
			t.Errorf("Uses = %+v, %v", uses, err)
		}
	}
}

func TestRedis_Windows(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	n, client := newRedisNode(t, server.URL(), 0), server.Client(t)
	window := Quota{"key", Read}.redisKey()

	if d := n.take(t, "key", 2); !d.Allowed || d.Remaining != 1 || d.Limit != 2 {
		t.Errorf("first = %+v", d)
	}
	n.take(t, "key", 2)
	if err := client.PExpire(t.Context(), window, 20*time.Second).Err(); err != nil {
		t.Fatal(err)
	}
	if d := n.take(t, "key", 2); d.Allowed || d.RetryAfter > 20*time.Second || d.RetryAfter < 10*time.Second {
		t.Errorf("refused = %+v, want one that ends with the window", d)
	}
	if left := client.PTTL(t.Context(), window).Val(); left > 20*time.Second {
		t.Errorf("a refusal has made the window longer: %v", left)
	}
	if d := n.take(t, "key", 3); !d.Allowed || d.Remaining != 0 {
		t.Errorf("with a higher limit = %+v", d)
	}
	if err := client.Del(t.Context(), window).Err(); err != nil { // as its end does
		t.Fatal(err)
	}
	if d := n.take(t, "key", 2); !d.Allowed || d.Remaining != 1 {
		t.Errorf("in the next window = %+v", d)
	}
	if left := client.PTTL(t.Context(), window).Val(); left <= 0 || left > Window {
		t.Errorf("the window ends in %v", left)
	}
	if d := n.take(t, "key", 0); d.Allowed || d.RetryAfter != Window {
		t.Errorf("without a limit = %+v", d)
	}
}

func TestRedis_Failures(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	a, b := newRedisNode(t, server.URL(), 4), newRedisNode(t, server.URL(), 4)
	for _, n := range []*redisNode{a, b, a, b} {
		if _, blocked := n.Fail(t.Context(), "198.51.100.7:4711"); blocked {
			t.Error("blocked before the limit")
		}
	}
	if wait, blocked := a.Fail(t.Context(), "198.51.100.7"); !blocked || wait <= 0 || wait > Window {
		t.Errorf("Fail = %v, %v, want blocked", wait, blocked)
	}
	if _, blocked := b.Fail(t.Context(), "198.51.100.8"); blocked {
		t.Error("another address is blocked")
	}
	if _, blocked := newRedisNode(t, server.URL(), 0).Fail(t.Context(), "198.51.100.7"); blocked {
		t.Error("blocked without a limit")
	}
}

func TestRedis_Killed(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	a, b := newRedisNode(t, server.URL(), 1), newRedisNode(t, server.URL(), 1)
	a.run(t)
	b.run(t)
	for range 3 {
		a.take(t, "key", 5)
		b.take(t, "other", 5)
	}
	server.Kill(t)
	a.wait(t, false)
	must.Eventually(t, time.Minute, "assay_redis_up is 0", func() bool { return testutil.ToFloat64(a.upMetric) == 0 })
	if err := a.Ping(t.Context()); !errors.Is(err, ErrAway) {
		t.Errorf("Ping = %v", err)
	}
	if d := a.take(t, "key", 5); !d.Allowed || d.Remaining != 1 {
		t.Errorf("the node's own window does not go on from what Redis said: %+v", d)
	}
	a.take(t, "key", 5)
	if d := a.take(t, "key", 5); d.Allowed || d.RetryAfter <= 0 || d.RetryAfter > Window {
		t.Errorf("without Redis there is no limit: %+v", d)
	}
	a.Fail(t.Context(), "198.51.100.7")
	if _, blocked := a.Fail(t.Context(), "198.51.100.7"); !blocked {
		t.Error("without Redis failures are not counted")
	}
	if uses, err := a.Uses(t.Context(), []Quota{{"key", Read}}); err != nil || uses[0].Count != 5 {
		t.Errorf("Uses = %+v, %v", uses, err)
	}
	if _, _, err := a.Count(t.Context(), Counter{"x", 1, time.Minute}); !errors.Is(err, ErrAway) {
		t.Errorf("Count = %v", err)
	}

	server.Restart(t)
	a.wait(t, true)
	b.wait(t, true)
	if d := a.take(t, "key", 5); !d.Allowed || d.Remaining != 4 {
		t.Errorf("after the restart = %+v, want a new window", d)
	}
	if d := b.take(t, "key", 5); d.Remaining != 3 {
		t.Errorf("nodes do not count together again: %+v", d)
	}
	if err := a.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	log := a.log.String()
	if strings.Count(log, "REDIS IS AWAY") != 1 || strings.Count(log, "redis counts limits") != 2 {
		t.Errorf("log:\n%s", log)
	}
}

// TestRedis_Silent stops Redis so that its connections stay open and nothing is answered.
func TestRedis_Silent(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	n := newRedisNode(t, server.URL(), 0)
	n.run(t)
	n.take(t, "key", 10)
	goOn := server.Pause(t)
	defer goOn()
	n.patience = int(DefaultPatience / tick)
	for range 3 { // decided by the node, whether or not it knows by now that Redis is away
		if d := n.take(t, "key", 10); !d.Allowed {
			t.Errorf("refused: %+v", d)
		}
	}
	if d := n.take(t, "key", 10); d.Remaining != 5 {
		t.Errorf("the own window holds %+v, want 5 left", d)
	}
	n.wait(t, false)
	own, running := testutil.ToFloat64(n.late), len(n.calls)
	n.take(t, "key", 10)
	if got := testutil.ToFloat64(n.late); got != own+1 {
		t.Errorf("%v own decisions after %v", got, own)
	}
	if now := len(n.calls); now > running { // nobody asks a Redis that is away, except the worker
		t.Errorf("%d calls run, %d before", now, running)
	}
	goOn()
	n.wait(t, true)
}

func TestRedis_AwayAtTheStart(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.Kill(t)
	n := newRedisNode(t, server.URL(), 0)
	n.run(t)
	if d := n.take(t, "key", 1); !d.Allowed {
		t.Errorf("first = %+v", d)
	}
	if !strings.Contains(n.log.String(), "REDIS IS AWAY") {
		t.Errorf("log:\n%s", n.log.String())
	}
	server.Restart(t)
	n.wait(t, true)
}

// TestRedis_ReadOnly checks that a Redis that answers but cannot count is away.
func TestRedis_ReadOnly(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := server.Client(t)
	n := newRedisNode(t, server.URL(), 0)
	n.run(t)
	if err := client.ReplicaOf(t.Context(), "127.0.0.1", "1").Err(); err != nil {
		t.Fatal(err)
	}
	n.wait(t, false)
	if d := n.take(t, "key", 1); !d.Allowed {
		t.Errorf("first = %+v", d)
	}
	if err := client.ReplicaOf(t.Context(), "NO", "ONE").Err(); err != nil {
		t.Fatal(err)
	}
	n.wait(t, true)
}

func TestRedis_CountsInAllOrNone(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	n, client := newRedisNode(t, server.URL(), 0), server.Client(t)
	pair, name := Counter{"pair", 2, time.Minute}, Counter{"name", 3, time.Hour}
	for range 2 {
		if _, full, err := n.Count(t.Context(), pair, name); full || err != nil {
			t.Fatal(full, err)
		}
	}
	if wait, full, err := n.Count(t.Context(), pair, name); !full || err != nil || wait <= 0 || wait > time.Minute {
		t.Errorf("Count = %v, %v, %v, want full", wait, full, err)
	}
	if got := client.Get(t.Context(), "assay:name").Val(); got != "2" {
		t.Errorf("an attempt that was refused is counted: %s", got)
	}
	if err := n.GiveBack(t.Context(), "pair", "name"); err != nil {
		t.Fatal(err)
	}
	if got := client.Get(t.Context(), "assay:name").Val(); got != "1" {
		t.Errorf("%s attempts after one was given back, want 1", got)
	}
	if n := client.Exists(t.Context(), "assay:pair").Val(); n != 0 {
		t.Error("the first window was not forgotten")
	}
}

func TestCheckRedisURL(t *testing.T) {
	t.Parallel()
	for _, good := range []string{
		"redis://localhost", "redis://localhost:6379/3", "rediss://user:secret@redis.example:6380",
	} {
		if err := CheckRedisURL(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{
		"localhost:6379", "http://secret@x", "redis://", "redis://:secret@host:port", "redis://:secret@host/db",
		"unix:///secret", "redis://:secret@host?unknown=1", "redis://:secret%zz@host",
	} {
		err := CheckRedisURL(bad)
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
