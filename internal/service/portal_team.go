package service

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/letter"
	"github.com/assayhq/assay/internal/store"
)

// How long links can be used.
const (
	InvitationLife = 7 * 24 * time.Hour
	ResetLife      = 24 * time.Hour
)

// Refusals about the team.
var (
	LinkUnusable   = fault.New(fault.NotFound, fault.CodeNotFound, "This link does not exist, was used before or is too old.").With("entity", "link")
	UserNotFound   = fault.New(fault.NotFound, fault.CodeNotFound, "There is no such user in this account.").With("entity", "user")
	LastOwner      = fault.New(fault.Conflict, "last-owner", "An account needs at least one owner.")
	AlreadyMember  = fault.New(fault.Conflict, "already-a-member", "A user with this email is in this account already.")
	EmailTaken     = fault.New(fault.Conflict, "email-taken", "A user with this email exists already. Sign in, or ask to be invited with another email.")
	OwnFactors     = fault.New(fault.Conflict, "own-second-factor", "Your own second factor and passkeys are changed in your settings.")
	errUnknownRole = fault.Validation(fault.Problem{Field: "role", Code: "unknown_code", Message: "must be owner, developer or viewer"})
)

// OpenInvitation is an invitation that can be used, and what is known of its mail.
type OpenInvitation struct {
	*store.PortalLink
	MailWaits  bool // it is in the queue
	MailFailed bool // it could not be delivered
}

// Team returns the users of the member's account and the invitations that are open. The invitations are for owners.
func (s *Service) Team(ctx context.Context, who *Member) ([]*access.User, []OpenInvitation, error) {
	users, err := s.Store.Users(ctx, who.AccountID)
	if err != nil || !who.Allows(access.Owner) {
		return users, nil, err
	}
	links, err := s.Store.Invitations(ctx, who.AccountID, s.now())
	if err != nil {
		return nil, nil, err
	}
	failed, err := s.Store.LinkMails(ctx, who.AccountID)
	invitations := make([]OpenInvitation, len(links))
	for i, l := range links {
		bad, queued := failed[l.ID]
		invitations[i] = OpenInvitation{PortalLink: l, MailWaits: queued && !bad, MailFailed: bad}
	}
	return users, invitations, err
}

// Invite makes a link with which somebody joins the account, in place of what invitations the email has there, and mails it;
// without a mail server, the address is returned to be handed over. It is for owners.
func (s *Service) Invite(ctx context.Context, who *Member, email string, role access.Role) (address string, err error) {
	if err := who.Require(access.Owner); err != nil {
		return "", err
	}
	if !slices.Contains(memberRoles, role) {
		return "", errUnknownRole
	}
	email, err = access.NormalizeEmail(email)
	if err != nil {
		return "", NoEmail
	}
	err = s.Store.Update(ctx, func(tx *store.Tx) error {
		if u, err := tx.UserByEmail(ctx, email); err == nil && u.AccountID == who.AccountID {
			return AlreadyMember
		} else if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if err := tx.DeleteInvitationsTo(who.AccountID, email); err != nil {
			return err
		}
		l := &store.PortalLink{Kind: store.Invitation, AccountID: who.AccountID, Email: email, Role: role, CreatedBy: who.ID}
		if address, err = s.insertLink(tx, l, InvitationLife, "/portal/join"); err != nil {
			return err
		}
		return s.post(tx, who.AccountID, email, letter.Invite(who.Account.Locale, who.Account.Name, role, who.Email, address, InvitationLife), l)
	})
	if err == nil {
		s.mailed()
	}
	return s.unlessMailed(address), err
}

// InviteAgain makes an invitation that is open anew: another link, for the same email and role, in the place of the first.
// It returns what Invite does, and the email. It is for owners.
func (s *Service) InviteAgain(ctx context.Context, who *Member, id string) (email, address string, err error) {
	if err := who.Require(access.Owner); err != nil {
		return "", "", err
	}
	open, err := s.Store.Invitations(ctx, who.AccountID, s.now())
	if err != nil {
		return "", "", err
	}
	at := slices.IndexFunc(open, func(l *store.PortalLink) bool { return l.ID == id })
	if at < 0 {
		return "", "", LinkUnusable
	}
	address, err = s.Invite(ctx, who, open[at].Email, open[at].Role)
	return open[at].Email, address, err
}

// Uninvite takes an invitation back. It is for owners.
func (s *Service) Uninvite(ctx context.Context, who *Member, id string) error {
	if err := who.Require(access.Owner); err != nil {
		return err
	}
	err := s.Store.Update(ctx, func(tx *store.Tx) error { return tx.DeleteInvitation(who.AccountID, id) })
	if errors.Is(err, store.ErrNotFound) {
		return LinkUnusable
	}
	return err
}

// Link returns the link behind a token, or LinkUnusable.
func (s *Service) Link(ctx context.Context, kind store.LinkKind, token string) (*store.PortalLink, error) {
	return s.link(ctx, s.Store.Queries, kind, token)
}

func (s *Service) link(ctx context.Context, q store.Queries, kind store.LinkKind, token string) (*store.PortalLink, error) {
	hash, ok := access.HashSessionToken(token)
	if !ok {
		return nil, LinkUnusable
	}
	l, err := q.LinkByHash(ctx, kind, hash, s.now())
	if errors.Is(err, store.ErrNotFound) {
		return nil, LinkUnusable
	}
	return l, err
}

