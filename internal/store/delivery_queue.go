package store

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/assayhq/assay/internal/domain/webhook"
)

// enqueue makes a delivery pending; attempts is how many were made before.
func (t *Tx) enqueue(deliveryID, endpointID string, attempts int, due time.Time) error {
	_, err := t.exec("INSERT INTO delivery_queue (delivery_id, endpoint_id, due_at, failures, attempts) VALUES ($1, $2, $3, 0, $4)",
		deliveryID, endpointID, micros(due), attempts)
	return err
}

// QueueHead says when the first row of an endpoint's queue may be taken.
type QueueHead struct {
	EndpointID string
	DueAt      time.Time
}

// queueHeads jumps from endpoint to endpoint in the index: it costs a few steps for each endpoint that has pending
// deliveries, however many they are.
const queueHeads = `WITH RECURSIVE waiting (endpoint_id) AS (
		SELECT MIN(endpoint_id) FROM delivery_queue
		UNION ALL
		SELECT (SELECT MIN(q.endpoint_id) FROM delivery_queue q WHERE q.endpoint_id > waiting.endpoint_id) FROM waiting WHERE waiting.endpoint_id IS NOT NULL)
	SELECT endpoint_id, (SELECT MIN(q.due_at) FROM delivery_queue q WHERE q.endpoint_id = waiting.endpoint_id) FROM waiting WHERE endpoint_id IS NOT NULL`

// QueueHeads returns the head of the queue of each endpoint that has pending deliveries.
func (q Queries) QueueHeads(ctx context.Context) ([]QueueHead, error) {
	var heads []QueueHead
	err := q.rows(ctx, queueHeads, nil, func(scan func(...any) error) error {
		var h QueueHead
		var due int64
		err := scan(&h.EndpointID, &due)
		h.DueAt = timeOf(due)
		heads = append(heads, h)
		return err
	})
	return heads, err
}

// QueueState returns how many deliveries are pending, and since when the first of them could be under way and is not;
// the time is zero when none could.
func (q Queries) QueueState(ctx context.Context, now time.Time) (pending int64, oldest time.Time, err error) {
	var due int64
	err = q.row(ctx, "SELECT COUNT(*), COALESCE(MIN(CASE WHEN due_at <= $1 THEN due_at END), 0) FROM delivery_queue", []any{micros(now)}, &pending, &due)
	if due > 0 {
		oldest = timeOf(due)
	}
	return pending, oldest, err
}

// ClaimRequest says what a sender wants to take from the queues.
type ClaimRequest struct {
	ClaimID    string // fresh for each request
	Now        time.Time
	LeaseUntil time.Time      // when others may take what the sender has not finished
	Wanted     map[string]int // how many deliveries by endpoint
}

// ClaimedDelivery is a delivery that this sender alone may attempt until its lease ends.
type ClaimedDelivery struct {
	ID         string
	ClaimID    string
	LeaseUntil time.Time
	Endpoint   *webhook.Endpoint
	Event      webhook.Event
	Body       []byte
	Failures   int // attempts since it was put into the queue
}

// Claimed is what a sender got.
type Claimed struct {
	Deliveries []*ClaimedDelivery
	// Again names the endpoints of which as much was there as was wanted: there may be more.
	Again map[string]bool
}

