package store_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/storetest"
	"github.com/assayhq/assay/internal/testkit/outbox"
)

var noon = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

// queueTest is a database with endpoints and what one sender does to it.
type queueTest struct {
	*testing.T
	store     *store.Store
	outbox    *outbox.Outbox
	endpoints []*webhook.Endpoint
}

func eachQueue(t *testing.T, endpoints int, f func(q *queueTest)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		o, err := outbox.New(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		q := &queueTest{T: t, store: s, outbox: o}
		for i := range endpoints {
			e, err := o.Endpoint(t.Context(), fmt.Sprintf("https://%d.example.com/hook", i), nil)
			if err != nil {
				t.Fatal(err)
			}
			q.endpoints = append(q.endpoints, e)
		}
		f(q)
	})
}

// queue puts n deliveries for each endpoint into the queue.
func (q *queueTest) queue(n int, due time.Time) []*webhook.Delivery {
	q.Helper()
	all, err := q.outbox.Queue(q.Context(), q.endpoints, n, due)
	if err != nil {
		q.Fatal(err)
	}
	return all
}

func (q *queueTest) update(f func(tx *store.Tx) error) {
	q.Helper()
	if err := q.store.Update(q.Context(), f); err != nil {
		q.Fatal(err)
	}
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
	q.update(func(tx *store.Tx) error {
		leased, err := tx.LeaseQueues(sender, ids, now, until)
		got = len(leased)
		return err
	})
	return got
}

func result(e *webhook.Endpoint, d *store.QueuedDelivery, status int, next *time.Time, now time.Time) store.AttemptResult {
	return store.AttemptResult{
		Attempt: webhook.Attempt{
			DeliveryID: d.ID, Number: d.Attempts + 1, At: now, Duration: 5 * time.Millisecond, HTTPStatus: status, Answer: "said",
		},
		EndpointID: e.ID, DueAt: d.DueAt, Next: next,
	}
}

func (q *queueTest) record(results ...store.AttemptResult) {
	q.Helper()
	if err := q.store.RecordAttempts(q.Context(), sender, results); err != nil {
		q.Fatal(err)
	}
}

