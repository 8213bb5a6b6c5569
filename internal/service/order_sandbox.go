package service

import (
	"context"
	"errors"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/store"
)

// CreateTestOrder creates a Test order as one of the account's Test keys would, and returns its id.
func (s *Service) CreateTestOrder(
	ctx context.Context, actor access.Actor, keyID string, d *order.Draft,
) (id string, err error) {
	if err := actor.Require(access.ManageOrders); err != nil {
		return "", err
	}
	k, err := s.usableTestKey(ctx, actor, keyID)
	if err != nil {
		return "", err
	}
	created, err := s.CreateOrder(ctx, k.Actor(actor.Origin), d, nil)
	if err != nil {
		return "", err
	}
	// Orders are written many at a time, for programs: that a person has made this one is written down after it.
	return created.OrderID, s.store.Update(ctx, func(tx *store.Tx) error {
		return s.record(tx, actor, eventOn(k.AccountID, audit.OrderCreated, audit.TargetOrder, created.OrderID,
			map[string]any{"environment": string(access.Test)}))
	})
}

// usableTestKey returns a Test key of the account that is in force.
func (s *Service) usableTestKey(ctx context.Context, actor access.Actor, id string) (*access.Key, error) {
	k, err := byID(ctx, id, s.store.Key, access.KeyNotFound)
	tenant := access.Tenant{AccountID: actor.Tenant.AccountID, Environment: access.Test}
	if err == nil && (k.Tenant != tenant || !k.UsableAt(s.now())) {
		return nil, access.KeyNotFound
	}
	return k, err
}

// SimulateState puts a Test order into a state, whatever its state was, and sends the webhooks that belong to it.
// indexCodes are what a photo request asks for; without any it asks for what a simulated one does. It returns the order
// as it is after.
func (s *Service) SimulateState(
	ctx context.Context, actor access.Actor, id string, to order.SandboxState, indexCodes []string,
) (*order.Order, error) {
	return s.simulate(ctx, actor, id, func(tx *store.Tx, o *order.Order, now time.Time) error {
		photos, err := tx.OrderPhotos(ctx, o.ID)
		if err != nil {
			return err
		}
		drafts := s.requestDrafts(indexCodes)
		if err := o.SimulateState(to, drafts, s.Catalog(), s.PhotoIndexes(o), photos, now); err != nil {
			return err
		}
		return errors.Join(s.saveMove(ctx, tx, o, actor, nil),
			s.record(tx, actor, orderEvent(audit.OrderSimulated, o, map[string]any{"state": string(to)})))
	})
}

// SimulateDelay sets whether a Test order counts as late. It changes neither status nor outcome and sends no webhook.
func (s *Service) SimulateDelay(ctx context.Context, actor access.Actor, id string, late bool) error {
	_, err := s.simulate(ctx, actor, id, func(tx *store.Tx, o *order.Order, now time.Time) error {
		if o.MarkedLate == late {
			return nil
		}
		o.MarkedLate, o.UpdatedAt = late, now
		event := order.EventMarkedDelayed
		if !late {
			event = order.EventMarkedPunctual
		}
		return errors.Join(
			tx.UpdateOrder(o),
			tx.AppendTimeline(o.ID, &order.TimelineEntry{At: now, Event: event, Actor: actor}),
			s.record(tx, actor, orderEvent(audit.OrderSimulated, o, map[string]any{"state": event})),
		)
	})
	return err
}

// simulate is moveOrder for the sandbox: in Test only. A key stays in its environment, where it learns that an order is
// a Live one.
func (s *Service) simulate(ctx context.Context, actor access.Actor, id string, move moveFunc) (*order.Order, error) {
	if err := actor.Require(access.ManageOrders); err != nil {
		return nil, err
	}
	if actor.Kind != access.ByAPIKey {
		actor.Tenant.Environment = access.Test
	}
	return s.moveOrder(ctx, actor, id, func(tx *store.Tx, o *order.Order, now time.Time) error {
		if o.Environment != access.Test {
			return order.NotATestOrder
		}
		return move(tx, o, now)
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

// SetTestBalance sets the Test balance of the account, by a ledger entry of the difference.
func (s *Service) SetTestBalance(ctx context.Context, actor access.Actor, credits int64) error {
	if err := actor.Require(access.ManageOrders); err != nil {
		return err
	}
	if err := checkCredits("credits", credits); err != nil {
		return err
	}
	return s.store.Update(ctx, func(tx *store.Tx) error {
		t := access.Tenant{AccountID: actor.Tenant.AccountID, Environment: access.Test}
		current, err := tx.BalanceForUpdate(t)
		change := credits - current
		if err != nil || change == 0 {
			return err
		}
		if _, err = tx.Grant(t, change, "set in the portal by "+actor.Name, s.now()); err != nil {
			return err
		}
		return s.record(tx, actor, creditsEvent(t, change))
	})
}
