package portal_test

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pagetest"
	"github.com/assayhq/assay/internal/testkit/pgtest"
	"github.com/assayhq/assay/internal/testkit/rawsql"
)

// TestReplica_OwnWrites has lists read from a replica that stands still: who has changed something sees it at once,
// others see it when the replica has it.
func TestReplica_OwnWrites(t *testing.T) {
	t.Parallel()
	cluster, target := pgtest.ClusterDatabase(t)
	w := pagetest.On(t, target)
	replica := cluster.Replica(t).Same(t, target)
	must.NoError(t, w.Store.UseReplica(replica, time.Minute, slog.New(slog.DiscardHandler)))
	must.Eventually(t, time.Minute, "the replica is used", func() bool { return w.Store.ReplicaStatus().Used })
	writer, other := w.AsUser(t, w.Developer), w.AsUser(t, w.Viewer)
	rawsql.Exec(t, replica, "SELECT pg_wal_replay_pause()")
	must.Eventually(t, time.Minute, "the replica stands still", func() bool {
		return rawsql.Rows(t, replica, "SELECT pg_get_wal_replay_pause_state()")[0][0] == "paused"
	})
	writer.Post("/portal/keys", "name", "Checkout", "environment", "test", "scopes", "orders:read").
		Want(t, http.StatusOK, "Checkout")
	writer.Get("/portal/keys").Want(t, http.StatusOK, "Checkout")
	other.Get("/portal/keys").Want(t, http.StatusOK).Lacks(t, "Checkout")
	rawsql.Exec(t, replica, "SELECT pg_wal_replay_resume()")
	must.Eventually(t, time.Minute, "others see the key", func() bool {
		return strings.Contains(other.Get("/portal/keys").Body, "Checkout")
	})
	// The replica has what was written, so that the writer's pages are read from it, too.
	must.Eventually(t, time.Minute, "the writer reads from the replica", func() bool {
		before := w.Store.ReplicaStatus().ReplicaReads
		writer.Get("/portal/keys").Want(t, http.StatusOK, "Checkout")
		return w.Store.ReplicaStatus().ReplicaReads > before
	})
}
