package store_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/outbox"
	"github.com/assayhq/assay/internal/testkit/pgtest"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

var noon = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

// queueTest is a database with endpoints and what one sender does to it.
type queueTest struct {
	*testing.T
	store     *store.Store
	outbox    *outbox.Test
	endpoints []*webhook.Endpoint
}

func eachQueue(t *testing.T, endpoints int, f func(q *queueTest)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		q := &queueTest{T: t, store: s, outbox: outbox.NewTest(t, s)}
		for i := range endpoints {
			q.endpoints = append(q.endpoints, q.outbox.Endpoint(fmt.Sprintf("https://%d.example.com/hook", i), nil))
		}
		f(q)
	})
}

// queue puts n deliveries for each endpoint into the queue.
func (q *queueTest) queue(n int, due time.Time) []*webhook.Delivery {
	q.Helper()
	return q.outbox.Queue(q.endpoints, n, due)
}

// sender is the one whose results are recorded.
const sender = "01980000-0000-7000-8000-000000000001"

// due returns the deliveries to the endpoint that are due.
func (q *queueTest) due(e *webhook.Endpoint, after store.Place, now time.Time, limit int) []*store.QueuedDelivery {
	q.Helper()
	found, err := q.store.DueDeliveries(q.Context(), e.ID, after, now, limit)
	if err != nil {
		q.Fatal(err)
	}
	return found
}

// lease gives all queues to the sender and returns how many it got.
func (q *queueTest) lease(sender string, now, until time.Time) (got int) {
	q.Helper()
	ids := make([]string, len(q.endpoints))
	for i, e := range q.endpoints {
		ids[i] = e.ID
	}
	slices.Sort(ids)
	q.outbox.Update(func(tx *store.Tx) error {
		leased, err := tx.LeaseQueues(sender, ids, now, until)
		got = len(leased)
		return err
	})
	return got
}

func result(e *webhook.Endpoint, d *store.QueuedDelivery, status int, next *time.Time,
	now time.Time,
) store.AttemptResult {
	return store.AttemptResult{
		Attempt: webhook.Attempt{
			DeliveryID: d.ID, Number: d.Attempts + 1, At: now, Duration: 5 * time.Millisecond, HTTPStatus: status,
			Answer: "said",
		},
		EndpointID: e.ID, DueAt: d.DueAt, Row: d.Row, Next: next,
	}
}

func (q *queueTest) record(results ...store.AttemptResult) {
	q.Helper()
	if err := q.store.RecordAttempts(q.Context(), sender, results); err != nil {
		q.Fatal(err)
	}
}

func (q *queueTest) heads() map[string]time.Time {
	q.Helper()
	heads, err := q.store.QueueHeads(q.Context(), noon)
	if err != nil {
		q.Fatal(err)
	}
	byEndpoint := make(map[string]time.Time)
	for _, h := range heads {
		byEndpoint[h.EndpointID] = h.DueAt
	}
	return byEndpoint
}

func TestDueDeliveries(t *testing.T) {
	eachQueue(t, 3, func(q *queueTest) {
		if got := q.heads(); len(got) != 0 {
			q.Errorf("heads of empty queues: %v", got)
		}
		first, later := q.queue(3, noon), q.queue(2, noon.Add(time.Second))
		if got := q.heads(); len(got) != 3 || !got[q.endpoints[1].ID].Equal(noon) {
			q.Errorf("heads: %v", got)
		}
		for now, last := range map[time.Time]time.Time{
			noon.Add(-1): {}, noon: noon,
			noon.Add(time.Hour): noon.Add(time.Second),
		} {
			heads, err := q.store.QueueHeads(q.Context(), now)
			if err != nil || !heads[0].LastDueAt.Equal(last) {
				q.Errorf("last due at %v: %+v, %v, want %v", now, heads[0], err, last)
			}
		}
		e := q.endpoints[1]
		got := q.due(e, store.Place{}, noon, 2)
		if len(got) != 2 || got[0].ID != first[1].ID || got[1].ID != first[4].ID {
			q.Fatalf("due: %+v", got)
		}
		if d := got[0]; !d.DueAt.Equal(noon) || string(d.Body) != string(first[1].Body) || d.Event != webhook.OrderOutcome ||
			d.Failures != 0 || d.Attempts != 0 {
			q.Errorf("due: %+v", d)
		}
		if got := q.due(e, got[1].Place, noon, 9); len(got) != 1 || got[0].ID != first[7].ID {
			q.Errorf("due after a place: %+v", got)
		}
		if got := q.due(e, store.Place{}, noon.Add(-time.Microsecond), 9); len(got) != 0 {
			q.Errorf("due before anything is: %+v", got)
		}
		if got := q.due(e, store.Place{}, noon.Add(time.Second), 9); len(got) != 5 || got[4].ID != later[4].ID {
			q.Errorf("due later: %+v", got)
		}
		pending, oldest, err := q.store.QueueState(q.Context(), noon.Add(time.Minute))
		if pending != 15 || !oldest.Equal(noon) || err != nil {
			q.Errorf("state: %d since %v, %v", pending, oldest, err)
		}
		if _, oldest, _ := q.store.QueueState(q.Context(), noon.Add(-time.Minute)); !oldest.IsZero() {
			q.Errorf("due since %v before anything is", oldest)
		}
	})
}