// AcceptInvitation makes the user whom a link invites, with the password they have chosen, and returns their id. The link
// is spent.
func (g *PortalSignIn) AcceptInvitation(ctx context.Context, token, password string) (userID string, err error) {
	if err := CheckNewPassword("new_password", password); err != nil {
		return "", err
	}
	s := g.service
	if _, err := s.Link(ctx, store.Invitation, token); err != nil { // before the work of a hash
		return "", err
	}
	hash := access.HashPassword(password)
	err = s.Store.Update(ctx, func(tx *store.Tx) error {
		l, err := s.link(ctx, tx.Queries, store.Invitation, token)
		if err != nil {
			return err
		}
		if err := spend(tx, l, s.now()); err != nil {
			return err
		}
		former, err := tx.FormerUser(ctx, l.AccountID, l.Email)
		if err == nil {
			userID = former.ID
			if err := takeFactors(tx, former.ID); err != nil { // what was added in the very moment of their removal
				return err
			}
			return tx.RestoreUser(former.ID, l.Role, hash)
		}
		if !errors.Is(err, store.ErrNotFound) {
			return err
		}
		userID = store.NewID()
		return tx.InsertUser(&access.User{ID: userID, AccountID: l.AccountID, Email: l.Email, Role: l.Role, PasswordHash: hash, CreatedAt: s.now()})
	})
	if errors.Is(err, store.ErrExists) {
		return "", EmailTaken
	}
	return userID, err
}

// ResetPassword gives the user of a link the password they have chosen. The link is spent and all their sessions end; a
// second factor stays.
func (g *PortalSignIn) ResetPassword(ctx context.Context, token, password string, from Origin) error {
	if err := CheckNewPassword("new_password", password); err != nil {
		return err
	}
	s := g.service
	if _, err := s.Link(ctx, store.PasswordReset, token); err != nil {
		return err
	}
	hash := access.HashPassword(password)
	err := s.Store.Update(ctx, func(tx *store.Tx) error {
		l, err := s.link(ctx, tx.Queries, store.PasswordReset, token)
		if err != nil {
			return err
		}
		if err := spend(tx, l, s.now()); err != nil {
			return err
		}
		user, err := tx.User(ctx, l.UserID)
		if errors.Is(err, store.ErrNotFound) {
			return LinkUnusable
		}
		if err != nil {
			return err
		}
		if err := g.setPassword(tx, user, hash, from); err != nil {
			return err
		}
		_, err = tx.DeleteSessions(access.Portal, user.ID, "")
		return err
	})
	s.sessions.drop()
	if err == nil {
		s.mailed()
	}
	return err
}

func spend(tx *store.Tx, l *store.PortalLink, now time.Time) error {
	err := tx.UseLink(l.ID, now)
	if errors.Is(err, store.ErrNotFound) {
		return LinkUnusable
	}
	return err
}

// ChangeRole gives a user of the account another role. One owner has to stay. It is for owners.
func (s *Service) ChangeRole(ctx context.Context, who *Member, userID string, role access.Role) error {
	if !slices.Contains(memberRoles, role) {
		return errUnknownRole
	}
	return s.changeTeam(ctx, who, userID, role != access.Owner, func(tx *store.Tx) error { return tx.SetUserRole(who.AccountID, userID, role) })
}

// RemoveUser takes a user out of the account: their sessions end, and passkeys, second factor and links with them. What they made stays. It is for
// owners, and one owner has to stay.
func (s *Service) RemoveUser(ctx context.Context, who *Member, userID string) error {
	err := s.changeTeam(ctx, who, userID, true, func(tx *store.Tx) error {
		if err := tx.RemoveUser(who.AccountID, userID, s.now()); err != nil {
			return err
		}
		if err := tx.DeleteResets(userID); err != nil {
			return err
		}
		return takeFactors(tx, userID)
	})
	s.sessions.drop()
	return err
}

// ResetSecondFactorOf takes the second factor and the passkeys from another user of the account, who has lost them. Their
// sessions end. It is for owners; their own they end themselves, with their password.
func (s *Service) ResetSecondFactorOf(ctx context.Context, who *Member, userID string) error {
	if userID == who.ID {
		return OwnFactors
	}
	err := s.changeTeam(ctx, who, userID, false, func(tx *store.Tx) error { return takeFactors(tx, userID) })
	s.sessions.drop()
	return err
}

// changeTeam makes a change of a user of the account; losesOwner tells that the user is no owner afterwards.
func (s *Service) changeTeam(ctx context.Context, who *Member, userID string, losesOwner bool, f func(*store.Tx) error) error {
	if err := who.Require(access.Owner); err != nil {
		return err
	}
	return s.Store.Update(ctx, func(tx *store.Tx) error {
		if err := tx.LockTeam(who.AccountID); err != nil {
			return err
		}
		users, err := tx.Users(ctx, who.AccountID)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(users, func(u *access.User) bool { return u.ID == userID })
		if at < 0 {
			return UserNotFound
		}
		otherOwner := slices.ContainsFunc(users, func(u *access.User) bool { return u.Role == access.Owner && u.ID != userID })
		if losesOwner && users[at].Role == access.Owner && !otherOwner {
			return LastOwner
		}
		return f(tx)
	})
}
