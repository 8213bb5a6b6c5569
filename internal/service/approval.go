package service

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/letter"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/service/signin"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
)

// FourEyes is what a second administrator has to approve; the zero value is nothing.
type FourEyes struct {
	On      bool
	Credits int64 // Live credits above which a change needs approval
}

// needsApproval reports whether what an actor does needs another administrator. Operators are at the machine: they
// could change the database itself.
func (s *Service) needsApproval(actor access.Actor) bool {
	return s.limits.FourEyes.On && actor.Kind == access.ByStaff
}

// requestApproval stores a request for approval and tells the other administrators. It returns
// access.ApprovalRequested: nothing else is done yet.
func (s *Service) requestApproval(ctx context.Context, actor access.Actor, a access.Approval) error {
	now := s.now()
	a.ID, a.Status = cmp.Or(a.ID, uuid7.New()), access.ApprovalOpen
	a.RequestedBy, a.Requester, a.RequestedAt, a.ExpiresAt = actor.ID, actor.Name, now, now.Add(access.ApprovalLife)
	err := s.store.Update(ctx, func(tx *store.Tx) error {
		if _, err := lockAdministrator(tx, actor.ID); err != nil {
			return err
		}
		if err := tx.InsertApproval(&a); err != nil {
			return err
		}
		if err := s.notifyAdministrators(tx, actor, &a); err != nil {
			return err
		}
		return s.recordStaffAction(tx, actor, approvalAction(audit.ApprovalRequested, &a))
	})
	if errors.Is(err, store.ErrExists) { // it was asked for already
		err = s.stillOpen(ctx, a.ID)
	}
	if err := s.AfterMail(err); err != nil {
		return err
	}
	return access.ApprovalRequested.With("approval", a.ID)
}

// stillOpen returns access.ApprovalDecided for a request that nobody can decide any more.
func (s *Service) stillOpen(ctx context.Context, id string) error {
	asked, err := s.store.Approval(ctx, id)
	if err != nil {
		return err
	}
	if status := asked.StatusAt(s.now()); status != access.ApprovalOpen {
		return access.ApprovalDecided.With("status", string(status))
	}
	return nil
}

// lockAdministrator returns a staff user who is an active administrator while the transaction runs. Of anybody else it
// says that the role is missing.
func lockAdministrator(tx *store.Tx, id string) (*access.Staff, error) {
	who, err := tx.StaffForUpdate(id)
	if errors.Is(err, store.ErrNotFound) || err == nil && !isAdministrator(who) {
		return nil, access.MissingRole(access.Admin)
	}
	return who, err
}

// notifyAdministrators writes to those who can approve.
func (s *Service) notifyAdministrators(tx *store.Tx, actor access.Actor, a *access.Approval) error {
	if !s.SendsMail() {
		return nil
	}
	all, err := tx.AllStaff(tx.Context())
	if err != nil {
		return err
	}
	mail := letter.RequestApproval(cmp.Or(actor.Origin.Locale, text.English), a.Kind, actor.Name, a.TargetName,
		s.publicURL+"/desk/admin/approvals", access.ApprovalLife)
	for _, who := range all {
		if who.ID == actor.ID || !who.Active() || who.Role != access.Admin {
			continue
		}
		if err := s.PostLetter(tx, "", who.Email, mail, nil); err != nil {
			return err
		}
	}
	return nil
}

func approvalAction(code audit.ActionCode, a *access.Approval) audit.Action {
	details := map[string]any{"kind": string(a.Kind), "for": a.TargetName, "requested_by": a.Requester}
	switch a.Kind {
	case access.ApproveCredits:
		details["environment"], details["amount"] = string(a.Payload.Environment), a.Payload.Amount
		details["note"] = a.Payload.Note
	case access.ApproveRole:
		details["from"], details["to"] = string(a.Payload.From), string(a.Payload.Role)
	case access.ApproveInvitation:
		details["role"] = string(a.Payload.Role)
	case access.ApproveRevocation:
		details["reason"] = a.Payload.Reason
	}
	return audit.Action{
		Code: code, AccountID: a.AccountID, Details: details,
		Target: audit.ActionTarget{Type: audit.ActionTargetApproval, ID: a.ID, Name: a.TargetName},
	}
}