// TestDueDeliveries_Gone: places whose deliveries are gone hide nothing behind them, and are cleared.
func TestDueDeliveries_Gone(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := storetest.Open(t, target)
		q := &queueTest{T: t, store: s, outbox: outbox.NewTest(t, s)}
		e := q.outbox.Endpoint("https://example.com/hook", nil)
		q.endpoints = []*webhook.Endpoint{e}
		all := q.queue(5, noon)
		for _, d := range []*webhook.Delivery{all[0], all[1], all[3]} {
			rawsql.Exec(t, target, "DELETE FROM deliveries WHERE id = '"+d.ID+"'")
		}
		first := q.due(e, store.Place{}, noon, 1)
		if len(first) != 1 || first[0].ID != all[2].ID {
			t.Fatalf("due: %+v", first)
		}
		if next := q.due(e, first[0].Place, noon, 2); len(next) != 1 || next[0].ID != all[4].ID {
			t.Errorf("due after it: %+v", next)
		}
		if pending, _, err := s.QueueState(t.Context(), noon); pending != 2 || err != nil {
			t.Errorf("%d are queued, %v", pending, err)
		}
	})
}

func TestLeaseQueues(t *testing.T) {
	eachQueue(t, 40, func(q *queueTest) {
		const other = "01980000-0000-7000-8000-000000000002"
		until := noon.Add(30 * time.Second)
		if n := q.lease(sender, noon, until); n != 40 {
			q.Errorf("leased %d of 40", n)
		}
		if n := q.lease(other, until.Add(-time.Microsecond), until); n != 0 {
			q.Errorf("leased %d queues that another has", n)
		}
		if n := q.lease(sender, noon, until); n != 40 {
			q.Errorf("extended %d of 40", n)
		}
		q.outbox.Update(func(tx *store.Tx) error {
			return tx.ReturnQueues(sender, []string{q.endpoints[3].ID, q.endpoints[5].ID})
		})
		if n := q.lease(other, noon, until); n != 2 {
			q.Errorf("leased %d of 2 that were returned", n)
		}
		if n := q.lease(other, until, until.Add(time.Hour)); n != 40 {
			q.Errorf("leased %d of 40 after the lease", n)
		}
		q.queue(1, noon)
		e := q.endpoints[0]
		d := q.due(e, store.Place{}, noon, 1)[0]
		q.record(result(e, d, 200, nil, noon))
		if got := q.outbox.Delivery(d.ID); q.store.Shared() && got.Attempts != 0 {
			q.Errorf("who lost the lease could still change the delivery: %+v", got)
		}
		q.outbox.Update(func(tx *store.Tx) error { return tx.SenderGone(other) })
		if n := q.lease(sender, noon, until); n != 40 {
			q.Errorf("leased %d of 40 of a sender that is gone", n)
		}
	})
}

// TestLeaseQueues_WrongClock checks that a lease that a clock far ahead has given does not outlast it.
func TestLeaseQueues_WrongClock(t *testing.T) {
	eachQueue(t, 2, func(q *queueTest) {
		const other = "01980000-0000-7000-8000-000000000002"
		ahead := noon.Add(time.Hour)
		q.lease(sender, ahead, ahead.Add(20*time.Second))
		if n := q.lease(other, noon, noon.Add(20*time.Second)); n != 2 {
			q.Errorf("leased %d of 2 that are leased for more than an hour", n)
		}
	})
}

