package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
)

func TestRecordAttempts(t *testing.T) {
	eachQueue(t, 1, func(q *queueTest) {
		q.queue(1, noon)
		e := q.endpoints[0]
		q.lease(sender, noon, noon.Add(time.Hour))
		d := q.due(e, store.Place{}, noon, 1)[0]
		if got := q.outbox.Delivery(d.ID); got.Status != webhook.Pending || got.Attempts != 0 ||
			!got.NextAttemptAt.Equal(noon) {
			q.Errorf("before an attempt: %+v", got)
		}
		later := noon.Add(time.Minute)
		q.record(result(e, d, 500, &later, noon))
		if got := q.outbox.Delivery(d.ID); got.Status != webhook.Pending || got.Attempts != 1 ||
			!got.NextAttemptAt.Equal(later) || !got.FinishedAt.IsZero() {
			q.Errorf("after a failed attempt: %+v", got)
		}
		if got := q.due(e, store.Place{}, later.Add(-time.Microsecond), 1); len(got) != 0 {
			q.Error("due before the time of the next attempt")
		}
		q.record(result(e, d, 500, &later, noon), result(e, d, 200, nil, noon)) // the delivery stands elsewhere
		if got := q.outbox.Delivery(d.ID); got.Status != webhook.Pending || got.Attempts != 1 {
			q.Errorf("a result was recorded twice: %+v", got)
		}
		again := q.due(e, store.Place{}, later, 1)[0]
		if again.Failures != 1 || again.Attempts != 1 || string(again.Body) != string(d.Body) {
			q.Errorf("due again: %+v", again)
		}
		q.record(result(e, again, 204, nil, later))
		q.record(result(e, again, 204, nil, later))
		got := q.outbox.Delivery(d.ID)
		if got.Status != webhook.Delivered || got.Attempts != 2 || !got.FinishedAt.Equal(later) ||
			!got.NextAttemptAt.IsZero() {
			q.Errorf("after an acknowledged attempt: %+v", got)
		}
		attempts, err := q.store.Attempts(q.Context(), d.ID)
		if err != nil || len(attempts) != 2 || attempts[0].Number != 1 || attempts[1].Number != 2 ||
			attempts[1].HTTPStatus != 204 ||
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
			q.outbox.Update(func(tx *store.Tx) (err error) {
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
		d := q.outbox.Delivery(results[1].DeliveryID)
		if d.Status != webhook.Delivered || d.Attempts != 1 {
			q.Errorf("how a delivery ended was forgotten: %+v", d)
		}
		if attempts, err := q.store.Attempts(q.Context(), d.ID); len(attempts) != 0 || err != nil {
			q.Errorf("attempts: %+v, %v", attempts, err)
		}
		q.outbox.Update(func(tx *store.Tx) error { return tx.Redeliver(d.ID, noon) })
		if got := q.outbox.Delivery(d.ID); got.Status != webhook.Pending || got.Attempts != 1 {
			q.Errorf("redelivered: %+v", got)
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
		ofAccount := webhook.DeliveryFilter{Tenant: access.Tenant{AccountID: q.outbox.Account.ID}}
		failed, err := q.store.FailedDeliveries(q.Context(), ofAccount, noon, "", 10)
		if err != nil || len(failed) != 2 {
			q.Fatalf("failed: %v, %v", failed, err)
		}
		if got, err := q.store.FailedDeliveries(q.Context(), webhook.DeliveryFilter{}, noon, failed[0], 10); err != nil ||
			len(got) != 1 || got[0] != failed[1] {
			q.Errorf("failed after the first: %v, %v", got, err)
		}
		if got, err := q.store.FailedDeliveries(q.Context(), webhook.DeliveryFilter{}, noon.Add(time.Microsecond), "",
			10); err != nil || len(got) != 0 {
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
		if got := q.outbox.Delivery(d.ID); got.Status != webhook.Pending || got.Attempts != 1 ||
			!got.NextAttemptAt.Equal(noon.Add(time.Hour)) {
			q.Errorf("redelivered: %+v", got)
		}
		q.record(result(e, d, 200, nil, noon.Add(time.Hour)))
		if got := q.outbox.Delivery(d.ID); got.Attempts != 2 || got.Status != webhook.Delivered {
			q.Errorf("redelivered: %+v", got)
		}
		if err := redeliver(uuid7.New()); !errors.Is(err, store.ErrNotFound) {
			q.Errorf("an unknown delivery was sent again: %v", err)
		}
		q.outbox.Update(func(tx *store.Tx) error { return tx.DeleteEndpoint(q.outbox.Key.ID, e.ID, time.Now()) })
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
			"All":          {webhook.DeliveryFilter{}, 10, 6},
			"Limit":        {webhook.DeliveryFilter{}, 4, 4},
			"Account":      {webhook.DeliveryFilter{Tenant: q.outbox.Key.Tenant}, 10, 6},
			"OtherAccount": {webhook.DeliveryFilter{Tenant: access.Tenant{AccountID: uuid7.New()}}, 10, 0},
			"Environment":  {webhook.DeliveryFilter{Tenant: access.Tenant{Environment: "live"}}, 10, 0},
			"Endpoint":     {webhook.DeliveryFilter{EndpointID: q.endpoints[1].ID}, 10, 2},
			"Order":        {webhook.DeliveryFilter{OrderID: uuid7.New()}, 10, 0},
			"Pending":      {webhook.DeliveryFilter{Status: webhook.Pending}, 10, 4},
			"Delivered":    {webhook.DeliveryFilter{Status: webhook.Delivered}, 10, 1},
			"Failed":       {webhook.DeliveryFilter{Status: webhook.Failed, Tenant: q.outbox.Key.Tenant}, 10, 1},
			"Before":       {webhook.DeliveryFilter{Before: all[2].ID}, 10, 2},
			"PendingBefore": {webhook.DeliveryFilter{
				Status: webhook.Pending, EndpointID: q.endpoints[0].ID,
				Before: uuid7.New(),
			}, 10, 1},
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