// Approve does what another administrator has asked for, in their name. Both are in the log.
func (s *Service) Approve(ctx context.Context, actor access.Actor, id string) (*access.Approval, error) {
	unusableHash() // not in the transaction: it takes its time
	return s.decide(ctx, actor, id, access.ApprovalApproved, audit.ApprovalApproved,
		func(tx *store.Tx, a *access.Approval) error {
			requester, err := lockAdministrator(tx, a.RequestedBy)
			if fault.KindOf(err) == fault.Forbidden {
				return access.RequesterGone.Because(err)
			}
			if err != nil {
				return err
			}
			return s.performApproved(tx, requester.Actor(access.Origin{}), a)
		})
}

// Refuse ends a request of another administrator.
func (s *Service) Refuse(ctx context.Context, actor access.Actor, id string) (*access.Approval, error) {
	return s.decide(ctx, actor, id, access.ApprovalRefused, audit.ApprovalRefused, nil)
}

// Withdraw ends a request of one's own.
func (s *Service) Withdraw(ctx context.Context, actor access.Actor, id string) (*access.Approval, error) {
	return s.decide(ctx, actor, id, access.ApprovalWithdrawn, audit.ApprovalWithdrawn, nil)
}

// checkDecision refuses to decide a request of one's own, and to withdraw that of somebody else.
func checkDecision(actor access.Actor, a *access.Approval, status access.ApprovalStatus) error {
	switch own := a.RequestedBy == actor.ID; {
	case own && status != access.ApprovalWithdrawn:
		return access.OwnApproval
	case !own && status == access.ApprovalWithdrawn:
		return access.NotYourApproval
	}
	return nil
}

// decide ends an open request, in one transaction with what follows from it, nil: nothing. Only people decide, at the
// pages: a token or the command line is no second pair of eyes.
func (s *Service) decide(
	ctx context.Context, actor access.Actor, id string, status access.ApprovalStatus, code audit.ActionCode,
	follow func(*store.Tx, *access.Approval) error,
) (a *access.Approval, err error) {
	if err := s.requireStaffChange(actor); err != nil {
		return nil, err
	}
	if actor.Kind != access.ByStaff || actor.Token {
		return nil, access.MissingRole(access.Admin)
	}
	id, ok := uuid7.Parse(id)
	if !ok {
		return nil, access.ApprovalNotFound
	}
	err = s.store.Update(ctx, func(tx *store.Tx) error {
		asked, err := tx.Approval(ctx, id)
		if err != nil {
			return store.NotFoundAs(err, access.ApprovalNotFound)
		}
		if err := checkDecision(actor, asked, status); err != nil {
			return err
		}
		involved := []string{actor.ID, asked.RequestedBy}
		if asked.Kind == access.ApproveRole {
			involved = append(involved, asked.TargetID)
		}
		locked, err := lockStaff(tx, involved...)
		if err != nil {
			return err
		}
		if !isAdministrator(locked[actor.ID]) {
			return access.MissingRole(access.Admin)
		}
		if a, err = tx.DecideApproval(id, status, actor.ID, actor.Name, s.now()); err != nil {
			return store.NotFoundAs(err, access.ApprovalDecided)
		}
		if follow != nil {
			if err := follow(tx, a); err != nil {
				return err
			}
		}
		return s.recordStaffAction(tx, actor, approvalAction(code, a))
	})
	s.ForgetSessions()
	if err := s.AfterMail(err); err != nil {
		return nil, err
	}
	return a, nil
}

