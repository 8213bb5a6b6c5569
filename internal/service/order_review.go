package service

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/store"
)

// reviewOrder is moveOrder for staff. It returns the order with its history as it is right after the move.
func (s *Service) reviewOrder(ctx context.Context, actor access.Actor, id string, move moveFunc) (*OrderRecord, error) {
	return s.reviewLocked(ctx, actor, id, lockOrder, move)
}

func (s *Service) reviewLocked(
	ctx context.Context, actor access.Actor, id string, lock lockFunc, move moveFunc,
) (r *OrderRecord, err error) {
	if err := actor.Require(access.ReviewOrders); err != nil {
		return nil, err
	}
	_, err = s.moveLocked(ctx, actor, id, lock, func(tx *store.Tx, o *order.Order, now time.Time) error {
		if err := move(tx, o, now); err != nil {
			return err
		}
		r, err = orderRecord(ctx, tx.Queries, o)
		return err
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// reviewMove is reviewOrder for a move of the state machine. apply makes the move and returns the details of the
// timeline entry; the note is one of them.
func (s *Service) reviewMove(
	ctx context.Context, actor access.Actor, id string, move order.Move, note string,
	apply func(tx *store.Tx, o *order.Order, now time.Time) (map[string]any, error),
) (*OrderRecord, error) {
	return s.reviewOrder(ctx, actor, id, func(tx *store.Tx, o *order.Order, now time.Time) error {
		if err := checkMove(ctx, tx, o, move, actor); err != nil {
			return err
		}
		if err := checkNote(note); err != nil {
			return err
		}
		details, err := apply(tx, o, now)
		if err != nil {
			return err
		}
		return s.saveMove(ctx, tx, o, actor, withNote(details, note))
	})
}

// RequestPhotos asks the customer of an order for photos. The clock stops until they arrive; the order then comes back
// to its assignee.
func (s *Service) RequestPhotos(
	ctx context.Context, actor access.Actor, id string, drafts []order.RequestDraft,
) (*OrderRecord, error) {
	apply := func(tx *store.Tx, o *order.Order, now time.Time) (map[string]any, error) {
		photos, err := tx.OrderPhotos(ctx, o.ID)
		if err != nil {
			return nil, err
		}
		if err := o.Request(drafts, s.Catalog(), s.PhotoIndexes(o), photos, now); err != nil {
			return nil, err
		}
		codes := make([]string, len(drafts))
		for i := range drafts {
			codes[i] = drafts[i].IndexCode
		}
		return map[string]any{"round": o.Round, "index_codes": codes}, nil
	}
	return s.reviewMove(ctx, actor, id, order.RequestPhotos, "", apply)
}

// CompleteOrder gives the verdict. The note is for the timeline; the customer does not see it.
func (s *Service) CompleteOrder(
	ctx context.Context, actor access.Actor, id string, v *order.Verdict, note string,
) (*OrderRecord, error) {
	apply := func(tx *store.Tx, o *order.Order, now time.Time) (map[string]any, error) {
		photos, err := tx.OrderPhotos(ctx, o.ID)
		if err != nil {
			return nil, err
		}
		details := make(map[string]any)
		if len(v.ReasonCodes) > 0 {
			details["reason_codes"] = v.ReasonCodes
		}
		if v.ReasonText != (text.Text{}) {
			details["reason_text"] = v.ReasonText
		}
		if len(v.IndexCodes) > 0 {
			details["index_codes"] = v.IndexCodes
		}
		return details, o.Judge(v, s.Catalog(), photos, now)
	}
	return s.reviewMove(ctx, actor, id, order.Complete, note, apply)
}

func checkNote(note string) error {
	if utf8.RuneCountInString(note) > order.MaxNote {
		return fault.Validation(fault.Problem{
			Field: "note", Code: "max_length", Message: fmt.Sprintf("must be at most %d characters", order.MaxNote),
		})
	}
	return nil
}

func withNote(details map[string]any, note string) map[string]any {
	if note == "" {
		return details
	}
	return with(details, "note", note)
}

// with adds a detail to those of a timeline entry, which may be nil.
func with(details map[string]any, name string, value any) map[string]any {
	if details == nil {
		details = make(map[string]any, 1)
	}
	details[name] = value
	return details
}
