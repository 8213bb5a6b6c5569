package service

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/letter"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/service/signin"
	"github.com/assayhq/assay/internal/store"
)

// Invite makes a link with which somebody joins the actor's account, in place of invitations that the email has there,
// and mails it; without a mail server, the address is returned to be handed over.
func (s *Service) Invite(
	ctx context.Context, actor access.Actor, email string, role access.Role,
) (address string, err error) {
	if err := actor.Require(access.ManageTeam); err != nil {
		return "", err
	}
	if err := actor.RequireConfirmed(s.now()); err != nil {
		return "", err
	}
	if !slices.Contains(access.Roles, role) {
		return "", errUnknownRole
	}
	email, err = access.NormalizeEmail(email)
	if err != nil {
		return "", signin.NoEmail
	}
	if err := s.SignIn(access.Portal).CountMailedLink(ctx, actor, email); err != nil {
		return "", err
	}
	accountID := actor.Tenant.AccountID
	err = s.store.Update(ctx, func(tx *store.Tx) error {
		u, err := tx.UserByEmail(ctx, email)
		if err == nil && u.AccountID == accountID {
			return AlreadyMember
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		account, err := tx.Account(ctx, accountID)
		if err != nil {
			return err
		}
		if err := tx.DeleteInvitationsTo(access.Portal, accountID, email); err != nil {
			return err
		}
		l := &access.Link{
			Kind: access.Invitation, AccountID: accountID, Email: email, Role: string(role), CreatedBy: actor.ID,
		}
		if address, err = s.SignIn(access.Portal).MakeLink(tx, l); err != nil {
			return err
		}
		mail := letter.Invite(account.Locale, account.Name, role, actor.Name, address, access.InvitationLife)
		return errors.Join(
			s.PostLetter(tx, accountID, email, mail, l), s.record(tx, actor, invitationEvent(audit.UserInvited, l)),
		)
	})
	return s.unlessMailed(address), s.AfterMail(err)
}

// invitationEvent is an event about an invitation to an account.
func invitationEvent(code audit.Code, l *access.Link) audit.Event {
	return eventOn(l.AccountID, code, audit.TargetInvitation, l.ID, map[string]any{"email": l.Email, "role": l.Role})
}

// InviteAgain replaces an open invitation by another link for the same email and role. It returns what Invite does, and
// the email.
func (s *Service) InviteAgain(ctx context.Context, actor access.Actor, id string) (email, address string, err error) {
	if err := actor.Require(access.ManageTeam); err != nil {
		return "", "", err
	}
	l, err := s.openInvitation(ctx, access.Portal, actor.Tenant.AccountID, id)
	if err != nil {
		return "", "", err
	}
	address, err = s.Invite(ctx, actor, l.Email, access.Role(l.Role))
	return l.Email, address, err
}

func (s *Service) openInvitation(ctx context.Context, a access.Audience, accountID, id string) (*access.Link, error) {
	open, err := s.store.Invitations(ctx, a, accountID, s.now())
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(open, func(l *access.Link) bool { return l.ID == id })
	if at < 0 {
		return nil, signin.LinkUnusable
	}
	return open[at], nil
}

// invitationEnded is the refusal to withdraw an invitation that was accepted, or has expired.
var invitationEnded = fault.New(fault.Conflict, "invitation-ended", "The invitation is no longer open.")

// Uninvite withdraws an invitation.
func (s *Service) Uninvite(ctx context.Context, actor access.Actor, id string) error {
	if err := actor.Require(access.ManageTeam); err != nil {
		return err
	}
	accountID := actor.Tenant.AccountID
	err := s.withdrawInvitation(ctx, access.Portal, accountID, id, func(tx *store.Tx, l *access.Link) error {
		return s.record(tx, actor, invitationEvent(audit.UserUninvited, l))
	})
	if errors.Is(err, signin.LinkUnusable) {
		had, err := s.store.HasInvitation(ctx, access.Portal, accountID, id)
		if err != nil {
			return err
		}
		if had {
			return invitationEnded
		}
	}
	return err
}

// withdrawInvitation deletes an open invitation, and calls record in the same transaction.
func (s *Service) withdrawInvitation(
	ctx context.Context, a access.Audience, accountID, id string, record func(*store.Tx, *access.Link) error,
) error {
	l, err := s.openInvitation(ctx, a, accountID, id)
	if err != nil {
		return err
	}
	err = s.store.Update(ctx, func(tx *store.Tx) error {
		if err := tx.DeleteInvitation(a, accountID, l.ID); err != nil {
			return err
		}
		return record(tx, l)
	})
	return store.NotFoundAs(err, signin.LinkUnusable)
}

// unlessMailed is the address of a link that has to be handed over: none when it is sent by mail.
func (s *Service) unlessMailed(address string) string {
	if s.SendsMail() {
		return ""
	}
	return address
}

// InviteStaff makes a link with which somebody becomes a staff user, in place of invitations that the email has, and
// mails it; without a mail server, the address is returned to be handed over.
func (s *Service) InviteStaff(
	ctx context.Context, actor access.Actor, email, name string, role access.StaffRole,
) (address string, err error) {
	if err := s.requireStaffChange(actor); err != nil {
		return "", err
	}
	email, err = CheckNewStaff(email, name, role)
	if err != nil {
		return "", err
	}
	if s.needsApproval(actor) && role == access.Admin {
		return "", s.requestInvitation(ctx, actor, email, name, role)
	}
	err = s.store.Update(ctx, func(tx *store.Tx) error {
		address, err = s.inviteStaffIn(tx, actor, email, name, role)
		return err
	})
	return s.unlessMailed(address), s.AfterMail(err)
}

// requestInvitation asks another administrator to approve the invitation of a further one. The link is mailed: whoever
// it passed could use it themselves.
func (s *Service) requestInvitation(
	ctx context.Context, actor access.Actor, email, name string, role access.StaffRole,
) error {
	if !s.SendsMail() {
		return access.FourEyesMail
	}
	if _, err := s.store.StaffByEmail(ctx, email); err == nil {
		return staffEmailTaken
	} else if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return s.requestApproval(ctx, actor, access.Approval{
		Kind: access.ApproveInvitation, TargetName: name + " <" + email + ">",
		Payload: access.ApprovalPayload{Email: email, Name: name, Role: role},
	})
}

// inviteStaffIn makes and mails an invitation in a transaction, and returns its address.
func (s *Service) inviteStaffIn(
	tx *store.Tx, actor access.Actor, email, name string, role access.StaffRole,
) (address string, err error) {
	if _, err := tx.StaffByEmail(tx.Context(), email); err == nil {
		return "", staffEmailTaken
	} else if !errors.Is(err, store.ErrNotFound) {
		return "", err
	}
	if err := tx.DeleteInvitationsTo(access.Desk, "", email); err != nil {
		return "", err
	}
	l := &access.Link{Kind: access.Invitation, Email: email, Name: name, Role: string(role), CreatedBy: actor.ID}
	if address, err = s.SignIn(access.Desk).MakeLink(tx, l); err != nil {
		return "", err
	}
	mail := letter.InviteStaff(cmp.Or(actor.Origin.Locale, text.English), role, actor.Name, address, access.InvitationLife)
	return address, errors.Join(
		s.PostLetter(tx, "", email, mail, l), s.recordStaffAction(tx, actor, invitationAction(audit.StaffInvited, l)),
	)
}

func invitationAction(code audit.ActionCode, l *access.Link) audit.Action {
	return audit.Action{
		Code: code, Target: audit.ActionTarget{Type: audit.ActionTargetStaff, ID: l.ID, Name: l.Email},
		Details: map[string]any{"role": l.Role},
	}
}

// StaffInvitations returns the invitations of staff that are open, the newest first.
func (s *Service) StaffInvitations(ctx context.Context, actor access.Actor) ([]*access.Link, error) {
	if err := actor.Require(access.Administer); err != nil {
		return nil, err
	}
	return s.store.Invitations(ctx, access.Desk, "", s.now())
}

// InviteStaffAgain replaces an open invitation by another link for the same person. It returns what InviteStaff does,
// and the email.
func (s *Service) InviteStaffAgain(ctx context.Context, actor access.Actor, id string) (email, address string,
	err error,
) {
	if err := actor.Require(access.Administer); err != nil {
		return "", "", err
	}
	l, err := s.openInvitation(ctx, access.Desk, "", id)
	if err != nil {
		return "", "", err
	}
	address, err = s.InviteStaff(ctx, actor, l.Email, l.Name, access.StaffRole(l.Role))
	return l.Email, address, err
}

// UninviteStaff withdraws an invitation of staff.
func (s *Service) UninviteStaff(ctx context.Context, actor access.Actor, id string) error {
	if err := actor.Require(access.Administer); err != nil {
		return err
	}
	return s.withdrawInvitation(ctx, access.Desk, "", id, func(tx *store.Tx, l *access.Link) error {
		return s.recordStaffAction(tx, actor, invitationAction(audit.StaffUninvited, l))
	})
}
