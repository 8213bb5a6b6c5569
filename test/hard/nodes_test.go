package hard_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/program"
)

// fault is something that breaks around three nodes under load.
type fault struct {
	name   string
	broken int           // the node that cannot answer meanwhile, from 1; 0: none
	all    bool          // no node can create orders meanwhile
	lasts  time.Duration // in the long form
	short  time.Duration
	begin  func(t *testing.T, c *cluster)
	end    func(t *testing.T, c *cluster)
}

// required are the figures of the long form. The short one runs beside other tests on a busy machine: there it only has
// to go on, and to come back.
const (
	keptRate  = 0.8
	backAfter = 10 * time.Second
	others    = 5 * time.Second // until the nodes that are not broken have to be at their rate again
)

func nodeFaults() []fault {
	nothing := func(*testing.T, *cluster) {}
	return []fault{
		{
			name: "`kill -9` of a node", broken: 1, lasts: 10 * time.Second, short: 3 * time.Second,
			begin: func(t *testing.T, c *cluster) { c.members[0].process.Kill(t) },
			end:   func(_ *testing.T, c *cluster) { c.members[0].start(c.t) },
		}, {
			name: "SIGSTOP of a node", broken: 2, lasts: 30 * time.Second, short: 7 * time.Second,
			begin: func(t *testing.T, c *cluster) { c.members[1].process.Signal(t, syscall.SIGSTOP) },
			end:   func(t *testing.T, c *cluster) { c.members[1].process.Signal(t, syscall.SIGCONT) },
		}, {
			name: "network of a node cut", broken: 3, lasts: 30 * time.Second, short: 7 * time.Second,
			begin: func(t *testing.T, c *cluster) { c.network.cut(t, true) },
			end:   func(t *testing.T, c *cluster) { c.network.cut(t, false) },
		}, {
			name: "connections of a node to PostgreSQL lost silently", broken: 2,
			lasts: 15 * time.Second, short: 2 * time.Second,
			begin: func(t *testing.T, c *cluster) {
				if c.sql.Swallow() == 0 {
					t.Error("the node has no connection to PostgreSQL")
				}
			},
			end: nothing,
		}, {
			name: "PostgreSQL restarted", all: true, lasts: 4 * time.Second, short: time.Second,
			begin: func(t *testing.T, c *cluster) { must.NoError(t, c.database.Stop()) },
			end:   func(t *testing.T, c *cluster) { must.NoError(t, c.database.Start()) },
		}, {
			name: "`kill -9` of PostgreSQL", all: true, lasts: 4 * time.Second, short: time.Second,
			begin: func(t *testing.T, c *cluster) { must.NoError(t, c.database.Kill()) },
			end:   startAgain,
		}, {
			name: "PostgreSQL read-only, as after a demotion", all: true, lasts: 10 * time.Second, short: 2 * time.Second,
			begin: func(t *testing.T, c *cluster) { readOnly(t, c, "on") },
			end:   func(t *testing.T, c *cluster) { readOnly(t, c, "off") },
		}, {
			name: "Redis stopped", lasts: 10 * time.Second, short: 2 * time.Second,
			begin: func(t *testing.T, c *cluster) { c.redis.Kill(t) },
			end:   func(_ *testing.T, c *cluster) { c.redis.Restart(c.t) },
		}, {
			name: "S3 stopped", lasts: 10 * time.Second, short: 2 * time.Second,
			begin: func(t *testing.T, c *cluster) { c.storage.Kill(t) },
			end:   func(_ *testing.T, c *cluster) { c.storage.Restart(c.t) },
		},
	}
}

// startAgain starts PostgreSQL after a kill: what is left of the old server has to end first.
func startAgain(t *testing.T, c *cluster) {
	t.Helper()
	must.Eventually(t, 2*time.Minute, "PostgreSQL starts again", func() bool { return c.database.Start() == nil })
}

func readOnly(t *testing.T, c *cluster, state string) {
	t.Helper()
	must.NoError(t, c.database.Execute("ALTER SYSTEM SET default_transaction_read_only = "+state))
	must.NoError(t, c.database.Execute("SELECT pg_reload_conf()"))
}

