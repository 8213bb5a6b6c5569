package service

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/store"
)

// maxDraft bounds what one draft takes in the database, in bytes.
const maxDraft = 32 << 10

// SaveVerdictDraft stores what a reviewer has entered for an order that they may judge. It counts as activity.
func (s *Service) SaveVerdictDraft(ctx context.Context, actor access.Actor, id string, d *order.VerdictDraft) error {
	if err := actor.Require(access.ReviewOrders); err != nil {
		return err
	}
	id, ok := store.ParseID(id)
	if !ok {
		return orderNotFound(actor, store.ErrNotFound)
	}
	draft, err := json.Marshal(d)
	if err != nil {
		return err
	}
	if len(draft) > maxDraft {
		return fault.New(fault.TooLarge, "form-too-large", "The draft is too large.")
	}
	return s.store.Update(ctx, func(tx *store.Tx) error {
		o, err := tx.Order(ctx, id)
		if err != nil {
			return orderNotFound(actor, err)
		}
		if err := checkMove(ctx, tx, o, order.Complete, actor); err != nil {
			return err
		}
		now := s.now()
		if err := tx.TouchClaim(id, actor.ID, now, now.Add(-activityGap)); err != nil {
			return err
		}
		return tx.SaveVerdictDraft(id, actor.ID, string(draft), now)
	})
}

// VerdictDraft returns what a staff user has entered for an order; an empty draft when there is nothing.
func (s *Service) VerdictDraft(ctx context.Context, staffID, orderID string) (*order.VerdictDraft, error) {
	d := new(order.VerdictDraft)
	text, err := s.store.VerdictDraft(ctx, orderID, staffID)
	if errors.Is(err, store.ErrNotFound) {
		return d, nil
	}
	if err != nil {
		return nil, err
	}
	return d, json.Unmarshal([]byte(text), d)
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
