package history

import (
	"context"
	"net/netip"
	"time"

	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/store"
)

// nowhere resolves every name to an address for documentation: nothing is called while history is made.
type nowhere struct{}

func (nowhere) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("203.0.113.80")}, nil
}

// sender is who made the attempts of the past.
const sender = "demo"

// deliver attempts what is due at every endpoint, as the sender would.
func (p *past) deliver() error {
	for _, s := range append(p.shops, p.sandbox) {
		due, err := p.store.DueDeliveries(p.context, s.endpoint.ID, store.Place{}, p.now, 50)
		if err != nil {
			return err
		}
		if len(due) == 0 {
			continue
		}
		results := make([]store.AttemptResult, len(due))
		for i, d := range due {
			results[i] = p.attempt(s, d)
		}
		if err := p.record(s, results); err != nil {
			return err
		}
	}
	return nil
}

func (p *past) record(s *shop, results []store.AttemptResult) error {
	lease := func(tx *store.Tx) error {
		_, err := tx.LeaseQueues(sender, []string{s.endpoint.ID}, p.now, p.now.Add(time.Minute))
		return err
	}
	if err := p.store.Update(p.context, lease); err != nil {
		return err
	}
	if err := p.store.RecordAttempts(p.context, sender, results); err != nil {
		return err
	}
	return p.store.Update(p.context, func(tx *store.Tx) error {
		return tx.ReturnQueues(sender, []string{s.endpoint.ID})
	})
}

// attempt is how an attempt ended: endpoints answer, but for those that are down.
func (p *past) attempt(s *shop, d *store.QueuedDelivery) store.AttemptResult {
	r := store.AttemptResult{EndpointID: s.endpoint.ID, DueAt: d.DueAt, Row: d.Row, Attempt: webhook.Attempt{
		DeliveryID: d.ID, Number: d.Attempts + 1, At: p.now, HTTPStatus: 204,
		Duration: time.Duration(40+p.random.IntN(260)) * time.Millisecond,
	}}
	switch {
	case p.now.After(s.down[0]) && p.now.Before(s.down[1]):
		r.HTTPStatus, r.Answer = 503, "upstream unavailable"
	case p.random.IntN(60) == 0:
		r.HTTPStatus, r.Failure, r.Duration = 0, webhook.FailureTimeout, 10*time.Second
	default:
		return r
	}
	if delays := webhook.DefaultSchedule().Delays; d.Failures < len(delays) {
		next := p.now.Add(delays[d.Failures])
		r.Next = &next
		p.at(next, func() error { return nil }) // deliver looks again then
	}
	return r
}