// ClaimDeliveries takes deliveries that are due, the longest waiting of each endpoint first, expired leases among them.
// What another sender is taking at this moment is passed over. What is queued for an endpoint that is deleted, or whose
// key is revoked, is dropped.
func (t *Tx) ClaimDeliveries(r ClaimRequest) (Claimed, error) {
	c := Claimed{Again: make(map[string]bool)}
	ids := make([]string, 0, len(r.Wanted))
	for id := range r.Wanted {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	endpoints, err := t.receiving(ids)
	if err != nil {
		return c, err
	}
	for _, id := range ids {
		e := endpoints[id]
		if e == nil {
			if err := t.DropPendingDeliveries(id); err != nil {
				return c, err
			}
			continue
		}
		taken, err := t.take(&r, e, r.Wanted[id])
		if err != nil {
			return c, err
		}
		c.Deliveries = append(c.Deliveries, taken...)
		c.Again[id] = len(taken) == r.Wanted[id]
	}
	return c, t.loadBodies(c.Deliveries)
}

// receiving returns those of the endpoints that get deliveries.
func (t *Tx) receiving(ids []string) (map[string]*webhook.Endpoint, error) {
	receiving := make(map[string]*webhook.Endpoint, len(ids))
	return receiving, inBatches(ids, func(ids []string) error {
		found, err := t.endpoints(t.ctx, "SELECT "+endpointColumns+" FROM webhook_endpoints WHERE id IN "+list(1, len(ids))+`
			AND EXISTS (SELECT 1 FROM api_keys k WHERE k.id = webhook_endpoints.api_key_id AND k.revoked_at IS NULL)`, anys(ids)...)
		for _, e := range found {
			receiving[e.ID] = e
		}
		return err
	})
}

// takeDue claims the first n rows of one endpoint's queue. The number is part of the text, because a plan made for an
// unknown limit may read them all.
func (d *dialect) takeDue(n int) string {
	return `UPDATE delivery_queue SET claim_id = $1, due_at = $2 WHERE delivery_id IN (
		SELECT delivery_id FROM delivery_queue WHERE endpoint_id = $3 AND due_at <= $4 ORDER BY due_at, delivery_id LIMIT ` + strconv.Itoa(n) + d.skipLocked + `)
		RETURNING delivery_id, failures`
}

func (t *Tx) take(r *ClaimRequest, e *webhook.Endpoint, n int) ([]*ClaimedDelivery, error) {
	var taken []*ClaimedDelivery
	err := t.rows(t.ctx, t.d.takeDue(n), []any{r.ClaimID, micros(r.LeaseUntil), e.ID, micros(r.Now)}, func(scan func(...any) error) error {
		d := &ClaimedDelivery{ClaimID: r.ClaimID, LeaseUntil: r.LeaseUntil, Endpoint: e}
		taken = append(taken, d)
		return scan(&d.ID, &d.Failures)
	})
	slices.SortFunc(taken, func(a, b *ClaimedDelivery) int { return cmp.Compare(a.ID, b.ID) }) // the engines return them in any order
	return taken, err
}

func (t *Tx) loadBodies(deliveries []*ClaimedDelivery) error {
	byID := make(map[string]*ClaimedDelivery, len(deliveries))
	ids := make([]string, len(deliveries))
	for i, d := range deliveries {
		byID[d.ID], ids[i] = d, d.ID
	}
	return inBatches(ids, func(ids []string) error {
		return t.rows(t.ctx, "SELECT id, event, body FROM deliveries WHERE id IN "+list(1, len(ids)), anys(ids), func(scan func(...any) error) error {
			var id, event string
			var body []byte
			err := scan(&id, &event, &body)
			byID[id].Event, byID[id].Body = webhook.Event(event), body
			return err
		})
	})
}

// ReleaseDelivery gives a claimed delivery back without an attempt, to be taken at the time or later.
func (t *Tx) ReleaseDelivery(id, claimID string, due time.Time) error {
	_, err := t.exec("UPDATE delivery_queue SET claim_id = NULL, due_at = $1 WHERE delivery_id = $2 AND claim_id = $3", micros(due), id, claimID)
	return err
}

// ReleaseAllDeliveries gives back what every sender has. It is for a sender that knows itself to be the only one and
// has just started: what it finds claimed was cut off by a crash.
func (t *Tx) ReleaseAllDeliveries(now time.Time) (int64, error) {
	return t.exec("UPDATE delivery_queue SET claim_id = NULL, due_at = $1 WHERE claim_id IS NOT NULL", micros(now))
}

// batchSizes are the lengths of lists in statements: few, so that few statements are prepared.
var batchSizes = [...]int{64, 16, 4, 1}

// inBatches calls f for all items in batches of these lengths.
func inBatches[T any](items []T, f func([]T) error) error {
	for _, size := range batchSizes {
		for len(items) >= size {
			if err := f(items[:size]); err != nil {
				return err
			}
			items = items[size:]
		}
	}
	return nil
}

func anys(ids []string) []any {
	args := make([]any, len(ids))
	for i, id := range ids {
		args[i] = id
	}
	return args
}
