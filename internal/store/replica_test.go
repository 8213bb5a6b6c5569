package store_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/child"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pgtest"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

const replicaLag = 2 * time.Second

// replicated is a store with a streaming replica.
type replicated struct {
	*store.Store
	replica *pgtest.Instance
	address string // of the database on the replica
	log     *child.Output
}

func newReplicated(t *testing.T) *replicated {
	t.Helper()
	cluster, target := pgtest.ClusterDatabase(t)
	r := &replicated{Store: storetest.Open(t, target), replica: cluster.Replica(t), log: new(child.Output)}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log:\n%s", r.log)
		}
	})
	r.address = r.replica.Same(t, target)
	must.NoError(t, r.UseReplica(r.address, replicaLag, slog.New(slog.NewTextHandler(r.log, nil))))
	return r
}

// wait waits until the replica is used, or not any more.
func (r *replicated) wait(t *testing.T, want bool) {
	t.Helper()
	must.Eventually(t, time.Minute, fmt.Sprintf("the replica is used = %v", want), func() bool {
		return r.ReplicaStatus().Used == want
	})
}

// logged waits for words in the log.
func logged(t *testing.T, log *child.Output, words string) {
	t.Helper()
	must.Eventually(t, time.Minute, fmt.Sprintf("%q is in the log", words), func() bool {
		return strings.Contains(log.String(), words)
	})
}

// add adds an account.
func (r *replicated) add(t *testing.T, name string) {
	t.Helper()
	a := &access.Account{ID: uuid7.New(), Name: name, Locale: text.English, CreatedAt: time.Now()}
	must.NoError(t, r.Update(t.Context(), func(tx *store.Tx) error { return tx.InsertAccount(a) }))
}

// has checks whether a list shows an account.
func has(t *testing.T, q store.Queries, name string, want bool) {
	t.Helper()
	found, _, err := q.AccountSummaries(t.Context(), name, time.Now(), 1, 10)
	must.NoError(t, err)
	if got := len(found) == 1; got != want {
		t.Errorf("%s is shown = %v, want %v", name, got, want)
	}
}

func TestReplica(t *testing.T) {
	t.Parallel()
	r := newReplicated(t)
	r.wait(t, true)

	// A replica that stands still: what was written is not there, unless it is asked for, until it is too far behind.
	rawsql.Exec(t, r.address, "SELECT pg_wal_replay_pause()")
	r.add(t, "Paused")
	written, err := r.Position(t.Context())
	must.NoError(t, err)
	if written <= 0 {
		t.Errorf("the database is at %d", written)
	}
	has(t, r.Lists(store.ReadAfter(t.Context(), written)), "Paused", true)
	has(t, r.Lists(store.ReadAfter(t.Context(), store.NewestPosition)), "Paused", true)
	has(t, r.Queries, "Paused", true)
	r.wait(t, false)
	has(t, r.Lists(t.Context()), "Paused", true)
	if lag := r.ReplicaStatus().Lag; lag <= replicaLag {
		t.Errorf("it is not used, and its lag is %s", lag)
	}
	logged(t, r.log, "THE REPLICA IS BEHIND")
	if r.PingReplica(t.Context()) == nil {
		t.Error("the replica is said to be usable")
	}
	rawsql.Exec(t, r.address, "SELECT pg_wal_replay_resume()")
	r.wait(t, true)
	must.Eventually(t, time.Minute, "a list that the replica has is read from it", func() bool {
		before := r.ReplicaStatus().ReplicaReads
		has(t, r.Lists(store.ReadAfter(t.Context(), written)), "Paused", true)
		return r.ReplicaStatus().ReplicaReads > before
	})

	// One that ends in the middle of a use case: the primary is read instead, and nobody notices.
	lists := r.Lists(t.Context())
	must.NoError(t, r.replica.Crash())
	has(t, lists, "Paused", true)
	r.wait(t, false)
	r.add(t, "Away")
	has(t, r.Lists(t.Context()), "Away", true)
	logged(t, r.log, "THE REPLICA IS AWAY")
	must.NoError(t, r.replica.Start())
	r.wait(t, true)
	has(t, r.Lists(store.ReadAfter(t.Context(), written)), "Paused", true)

	// One that was promoted writes a history of its own.
	rawsql.Exec(t, r.address, "SELECT pg_promote()")
	must.Eventually(t, time.Minute, "the replica is said to be promoted", func() bool {
		err := r.PingReplica(t.Context())
		return err != nil && strings.Contains(err.Error(), "promoted")
	})
	r.wait(t, false)
	rawsql.Exec(t, r.address, "INSERT INTO accounts (id, name, locale, created_at) VALUES ('x', 'Other', 'en', 1)")
	has(t, r.Lists(t.Context()), "Other", false)
}

// TestReplica_OfAnotherDatabase does not take a server for a replica that is none of this database.
func TestReplica_OfAnotherDatabase(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, pgtest.Database(t))
	cluster, target := pgtest.ClusterDatabase(t)
	storetest.Open(t, target)
	log := new(child.Output)
	must.NoError(t, s.UseReplica(cluster.Replica(t).Same(t, target), replicaLag, slog.New(slog.NewTextHandler(log, nil))))
	logged(t, log, "of another database")
	if s.ReplicaStatus().Used {
		t.Error("it is used")
	}
}

func TestReplica_Refused(t *testing.T) {
	s := storetest.Open(t, storetest.SQLite(t))
	if err := s.UseReplica("postgres://localhost/x", time.Second, nil); err == nil {
		t.Error("SQLite has a replica")
	}
	if p, err := s.Position(t.Context()); p != 0 || err != nil {
		t.Error(p, err)
	}
	if p := store.ParsePosition("nonsense"); p != store.NewestPosition {
		t.Error(p)
	}
	if p := store.ParsePosition(store.Position(77).String()); p != 77 {
		t.Error(p)
	}
}
