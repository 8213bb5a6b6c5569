package server

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pgtest"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// TestChangesAreAnnounced has a node hear what has changed through another, also after its connection was cut; it has
// one connection to listen, whatever it listens to.
func TestChangesAreAnnounced(t *testing.T) {
	t.Parallel()
	target := pgtest.Database(t)
	log := slog.New(slog.DiscardHandler)
	db := storetest.Open(t, target)
	here, there := newChangeExchange(storetest.Open(t, target), log), newChangeExchange(db, log)
	keys := make(chan struct{}, 100)
	there.heard[service.KeyChange] = func() { keys <- struct{}{} }
	there.heard[service.MailChange] = func() {}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	listens := make(chan struct{}, 100)
	running.Go(func() { _ = there.Run(ctx) })
	running.Go(func() { _ = here.Run(ctx) })
	running.Go(func() { _ = db.ListenDeliveries(ctx, func(string) { listens <- struct{}{} }) })
	<-keys // it listens, and takes into account what was announced before
	<-listens
	here.tell(service.KeyChange)
	<-keys
	const connections = "FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN %'"
	count := func() string { return rawsql.Rows(t, target, "SELECT COUNT(*) "+connections)[0][0] }
	must.Eventually(t, time.Minute, "two nodes have one connection each to listen", func() bool { return count() == "2" })
	rawsql.Exec(t, target, "SELECT pg_terminate_backend(pid) "+connections)
	<-keys // it listens again
	for deadline := time.After(time.Minute); ; {
		here.tell(service.KeyChange)
		select {
		case <-keys:
			return
		case <-deadline:
			t.Fatal("nothing is heard after the connection was cut")
		case <-time.After(100 * time.Millisecond):
		}
	}
}
