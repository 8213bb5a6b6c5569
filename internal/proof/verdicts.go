package proof

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/domain/certificate"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/statistics"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/store"
)

// verdict checks the outcome of an order against its timeline and its certificate.
func (t *tenant) verdict(o *store.OrderProof) {
	recorded, err := order.DecodeRecorded(o.Facts)
	item := &recorded.Classification
	switch {
	case err != nil || o.Created != nil:
		t.problem(OrderFacts, o.ID, "what was recorded of the order cannot be read")
	case item.CategoryCode != o.CategoryCode || item.BrandCode != o.BrandCode:
		t.problem(OrderFacts, o.ID, "the order is one of %s %s, what was recorded says %s %s", o.CategoryCode, o.BrandCode,
			item.CategoryCode, item.BrandCode)
	}
	if o.Status != order.Completed || t.outcome(o, &recorded, err == nil) {
		t.lastStep(o)
	}
	if o.Outcome != order.Authentic || len(t.CertificateKeys) == 0 {
		return
	}
	if o.Certificate == nil || o.Certificate.OrderID != o.ID {
		t.problem(CertMissing, o.ID, "the order is authentic, and its certificate %q does not exist", o.CertificateID)
		return
	}
	facts, broken := o.Certificate.Verify(t.CertificateKeys)
	switch {
	case broken != nil:
		t.problem(CertChanged, o.CertificateID, "the certificate of order %s was changed: %v", o.ID, broken)
	case facts.OrderNumber != o.Number || facts.Outcome != string(o.Outcome) ||
		facts.Test != (t.balance.Environment == access.Test):
		t.problem(CertChanged, o.CertificateID, "the certificate says %s of order %s, the order is %s, %s",
			facts.Outcome, facts.OrderNumber, o.Number, o.Outcome)
	case err == nil && !certifies(&facts.Item, item):
		t.problem(CertDiffers, o.CertificateID, "the certificate is for %q, order %s is for %q",
			facts.Item.Title(text.English), o.ID, itemOf(item).Title(text.English))
	}
}

// statusAfter are the statuses of Live orders after the steps of a timeline that move them.
var statusAfter = map[string]order.Status{
	"":                         order.Queued,
	order.EventReleased:        order.Queued,
	order.EventClaimed:         order.Processing,
	order.EventReassigned:      order.Processing,
	order.EventPhotosSubmitted: order.Processing,
	order.EventPhotosRequested: order.UpdatePhotos,
	order.EventCompleted:       order.Completed,
	order.EventFailed:          order.Failed,
}

// lastStep compares the status of a Live order with the last step of its timeline.
func (t *tenant) lastStep(o *store.OrderProof) {
	status, known := statusAfter[o.LastStep]
	if known && status != o.Status && t.balance.Environment == access.Live {
		t.problem(TimelineSeq, o.ID, "the order is in %s, the last step of its timeline, %q, leads to %s", o.Status,
			o.LastStep, status)
	}
}

// outcome compares what an order says of its verdict with the last one of its timeline, and reports whether the outcome
// is that. The reasons of a Test order are simulated and not in the timeline.
func (t *tenant) outcome(o *store.OrderProof, recorded *order.Recorded, readable bool) bool {
	var said struct {
		Outcome     order.Outcome `json:"outcome"`
		ReasonCodes []string      `json:"reason_codes"`
		ReasonText  text.Text     `json:"reason_text"`
		IndexCodes  []string      `json:"index_codes"`
	}
	if err := json.Unmarshal([]byte(o.Verdict), &said); err != nil || said.Outcome != o.Outcome {
		t.problem(OrderOutcome, o.ID, "the outcome is %s, its timeline says %q", o.Outcome, said.Outcome)
		return false
	}
	if !readable || t.balance.Environment != access.Live {
		return true
	}
	var codes []string
	var own text.Text
	for _, r := range recorded.Reasons {
		if r.Code == "" {
			own = r.Text
		} else {
			codes = append(codes, r.Code)
		}
	}
	if !slices.Equal(codes, said.ReasonCodes) || own != said.ReasonText ||
		!slices.Equal(recorded.OutcomeIndexes, said.IndexCodes) {
		t.problem(OrderOutcome, o.ID, "the reasons of the outcome are %q %q %q, its timeline says %q %q %q", codes, own.EN,
			recorded.OutcomeIndexes, said.ReasonCodes, said.ReasonText.EN, said.IndexCodes)
	}
	return true
}

