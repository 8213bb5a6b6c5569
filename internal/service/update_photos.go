package service

import (
	"context"
	"errors"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/store"
)

// SubmitPhotos answers the photo request of an order as a whole or not at all, and returns the order's id. Of two
// submissions that race, the database lets one in; the other finds the order no longer waiting.
func (s *Service) SubmitPhotos(ctx context.Context, k *access.Key, idOrExternalID string, sub *order.Submission) (string, error) {
	var id string
	var photos []order.Photo
	err := s.Store.Update(ctx, func(tx *store.Tx) error {
		found, err := tx.FindOrder(ctx, k.AccountID, k.Environment, idOrExternalID)
		if err != nil {
			return orderNotFound(err)
		}
		o, err := tx.OrderForUpdate(found.ID)
		if err != nil {
			return err
		}
		id = o.ID
		if photos, err = s.checkSubmission(tx, k, o, sub); err != nil {
			return err
		}
		return s.acceptSubmission(ctx, tx, keyActor(k), o, sub, photos)
	})
	if err == nil {
		s.Outbox()
		s.resubmitted(k.Environment, photos)
	}
	return id, err
}

// resubmitted tells of photos that a reviewer waits for.
func (s *Service) resubmitted(env access.Environment, photos []order.Photo) {
	if names := photoNames(photos); env == access.Live && len(names) > 0 {
		s.Ordered(names)
	}
}

// checkSubmission holds the photo-update rules in the order that integrators are told, and marks the photos as used.
func (s *Service) checkSubmission(tx *store.Tx, k *access.Key, o *order.Order, sub *order.Submission) ([]order.Photo, error) {
	if o.Status != order.UpdatePhotos {
		return nil, order.NotAwaitingPhotos(o.Status)
	}
	if err := sub.CheckEntries(o.Facts.Requested); err != nil {
		return nil, err
	}
	photos := make([]order.Photo, len(sub.Entries))
	for i, e := range sub.Entries {
		photos[i] = order.Photo{IndexCode: e.IndexCode, Round: o.Round}
		if e.URL == nil {
			continue
		}
		name, ok := s.MediaURLs.Parse(*e.URL)
		if !ok {
			return nil, photo.Unsupported(draftField(i), *e.URL)
		}
		photos[i].Name = name
	}
	if names := photoNames(photos); len(names) > 0 {
		known, err := tx.UsePhotos(k.AccountID, k.Environment, names)
		if err != nil {
			return nil, err
		}
		if err := checkKnown(photos, known, draftField); err != nil {
			return nil, err
		}
	}
	return photos, sub.CheckCounts(o.Facts.Requested)
}

func (s *Service) acceptSubmission(ctx context.Context, tx *store.Tx, who order.Actor, o *order.Order, sub *order.Submission, photos []order.Photo) error {
	now := s.now()
	round := o.Round
	if err := tx.InsertOrderPhotos(o.ID, round, photos); err != nil {
		return err
	}
	if sub.Note != "" {
		if err := tx.InsertOrderNote(o.ID, store.Note{Round: round, Note: sub.Note, CreatedAt: now}); err != nil {
			return err
		}
	}
	if err := tx.AppendTimeline(o.ID, &store.TimelineEntry{At: now, Event: "photos-submitted", Actor: who, Details: submissionDetails(round, photos)}); err != nil {
		return err
	}
	if err := o.Apply(order.SubmitPhotos, now); err != nil {
		return err
	}
	if o.Environment == access.Test {
		return s.simulateAfterSubmission(ctx, tx, o, sub, now)
	}
	return s.handBack(ctx, tx, o, now)
}

// handBack gives a Live order whose photos have arrived back to the reviewer who asked, whose time for it begins anew, or
// to the queue if that reviewer is gone.
func (s *Service) handBack(ctx context.Context, tx *store.Tx, o *order.Order, now time.Time) error {
	reviewer, err := tx.StaffForUpdate(o.AssigneeID)
	switch {
	case err == nil && reviewer.Active():
		o.AssignTo(reviewer.ID, now)
		return tx.UpdateOrder(o)
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return err
	}
	details, err := releaseDetails(ctx, tx, o, "the reviewer who asked is gone")
	if err != nil {
		return err
	}
	if err := o.Apply(order.Release, now); err != nil {
		return err
	}
	return s.storeMove(tx, o, order.System, details)
}

// simulateAfterSubmission brings a Test order to the state that follows its submission.
func (s *Service) simulateAfterSubmission(ctx context.Context, tx *store.Tx, o *order.Order, sub *order.Submission, now time.Time) error {
	all, err := tx.OrderPhotos(ctx, o.ID)
	if err != nil {
		return err
	}
	snap := s.Catalog()
	o.Simulate(order.AfterSubmission(sub), snap, snap.PhotoIndexes(contextOf(o)), all, now)
	if err := tx.UpdateOrder(o); err != nil {
		return err
	}
	return s.recordMove(tx, o, order.System, nil)
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
