package server

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pgtest"
)

// TestLeaseOverNodes has two nodes on one database: one keeps the house, and when it ends, the other.
func TestLeaseOverNodes(t *testing.T) {
	t.Parallel()
	target := pgtest.Database(t)
	node := func(t *testing.T) *Server {
		t.Helper()
		set := nodeSettings(t, "--claim-expiry", "10s", "--secret-key", strings.Repeat("k", 32), "--database", target)
		return run(t, set, slog.New(slog.DiscardHandler))
	}
	held := func(t *testing.T, s *Server) string {
		t.Helper()
		_, metrics := fetch(t, "http://"+s.listener["ops-listen"].Addr().String()+"/metrics")
		_, after, _ := strings.Cut(metrics, `assay_lease_held{task="housekeeping"} `)
		value, _, _ := strings.Cut(after, "\n")
		return value
	}
	wait := func(t *testing.T, s *Server) {
		t.Helper()
		must.Eventually(t, time.Minute, "the node keeps the house", func() bool { return held(t, s) == "1" })
	}
	var second *Server
	t.Run("FirstHasIt", func(inner *testing.T) {
		first := node(inner)
		wait(inner, first)
		second = node(t)
		for deadline := time.Now().Add(3 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
			if got := held(inner, second); got != "0" {
				inner.Fatalf("the second node has the task, too: %q", got)
			}
		}
	})
	wait(t, second)
}