// TestNodes breaks what three nodes under constant load depend on, one thing after the other. The other nodes go on,
// and afterwards nothing acknowledged is lost, nothing was done twice and every event has arrived.
func TestNodes(t *testing.T) {
	_, seed := newRandom(t)
	c := newCluster(t, program.Settings{})
	how := "a network namespace"
	if c.network.device == "" {
		how = "proxies: no namespace can be made here"
	}
	pace := pick(200*time.Millisecond, 100*time.Millisecond) // between two creations at a node
	crowd := c.load(t, seed, pace)
	for _, f := range nodeFaults() {
		if !t.Run(strings.NewReplacer("`", "", " ", "-").Replace(f.name), func(t *testing.T) { c.suffer(t, &f) }) {
			break
		}
	}
	if isHard() && !t.Failed() {
		t.Run("Clock", func(t *testing.T) { c.clockSteps(t) })
	}
	crowd.end()
	p := c.prove(t)
	b := c.books
	figure(t, "Three nodes, after all",
		fmt.Sprintf("%d orders, %d verdicts, %d rounds, %d cancellations, %d photos acknowledged; node 3 behind %s",
			b.acknowledged(), b.verdicts, b.rounds, b.cancels, len(b.photos), how),
		fmt.Sprintf("%s; %d events, %d sent again; `check --deep` ok; answers %s", p, p.events, c.receiver.Again(),
			&c.answers))
}

// suffer lets a fault begin and end, and measures.
func (c *cluster) suffer(t *testing.T, f *fault) {
	t.Helper()
	lasts := pick(f.short, f.lasts)
	before := c.steady(t, pick(time.Second, 4*time.Second))
	if f.broken > 0 {
		c.members[f.broken-1].broken.Store(true)
	}
	began := time.Now()
	f.begin(t, c)
	time.Sleep(time.Until(began.Add(lasts)))
	kept := 1.0
	for i, m := range c.members {
		if f.all || i == f.broken-1 {
			continue
		}
		// From the time on at which the rate has to be back; of a short fault the second half.
		from := began.Add(min(others, lasts/2))
		if !isHard() {
			c.awaitNode(t, i, from) // the fault goes on: the locks of a node that is gone end after seconds
		}
		kept = min(kept, m.rate(from, time.Now())/before[i])
	}
	ended := time.Now()
	f.end(t, c)
	back := c.back(t, ended)
	if f.broken > 0 {
		c.members[f.broken-1].broken.Store(false)
	}
	result := fmt.Sprintf("full service %.1f s after its end", back.Seconds())
	if !f.all {
		result = fmt.Sprintf("the other nodes at %.2f of their creations before, ", kept) + result
	}
	figure(t, "Three nodes, "+f.name, fmt.Sprintf("%.0f s", lasts.Seconds()), result)
	if !isHard() {
		return
	}
	if kept < keptRate {
		t.Errorf("the other nodes kept %.2f of their rate, want %.2f", kept, keptRate)
	}
	if back > backAfter {
		t.Errorf("full service %s after the end, want %s", back, backAfter)
	}
}

// steady waits until every node creates orders, and returns the rate of each over a time.
func (c *cluster) steady(t *testing.T, over time.Duration) []float64 {
	t.Helper()
	c.await(t, time.Now())
	from := time.Now()
	time.Sleep(over)
	var rates []float64
	for _, m := range c.members {
		rates = append(rates, max(m.rate(from, time.Now()), 0.1))
	}
	return rates
}

// await waits until every node has created an order after a time.
func (c *cluster) await(t *testing.T, since time.Time) {
	t.Helper()
	for i := range c.members {
		c.awaitNode(t, i, since)
	}
}

func (c *cluster) awaitNode(t *testing.T, i int, since time.Time) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); c.members[i].rate(since, time.Now().Add(time.Second)) == 0; {
		if time.Now().After(deadline) {
			t.Fatalf("node %d creates no orders: %s", i+1, &c.answers)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// back returns how long after its end a fault is over: every node is ready and has created an order.
func (c *cluster) back(t *testing.T, ended time.Time) time.Duration {
	t.Helper()
	for i, m := range c.members {
		if err := awaitReady(t.Context(), m.process.Ops, 2*time.Minute); err != nil {
			t.Errorf("node %d: %v", i+1, err)
		}
	}
	c.await(t, ended)
	return time.Since(ended)
}
