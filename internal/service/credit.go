package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/credit"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
)

// AccountTotals returns the balance of a tenant with its counters.
func (s *Service) AccountTotals(
	ctx context.Context, actor access.Actor, t access.Tenant,
) (totals credit.AccountTotals, err error) {
	if err := actor.RequireIn(access.ViewAccount, t.AccountID); err != nil {
		return totals, err
	}
	return s.store.AccountTotals(ctx, t.AccountID, t.Environment)
}

// Balance returns the credits of a tenant.
func (s *Service) Balance(ctx context.Context, tenant access.Tenant) (int64, error) {
	return s.store.Balance(ctx, tenant.AccountID, tenant.Environment)
}

// soloGrantWindow is for how long what an administrator has done alone counts when a second one may be needed: many
// small changes are a large one.
const soloGrantWindow = 24 * time.Hour

// GrantCredits changes a balance by a ledger entry and returns the balance after it. The amount may be negative, the
// balance may not become so. It returns access.ApprovalRequested where a second administrator has to approve.
func (s *Service) GrantCredits(
	ctx context.Context, actor access.Actor, t access.Tenant, amount int64, note string,
) (balance int64, err error) {
	return s.GrantCreditsOnce(ctx, actor, t, uuid7.New(), amount, note)
}

// GrantCreditsOnce is GrantCredits for a form that may be sent twice. Its id becomes that of the ledger entry, or of
// the request for approval: what is there already is not done again.
func (s *Service) GrantCreditsOnce(
	ctx context.Context, actor access.Actor, t access.Tenant, id string, amount int64, note string,
) (balance int64, err error) {
	if err := actor.Require(access.Administer); err != nil {
		return 0, err
	}
	var p fault.Problems
	if amount == 0 || amount > credit.MaxCredits || amount < -credit.MaxCredits {
		p.Add("amount", "range", fmt.Sprintf("must be a whole number other than 0, at most %d", int64(credit.MaxCredits)))
	}
	access.CheckNameField(&p, "note", note)
	if err := p.Err(); err != nil {
		return 0, err
	}
	tooMuch := false
	err = s.store.Update(ctx, func(tx *store.Tx) error {
		if done, err := tx.HasEntry(ctx, id); done || err != nil {
			return cmp.Or(err, store.ErrExists)
		}
		if s.needsApproval(actor) && t.Environment == access.Live {
			if tooMuch, err = s.needsSecond(ctx, tx, actor, t.AccountID, id, amount); tooMuch || err != nil {
				return err
			}
		}
		balance, err = s.grantIn(ctx, tx, actor, t, id, amount, note, "")
		return err
	})
	if errors.Is(err, store.ErrExists) {
		return s.Balance(ctx, t)
	}
	if err != nil || !tooMuch {
		return balance, err
	}
	account, err := s.store.Account(ctx, t.AccountID)
	if err != nil {
		return 0, orNotFound(err, fault.Missing("account"))
	}
	return 0, s.requestApproval(ctx, actor, access.Approval{
		ID: id, Kind: access.ApproveCredits, AccountID: account.ID, TargetID: account.ID, TargetName: account.Name,
		Deed: access.ApprovedDeed{Environment: t.Environment, Amount: amount, Note: note},
	})
}

// needsSecond reports whether a second administrator has to approve a change of a Live balance: it is large, with what
// the first one has done alone lately, or was when it was asked for under the id, and somebody is to decide.
func (s *Service) needsSecond(
	ctx context.Context, tx *store.Tx, actor access.Actor, accountID, id string, amount int64,
) (bool, error) {
	alone, err := s.grantedAlone(ctx, tx, actor, accountID)
	limit := s.limits.FourEyes.Credits
	if err != nil || max(amount, -amount) > limit || max(alone+amount, -alone-amount) > limit {
		return true, err
	}
	_, err = tx.Approval(ctx, id)
	return err == nil, orNotFound(err, nil)
}

// approvalDetail is in the log of what was done after an approval: the id of the request.
const approvalDetail = "approval"

