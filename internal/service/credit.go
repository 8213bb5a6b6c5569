package service

import (
	"context"
	"encoding/json"
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
	return s.store.AccountTotals(ctx, t)
}

// Balance returns the credits of a tenant.
func (s *Service) Balance(ctx context.Context, tenant access.Tenant) (int64, error) {
	return s.store.Balance(ctx, tenant)
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

// GrantCreditsOnce is GrantCredits for a form or a command that may be sent twice. Its id becomes that of the ledger
// entry, or of the request for approval: what is there already is not done again. An id of another entry is refused.
func (s *Service) GrantCreditsOnce(
	ctx context.Context, actor access.Actor, t access.Tenant, id string, amount int64, note string,
) (balance int64, err error) {
	if err := actor.Require(access.Administer); err != nil {
		return 0, err
	}
	var p fault.Problems
	if amount == 0 || amount > credit.MaxCredits || amount < -credit.MaxCredits {
		p.Add("amount", "range",
			fmt.Sprintf("must be a whole number from -%[1]d to %[1]d, other than 0", int64(credit.MaxCredits)))
	}
	access.CheckNameField(&p, "note", note)
	if err := p.Err(); err != nil {
		return 0, err
	}
	tooMuch := false
	err = s.store.Update(ctx, func(tx *store.Tx) error {
		if err := checkNotGranted(tx, id, t, amount); err != nil {
			return err
		}
		if s.needsApproval(actor) && t.Environment == access.Live {
			if tooMuch, err = s.needsSecond(tx, actor, t.AccountID, id, amount); tooMuch || err != nil {
				return err
			}
		}
		balance, err = s.grantIn(tx, actor, grant{entryID: id, tenant: t, amount: amount, note: note})
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
		return 0, store.NotFoundAs(err, fault.Missing("account"))
	}
	return 0, s.requestApproval(ctx, actor, access.Approval{
		ID: id, Kind: access.ApproveCredits, AccountID: account.ID, TargetID: account.ID, TargetName: account.Name,
		Payload: access.ApprovalPayload{Environment: t.Environment, Amount: amount, Note: note},
	})
}

// checkNotGranted returns ErrExists where the grant with an id was made, and refuses an id of another entry.
func checkNotGranted(tx *store.Tx, id string, t access.Tenant, amount int64) error {
	made, err := tx.Entry(tx.Context(), id)
	switch {
	case err != nil:
		return store.IgnoreNotFound(err)
	case made.Tenant != t || made.Kind != credit.Grant || made.Amount != amount:
		return fault.InvalidField("id", "used", "belongs to another ledger entry")
	}
	return store.ErrExists
}

// needsSecond reports whether a second administrator has to approve a change of a Live balance: it is large, with what
// the first one has done alone lately, or was when it was asked for under the id, and somebody is to decide.
func (s *Service) needsSecond(tx *store.Tx, actor access.Actor, accountID, id string, amount int64) (bool, error) {
	alone, err := s.grantedAlone(tx, actor, accountID)
	limit := s.limits.FourEyes.Credits
	if err != nil || max(amount, -amount) > limit || max(alone+amount, -alone-amount) > limit {
		return true, err
	}
	_, err = tx.Approval(tx.Context(), id)
	return err == nil, store.IgnoreNotFound(err)
}

// grantDetails are what the log of administration says of a grant. What somebody has granted alone is counted from it.
type grantDetails struct {
	Environment access.Environment `json:"environment"`
	Amount      int64              `json:"amount"`
	Balance     int64              `json:"balance"`
	Note        string             `json:"note"`
	Approval    string             `json:"approval,omitempty"` // id of the request that was approved
}

// details returns what is stored.
func (d *grantDetails) details() (stored map[string]any, err error) {
	text, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	return stored, json.Unmarshal(text, &stored)
}

// readGrant returns what an entry of the log says. One that says nothing has been erased.
func readGrant(a *audit.Action) (d grantDetails, err error) {
	text, err := json.Marshal(a.Details)
	if err != nil {
		return d, err
	}
	if err = json.Unmarshal(text, &d); err == nil && d.Amount == 0 && len(a.Details) > 0 {
		err = errors.New("no amount")
	}
	if err != nil {
		return d, fmt.Errorf("service: details of grant %s: %w", a.ID, err)
	}
	return d, nil
}

// grantedAlone returns by how much an administrator has changed the Live balance of an account lately without a second
// one. Their row is held, so that of many changes at the same moment each knows the others.
func (s *Service) grantedAlone(tx *store.Tx, actor access.Actor, accountID string) (sum int64, err error) {
	if _, err := lockAdministrator(tx, actor.ID); err != nil {
		return 0, err
	}
	const page = 500
	filter := audit.ActionFilter{
		Code: audit.CreditsGranted, StaffID: actor.ID, AccountID: accountID, From: new(s.now().Add(-soloGrantWindow)),
	}
	for cursor := (audit.ActionCursor{}); ; {
		done, err := tx.StaffActions(tx.Context(), filter, cursor, page)
		if err != nil {
			return 0, err
		}
		for _, a := range done {
			grant, err := readGrant(a)
			if err != nil {
				return 0, err
			}
			if grant.Environment == access.Live && grant.Approval == "" {
				sum += grant.Amount
			}
		}
		if len(done) < page {
			return sum, nil
		}
		cursor = done[page-1].Cursor()
	}
}

// grant is a change of a balance by staff or an operator.
type grant struct {
	entryID    string // of the ledger entry
	tenant     access.Tenant
	amount     int64
	note       string
	approvalID string // of the request that was approved; empty: none was needed
}

// grantIn changes a balance in a transaction, and returns the balance after it.
func (s *Service) grantIn(tx *store.Tx, actor access.Actor, g grant) (int64, error) {
	account, err := tx.Account(tx.Context(), g.tenant.AccountID)
	if err != nil {
		return 0, store.NotFoundAs(err, fault.Missing("account"))
	}
	balance, err := tx.GrantOnce(g.entryID, g.tenant, g.amount, g.note, s.now())
	if err != nil {
		return 0, err
	}
	said := grantDetails{
		Environment: g.tenant.Environment, Amount: g.amount, Balance: balance, Note: g.note, Approval: g.approvalID,
	}
	details, err := said.details()
	if err != nil {
		return 0, err
	}
	return balance, errors.Join(
		s.record(tx, actor, creditsEvent(g.tenant, g.amount)),
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
		live := access.Tenant{AccountID: id, Environment: access.Live}
		return errors.Join(tx.SetLowCredits(live, below),
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
	return s.store.LedgerPage(ctx, t, page, limit)
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
	return s.store.Lists(ctx).LedgerChanges(ctx, t, before, limit)
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
		entries, err := s.store.LedgerBelow(ctx, t, seq, exportBatch)
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