// TestPullDeliveries checks that deliveries that are due too far ahead become due, except those that are held.
func TestPullDeliveries(t *testing.T) {
	eachQueue(t, 1, func(q *queueTest) {
		e := q.endpoints[0]
		far := q.queue(2, noon.Add(time.Hour))
		near := q.queue(1, noon.Add(time.Minute))[0]
		heads, err := q.store.QueueHeads(q.Context(), noon)
		if err != nil || len(heads) != 1 || !heads[0].FarthestAt.Equal(noon.Add(time.Hour)) {
			q.Fatalf("%+v, %v", heads, err)
		}
		q.outbox.Update(func(tx *store.Tx) error {
			return tx.PullDeliveries(e.ID, noon, noon.Add(10*time.Minute), []string{far[0].ID})
		})
		due := q.due(e, store.Place{}, noon, 10)
		if len(due) != 1 || due[0].ID != far[1].ID {
			q.Errorf("due: %+v", due)
		}
		if due = q.due(e, store.Place{}, noon.Add(time.Minute), 10); len(due) != 2 || due[1].ID != near.ID {
			q.Errorf("due a minute later: %+v", due)
		}
	})
}

func TestReceiving(t *testing.T) {
	eachQueue(t, 2, func(q *queueTest) {
		receiving := func() map[string]*webhook.Endpoint {
			found, err := q.store.Receiving(q.Context(), []string{q.endpoints[0].ID, q.endpoints[1].ID, uuid7.New()})
			if err != nil {
				q.Fatal(err)
			}
			return found
		}
		if got := receiving(); len(got) != 2 || got[q.endpoints[0].ID].URL != q.endpoints[0].URL {
			q.Errorf("receiving: %v", got)
		}
		first := q.queue(2, noon)
		e := q.endpoints[0]
		q.lease(sender, noon, noon.Add(time.Hour))
		d, later := q.due(e, store.Place{}, noon, 1)[0], noon.Add(time.Minute)
		q.record(result(e, d, 500, &later, noon))
		q.outbox.Update(func(tx *store.Tx) error { return tx.DeleteEndpoint(q.outbox.Key.ID, e.ID, time.Now()) })
		if _, err := q.store.Delivery(q.Context(), first[0].ID); !errors.Is(err, store.ErrNotFound) {
			q.Errorf("a pending delivery of a deleted endpoint: %v", err)
		}
		if n := q.drop(e, 1) + 10*q.drop(e, 10) + 100*q.drop(e, 10); n != 11 {
			q.Errorf("dropped: %d", n)
		}
		q.record(result(e, d, 200, nil, noon)) // harmless, though the delivery is gone
		if attempts, err := q.store.Attempts(q.Context(), d.ID); len(attempts) != 0 || err != nil {
			q.Errorf("attempts of a deleted endpoint: %v, %v", attempts, err)
		}
		if got := receiving(); len(got) != 1 || len(q.heads()) != 1 {
			q.Errorf("receiving: %v, heads %v", got, q.heads())
		}
		q.outbox.Update(func(tx *store.Tx) error {
			_, err := tx.RevokeKey(q.outbox.Key.ID, noon)
			return err
		})
		if got := receiving(); len(got) != 0 {
			q.Errorf("receiving with a revoked key: %v", got)
		}
	})
}

// drop drops up to limit pending deliveries to an endpoint and returns how many.
func (q *queueTest) drop(e *webhook.Endpoint, limit int) (n int) {
	q.Helper()
	q.outbox.Update(func(tx *store.Tx) (err error) {
		n, err = tx.DropPendingDeliveries(e.ID, limit)
		return err
	})
	return n
}

