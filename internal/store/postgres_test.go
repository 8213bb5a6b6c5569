package store_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pgtest"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/storetest"
	"github.com/assayhq/assay/internal/testkit/tcpproxy"
)

// hold runs f in a transaction that does not end before the test does, as that of a node that stands still. It returns
// when f has run.
func hold(t *testing.T, s *store.Store, f func(*store.Tx) error) {
	t.Helper()
	held, free, ended := make(chan error), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Update(context.Background(), func(tx *store.Tx) error {
			select {
			case held <- f(tx):
			case <-free:
			}
			<-free
			return errors.New("given up")
		})
	}()
	t.Cleanup(func() {
		close(free)
		<-ended
	})
	if err := <-held; err != nil {
		t.Fatal(err)
	}
}

// claim moves a queued order to processing.
func claim(id string) func(*store.Tx) error {
	return func(tx *store.Tx) error {
		o, err := tx.OrderForUpdate(id)
		if err != nil {
			return err
		}
		o.Status = order.Processing
		return tx.UpdateOrder(o)
	}
}

// complete ends an order.
func complete(id string) func(*store.Tx) error {
	return func(tx *store.Tx) error {
		o, err := tx.OrderForUpdate(id)
		if err != nil {
			return err
		}
		o.Status, o.Outcome, o.EndedAt = order.Completed, order.Authentic, &o.UpdatedAt
		return tx.UpdateOrder(o)
	}
}

// TestHeldTransaction checks that a node that stands still in the middle of a transaction does not keep others from
// the row that it has locked.
func TestHeldTransaction(t *testing.T) {
	t.Parallel()
	target := pgtest.Database(t)
	frozen, other := storetest.Open(t, target), storetest.Open(t, target)
	account, _ := insertOrders(t, frozen, "acme", "")
	charge := func(tx *store.Tx) error {
		_, err := tx.Grant(access.Tenant{AccountID: account, Environment: access.Live}, 1, "", time.UnixMicro(2))
		return err
	}
	hold(t, frozen, charge)
	if err := other.Update(t.Context(), charge); err != nil {
		t.Errorf("the balance is locked for everybody: %v", err)
	}
}

// TestMovesShareNoRow checks that moves of different orders do not wait for each other, even where nothing ends a
// transaction that is held.
func TestMovesShareNoRow(t *testing.T) {
	t.Parallel()
	target := pgtest.Database(t)
	s := storetest.Open(t, target+"&idle_in_transaction_session_timeout=0")
	_, ids := insertOrders(t, s, "acme", "", "", "", "", "", "")
	for _, id := range ids[:3] {
		hold(t, s, func(tx *store.Tx) error { return errors.Join(claim(id)(tx), complete(id)(tx)) })
	}
	for _, id := range ids[3:] {
		if err := errors.Join(s.Update(t.Context(), claim(id)), s.Update(t.Context(), complete(id))); err != nil {
			t.Fatalf("the move of another order waits: %v", err)
		}
	}
	counts, err := s.OrderCounts(t.Context(), access.Live)
	if err != nil || counts[order.Queued] != 3 || counts[order.Processing] != 0 || counts[order.Completed] != 3 {
		t.Errorf("the counts are %v (%v)", counts, err)
	}
	counted, kept, err := s.LiveOrderCounts(t.Context())
	for _, status := range []order.Status{order.Processing, order.Completed} {
		if err != nil || counted[status] != kept[status] {
			t.Errorf("%s: counted %d, kept %d (%v)", status, counted[status], kept[status], err)
		}
	}
}

// TestSilentConnections checks that reads and writes go on after the connections of the pool died without a word.
func TestSilentConnections(t *testing.T) {
	t.Parallel()
	proxy, through := tcpproxy.Before(t, pgtest.Database(t))
	s := storetest.Open(t, through)
	_, ids := insertOrders(t, s, "acme", "", "")
	var open, closed sync.WaitGroup
	open.Add(4)
	for range 4 { // each needs a connection of its own
		closed.Go(func() {
			_ = s.Snapshot(context.Background(), func(store.Queries) error {
				open.Done()
				open.Wait()
				return nil
			})
		})
	}
	closed.Wait()
	time.Sleep(1100 * time.Millisecond) // they count as idle
	if n := proxy.Swallow(); n < 4 {
		t.Fatalf("only %d connections", n)
	}
	if _, err := s.Order(context.Background(), ids[0]); err != nil {
		t.Errorf("a read: %v", err)
	}
	if err := s.Update(context.Background(), claim(ids[1])); err != nil {
		t.Errorf("a write: %v", err)
	}
}

