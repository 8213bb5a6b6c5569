package store_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

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

const lease = 30 * time.Second

// claim takes up to n deliveries of each endpoint.
func (q *queueTest) claim(n int, now time.Time) (got store.Claimed) {
	q.Helper()
	r := store.ClaimRequest{ClaimID: store.NewID(), Now: now, LeaseUntil: now.Add(lease), Wanted: map[string]int{}}
	for _, e := range q.endpoints {
		r.Wanted[e.ID] = n
	}
	q.update(func(tx *store.Tx) (err error) {
		got, err = tx.ClaimDeliveries(r)
		return err
	})
	return got
}

func (q *queueTest) record(d *store.ClaimedDelivery, status int, next *time.Time, now time.Time) {
	q.Helper()
	r := store.AttemptResult{
		Attempt: webhook.Attempt{DeliveryID: d.ID, At: now, Duration: 5 * time.Millisecond, HTTPStatus: status, Answer: "said"},
		ClaimID: d.ClaimID, Next: next,
	}
	q.update(func(tx *store.Tx) error { return tx.RecordAttempts([]store.AttemptResult{r}, now) })
}

func (q *queueTest) delivery(id string) *store.DeliveryRecord {
	q.Helper()
	d, err := q.store.Delivery(q.Context(), id)
	if err != nil {
		q.Fatal(err)
	}
	return d
}

func (q *queueTest) heads() map[string]time.Time {
	q.Helper()
	heads, err := q.store.QueueHeads(q.Context())
	if err != nil {
		q.Fatal(err)
	}
	byEndpoint := make(map[string]time.Time)
	for _, h := range heads {
		byEndpoint[h.EndpointID] = h.DueAt
	}
	return byEndpoint
}

func TestClaimDeliveries(t *testing.T) {
	eachQueue(t, 3, func(q *queueTest) {
		if got := q.heads(); len(got) != 0 {
			q.Errorf("heads of empty queues: %v", got)
		}
		first, later := q.queue(3, noon), q.queue(2, noon.Add(time.Second))
		if got := q.heads(); len(got) != 3 || !got[q.endpoints[1].ID].Equal(noon) {
			q.Errorf("heads: %v", got)
		}
		got := q.claim(2, noon)
		if len(got.Deliveries) != 6 {
			q.Fatalf("claimed %d, want 2 of each endpoint", len(got.Deliveries))
		}
		oldest := map[string]*webhook.Delivery{}
		for _, d := range first[:6] {
			oldest[d.ID] = d
		}
		for _, d := range got.Deliveries {
			want := oldest[d.ID]
			if want == nil || d.Endpoint.ID != want.EndpointID || string(d.Body) != string(want.Body) || d.Event != want.Event || d.Failures != 0 {
				q.Errorf("claimed %+v, want %+v", d, want)
			}
			if !got.Again[d.Endpoint.ID] {
				q.Error("an endpoint with more to send is not asked again")
			}
		}
		if got := q.claim(4, noon.Add(-time.Second)); len(got.Deliveries) != 0 || got.Again[q.endpoints[0].ID] {
			q.Errorf("claimed before anything is due: %+v", got)
		}
		if got := q.claim(1, noon.Add(time.Second)); len(got.Deliveries) != 3 || !got.Again[q.endpoints[0].ID] {
			q.Errorf("claimed %+v, want one more of each endpoint", got)
		}
		if due := q.heads()[q.endpoints[2].ID]; !due.Equal(later[0].CreatedAt) {
			q.Errorf("head: %v, want %v", due, later[0].CreatedAt)
		}
		if got := q.claim(32, noon.Add(2*time.Second)); len(got.Deliveries) != 6 || got.Again[q.endpoints[0].ID] {
			q.Errorf("claimed %+v, want all that is left", got)
		}
	})
}