func (q *queueTest) delivery(id string) *webhook.Delivery {
	q.Helper()
	d, err := q.store.Delivery(q.Context(), id)
	if err != nil {
		q.Fatal(err)
	}
	return d
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
		for now, last := range map[time.Time]time.Time{noon.Add(-1): {}, noon: noon, noon.Add(time.Hour): noon.Add(time.Second)} {
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
		if d := got[0]; !d.DueAt.Equal(noon) || string(d.Body) != string(first[1].Body) || d.Event != webhook.OrderOutcome || d.Failures != 0 || d.Attempts != 0 {
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

func TestRecordAttempts(t *testing.T) {
	eachQueue(t, 1, func(q *queueTest) {
		q.queue(1, noon)
		e := q.endpoints[0]
		q.lease(sender, noon, noon.Add(time.Hour))
		d := q.due(e, store.Place{}, noon, 1)[0]
		if got := q.delivery(d.ID); got.Status != webhook.Pending || got.Attempts != 0 || !got.NextAttemptAt.Equal(noon) {
			q.Errorf("before an attempt: %+v", got)
		}
		later := noon.Add(time.Minute)
		q.record(result(e, d, 500, &later, noon))
		if got := q.delivery(d.ID); got.Status != webhook.Pending || got.Attempts != 1 || !got.NextAttemptAt.Equal(later) || !got.FinishedAt.IsZero() {
			q.Errorf("after a failed attempt: %+v", got)
		}
		if got := q.due(e, store.Place{}, later.Add(-time.Microsecond), 1); len(got) != 0 {
			q.Error("due before the time of the next attempt")
		}
		q.record(result(e, d, 500, &later, noon), result(e, d, 200, nil, noon)) // the delivery stands elsewhere
		if got := q.delivery(d.ID); got.Status != webhook.Pending || got.Attempts != 1 {
			q.Errorf("a result was recorded twice: %+v", got)
		}
		again := q.due(e, store.Place{}, later, 1)[0]
		if again.Failures != 1 || again.Attempts != 1 || string(again.Body) != string(d.Body) {
			q.Errorf("due again: %+v", again)
		}
		q.record(result(e, again, 204, nil, later))
		q.record(result(e, again, 204, nil, later))
		got := q.delivery(d.ID)
		if got.Status != webhook.Delivered || got.Attempts != 2 || !got.FinishedAt.Equal(later) || !got.NextAttemptAt.IsZero() {
			q.Errorf("after an acknowledged attempt: %+v", got)
		}
		attempts, err := q.store.Attempts(q.Context(), d.ID)
		if err != nil || len(attempts) != 2 || attempts[0].Number != 1 || attempts[1].Number != 2 || attempts[1].HTTPStatus != 204 ||
			attempts[0].Answer != "said" || !attempts[1].At.Equal(later) || attempts[1].Duration != 5*time.Millisecond {
			q.Errorf("attempts: %+v, %v", attempts, err)
		}
		if len(q.heads()) != 0 {
			q.Error("a delivered event is still in the queue")
		}
	})
}

func TestDeleteOldAttempts(t *testing.T) {
	eachQueue(t, 25, func(q *queueTest) {
		q.queue(4, noon)
		q.lease(sender, noon, noon.Add(time.Hour))
		var results []store.AttemptResult
		later := noon.Add(time.Minute)
		for i, e := range q.endpoints {
			for j, d := range q.due(e, store.Place{}, noon, 9) {
				r := result(e, d, 200, nil, noon)
				if i == 0 && j == 0 {
					r.Next = &later
				}
				results = append(results, r)
			}
		}
		q.record(results...)
		pending, oldest, err := q.store.QueueState(q.Context(), noon)
		if pending != 1 || !oldest.IsZero() || err != nil {
			q.Errorf("pending %d since %v, %v", pending, oldest, err)
		}
		prune := func(before time.Time, limit int) (n int) {
			q.update(func(tx *store.Tx) (err error) {
				n, err = tx.DeleteOldAttempts(before, limit)
				return err
			})
			return n
		}
		has := func(before time.Time) bool {
			some, err := q.store.HasAttempts(q.Context(), before)
			if err != nil {
				q.Fatal(err)
			}
			return some
		}
		if n := prune(noon, 1000); n != 0 || has(noon) {
			q.Errorf("pruned %d attempts that are not older", n)
		}
		after := noon.Add(time.Microsecond)
		if n := prune(after, 60); n != 60 || !has(after) {
			q.Errorf("pruned %d with the limit 60", n)
		}
		if n := prune(after, 60); n != 40 || has(after) {
			q.Errorf("pruned %d of 40", n)
		}
		d := q.delivery(results[1].DeliveryID)
		if d.Status != webhook.Delivered || d.Attempts != 1 {
			q.Errorf("how a delivery ended was forgotten: %+v", d)
		}
		if attempts, err := q.store.Attempts(q.Context(), d.ID); len(attempts) != 0 || err != nil {
			q.Errorf("attempts: %+v, %v", attempts, err)
		}
		q.update(func(tx *store.Tx) error { return tx.Redeliver(d.ID, noon) })
		if got := q.delivery(d.ID); got.Status != webhook.Pending || got.Attempts != 1 {
			q.Errorf("redelivered: %+v", got)
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
		q.update(func(tx *store.Tx) error {
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
		if got := q.delivery(d.ID); q.store.Shared() && got.Attempts != 0 {
			q.Errorf("who lost the lease could still change the delivery: %+v", got)
		}
		q.update(func(tx *store.Tx) error { return tx.SenderGone(other) })
		if n := q.lease(sender, noon, until); n != 40 {
			q.Errorf("leased %d of 40 of a sender that is gone", n)
		}
	})
}

func TestReceiving(t *testing.T) {
	eachQueue(t, 2, func(q *queueTest) {
		receiving := func() map[string]*webhook.Endpoint {
			found, err := q.store.Receiving(q.Context(), []string{q.endpoints[0].ID, q.endpoints[1].ID, store.NewID()})
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
		q.update(func(tx *store.Tx) error { return tx.DeleteEndpoint(q.outbox.Key.ID, e.ID) })
		q.record(result(e, d, 200, nil, noon)) // harmless, though the delivery is gone
		if _, err := q.store.Delivery(q.Context(), first[0].ID); !errors.Is(err, store.ErrNotFound) {
			q.Errorf("a pending delivery of a deleted endpoint: %v", err)
		}
		if attempts, err := q.store.Attempts(q.Context(), d.ID); len(attempts) != 0 || err != nil {
			q.Errorf("attempts of a deleted endpoint: %v, %v", attempts, err)
		}
		if got := receiving(); len(got) != 1 || len(q.heads()) != 1 {
			q.Errorf("receiving: %v, heads %v", got, q.heads())
		}
		q.update(func(tx *store.Tx) error {
			_, err := tx.RevokeKey(q.outbox.Key.ID, noon)
			return errors.Join(err, tx.DropPendingDeliveriesOfKey(q.outbox.Key.ID))
		})
		if got := receiving(); len(got) != 0 || len(q.heads()) != 0 {
			q.Errorf("receiving with a revoked key: %v, heads %v", got, q.heads())
		}
	})
}

func TestSenderSeen(t *testing.T) {
	eachQueue(t, 0, func(q *queueTest) {
		var got []string
		seen := func(id string, now time.Time) {
			q.update(func(tx *store.Tx) (err error) {
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
		seen("c", noon.Add(6*time.Second))
		q.update(func(tx *store.Tx) error { return tx.SenderGone("a") })
		seen("c", noon.Add(6*time.Second))
		if !slices.Equal(got, []string{"c"}) {
			q.Errorf("at work: %v, want those that have not ended", got)
		}
	})
}

func TestRedeliver(t *testing.T) {
	eachQueue(t, 2, func(q *queueTest) {
		redeliver := func(id string) error {
			return q.store.Update(q.Context(), func(tx *store.Tx) error { return tx.Redeliver(id, noon.Add(time.Hour)) })
		}
		q.queue(1, noon)
		q.lease(sender, noon, noon.Add(2*time.Hour))
		for _, e := range q.endpoints {
			d := q.due(e, store.Place{}, noon, 1)[0]
			if err := redeliver(d.ID); !errors.Is(err, store.ErrNotFound) {
				q.Errorf("a pending delivery was sent again: %v", err)
			}
			q.record(result(e, d, 500, nil, noon))
		}
		failed, err := q.store.FailedDeliveries(q.Context(), webhook.DeliveryFilter{Tenant: access.Tenant{AccountID: q.outbox.Account.ID}}, noon, "", 10)
		if err != nil || len(failed) != 2 {
			q.Fatalf("failed: %v, %v", failed, err)
		}
		if got, err := q.store.FailedDeliveries(q.Context(), webhook.DeliveryFilter{}, noon, failed[0], 10); err != nil || len(got) != 1 || got[0] != failed[1] {
			q.Errorf("failed after the first: %v, %v", got, err)
		}
		if got, err := q.store.FailedDeliveries(q.Context(), webhook.DeliveryFilter{}, noon.Add(time.Microsecond), "", 10); err != nil || len(got) != 0 {
			q.Errorf("failed since later: %v, %v", got, err)
		}
		if err := redeliver(failed[0]); err != nil {
			q.Fatal(err)
		}
		e := q.endpoints[0]
		d := q.due(e, store.Place{}, noon.Add(time.Hour), 1)[0]
		if d.ID != failed[0] || d.Failures != 0 || d.Attempts != 1 {
			q.Fatalf("due after redelivery: %+v", d)
		}
		if got := q.delivery(d.ID); got.Status != webhook.Pending || got.Attempts != 1 || !got.NextAttemptAt.Equal(noon.Add(time.Hour)) {
			q.Errorf("redelivered: %+v", got)
		}
		q.record(result(e, d, 200, nil, noon.Add(time.Hour)))
		if got := q.delivery(d.ID); got.Attempts != 2 || got.Status != webhook.Delivered {
			q.Errorf("redelivered: %+v", got)
		}
		if err := redeliver(store.NewID()); !errors.Is(err, store.ErrNotFound) {
			q.Errorf("an unknown delivery was sent again: %v", err)
		}
		q.update(func(tx *store.Tx) error { return tx.DeleteEndpoint(q.outbox.Key.ID, e.ID) })
		if err := redeliver(d.ID); !errors.Is(err, store.ErrNotFound) {
			q.Errorf("sent again to a deleted endpoint: %v", err)
		}
	})
}

func TestDeliveries(t *testing.T) {
	eachQueue(t, 3, func(q *queueTest) {
		all := q.queue(2, noon)
		q.lease(sender, noon, noon.Add(time.Hour))
		for i, status := range []int{200, 404} {
			e := q.endpoints[i]
			q.record(result(e, q.due(e, store.Place{}, noon, 1)[0], status, nil, noon))
		}
		for name, test := range map[string]struct {
			filter webhook.DeliveryFilter
			limit  int
			want   int
		}{
			"All":            {webhook.DeliveryFilter{}, 10, 6},
			"Limit":          {webhook.DeliveryFilter{}, 4, 4},
			"Account":        {webhook.DeliveryFilter{Tenant: q.outbox.Key.Tenant}, 10, 6},
			"OtherAccount":   {webhook.DeliveryFilter{Tenant: access.Tenant{AccountID: store.NewID()}}, 10, 0},
			"Environment":    {webhook.DeliveryFilter{Tenant: access.Tenant{Environment: "live"}}, 10, 0},
			"Endpoint":       {webhook.DeliveryFilter{EndpointID: q.endpoints[1].ID}, 10, 2},
			"Order":          {webhook.DeliveryFilter{OrderID: store.NewID()}, 10, 0},
			"Pending":        {webhook.DeliveryFilter{Status: webhook.Pending}, 10, 4},
			"Delivered":      {webhook.DeliveryFilter{Status: webhook.Delivered}, 10, 1},
			"Failed":         {webhook.DeliveryFilter{Status: webhook.Failed, Tenant: q.outbox.Key.Tenant}, 10, 1},
			"Before":         {webhook.DeliveryFilter{Before: all[2].ID}, 10, 2},
			"PendingBefore":  {webhook.DeliveryFilter{Status: webhook.Pending, EndpointID: q.endpoints[0].ID, Before: store.NewID()}, 10, 1},
			"BeforeTheFirst": {webhook.DeliveryFilter{Before: all[0].ID}, 10, 0},
		} {
			q.Run(name, func(t *testing.T) {
				got, err := q.store.Deliveries(t.Context(), test.filter, test.limit)
				if err != nil || len(got) != test.want {
					t.Fatalf("%d deliveries, %v, want %d", len(got), err, test.want)
				}
				for i, d := range got {
					if i > 0 && d.ID >= got[i-1].ID {
						t.Error("not newest first")
					}
					if d.EndpointURL == "" || d.AccountID != q.outbox.Account.ID || d.Environment != "test" || d.Body != nil {
						t.Errorf("got %+v", d)
					}
				}
			})
		}
	})
}
