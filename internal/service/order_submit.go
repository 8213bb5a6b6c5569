package service

import (
	"context"
	"errors"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/store"
)

// SubmitPhotos answers the photo request of an order completely or not at all, and returns the order's id. Of two
// submissions at the same time, the database accepts one; the other finds the order no longer waiting.
func (s *Service) SubmitPhotos(
	ctx context.Context, actor access.Actor, id string, sub *order.Submission,
) (orderID string, err error) {
	if err := actor.Require(access.ManageOrders); err != nil {
		return "", err
	}
	if err := checkNote(sub.Note); err != nil {
		return "", err
	}
	return s.submitPhotos(ctx, actor, id, func(*store.Tx, *order.Order, time.Time) (*order.Submission, error) {
		return sub, nil
	})
}

// submitPhotos answers the photo request of an order with what read returns inside the transaction.
func (s *Service) submitPhotos(
	ctx context.Context, actor access.Actor, id string,
	read func(*store.Tx, *order.Order, time.Time) (*order.Submission, error),
) (orderID string, err error) {
	var checked *checkedSubmission
	o, err := s.moveOrder(ctx, actor, id, func(tx *store.Tx, o *order.Order, now time.Time) error {
		sub, err := read(tx, o, now)
		if err != nil {
			return err
		}
		if checked, err = s.checkSubmission(tx, o, sub); err != nil {
			return err
		}
		return s.acceptSubmission(ctx, tx, actor, o, checked, now)
	})
	if err != nil {
		return "", err
	}
	if names := photoNames(checked.photos); o.Environment == access.Live && len(names) > 0 {
		s.onPhotos(o.AccountID, names)
	}
	return o.ID, nil
}

// checkedSubmission is a submission that breaks no rule, with its photos.
type checkedSubmission struct {
	*order.Submission
	photos []order.Photo
}

// checkSubmission checks the photo-update rules in the order that integrators are told, and marks the photos as used.
func (s *Service) checkSubmission(tx *store.Tx, o *order.Order, sub *order.Submission) (*checkedSubmission, error) {
	if o.Status != order.UpdatePhotos {
		return nil, order.NotAwaitingPhotos(o.Status)
	}
	if err := sub.CheckEntries(o.Requested); err != nil {
		return nil, err
	}
	photos := make([]order.Photo, len(sub.Entries))
	for i, e := range sub.Entries {
		photos[i] = order.Photo{IndexCode: e.IndexCode, Round: o.Round}
		if e.URL == nil {
			continue
		}
		name, ok := s.mediaURLs.Parse(*e.URL)
		if !ok {
			return nil, photo.Unsupported(photoField(i), *e.URL)
		}
		photos[i].Name = name
	}
	if names := photoNames(photos); len(names) > 0 {
		if o.Environment == access.Test { // its result counts on this row, which creations lock before photos
			if _, err := tx.BalanceForUpdate(o.Tenant()); err != nil {
				return nil, err
			}
		}
		known, err := tx.UsePhotos(o.Tenant(), names)
		if err != nil {
			return nil, err
		}
		if err := checkKnownPhotos(photos, known); err != nil {
			return nil, err
		}
	}
	if err := sub.CheckCounts(o.Requested); err != nil {
		return nil, err
	}
	return &checkedSubmission{sub, photos}, nil
}

func (s *Service) acceptSubmission(
	ctx context.Context, tx *store.Tx, actor access.Actor, o *order.Order, sub *checkedSubmission, now time.Time,
) error {
	round := o.Round
	if err := tx.InsertOrderPhotos(o.ID, round, sub.photos); err != nil {
		return err
	}
	if sub.Note != "" {
		if err := tx.InsertOrderNote(o.ID, order.Note{Round: round, Note: sub.Note, CreatedAt: now}); err != nil {
			return err
		}
	}
	details := submissionDetails(round, sub.photos)
	entry := &order.TimelineEntry{At: now, Event: order.EventPhotosSubmitted, Actor: actor, Details: details}
	if err := tx.AppendTimeline(o.ID, entry); err != nil {
		return err
	}
	if err := o.Apply(order.SubmitPhotos, now); err != nil {
		return err
	}
	var err error
	if o.Environment == access.Test {
		err = s.simulateAfterSubmission(ctx, tx, o, sub.Submission, now)
	} else {
		err = s.returnToReviewer(ctx, tx, o, now)
	}
	if err != nil || actor.Kind != access.ByUser { // what programs send is in the timeline
		return err
	}
	return s.record(tx, actor, orderEvent(audit.OrderPhotos, o, details))
}

// returnToReviewer gives a Live order whose photos have arrived back to the reviewer who asked, with a fresh claim, or
// to the queue if that reviewer has left.
func (s *Service) returnToReviewer(ctx context.Context, tx *store.Tx, o *order.Order, now time.Time) error {
	reviewer, err := tx.StaffForUpdate(o.AssigneeID)
	switch {
	case err == nil && reviewer.Active():
		o.AssignTo(reviewer.ID, now)
		return tx.UpdateOrder(o)
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return err
	}
	return s.release(ctx, tx, o, "the reviewer who asked is gone", now)
}

// simulateAfterSubmission brings a Test order to the state that follows its submission.
func (s *Service) simulateAfterSubmission(
	ctx context.Context, tx *store.Tx, o *order.Order, sub *order.Submission, now time.Time,
) error {
	all, err := tx.OrderPhotos(ctx, o.ID)
	if err != nil {
		return err
	}
	o.Simulate(order.AfterSubmission(sub), s.Catalog(), s.PhotoIndexes(o), all, now)
	return s.saveMove(ctx, tx, o, access.System, nil)
}

// submissionDetails says which round was answered, and which indexes could not be provided.
func submissionDetails(round int, photos []order.Photo) map[string]any {
	details := map[string]any{"round": round}
	var unavailable []string
	for _, p := range photos {
		if p.Name == "" {
			unavailable = append(unavailable, p.IndexCode)
		}
	}
	if unavailable != nil {
		details["unavailable_index_codes"] = unavailable
	}
	return details
}
