package service

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/credit"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/store"
)

// CreateTestOrder makes a Test order as one of the account's Test keys would, and returns its id. It is for developers.
func (s *Service) CreateTestOrder(ctx context.Context, who *Member, keyID string, d *order.Draft) (id string, err error) {
	if err := who.Require(access.Developer); err != nil {
		return "", err
	}
	k, err := s.usableTestKey(ctx, who, keyID)
	if err != nil {
		return "", err
	}
	answer, err := s.CreateOrder(ctx, k, d, nil)
	if err != nil {
		return "", err
	}
	var receipt struct{ ID string }
	if err := json.Unmarshal(answer, &receipt); err != nil {
		return "", err
	}
	return receipt.ID, nil
}

// usableTestKey returns a Test key of the account that is in force.
func (s *Service) usableTestKey(ctx context.Context, who *Member, id string) (*access.Key, error) {
	k, err := s.Key(ctx, who.Actor(access.Test, Origin{}), id)
	if err != nil {
		return nil, err
	}
	if k.Environment != access.Test || !k.UsableAt(s.now()) {
		return nil, access.KeyNotFound
	}
	return k, nil
}

// MoveTestOrder puts a Test order into a stage, whatever its state, and sends the webhooks that belong to it. indexCodes
// are what a photo request asks for; none: what a simulated one does. It is for developers.
func (s *Service) MoveTestOrder(ctx context.Context, who *Member, id string, to order.Stage, indexCodes []string) error {
	return s.changeOwn(ctx, who, access.Test, id, func(tx *store.Tx, o *order.Order) error {
		photos, err := tx.OrderPhotos(ctx, o.ID)
		if err != nil {
			return err
		}
		snap := s.Catalog()
		if err := o.Rehearse(to, s.requestDrafts(indexCodes), snap, snap.PhotoIndexes(contextOf(o)), photos, s.now()); err != nil {
			return err
		}
		if err := tx.UpdateOrder(o); err != nil {
			return err
		}
		return s.recordOwnMove(tx, o, who)
	})
}

// requestDrafts asks for photos with the first condition and requirement that the catalog has.
func (s *Service) requestDrafts(indexCodes []string) []order.RequestDraft {
	snap := s.Catalog()
	drafts := make([]order.RequestDraft, len(indexCodes))
	for i, code := range indexCodes {
		drafts[i] = order.RequestDraft{IndexCode: code, Comment: "Simulated request: please send another photo."}
		if conditions := snap.Conditions(); len(conditions) > 0 {
			drafts[i].Condition = conditions[0].Code
		}
		if requirements := snap.Requirements(); len(requirements) > 0 {
			drafts[i].Requirements = []string{requirements[0].Code}
		}
	}
	return drafts
}

// MarkTestOrderDelayed sets whether a Test order counts as late. It changes neither status nor outcome and sends no
// webhook. It is for developers.
func (s *Service) MarkTestOrderDelayed(ctx context.Context, who *Member, id string, delayed bool) error {
	return s.changeOwn(ctx, who, access.Test, id, func(tx *store.Tx, o *order.Order) error {
		if o.Delayed == delayed {
			return nil
		}
		o.Delayed, o.UpdatedAt = delayed, s.now()
		if err := tx.UpdateOrder(o); err != nil {
			return err
		}
		event := "marked-delayed"
		if !delayed {
			event = "marked-punctual"
		}
		return tx.AppendTimeline(o.ID, &store.TimelineEntry{At: o.UpdatedAt, Event: event, Actor: userActor(who)})
	})
}

// SetTestBalance makes the Test balance of the account what a developer wants to rehearse with, by a ledger entry of the
// difference. It is for developers.
func (s *Service) SetTestBalance(ctx context.Context, who *Member, credits int64) error {
	if err := who.Require(access.Developer); err != nil {
		return err
	}
	if credits < 0 || credits > credit.MaxCredits {
		return fault.Validation(fault.Problem{
			Field: "credits", Code: "range", Message: "must be a whole number from 0 to " + strconv.FormatInt(credit.MaxCredits, 10),
		})
	}
	return s.Store.Update(ctx, func(tx *store.Tx) error {
		current, err := tx.BalanceForUpdate(who.AccountID, access.Test)
		if err != nil || current == credits {
			return err
		}
		_, err = tx.Grant(who.AccountID, access.Test, credits-current, "set in the portal by "+who.Email, s.now())
		return err
	})
}
