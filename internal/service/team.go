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
	"github.com/assayhq/assay/internal/service/signin"
	"github.com/assayhq/assay/internal/store"
)

// Member is an account user in the portal, with their account.
type Member struct {
	access.User
	Account *access.Account
}

// MemberOfSession returns the member of a session, or access.NoSession when they have left.
func (s *Service) MemberOfSession(ctx context.Context, userID string) (*Member, error) {
	user, err := s.store.User(ctx, userID)
	if err != nil {
		return nil, store.NotFoundAs(err, access.NoSession)
	}
	account, err := s.store.Account(ctx, user.AccountID)
	if err != nil {
		return nil, err
	}
	return &Member{User: *user, Account: account}, nil
}

// Refusals about the users of an account.
var (
	UserNotFound = fault.New(fault.NotFound, fault.CodeNotFound,
		"There is no such user in this account.").With("entity", "user")
	LastOwner     = fault.New(fault.Conflict, "last-owner", "An account needs at least one owner.")
	AlreadyMember = fault.New(fault.Conflict, "already-a-member", "A user with this email is in this account already.")
	OwnFactors    = fault.New(fault.Conflict, "own-second-factor",
		"Your own second factor and passkeys are changed in your settings.")
	OwnPassword    = fault.New(fault.Conflict, "own-password", "Your own password is changed in your settings.")
	errUnknownRole = fault.InvalidField("role", "unknown_code", "must be owner, developer or viewer")
)

// Team returns the users of the actor's account and, to those who may invite, the invitations that are open.
func (s *Service) Team(ctx context.Context, actor access.Actor) ([]*access.User, []*access.Link, error) {
	users, err := s.store.Users(ctx, actor.Tenant.AccountID)
	if err != nil || actor.Require(access.ManageTeam) != nil {
		return users, nil, err
	}
	invitations, err := s.store.Invitations(ctx, access.Portal, actor.Tenant.AccountID, s.now())
	return users, invitations, err
}

// ChangeRole gives a user of the actor's account another role. One owner has to stay.
func (s *Service) ChangeRole(ctx context.Context, actor access.Actor, userID string, role access.Role) error {
	if !slices.Contains(access.Roles, role) {
		return errUnknownRole
	}
	accountID := actor.Tenant.AccountID
	_, err := s.changeUser(ctx, actor, accountID, userID, role != access.Owner, func(tx *store.Tx, u *access.User) error {
		if u.Role == role {
			return nil
		}
		if role != access.Owner { // who may not make links any more
			if err := tx.DeleteLinksBy(userID); err != nil {
				return err
			}
		}
		change := map[string]any{"from": string(u.Role), "to": string(role)}
		return errors.Join(
			tx.SetUserRole(accountID, userID, role), s.record(tx, actor, userEvent(audit.RoleChanged, u, change)),
		)
	})
	return err
}

// RemoveUser takes a user out of the actor's account: their sessions end, and passkeys, second factor, links and open
// invitations of theirs with them. What else they made stays. One owner has to stay.
func (s *Service) RemoveUser(ctx context.Context, actor access.Actor, userID string) error {
	accountID := actor.Tenant.AccountID
	_, err := s.changeUser(ctx, actor, accountID, userID, true, func(tx *store.Tx, u *access.User) error {
		return errors.Join(
			tx.RemoveUser(accountID, userID, s.now()),
			tx.DeleteResets(access.Portal, userID), tx.DeleteLinksBy(userID),
			signin.RemoveFactors(tx, access.Portal, userID),
			s.record(tx, actor, userEvent(audit.UserRemoved, u, map[string]any{"role": string(u.Role)})),
		)
	})
	return err
}

// ResetUserFactors removes the second factor and the passkeys of a user of an account, who has lost them. Their
// sessions end. Their own are removed by themselves, with their password.
func (s *Service) ResetUserFactors(
	ctx context.Context, actor access.Actor, accountID, userID string,
) (*access.User, error) {
	if userID == actor.ID {
		return nil, OwnFactors
	}
	return s.changeUser(ctx, actor, accountID, userID, false, func(tx *store.Tx, u *access.User) error {
		return errors.Join(
			signin.RemoveFactors(tx, access.Portal, userID),
			s.SignIn(access.Portal).Notify(tx, u.Person(), access.Origin{}, letter.FactorOff, nil), // in the account's language
			s.recordReset(tx, actor, u, audit.UserFactorsReset, audit.UserFactorReset),
		)
	})
}