// itemOf is what a certificate says of an item.
func itemOf(c *order.Classification) *certificate.Item {
	item := &certificate.Item{
		Category: certificate.Name{Code: c.CategoryCode, Text: c.CategoryName},
		Brand:    certificate.Name{Code: c.BrandCode, Text: c.BrandName},
	}
	if c.ModelName != nil {
		item.Model = &certificate.Name{Code: c.ModelCode, Text: *c.ModelName}
	}
	return item
}

// certifies reports whether a certificate is one of the item of an order.
func certifies(signed *certificate.Item, c *order.Classification) bool {
	item := itemOf(c)
	if signed.Category != item.Category || signed.Brand != item.Brand {
		return false
	}
	if signed.Model == nil || item.Model == nil {
		return signed.Model == item.Model
	}
	return *signed.Model == *item.Model
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

// timelines looks for steps that are missing or cannot be read, and for photos that they speak of and that are missing.
func (c *check) timelines(ctx context.Context, q store.Queries) error {
	if err := q.TimelineGaps(ctx, func(g store.TimelineGap) {
		c.problem(TimelineSeq, g.OrderID, "its timeline has %d steps, the last is %d", g.Steps, g.Last)
	}); err != nil {
		return err
	}
	if err := q.RoundGaps(ctx, func(g store.RoundGap) {
		c.problem(PhotoRow, g.OrderID, "its timeline has %d answers to photo requests, the photos of %d are whole",
			g.Answered, g.Whole)
	}); err != nil {
		return err
	}
	return q.UnreadableSteps(ctx, func(orderID, event string) {
		c.problem(OrderFacts, orderID, "the step %s of its timeline cannot be read", event)
	})
}

// records looks for texts that cannot be read, and in a deep check for wrong totals of photos.
func (c *check) records(ctx context.Context, q store.Queries) error {
	figures := func(text string) error {
		_, err := statistics.ParseFigures(text)
		return err
	}
	if err := q.UnreadableTexts(ctx, c.Deep, figures, func(table, id string, cause error) {
		c.problem(RecordBroken, id, "what is recorded in %s cannot be read: %v", table, cause)
	}); err != nil || !c.Deep {
		return err
	}
	return q.WrongPhotoTotals(ctx, func(p store.PhotoTotalsProof) {
		t := &tenant{check: c, accountID: p.AccountID, balance: store.BalanceProof{Environment: p.Environment}}
		t.problem(PhotoTotals, "", "there are %d photos of %d bytes, the totals say %d of %d", p.Counted.Photos,
			p.Counted.Bytes, p.Kept.Photos, p.Kept.Bytes)
	})
}

// catalog reads the current catalog.
func (c *check) catalog(ctx context.Context, q store.Queries) error {
	document, version, err := q.CatalogDocument(ctx)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := catalog.Parse([]byte(document)); err != nil {
		c.problem(CatalogBroken, strconv.FormatInt(version, 10),
			"the catalog, this row of catalog_versions, cannot be read: %v", err)
	}
	return nil
}

// strayCertificates looks for certificates in force that nothing stands behind, and for revocations that the timeline
// does not know.
func (c *check) strayCertificates(ctx context.Context, q store.Queries) (err error) {
	if c.found.Certificates, err = q.CertificateCount(ctx); err != nil {
		return err
	}
	if err := q.EachRevoked(ctx, func(r store.RevokedProof) {
		var said struct {
			Reason string `json:"reason"`
		}
		switch err := json.Unmarshal([]byte(r.Step), &said); {
		case r.Step == "":
			c.problem(CertRevoked, r.ID, "the certificate is revoked, and the timeline of order %s does not say so", r.OrderID)
		case err != nil || said.Reason != r.Reason:
			c.problem(CertRevoked, r.ID, "the certificate is revoked with the reason %q, the timeline of order %s says %q",
				r.Reason, r.OrderID, said.Reason)
		}
	}); err != nil {
		return err
	}
	return q.StrayCertificates(ctx, func(s store.StrayProof) {
		if s.Revoked {
			c.problem(CertRevoked, s.ID, "the certificate is in force, and the timeline of order %s says it was revoked",
				s.OrderID)
		} else {
			c.problem(CertStray, s.ID, "the certificate is in force, and order %s does not have it", s.OrderID)
		}
	})
}
