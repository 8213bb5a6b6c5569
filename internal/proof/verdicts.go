package proof

import (
	"context"
	"encoding/json"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/store"
)

// verdict checks the outcome of an order against its timeline and its certificate.
func (t *tenant) verdict(o *store.OrderProof) {
	if !json.Valid([]byte(o.Facts)) || !json.Valid([]byte(o.Creation)) {
		t.problem(OrderFacts, o.ID, "what was recorded of the order cannot be read")
	}
	if o.Status == order.Completed {
		var said struct {
			Outcome order.Outcome `json:"outcome"`
		}
		if err := json.Unmarshal([]byte(o.Verdict), &said); err != nil || said.Outcome != o.Outcome {
			t.problem(OrderOutcome, o.ID, "the outcome is %s, its timeline says %q", o.Outcome, said.Outcome)
		}
	}
	if o.Outcome != order.Authentic || len(t.CertificateKeys) == 0 {
		return
	}
	if o.Certificate == nil || o.Certificate.OrderID != o.ID {
		t.problem(CertMissing, o.ID, "the order is authentic, and its certificate %q does not exist", o.CertificateID)
		return
	}
	facts, err := o.Certificate.Verify(t.CertificateKeys)
	switch {
	case err != nil:
		t.problem(CertChanged, o.CertificateID, "the certificate of order %s was changed: %v", o.ID, err)
	case facts.OrderNumber != o.Number || facts.Outcome != string(o.Outcome) ||
		facts.Test != (t.balance.Environment == access.Test):
		t.problem(CertChanged, o.CertificateID, "the certificate says %s of order %s, the order is %s, %s",
			facts.Outcome, facts.OrderNumber, o.Number, o.Outcome)
	}
}

// results compares the counters of how Live orders ended with the orders. Test orders can be moved and count again.
func (c *check) results(ctx context.Context, q store.Queries, accountID string) error {
	counted, kept, err := q.LiveResults(ctx, accountID)
	for _, result := range []string{
		string(order.Authentic), string(order.Fake), string(order.UnableToVerify), string(order.Canceled),
		string(order.Failed),
	} {
		if counted[result] != kept[result] {
			t := &tenant{check: c, accountID: accountID, balance: store.BalanceProof{Environment: access.Live}}
			t.problem(OrderResults, "", "%d orders ended as %s, the counters say %d", counted[result], result, kept[result])
		}
	}
	return err
}

// timelines looks for steps that cannot be read.
func (c *check) timelines(ctx context.Context, q store.Queries) error {
	return q.EachStep(ctx, func(orderID, event, details string) {
		if !json.Valid([]byte(details)) {
			c.add(Problem{Kind: OrderFacts, ID: orderID, Message: "the step " + event + " of its timeline cannot be read"})
		}
	})
}

// strayCertificates looks for certificates in force that nothing stands behind.
func (c *check) strayCertificates(ctx context.Context, q store.Queries) (err error) {
	if c.found.Certificates, err = q.CertificateCount(ctx); err != nil {
		return err
	}
	return q.StrayCertificates(ctx, func(id, orderID string, revoked bool) error {
		kind, message := CertStray, "the certificate is in force, and order "+orderID+" does not have it"
		if revoked {
			kind, message = CertRevoked, "the certificate is in force, and the timeline of order "+orderID+" says it was revoked"
		}
		c.add(Problem{Kind: kind, ID: id, Message: message})
		return nil
	})
}