// TestSilentReads checks that a read ends whose connection has died without a word since it was used last.
func TestSilentReads(t *testing.T) {
	t.Parallel()
	proxy, through := tcpproxy.Before(t, pgtest.Database(t))
	s := storetest.Open(t, through)
	_, ids := insertOrders(t, s, "acme", "")
	if _, err := s.Order(context.Background(), ids[0]); err != nil {
		t.Fatal(err)
	}
	proxy.Swallow() // the connection was used a moment ago: nobody looks whether it lives
	ended := make(chan error, 1)
	go func() {
		_, err := s.Order(context.Background(), ids[0])
		ended <- err
	}()
	select {
	case err := <-ended:
		if err != nil { // a slow machine looks, and takes another one
			wantUnavailable(t, "a read", err)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("a read waits on a dead connection")
	}
	if _, err := s.Order(context.Background(), ids[0]); err != nil {
		t.Errorf("the next read: %v", err)
	}
}

// TestSilentWrites checks that the deadline of a write ends the wait for a database that does not answer, on a
// connection that was just used and on one that has to be opened.
func TestSilentWrites(t *testing.T) {
	t.Parallel()
	proxy, through := tcpproxy.Before(t, pgtest.Database(t))
	s := storetest.Open(t, through)
	_, ids := insertOrders(t, s, "acme", "")
	proxy.Cut(true)
	for range 2 {
		ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
		began := time.Now()
		wantUnavailable(t, "a write", s.Update(ctx, claim(ids[0])))
		if took := time.Since(began); took > 8*time.Second {
			t.Errorf("a write with half a second took %s", took)
		}
		cancel()
	}
}

// TestSilentListener checks that the connection that waits for announcements notices its death.
func TestSilentListener(t *testing.T) {
	t.Parallel()
	proxy, through := tcpproxy.Before(t, pgtest.Database(t))
	s := storetest.Open(t, through)
	listens, ended := make(chan struct{}), make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { ended <- s.ListenDeliveries(ctx, func(string) { close(listens) }) }()
	<-listens
	proxy.Swallow()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("it ended without an error")
		}
	case <-time.After(time.Minute):
		t.Error("it waits on a dead connection")
	}
}

// wantUnavailable checks that an error means: not now.
func wantUnavailable(t *testing.T, what string, err error) {
	t.Helper()
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Kind != fault.Unavailable || f.RetryAfter <= 0 {
		t.Errorf("%s: %v, want a database that is unavailable, with a time to retry", what, err)
	}
}

// TestUnusable checks that a database that cannot be used now is said to be unavailable, and is used again afterwards.
func TestUnusable(t *testing.T) {
	t.Parallel()
	cluster, target := pgtest.ClusterDatabase(t)
	s := storetest.Open(t, target)
	_, ids := insertOrders(t, s, "acme", "", "")
	touch := func() error {
		return s.Update(t.Context(), func(tx *store.Tx) error {
			o, err := tx.OrderForUpdate(ids[0])
			if err != nil {
				return err
			}
			return tx.UpdateOrder(o)
		})
	}
	works := func(t *testing.T) {
		t.Helper()
		if err := touch(); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	}
	t.Run("ReadOnly", func(t *testing.T) {
		settings := func(value string) {
			writes := target + "&default_transaction_read_only=off"
			rawsql.Exec(t, writes, "ALTER SYSTEM SET default_transaction_read_only = "+value)
			rawsql.Exec(t, writes, "SELECT pg_reload_conf()")
		}
		settings("on")
		must.Eventually(t, time.Minute, "the server has read it", func() bool { return touch() != nil })
		for range 20 {
			wantUnavailable(t, "a write", touch())
		}
		if _, err := store.Open(t.Context(), target); err == nil || !strings.Contains(err.Error(), "read only") {
			t.Errorf("opened: %v", err)
		}
		settings("off")
		must.Eventually(t, time.Minute, "it writes again", func() bool { return touch() == nil })
	})
	t.Run("StoodStill", func(t *testing.T) {
		err := s.Update(t.Context(), func(tx *store.Tx) error {
			if _, err := tx.OrderForUpdate(ids[0]); err != nil {
				return err
			}
			time.Sleep(3 * time.Second) // longer than PostgreSQL waits
			_, err := tx.OrderForUpdate(ids[1])
			return err
		})
		wantUnavailable(t, "after a pause", err)
		works(t)
	})
	t.Run("LockTimeout", func(t *testing.T) {
		slow := storetest.Open(t, target+"&idle_in_transaction_session_timeout=0")
		hold(t, slow, func(tx *store.Tx) error {
			_, err := tx.OrderForUpdate(ids[0])
			return err
		})
		wantUnavailable(t, "a locked row", touch())
	})
	works(t)
	t.Run("Terminated", func(t *testing.T) {
		rawsql.Exec(t, target, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid()`)
		if err := touch(); err != nil {
			wantUnavailable(t, "ended connections", err)
		}
		works(t)
	})
	t.Run("Stopped", func(t *testing.T) {
		if err := cluster.Stop(); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			wantUnavailable(t, "without a server", touch())
		}
		if err := cluster.Start(); err != nil {
			t.Fatal(err)
		}
		works(t)
	})
}
