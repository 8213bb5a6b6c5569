package service

import (
	"context"
	"errors"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/letter"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/service/signin"
	"github.com/assayhq/assay/internal/store"
)

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
		return "", s.askToInvite(ctx, actor, email, name, role)
	}
	err = s.store.Update(ctx, func(tx *store.Tx) error {
		address, err = s.inviteStaffIn(ctx, tx, actor, email, name, role)
		return err
	})
	return s.handOver(address), s.afterMail(err)
}

// askToInvite asks another administrator to approve the invitation of a further one. The link is mailed: whoever it
// passed could use it themselves.
func (s *Service) askToInvite(
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
	return s.ask(ctx, actor, access.Approval{
		Kind: access.ApproveInvitation, TargetName: name + " <" + email + ">",
		Deed: access.ApprovedDeed{Email: email, Name: name, Role: role},
	})
}

// inviteStaffIn makes and mails an invitation in a transaction, and returns its address.
func (s *Service) inviteStaffIn(
	ctx context.Context, tx *store.Tx, actor access.Actor, email, name string, role access.StaffRole,
) (address string, err error) {
	locale := actor.Origin.Locale
	if locale == "" {
		locale = text.English
	}
	if _, err := tx.StaffByEmail(ctx, email); err == nil {
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
	mail := letter.InviteStaff(locale, role, actor.Name, address, access.InvitationLife)
	if err := s.PostLetter(tx, "", email, mail, l); err != nil {
		return "", err
	}
	return address, s.recordStaffAction(tx, actor, onInvitation(audit.StaffInvited, l))
}

func onInvitation(code audit.ActionCode, l *access.Link) audit.Action {
	return audit.Action{
		Code: code, Target: audit.ActionTarget{Type: audit.OfStaff, ID: l.ID, Name: l.Email},
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
	l, err := s.openInvitation(ctx, access.Desk, "", id)
	if err != nil {
		return err
	}
	err = s.store.Update(ctx, func(tx *store.Tx) error {
		if err := tx.DeleteInvitation(access.Desk, "", l.ID); err != nil {
			return err
		}
		return s.recordStaffAction(tx, actor, onInvitation(audit.StaffUninvited, l))
	})
	if errors.Is(err, store.ErrNotFound) {
		return signin.LinkUnusable
	}
	return err
}