// performApproved does what was approved. The rules are those of the moment.
func (s *Service) performApproved(tx *store.Tx, by access.Actor, a *access.Approval) error {
	switch d := a.Payload; a.Kind {
	case access.ApproveCredits:
		_, err := s.grantIn(tx, by, grant{
			entryID: a.ID, tenant: access.Tenant{AccountID: a.AccountID, Environment: d.Environment},
			amount: d.Amount, note: d.Note, approvalID: a.ID,
		})
		if errors.Is(err, store.ErrExists) { // it was done without the approval
			return access.ApprovalDecided.Because(err)
		}
		return err
	case access.ApproveRole:
		who, err := tx.StaffForUpdate(a.TargetID)
		if err != nil {
			return store.NotFoundAs(err, access.ApprovalNotFound)
		}
		promoted := who.Role != access.Admin && d.Role == access.Admin
		if err := s.changeRoleIn(tx, by, who, d.Role); err != nil || !promoted {
			return err
		}
		return s.renewCredentials(tx, by, who)
	case access.ApproveInvitation:
		_, err := s.inviteStaffIn(tx, by, d.Email, d.Name, d.Role)
		return err
	case access.ApproveRevocation:
		return s.revokeIn(tx, by, a.TargetID, d.Reason)
	}
	return errors.New("service: unknown kind of approval " + string(a.Kind))
}

// unusableHash is the hash of a password that nobody knows.
var unusableHash = sync.OnceValue(func() string { return access.HashPassword(access.NewPassword()) })

// renewCredentials ends everything that a new administrator could sign in with so far and mails them a link to choose a
// new password: whoever has created them, or reset their password, may know the old one, and would be two people.
func (s *Service) renewCredentials(tx *store.Tx, by access.Actor, who *access.Staff) error {
	if !s.SendsMail() {
		return access.FourEyesMail
	}
	if err := errors.Join(
		tx.SetPassword(access.Desk, who.ID, unusableHash()), tx.DeleteResets(access.Desk, who.ID),
		tx.RevokeStaffToken(who.ID), tx.ForgetDevices(access.Desk, who.ID),
		signin.RemoveFactors(tx, access.Desk, who.ID),
	); err != nil {
		return err
	}
	l := signin.ResetLink(who.Person(), by.ID)
	address, err := s.SignIn(access.Desk).MakeLink(tx, l)
	if err != nil {
		return err
	}
	return s.PostLetter(tx, "", who.Email,
		letter.BecameAdministrator(text.English, who.Email, address, access.ResetLife), l)
}

// endedApprovals is how many decided requests are shown.
const endedApprovals = 50

// Approvals returns the open requests, the oldest first, and the last decided ones.
func (s *Service) Approvals(ctx context.Context, actor access.Actor) (open, ended []*access.Approval, err error) {
	if err := actor.Require(access.Administer); err != nil {
		return nil, nil, err
	}
	return s.store.Approvals(ctx, endedApprovals)
}

// ApprovalsToDecide returns how many requests wait for the actor.
func (s *Service) ApprovalsToDecide(ctx context.Context, actor access.Actor) (int, error) {
	if err := actor.Require(access.Administer); err != nil {
		return 0, err
	}
	n, err := s.store.CountOpenApprovals(ctx, actor.ID, s.now())
	return int(n), err
}

// NeedsFourEyes reports whether a second administrator has to approve some things.
func (s *Service) NeedsFourEyes() bool { return s.limits.FourEyes.On }

// ExpireApprovals ends up to limit requests whose time is over, and returns how many.
func (s *Service) ExpireApprovals(ctx context.Context, limit int) (int, error) {
	now := s.now()
	if some, err := s.store.HasExpiredApprovals(ctx, now); err != nil || !some {
		return 0, err
	}
	var expired []*access.Approval
	err := s.store.Update(ctx, func(tx *store.Tx) (err error) {
		if expired, err = tx.ExpireApprovals(now, limit); err != nil {
			return err
		}
		for _, a := range expired {
			entry := approvalAction(audit.ApprovalExpired, a)
			entry.At, entry.StaffName = now, access.System.Name
			if err := tx.AppendStaffAction(&entry); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return len(expired), nil
}