// ResetUserPassword makes a link with which a user of an account chooses a new password, in place of all they have,
// and sends it to them. Account users get the address only without a mail server, to hand it over; those who run the
// service get it in any case. The account's audit log has the change when it is made. It returns signin.TooManyLogins
// where an account user has mailed too many.
func (s *Service) ResetUserPassword(
	ctx context.Context, actor access.Actor, accountID, userID string,
) (user *access.User, address string, err error) {
	if userID == actor.ID && !s.SendsMail() { // the link would stand in for the password
		return nil, "", OwnPassword
	}
	by, name := cmp.Or(actor.ID, "operator"), ""
	if actor.Kind == access.ByUser {
		name = actor.Name
		if err := s.countReset(ctx, actor, accountID, userID); err != nil {
			return nil, "", err
		}
	}
	user, err = s.changeUser(ctx, actor, accountID, userID, false, func(tx *store.Tx, u *access.User) error {
		if err := tx.DeleteResets(access.Portal, u.ID); err != nil {
			return err
		}
		l := signin.ResetLink(u.Person(), by)
		if address, err = s.SignIn(access.Portal).MakeLink(tx, l); err != nil {
			return err
		}
		account, err := tx.Account(ctx, accountID)
		if err != nil {
			return err
		}
		mail := letter.MadeReset(account.Locale, u.Email, name, address, access.ResetLife)
		return errors.Join(s.PostLetter(tx, accountID, u.Email, mail, l),
			s.recordReset(tx, actor, u, audit.UserReset, audit.UserPasswordReset))
	})
	if actor.Kind == access.ByUser {
		address = s.unlessMailed(address)
	}
	return user, address, s.AfterMail(err)
}

// countReset counts a link that a user of the account has mailed to another.
func (s *Service) countReset(ctx context.Context, actor access.Actor, accountID, userID string) error {
	if err := actor.RequireIn(access.ManageTeam, accountID); err != nil {
		return err
	}
	if err := actor.RequireConfirmed(s.now()); err != nil {
		return err
	}
	u, err := s.store.User(ctx, userID)
	if err != nil {
		return store.NotFoundAs(err, UserNotFound)
	}
	if u.AccountID != accountID {
		return UserNotFound
	}
	return s.SignIn(access.Portal).CountMailedLink(ctx, actor, u.Email)
}

// recordReset records what was reset of a user, in the log of the account and in that of administration.
func (s *Service) recordReset(
	tx *store.Tx, actor access.Actor, u *access.User, event audit.Code, action audit.ActionCode,
) error {
	return errors.Join(s.record(tx, actor, userEvent(event, u, nil)),
		s.recordStaffAction(tx, actor, audit.Action{
			Code: action, AccountID: u.AccountID,
			Target: audit.ActionTarget{Type: audit.ActionTargetUser, ID: u.ID, Name: u.Email},
		}))
}

// UserByEmail returns an account user by the email.
func (s *Service) UserByEmail(ctx context.Context, actor access.Actor, email string) (*access.User, error) {
	address, err := access.NormalizeEmail(email)
	if err != nil {
		return nil, fault.BadRequest(err.Error())
	}
	u, err := s.store.UserByEmail(ctx, address)
	if err != nil {
		return nil, store.NotFoundAs(err, UserNotFound)
	}
	return u, actor.RequireIn(access.ManageTeam, u.AccountID)
}

// changeUser makes a change of a user of an account; losesOwner tells that the user is no owner afterwards.
func (s *Service) changeUser(
	ctx context.Context, actor access.Actor, accountID, userID string, losesOwner bool,
	f func(*store.Tx, *access.User) error,
) (*access.User, error) {
	if err := actor.RequireIn(access.ManageTeam, accountID); err != nil {
		return nil, err
	}
	if err := actor.RequireConfirmed(s.now()); err != nil {
		return nil, err
	}
	return changePerson(ctx, s, func(tx *store.Tx) (*access.User, error) {
		if _, err := tx.PersonForUpdate(access.Portal, userID); err != nil { // as in a sign-in, before the account
			return nil, store.NotFoundAs(err, UserNotFound)
		}
		if err := tx.LockTeam(accountID); err != nil {
			return nil, err
		}
		users, err := tx.Users(ctx, accountID)
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(users, func(u *access.User) bool { return u.ID == userID })
		if at < 0 {
			return nil, UserNotFound
		}
		otherOwner := slices.ContainsFunc(users, func(u *access.User) bool {
			return u.Role == access.Owner && u.ID != userID
		})
		if losesOwner && users[at].Role == access.Owner && !otherOwner {
			return nil, LastOwner
		}
		return users[at], nil
	}, f)
}

// changePerson changes an account user or a staff user, whom find has locked, and returns them.
func changePerson[P any](ctx context.Context, s *Service, find func(*store.Tx) (*P, error),
	change func(*store.Tx, *P) error,
) (person *P, err error) {
	err = s.store.Update(ctx, func(tx *store.Tx) (err error) {
		if person, err = find(tx); err != nil {
			return err
		}
		return change(tx, person)
	})
	s.ForgetSessions()
	if err := s.AfterMail(err); err != nil {
		return nil, err
	}
	return person, nil
}