func TestRecordAttempts(t *testing.T) {
	eachQueue(t, 1, func(q *queueTest) {
		q.queue(1, noon)
		d := q.claim(1, noon).Deliveries[0]
		later := noon.Add(time.Minute)
		q.record(d, 500, &later, noon)
		if got := q.delivery(d.ID); got.Status != webhook.Pending || got.Attempts != 1 || !got.NextAttemptAt.Equal(later) || !got.FinishedAt.IsZero() {
			q.Errorf("after a failed attempt: %+v", got)
		}
		if got := q.claim(1, later.Add(-time.Microsecond)); len(got.Deliveries) != 0 {
			q.Error("claimed before the time of the next attempt")
		}
		q.record(d, 200, nil, noon) // its claim has ended
		if got := q.delivery(d.ID); got.Status != webhook.Pending || got.Attempts != 1 {
			q.Errorf("a result was recorded twice: %+v", got)
		}
		again := q.claim(1, later).Deliveries[0]
		if again.Failures != 1 || string(again.Body) != string(d.Body) {
			q.Errorf("claimed again: %+v", again)
		}
		q.record(d, 200, nil, later) // the claim before
		q.record(again, 204, nil, later)
		q.record(again, 204, nil, later)
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

func TestRecordManyAttempts(t *testing.T) {
	eachQueue(t, 25, func(q *queueTest) {
		q.queue(4, noon)
		claimed := q.claim(4, noon).Deliveries
		if len(claimed) != 100 {
			q.Fatalf("claimed %d", len(claimed))
		}
		results := make([]store.AttemptResult, len(claimed))
		for i, d := range claimed {
			results[i] = store.AttemptResult{ClaimID: d.ClaimID, Attempt: webhook.Attempt{DeliveryID: d.ID, At: noon, HTTPStatus: 200}}
		}
		results[7].ClaimID = store.NewID()
		q.update(func(tx *store.Tx) error { return tx.RecordAttempts(results, noon) })
		pending, oldest, err := q.store.QueueState(q.Context(), noon)
		if pending != 1 || !oldest.IsZero() || err != nil {
			q.Errorf("pending %d since %v, %v, want the one whose claim was not ours", pending, oldest, err)
		}
		if _, oldest, _ := q.store.QueueState(q.Context(), noon.Add(lease)); oldest.IsZero() {
			q.Error("an expired lease is not due")
		}
		n := 0
		q.update(func(tx *store.Tx) (err error) {
			n, err = tx.PruneAttempts(noon.Add(time.Microsecond), 98)
			return err
		})
		if n != 98 {
			q.Errorf("pruned %d of 99 with the limit 98", n)
		}
		q.update(func(tx *store.Tx) (err error) {
			n, err = tx.PruneAttempts(noon, 98)
			return err
		})
		if n != 0 {
			q.Errorf("pruned %d attempts that are not older", n)
		}
	})
}

func TestLease(t *testing.T) {
	eachQueue(t, 1, func(q *queueTest) {
		q.queue(1, noon)
		lost := q.claim(1, noon).Deliveries[0]
		if got := q.claim(1, noon.Add(lease-time.Microsecond)); len(got.Deliveries) != 0 {
			q.Error("claimed under another's lease")
		}
		expired := noon.Add(lease)
		if due := q.heads()[q.endpoints[0].ID]; !due.Equal(expired) {
			q.Errorf("head: %v, want the end of the lease", due)
		}
		taken := q.claim(1, expired)
		if len(taken.Deliveries) != 1 || taken.Deliveries[0].Failures != 0 {
			q.Fatalf("claimed after the lease: %+v", taken)
		}
		q.record(lost, 500, nil, expired)
		q.update(func(tx *store.Tx) error { return tx.ReleaseDelivery(lost.ID, lost.ClaimID, noon) })
		if got := q.claim(1, expired); len(got.Deliveries) != 0 {
			q.Error("who lost the lease could still change the delivery")
		}
		d := taken.Deliveries[0]
		q.update(func(tx *store.Tx) error { return tx.ReleaseDelivery(d.ID, d.ClaimID, expired) })
		if got := q.claim(1, expired); len(got.Deliveries) != 1 {
			q.Error("a released delivery cannot be claimed")
		}
		q.update(func(tx *store.Tx) error {
			n, err := tx.ReleaseAllDeliveries(expired)
			if n != 1 {
				err = errors.Join(err, fmt.Errorf("released %d", n))
			}
			return err
		})
		if got := q.claim(1, expired); len(got.Deliveries) != 1 {
			q.Error("a released delivery cannot be claimed")
		}
		if got := q.delivery(d.ID); got.Attempts != 0 {
			q.Errorf("%d attempts were counted, none was made", got.Attempts)
		}
	})
}

func TestClaimDropsWhatNobodyGets(t *testing.T) {
	eachQueue(t, 2, func(q *queueTest) {
		first := q.queue(2, noon)
		claimed := q.claim(1, noon)
		q.update(func(tx *store.Tx) error { return tx.DeleteEndpoint(q.outbox.Key.ID, q.endpoints[0].ID) })
		for _, d := range claimed.Deliveries {
			q.record(d, 200, nil, noon) // harmless where the delivery is gone
		}
		if _, err := q.store.Delivery(q.Context(), first[0].ID); !errors.Is(err, store.ErrNotFound) {
			q.Errorf("a pending delivery of a deleted endpoint: %v", err)
		}
		q.queue(1, noon) // by a transaction that saw the endpoint and committed late
		if got := q.claim(4, noon); len(got.Deliveries) != 2 || got.Deliveries[0].Endpoint.ID != q.endpoints[1].ID || got.Again[q.endpoints[0].ID] {
			q.Errorf("claimed %+v", got)
		}
		if len(q.heads()) != 1 {
			q.Errorf("heads: %v", q.heads())
		}
		q.update(func(tx *store.Tx) error {
			_, err := tx.RevokeKey(q.outbox.Key.ID, noon)
			return errors.Join(err, tx.DropPendingDeliveriesOfKey(q.outbox.Key.ID))
		})
		q.queue(1, noon)
		if got := q.claim(4, noon); len(got.Deliveries) != 0 || len(q.heads()) != 0 {
			q.Errorf("claimed for a revoked key: %+v, heads %v", got, q.heads())
		}
	})
}

// TestConcurrentClaims has eight senders race: no delivery may go to two.
func TestConcurrentClaims(t *testing.T) {
	eachQueue(t, 5, func(q *queueTest) {
		q.queue(40, noon)
		var mu sync.Mutex
		taken := make(map[string]int)
		var senders sync.WaitGroup
		for range 8 {
			senders.Go(func() {
				for done := false; !done; {
					got := q.claim(3, noon)
					mu.Lock()
					for _, d := range got.Deliveries {
						taken[d.ID]++
					}
					done = len(taken) == 200
					mu.Unlock()
					for _, d := range got.Deliveries {
						q.record(d, 200, nil, noon)
					}
				}
			})
		}
		senders.Wait()
		for id, n := range taken {
			if n != 1 {
				q.Errorf("delivery %s was taken %d times", id, n)
			}
		}
		if len(q.heads()) != 0 {
			q.Errorf("heads: %v", q.heads())
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
		claimed := q.claim(1, noon)
		for _, d := range claimed.Deliveries {
			if err := redeliver(d.ID); !errors.Is(err, store.ErrNotFound) {
				q.Errorf("a pending delivery was sent again: %v", err)
			}
			q.record(d, 500, nil, noon)
		}
		failed, err := q.store.FailedDeliveries(q.Context(), store.DeliveryFilter{AccountID: q.outbox.Account.ID}, noon, "", 10)
		if err != nil || len(failed) != 2 {
			q.Fatalf("failed: %v, %v", failed, err)
		}
		if got, err := q.store.FailedDeliveries(q.Context(), store.DeliveryFilter{}, noon.Add(1), failed[0], 10); err != nil || len(got) != 1 || got[0] != failed[1] {
			q.Errorf("failed after the first: %v, %v", got, err)
		}
		if got, err := q.store.FailedDeliveries(q.Context(), store.DeliveryFilter{}, noon.Add(time.Microsecond), "", 10); err != nil || len(got) != 0 {
			q.Errorf("failed since later: %v, %v", got, err)
		}
		d := claimed.Deliveries[0]
		if err := redeliver(d.ID); err != nil {
			q.Fatal(err)
		}
		again := q.claim(1, noon.Add(time.Hour)).Deliveries
		if len(again) != 1 || again[0].ID != d.ID || again[0].Failures != 0 || string(again[0].Body) != string(d.Body) {
			q.Fatalf("claimed after redelivery: %+v", again)
		}
		q.record(again[0], 200, nil, noon.Add(time.Hour))
		if got := q.delivery(d.ID); got.Attempts != 2 || got.Status != webhook.Delivered {
			q.Errorf("redelivered: %+v", got)
		}
		if err := redeliver(store.NewID()); !errors.Is(err, store.ErrNotFound) {
			q.Errorf("an unknown delivery was sent again: %v", err)
		}
		q.update(func(tx *store.Tx) error { return tx.DeleteEndpoint(q.outbox.Key.ID, d.Endpoint.ID) })
		if err := redeliver(d.ID); !errors.Is(err, store.ErrNotFound) {
			q.Errorf("sent again to a deleted endpoint: %v", err)
		}
	})
}

func TestDeliveries(t *testing.T) {
	eachQueue(t, 3, func(q *queueTest) {
		all := q.queue(2, noon)
		q.endpoints = q.endpoints[:2]
		claimed := q.claim(1, noon).Deliveries
		q.record(claimed[0], 200, nil, noon)
		q.record(claimed[1], 404, nil, noon)
		for name, test := range map[string]struct {
			filter store.DeliveryFilter
			limit  int
			want   int
		}{
			"All":            {store.DeliveryFilter{}, 10, 6},
			"Limit":          {store.DeliveryFilter{}, 4, 4},
			"Account":        {store.DeliveryFilter{AccountID: q.outbox.Account.ID, Environment: "test"}, 10, 6},
			"OtherAccount":   {store.DeliveryFilter{AccountID: store.NewID()}, 10, 0},
			"Environment":    {store.DeliveryFilter{Environment: "live"}, 10, 0},
			"Endpoint":       {store.DeliveryFilter{EndpointID: q.endpoints[1].ID}, 10, 2},
			"Order":          {store.DeliveryFilter{OrderID: store.NewID()}, 10, 0},
			"Pending":        {store.DeliveryFilter{Status: webhook.Pending}, 10, 4},
			"Delivered":      {store.DeliveryFilter{Status: webhook.Delivered}, 10, 1},
			"Failed":         {store.DeliveryFilter{Status: webhook.Failed, AccountID: q.outbox.Account.ID, Environment: "test"}, 10, 1},
			"Before":         {store.DeliveryFilter{Before: all[2].ID}, 10, 2},
			"PendingBefore":  {store.DeliveryFilter{Status: webhook.Pending, EndpointID: q.endpoints[0].ID, Before: store.NewID()}, 10, 1},
			"BeforeTheFirst": {store.DeliveryFilter{Before: all[0].ID}, 10, 0},
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