// TestDropPendingDeliveries has many deliveries to an endpoint that is deleted, or whose key is revoked, go in batches.
// They are not shown meanwhile; those that have ended are.
func TestDropPendingDeliveries(t *testing.T) {
	for name, end := range map[string]func(tx *store.Tx, e *webhook.Endpoint) error{
		"DeletedEndpoint": func(tx *store.Tx, e *webhook.Endpoint) error { return tx.DeleteEndpoint(e.APIKeyID, e.ID, noon) },
		"RevokedKey": func(tx *store.Tx, e *webhook.Endpoint) error {
			_, err := tx.RevokeKey(e.APIKeyID, noon)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachQueue(t, 1, func(q *queueTest) {
				e, later := q.endpoints[0], noon.Add(time.Minute)
				all := q.queue(70, noon)
				q.lease(sender, noon, noon.Add(time.Hour))
				due := q.due(e, store.Place{}, noon, 2)
				q.record(result(e, due[0], 200, nil, noon), result(e, due[1], 500, &later, noon))
				shown := func(f webhook.DeliveryFilter) int {
					found, err := q.store.Deliveries(q.Context(), f, 100)
					must.NoError(q, err)
					return len(found)
				}
				pending := func() int {
					n, _, err := q.store.PendingDeliveries(q.Context(), e.Tenant, 100)
					must.NoError(q, err)
					return n
				}
				if n := shown(webhook.DeliveryFilter{}); n != 70 || pending() != 69 {
					q.Fatalf("%d deliveries, %d pending", n, pending())
				}
				q.outbox.Update(func(tx *store.Tx) error { return end(tx, e) })
				check := func() {
					q.Helper()
					if n := shown(webhook.DeliveryFilter{Status: webhook.Pending}); n != 0 || pending() != 0 {
						q.Errorf("%d pending deliveries are shown, %d counted", n, pending())
					}
					if n := shown(webhook.DeliveryFilter{}); n != 1 {
						q.Errorf("%d deliveries are shown, want the one that was delivered", n)
					}
					if _, err := q.store.Delivery(q.Context(), all[69].ID); !errors.Is(err, store.ErrNotFound) {
						q.Errorf("a delivery that is never sent: %v", err)
					}
				}
				check()
				for _, want := range []int{50, 19, 0} {
					if n := q.drop(e, 50); n != want {
						q.Errorf("%d deliveries dropped, want %d", n, want)
					}
					check()
				}
				if attempts, err := q.store.Attempts(q.Context(), due[1].ID); len(attempts) != 0 || err != nil {
					q.Errorf("attempts of a dropped delivery: %v, %v", attempts, err)
				}
				if len(q.heads()) != 0 {
					q.Errorf("heads: %v", q.heads())
				}
			})
		})
	}
}

// TestDropPendingDeliveries_Meanwhile has a delivery be queued while others are dropped: it is dropped with the next
// ones, and none stays that nobody sends.
func TestDropPendingDeliveries_Meanwhile(t *testing.T) {
	target := pgtest.Database(t)
	o := outbox.NewTest(t, storetest.Open(t, target))
	e := o.Endpoint("https://example.com/hook", nil)
	first := o.Queue([]*webhook.Endpoint{e}, 3, noon)[0]
	locked, release := make(chan struct{}), make(chan struct{})
	var holder, dropper sync.WaitGroup
	holder.Go(func() {
		_ = o.Store.Update(t.Context(), func(tx *store.Tx) error {
			err := tx.Redeliver(first.ID, noon) // locks the delivery, which cannot be sent again because it is pending
			close(locked)
			<-release
			return err
		})
	})
	<-locked
	drop := func() (n int) {
		o.Update(func(tx *store.Tx) (err error) {
			n, err = tx.DropPendingDeliveries(e.ID, 100)
			return err
		})
		return n
	}
	dropper.Go(func() { drop() })
	rawsql.AwaitLock(t, target, 1)
	o.Queue([]*webhook.Endpoint{e}, 1, noon)
	close(release)
	holder.Wait()
	dropper.Wait()
	if n := drop(); n != 1 {
		t.Errorf("%d deliveries were queued meanwhile, want 1", n)
	}
	if n := rawsql.Rows(t, target, "SELECT COUNT(*) FROM deliveries")[0][0]; n != "0" {
		t.Errorf("%s deliveries are left", n)
	}
}

// TestRecordAttempts_OtherRow checks that results are recorded although the rows of their deliveries are not where they
// were read: others have taken their places.
func TestRecordAttempts_OtherRow(t *testing.T) {
	eachQueue(t, 1, func(q *queueTest) {
		e := q.endpoints[0]
		q.queue(3, noon)
		q.lease(sender, noon, noon.Add(time.Hour))
		due := q.due(e, store.Place{}, noon, 3)
		due[0].Row, due[1].Row = due[2].Row, due[0].Row
		q.record(result(e, due[0], 200, nil, noon), result(e, due[1], 200, nil, noon))
		if left := q.due(e, store.Place{}, noon, 3); len(left) != 1 || left[0].ID != due[2].ID {
			q.Errorf("still due: %+v", left)
		}
		for i, want := range []webhook.Status{webhook.Delivered, webhook.Delivered, webhook.Pending} {
			if d := q.outbox.Delivery(due[i].ID); d.Status != want {
				q.Errorf("delivery %d is %s, want %s", i, d.Status, want)
			}
		}
	})
}

