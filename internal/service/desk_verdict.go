package service

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/store"
)

// RequestPhotos asks the customer of an order for photos. The clock stands still until they arrive; the order then comes
// back to its assignee.
func (s *Service) RequestPhotos(ctx context.Context, who *access.Staff, id string, drafts []order.RequestDraft) (*DeskOrder, error) {
	return s.atDesk(ctx, id, func(ctx context.Context, tx *store.Tx, o *order.Order, now time.Time) error {
		if err := checkMove(ctx, tx, o, order.RequestPhotos, who); err != nil {
			return err
		}
		photos, err := tx.OrderPhotos(ctx, o.ID)
		if err != nil {
			return err
		}
		snap := s.Catalog()
		if err := o.Request(drafts, snap, snap.PhotoIndexes(contextOf(o)), photos, now); err != nil {
			return err
		}
		codes := make([]string, len(drafts))
		for i := range drafts {
			codes[i] = drafts[i].IndexCode
		}
		return s.storeMove(tx, o, staffActor(who), map[string]any{"round": o.Round, "index_codes": codes})
	})
}

// CompleteOrder gives the verdict. The note is for the timeline; the customer does not see it.
func (s *Service) CompleteOrder(ctx context.Context, who *access.Staff, id string, v *order.Verdict, note string) (*DeskOrder, error) {
	return s.atDesk(ctx, id, func(ctx context.Context, tx *store.Tx, o *order.Order, now time.Time) error {
		if err := checkMove(ctx, tx, o, order.Complete, who); err != nil {
			return err
		}
		if err := checkNote(note); err != nil {
			return err
		}
		photos, err := tx.OrderPhotos(ctx, o.ID)
		if err != nil {
			return err
		}
		if err := o.Judge(v, s.Catalog(), photos, now); err != nil {
			return err
		}
		details := noteDetails(note)
		if len(v.ReasonCodes) > 0 {
			details["reason_codes"] = v.ReasonCodes
		}
		if v.ReasonText != (text.Text{}) {
			details["reason_text"] = v.ReasonText
		}
		if len(v.IndexCodes) > 0 {
			details["index_codes"] = v.IndexCodes
		}
		return s.storeMove(tx, o, staffActor(who), details)
	})
}

// FailOrder ends an order that cannot be processed and refunds it. The customer gets no event.
func (s *Service) FailOrder(ctx context.Context, who *access.Staff, id, note string) (*DeskOrder, error) {
	return s.atDesk(ctx, id, func(ctx context.Context, tx *store.Tx, o *order.Order, now time.Time) error {
		if err := checkMove(ctx, tx, o, order.Fail, who); err != nil {
			return err
		}
		if err := checkNote(note); err != nil {
			return err
		}
		if err := o.Apply(order.Fail, now); err != nil {
			return err
		}
		return s.storeMove(tx, o, staffActor(who), noteDetails(note))
	})
}

// CancelOrder calls off an order that has not ended and refunds it. Only an administrator may.
func (s *Service) CancelOrder(ctx context.Context, who *access.Staff, id, note string) (*DeskOrder, error) {
	if !who.Allows(access.Admin) {
		return nil, access.MissingRole(access.Admin)
	}
	return s.atDesk(ctx, id, func(ctx context.Context, tx *store.Tx, o *order.Order, now time.Time) error {
		if err := checkMove(ctx, tx, o, order.Cancel, who); err != nil {
			return err
		}
		if err := checkNote(note); err != nil {
			return err
		}
		if err := o.Apply(order.Cancel, now); err != nil {
			return err
		}
		o.Outcome = order.Canceled
		if err := s.storeMove(tx, o, staffActor(who), noteDetails(note)); err != nil {
			return err
		}
		return s.did(byStaff(ctx, who), tx, onOrder(audit.OrderCanceled, o, noteDetails(note)))
	})
}

func checkNote(note string) error {
	if utf8.RuneCountInString(note) > order.MaxNote {
		return fault.Validation(fault.Problem{Field: "note", Code: "max_length", Message: fmt.Sprintf("must be at most %d characters", order.MaxNote)})
	}
	return nil
}

func noteDetails(note string) map[string]any {
	details := make(map[string]any, 3)
	if note != "" {
		details["note"] = note
	}
	return details
}