// grantedAlone returns by how much an administrator has changed the Live balance of an account lately without a second
// one. Their row is held, so that of many changes at the same moment each knows the others.
func (s *Service) grantedAlone(
	ctx context.Context, tx *store.Tx, actor access.Actor, accountID string,
) (sum int64, err error) {
	if _, err := lockAdministrator(tx, actor.ID); err != nil {
		return 0, err
	}
	const page = 500
	filter := audit.ActionFilter{
		Code: audit.CreditsGranted, StaffID: actor.ID, AccountID: accountID, From: new(s.now().Add(-soloGrantWindow)),
	}
	for cursor := (audit.ActionCursor{}); ; {
		done, err := tx.StaffActions(ctx, filter, cursor, page)
		if err != nil {
			return 0, err
		}
		for _, a := range done {
			if a.Details["environment"] == string(access.Live) && a.Details[approvalDetail] == nil {
				amount, _ := a.Details["amount"].(float64) // whole and small enough: credit.MaxCredits
				sum += int64(amount)
			}
		}
		if len(done) < page {
			return sum, nil
		}
		cursor = done[page-1].Cursor()
	}
}

// grantIn changes a balance in a transaction by the entry with the id; approval is the id of the request that was
// approved, or empty.
func (s *Service) grantIn(
	ctx context.Context, tx *store.Tx, actor access.Actor, t access.Tenant, id string, amount int64, note, approval string,
) (int64, error) {
	account, err := tx.Account(ctx, t.AccountID)
	if err != nil {
		return 0, orNotFound(err, fault.Missing("account"))
	}
	balance, err := tx.GrantOnce(id, account.ID, t.Environment, amount, note, s.now())
	if err != nil {
		return 0, err
	}
	details := map[string]any{"environment": string(t.Environment), "amount": amount, "balance": balance, "note": note}
	if approval != "" {
		details[approvalDetail] = approval
	}
	return balance, errors.Join(
		s.record(tx, actor, creditsEvent(t, amount)),
		s.recordStaffAction(tx, actor, audit.Action{
			Code: audit.CreditsGranted, AccountID: account.ID, Target: accountTarget(account), Details: details,
		}))
}

// SetLowCredits chooses below which Live balance the owners of the actor's account are told, once each time it falls
// there; 0 is never.
func (s *Service) SetLowCredits(ctx context.Context, actor access.Actor, below int64) error {
	if err := actor.Require(access.ManageAccount); err != nil {
		return err
	}
	if err := checkCredits("below", below); err != nil {
		return err
	}
	return s.store.Update(ctx, func(tx *store.Tx) error {
		id := actor.Tenant.AccountID
		return errors.Join(tx.SetLowCredits(id, access.Live, below),
			s.record(tx, actor, accountEvent(audit.LowCreditsSet, id, map[string]any{"below": below})))
	})
}

// checkCredits checks a field with a number of credits.
func checkCredits(field string, credits int64) error {
	if credits < 0 || credits > credit.MaxCredits {
		rule := fmt.Sprintf("must be a whole number from 0 to %d", int64(credit.MaxCredits))
		return fault.InvalidField(field, "range", rule)
	}
	return nil
}

// creditsEvent is an event about a change of a balance that no order has made.
func creditsEvent(t access.Tenant, amount int64) audit.Event {
	change := map[string]any{"environment": string(t.Environment), "amount": amount}
	return accountEvent(audit.CreditsChanged, t.AccountID, change)
}

// Ledger returns a page of the ledger of a tenant, newest first, and its totals.
func (s *Service) Ledger(
	ctx context.Context, actor access.Actor, t access.Tenant, page, limit int,
) ([]*credit.Entry, credit.AccountTotals, error) {
	if err := actor.RequireIn(access.ViewAccount, t.AccountID); err != nil {
		return nil, credit.AccountTotals{}, err
	}
	return s.store.LedgerPage(ctx, t.AccountID, t.Environment, page, limit)
}

// LedgerChanges returns up to limit grants and refunds of a tenant, newest first, older than the entry with the
// sequence number before, which is 0 for the newest of all.
func (s *Service) LedgerChanges(
	ctx context.Context, actor access.Actor, t access.Tenant, before int64, limit int,
) ([]*credit.Entry, error) {
	if err := actor.RequireIn(access.ViewAccount, t.AccountID); err != nil {
		return nil, err
	}
	if before <= 0 {
		before = 1 << 62
	}
	return s.store.Lists(ctx).LedgerChanges(ctx, t.AccountID, t.Environment, before, limit)
}

// EachLedgerEntry calls f for every entry of a tenant's ledger, newest first, as of now.
func (s *Service) EachLedgerEntry(
	ctx context.Context, actor access.Actor, t access.Tenant, f func(*credit.Entry) error,
) error {
	totals, err := s.AccountTotals(ctx, actor, t)
	if err != nil {
		return err
	}
	for seq := totals.Entries; seq > 0; seq -= exportBatch {
		entries, err := s.store.LedgerBelow(ctx, t.AccountID, t.Environment, seq, exportBatch)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := f(e); err != nil {
				return err
			}
		}
	}
	return nil
}
