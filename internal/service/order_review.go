package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
)

// reviewOrder is moveOrder for staff. It returns the order with its history as it is right after the move.
func (s *Service) reviewOrder(ctx context.Context, actor access.Actor, id string, move moveFunc) (*OrderRecord, error) {
	return s.reviewLocked(ctx, actor, lockOrder(actor, id), move)
}

// reviewLocked is reviewOrder for the order that lock returns.
func (s *Service) reviewLocked(
	ctx context.Context, actor access.Actor, lock lockFunc, move moveFunc,
) (r *OrderRecord, err error) {
	if err := actor.Require(access.ReviewOrders); err != nil {
		return nil, err
	}
	_, err = s.moveLocked(ctx, lock, func(tx *store.Tx, o *order.Order, now time.Time) error {
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
		if err := checkMove(tx, o, move, actor); err != nil {
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
// to who asked: an administrator who asks for another's order takes it over.
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
		o.AssignTo(actor.ID, now)
		codes := make([]string, len(drafts))
		for i := range drafts {
			codes[i] = drafts[i].IndexCode
		}
		return map[string]any{"round": o.Round, "index_codes": codes}, nil
	}
	return s.reviewMove(ctx, actor, id, order.RequestPhotos, "", apply)
}

// CompleteOrder gives the verdict. It is of who gives it: an administrator who judges another's order takes it over.
// The note is for the timeline; the customer does not see it.
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
		if err := o.Judge(v, s.Catalog(), photos, now); err != nil {
			return nil, err
		}
		o.AssignTo(actor.ID, now)
		return details, nil
	}
	return s.reviewMove(ctx, actor, id, order.Complete, note, apply)
}

func checkNote(note string) error {
	if utf8.RuneCountInString(note) > order.MaxNote {
		return fault.InvalidField("note", "max_length", fmt.Sprintf("must be at most %d characters", order.MaxNote))
	}
	return nil
}

func withNote(details map[string]any, note string) map[string]any {
	if note == "" {
		return details
	}
	return withDetail(details, "note", note)
}

// withDetail adds a detail to those of a timeline entry, which may be nil.
func withDetail(details map[string]any, name string, value any) map[string]any {
	if details == nil {
		details = make(map[string]any, 1)
	}
	details[name] = value
	return details
}

// maxDraft bounds what one draft takes in the database, in bytes.
const maxDraft = 32 << 10

// SaveVerdictDraft stores what a reviewer has entered for an order that they may judge, made from a version of their
// draft, and returns the version that it is now. Where another page has stored a later one it refuses with
// order.DraftChanged; a page whose own save was stored and the answer lost goes on from it. It counts as activity.
func (s *Service) SaveVerdictDraft(
	ctx context.Context, actor access.Actor, id string, d *order.VerdictDraft, from int64,
) (version int64, err error) {
	if err := actor.Require(access.ReviewOrders); err != nil {
		return 0, err
	}
	id, ok := uuid7.Parse(id)
	if !ok {
		return 0, orderNotFound(actor, store.ErrNotFound)
	}
	draft, err := json.Marshal(d)
	if err != nil {
		return 0, err
	}
	if len(draft) > maxDraft {
		return 0, fault.New(fault.TooLarge, "form-too-large", "The draft is too large.")
	}
	err = s.store.Update(ctx, func(tx *store.Tx) error {
		o, err := tx.Order(ctx, id)
		if err != nil {
			return orderNotFound(actor, err)
		}
		if err := checkMove(tx, o, order.Complete, actor); err != nil {
			return err
		}
		now := s.now()
		if err := tx.TouchClaim(id, actor.ID, now, now.Add(-s.activityGap())); err != nil {
			return err
		}
		kept, err := draftOf(ctx, tx.Queries, actor.ID, id)
		if err != nil {
			return err
		}
		version = kept.Version
		if version > 0 && kept.Equal(d) {
			return nil // what is stored is what was meant, whichever page did it
		}
		if from != order.LatestDraft && from != version && !d.Page.Follows(kept.Page) {
			return order.DraftChanged.With("version", version)
		}
		stored, err := tx.SaveVerdictDraft(id, actor.ID, string(draft), version, now)
		if err == nil && !stored {
			err = order.DraftChanged.With("version", version+1)
		}
		version++
		return err
	})
	return version, err
}

// VerdictDraft returns what a staff user has entered for an order; an empty draft when there is nothing.
func (s *Service) VerdictDraft(ctx context.Context, staffID, orderID string) (*order.KeptDraft, error) {
	return draftOf(ctx, s.store.Queries, staffID, orderID)
}

func draftOf(ctx context.Context, q store.Queries, staffID, orderID string) (*order.KeptDraft, error) {
	d, err := q.VerdictDraft(ctx, orderID, staffID)
	if errors.Is(err, store.ErrNotFound) {
		return &order.KeptDraft{StaffID: staffID}, nil
	}
	return d, err
}

// ColleaguesDraft returns what others had entered for an order, the latest of them; nil when there is nothing.
func (s *Service) ColleaguesDraft(ctx context.Context, actor access.Actor, orderID string) (*order.KeptDraft, error) {
	if err := actor.Require(access.ReviewOrders); err != nil {
		return nil, err
	}
	d, err := s.store.ColleaguesDraft(ctx, orderID, actor.ID)
	if errors.Is(err, store.ErrNotFound) || err == nil && d.Empty() {
		return nil, nil // there is none
	}
	return d, err
}

// PreviewVerdict returns the order as it would be after a verdict, and changes nothing. It refuses what CompleteOrder
// would refuse.
func (s *Service) PreviewVerdict(
	ctx context.Context, actor access.Actor, id string, v *order.Verdict, note string,
) (*order.Order, error) {
	judge := func(o *order.Order, photos []order.Photo, now time.Time) error {
		if err := checkNote(note); err != nil {
			return err
		}
		return o.Judge(v, s.Catalog(), photos, now)
	}
	return s.previewMove(ctx, actor, id, order.Complete, judge)
}

// PreviewRequest returns the order as it would be after a photo request, and changes nothing. It refuses what
// RequestPhotos would refuse.
func (s *Service) PreviewRequest(
	ctx context.Context, actor access.Actor, id string, drafts []order.RequestDraft,
) (*order.Order, error) {
	request := func(o *order.Order, photos []order.Photo, now time.Time) error {
		return o.Request(drafts, s.Catalog(), s.PhotoIndexes(o), photos, now)
	}
	return s.previewMove(ctx, actor, id, order.RequestPhotos, request)
}

// previewMove makes a move on an order that was read and is not stored.
func (s *Service) previewMove(
	ctx context.Context, actor access.Actor, id string, move order.Move,
	apply func(*order.Order, []order.Photo, time.Time) error,
) (*order.Order, error) {
	o, err := s.readForReview(ctx, actor, id)
	if err != nil {
		return nil, err
	}
	if err := o.CheckMove(move, actor); err != nil {
		return nil, err
	}
	photos, err := s.store.OrderPhotos(ctx, o.ID)
	if err != nil {
		return nil, err
	}
	return o, apply(o, photos, s.now())
}