func TestSenderSeen(t *testing.T) {
	eachQueue(t, 0, func(q *queueTest) {
		var got []string
		seen := func(id string, now time.Time) {
			q.outbox.Update(func(tx *store.Tx) (err error) {
				got, err = tx.SenderSeen(id, now, now.Add(-5*time.Second))
				return err
			})
		}
		seen("b", noon)
		seen("a", noon.Add(5*time.Second))
		if !slices.Equal(got, []string{"a", "b"}) {
			q.Errorf("at work: %v", got)
		}
		seen("a", noon.Add(6*time.Second))
		if !slices.Equal(got, []string{"a"}) {
			q.Errorf("at work: %v, want those seen lately", got)
		}
		seen("b", noon.Add(time.Hour)) // a clock far ahead
		seen("a", noon.Add(6*time.Second))
		if !slices.Equal(got, []string{"a"}) {
			q.Errorf("at work: %v, want none that was seen in the future", got)
		}
		seen("c", noon.Add(6*time.Second))
		q.outbox.Update(func(tx *store.Tx) error { return tx.SenderGone("a") })
		seen("c", noon.Add(6*time.Second))
		if !slices.Equal(got, []string{"c"}) {
			q.Errorf("at work: %v, want those that have not ended", got)
		}
	})
}

// TestQueuePlans proves that finding, reading and ending deliveries costs the same however long the queues are: all go
// by the index or the row alone, with and without statistics, and with plans that were made while queues were short.
func TestQueuePlans(t *testing.T) {
	eachQueue(t, 5, func(q *queueTest) {
		checkPlans(q, "without statistics")
		for _, more := range []int{0, 1, 10, 2000} {
			q.queue(more, noon)
			if q.store.Shared() {
				q.vacuum()
			}
			checkPlans(q, fmt.Sprintf("with %d more for each endpoint", more))
		}
	})
}

// vacuum has PostgreSQL do what it does by itself after a while: forget rows that are gone, and collect statistics.
func (q *queueTest) vacuum() {
	q.Helper()
	for _, table := range []string{"delivery_queue", "deliveries"} {
		must.NoError(q, q.store.Vacuum(q.Context(), table))
	}
}

func checkPlans(q *queueTest, when string) {
	q.Helper()
	plans, err := q.store.QueuePlans(q.Context())
	if err != nil {
		q.Fatal(err)
	}
	for name, plan := range plans {
		reads, more := 0, false
		lines := strings.Split(plan, "\n")
		for i, line := range lines {
			switch {
			case strings.Contains(line, "Scan using"):
				reads++
				more = more || i+1 == len(lines) || !strings.Contains(lines[i+1], "Index Cond:")
			case strings.Contains(line, "USING PRIMARY KEY"), strings.Contains(line, "Tid Scan"):
				reads++
			case strings.Contains(line, "Seq Scan"), strings.Contains(line, "SCAN delivery_queue"),
				strings.Contains(line, "SCAN q"), strings.Contains(line, "Sort"), strings.Contains(line, "B-TREE"):
				more = true
			}
		}
		if more || reads == 0 || (strings.HasPrefix(name, "heads") && reads < 2) {
			q.Errorf("%s, %s does not go by the index or the row alone:\n%s", when, name, plan)
		}
	}
}

// TestPartitionPlans checks that what is asked by an id touches one part, and that the work of the sender and lists
// walk through indexes.
func TestPartitionPlans(t *testing.T) {
	t.Parallel()
	target := pgtest.Database(t)
	s := storetest.Open(t, target)
	now := time.Now().UTC()
	must.NoError(t, s.FillDeliveries(t.Context(), 3000))
	for _, analyzed := range []bool{false, true} {
		if analyzed {
			for _, table := range []string{"deliveries", "delivery_attempts", "delivery_queue"} {
				must.NoError(t, s.Analyze(t.Context(), table))
			}
		}
		plans, err := s.PartitionPlans(t.Context())
		must.NoError(t, err)
		current := now.Format("_p200601") + "01"
		for name, plan := range plans {
			for _, table := range []string{"deliveries", "delivery_attempts"} {
				if strings.Contains(plan, "Seq Scan on "+table+current) {
					t.Errorf("%s (statistics: %v) reads a whole part:\n%s", name, analyzed, plan)
				}
			}
		}
		for _, name := range []string{"one", "attempts"} {
			for line := range strings.Lines(plans[name]) {
				other := strings.Contains(line, "_p2") && !strings.Contains(line, current) || strings.Contains(line, "_rest")
				if other && !strings.Contains(line, "never executed") {
					t.Errorf("%s touches another part:\n%s", name, plans[name])
				}
			}
		}
	}
}
