package service

import (
	"context"
	"errors"
	"slices"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/store"
)

// Member is an account user in the portal. All that the portal shows and does is of the member's account.
type Member struct {
	access.User
	Account *access.Account
}

// memberRoles lists the roles from the least to the most powerful: each may do all that those before it may.
var memberRoles = []access.Role{access.Viewer, access.Developer, access.Owner}

// MemberRoles lists the roles of account users, the least powerful first.
func MemberRoles() []access.Role { return slices.Clone(memberRoles) }

// Allows reports whether the member may do what the role may. A viewer reads, a developer also manages keys, webhooks and
// orders, an owner also the team and the account.
func (m *Member) Allows(role access.Role) bool {
	return slices.Index(memberRoles, m.Role) >= slices.Index(memberRoles, role)
}

// Require returns the refusal of a member who lacks the role.
func (m *Member) Require(role access.Role) error {
	if m.Allows(role) {
		return nil
	}
	return fault.New(fault.Forbidden, "forbidden", "This needs the role "+string(role)+".").With("required_role", string(role))
}

// MemberOfSession returns the member of a session, or access.NoSession when they have left.
func (s *Service) MemberOfSession(ctx context.Context, userID string) (*Member, error) {
	user, err := s.Store.User(ctx, userID)
	if errors.Is(err, store.ErrNotFound) {
		return nil, access.NoSession
	}
	if err != nil {
		return nil, err
	}
	account, err := s.Store.Account(ctx, user.AccountID)
	if err != nil {
		return nil, err
	}
	return &Member{User: *user, Account: account}, nil
}

// ownEvent is an audit event of what a user did about themselves.
func (s *Service) ownEvent(code audit.Code, u *access.User, from Origin, metadata map[string]any) *audit.Event {
	return &audit.Event{
		AccountID: u.AccountID, UserID: u.ID, At: s.now(), Code: code, Actor: auditActor(u.Actor("", from)), Target: audit.Target{Type: audit.OnUser, ID: u.ID}, Metadata: metadata,
	}
}

// SetPayloadLocale chooses the language of the account's webhook payloads and mail. It is for owners.
func (s *Service) SetPayloadLocale(ctx context.Context, who *Member, l text.Locale) error {
	if err := who.Require(access.Owner); err != nil {
		return err
	}
	return s.Store.Update(ctx, func(tx *store.Tx) error { return tx.SetAccountLocale(who.AccountID, l) })
}
