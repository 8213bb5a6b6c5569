package store

import (
	"slices"
	"time"
)

// SenderSeen notes that a sender is at work, forgets those not seen since a time, and returns the ids of all in their
// order.
func (t *Tx) SenderSeen(id string, now, since time.Time) ([]string, error) {
	if _, err := t.exec("DELETE FROM delivery_senders WHERE seen_at < $1", micros(since)); err != nil {
		return nil, err
	}
	if _, err := t.exec(`INSERT INTO delivery_senders (id, seen_at)
			VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at`,
		id, micros(now)); err != nil {
		return nil, err
	}
	return t.idList(t.ctx, "SELECT id FROM delivery_senders ORDER BY id", nil)
}

// SenderGone notes that a sender has ended: others may take its queues.
func (t *Tx) SenderGone(id string) error {
	if _, err := t.exec("DELETE FROM delivery_leases WHERE sender_id = $1", id); err != nil {
		return err
	}
	_, err := t.exec("DELETE FROM delivery_senders WHERE id = $1", id)
	return err
}

// LeaseQueues gives a sender the queues of those endpoints that no other sender has, or that it has itself, until a
// time, and returns their ids. The ids have to be sorted: senders that ask at the same time then wait for each other.
func (t *Tx) LeaseQueues(senderID string, endpointIDs []string, now, until time.Time) ([]string, error) {
	var leased []string
	err := inBatches(endpointIDs, func(ids []string) error {
		args := make([]any, 0, 3*len(ids)+1)
		for _, id := range ids {
			args = append(args, id, senderID, micros(until))
		}
		got, err := t.idList(t.ctx,
			"INSERT INTO delivery_leases (endpoint_id, sender_id, lease_until) VALUES "+tuples(len(ids), 3)+`
			ON CONFLICT (endpoint_id) DO UPDATE SET sender_id = excluded.sender_id, lease_until = excluded.lease_until
			WHERE delivery_leases.sender_id = excluded.sender_id OR delivery_leases.lease_until <= `+list(3*len(ids)+1, 1)+
				" RETURNING endpoint_id",
			append(args, micros(now)))
		leased = append(leased, got...)
		return err
	})
	return leased, err
}

// ReturnQueues gives up the queues of endpoints that the sender has.
func (t *Tx) ReturnQueues(senderID string, endpointIDs []string) error {
	return inBatches(endpointIDs, func(ids []string) error {
		_, err := t.exec(
			"DELETE FROM delivery_leases WHERE sender_id = $1 AND endpoint_id IN "+list(2, len(ids)),
			append([]any{senderID}, anys(ids)...)...,
		)
		return err
	})
}

// heldQueues locks the leases on the queues of the results and returns which of them the sender still has. It returns
// nil where there is one sender only, which has them all.
func (t *Tx) heldQueues(senderID string, results []AttemptResult) (map[string]bool, error) {
	if t.d == &sqliteDialect {
		return nil, nil
	}
	held := make(map[string]bool)
	var ids []string
	for i := range results {
		if id := results[i].EndpointID; !held[id] {
			held[id] = true
			ids = append(ids, id)
		}
	}
	clear(held)
	slices.Sort(ids)
	return held, inBatches(ids, func(ids []string) error {
		got, err := t.idList(t.ctx, `SELECT endpoint_id FROM delivery_leases
				WHERE sender_id = $1 AND endpoint_id IN `+list(2, len(ids))+
			" ORDER BY endpoint_id"+t.d.forUpdate, append([]any{senderID}, anys(ids)...))
		for _, id := range got {
			held[id] = true
		}
		return err
	})
}
