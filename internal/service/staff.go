package service

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/letter"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/service/signin"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
)

// NewStaff is a created staff user with their first password and their token, which are not kept.
type NewStaff struct {
	Staff    access.Staff
	Password string
	Token    string // for the desk API
}

// CheckNewStaff returns the normalized email, or what is wrong with a new staff user.
func CheckNewStaff(email, name string, role access.StaffRole) (string, error) {
	var p fault.Problems
	access.CheckNameField(&p, "name", name)
	address := access.CheckEmailField(&p, "email", email)
	if !slices.Contains(access.StaffRoles, role) {
		p.Add("role", "unknown_code", "must be reviewer or admin")
	}
	return address, p.Err()
}

var staffEmailTaken = fault.InvalidField("email", "taken", "belongs to a staff user already")

// CreateStaff makes a staff user with a password and a token, which are shown once.
func (s *Service) CreateStaff(
	ctx context.Context, actor access.Actor, email, name string, role access.StaffRole,
) (*NewStaff, error) {
	if err := s.requireStaffChange(actor); err != nil {
		return nil, err
	}
	address, err := CheckNewStaff(email, name, role)
	if err != nil {
		return nil, err
	}
	if s.needsApproval(actor) && role == access.Admin {
		return nil, access.FourEyesCredentials
	}
	n := &NewStaff{Password: access.NewPassword()}
	var token store.StaffToken
	n.Token, token = s.newStaffToken(nil)
	n.Staff = access.Staff{
		ID: uuid7.New(), Email: address, Name: name, Role: role,
		PasswordHash: access.HashPassword(n.Password), CreatedAt: s.now(),
	}
	err = s.store.Update(ctx, func(tx *store.Tx) error {
		if err := tx.InsertStaff(&n.Staff, token); err != nil {
			return err
		}
		return s.recordStaffAction(tx, actor, audit.Action{
			Code: audit.StaffCreated, Target: staffTarget(&n.Staff), Details: map[string]any{"role": string(role)},
		})
	})
	if errors.Is(err, store.ErrExists) {
		return nil, staffEmailTaken
	}
	if err != nil {
		return nil, err
	}
	return n, nil
}

// StaffOfSession returns the staff user of a session, or access.NoSession when they may not sign in any more.
func (s *Service) StaffOfSession(ctx context.Context, staffID string) (*access.Staff, error) {
	who, err := s.store.Staff(ctx, staffID)
	if errors.Is(err, store.ErrNotFound) || err == nil && !who.Active() {
		return nil, access.NoSession
	}
	return who, err
}

// StaffUsers returns every staff user, deactivated ones included, the oldest first.
func (s *Service) StaffUsers(ctx context.Context) ([]*access.Staff, error) {
	return s.store.AllStaff(ctx)
}

// FindStaff returns a staff user by their id or email.
func (s *Service) FindStaff(ctx context.Context, idOrEmail string) (*access.Staff, error) {
	find, key := s.store.Staff, ""
	if id, ok := uuid7.Parse(idOrEmail); ok {
		key = id
	} else if address, err := access.NormalizeEmail(idOrEmail); err == nil {
		find, key = s.store.StaffByEmail, address
	}
	staff, err := find(ctx, key)
	missing := fmt.Sprintf("There is no staff user with the id or email %q.", idOrEmail)
	unknown := fault.New(fault.NotFound, fault.CodeNotFound, missing).With("entity", "staff user")
	return staff, store.NotFoundAs(err, unknown)
}

// StaffMembers returns every staff user as administrators see them, deactivated ones included, the oldest first.
func (s *Service) StaffMembers(ctx context.Context, actor access.Actor) ([]*access.StaffMember, error) {
	if err := actor.Require(access.Administer); err != nil {
		return nil, err
	}
	return s.store.Lists(ctx).StaffMembers(ctx, s.now())
}

// StaffMember returns one staff user as administrators see them.
func (s *Service) StaffMember(ctx context.Context, actor access.Actor, id string) (*access.StaffMember, error) {
	if err := actor.Require(access.Administer); err != nil {
		return nil, err
	}
	return byID(ctx, id, func(ctx context.Context, id string) (*access.StaffMember, error) {
		return s.store.StaffMember(ctx, id, s.now())
	}, fault.Missing("staff user"))
}

var (
	// staffDeactivated is the refusal to change a staff user who has left.
	staffDeactivated = fault.New(fault.Conflict, "staff-deactivated", "This staff user is deactivated.")
	// staffActive is the refusal to reactivate somebody who is active.
	staffActive = fault.New(fault.Conflict, "staff-active", "This staff user is active.")
	// ownAccess is the refusal to end one's own access: there must always be an administrator.
	ownAccess = fault.New(fault.Conflict, "own-access",
		"You cannot change your own role or deactivate yourself. Another administrator can.")
	// ownCredentials is the refusal to replace as an administrator what one's own settings ask the password for.
	ownCredentials = fault.New(fault.Conflict, "own-credentials",
		"Change your own password, token, second factor and passkeys in your settings.")
)

// requireStaffChange refuses who is no administrator, and an administrator who has not proved lately who they are.
func (s *Service) requireStaffChange(actor access.Actor) error {
	if err := actor.Require(access.Administer); err != nil {
		return err
	}
	return actor.RequireConfirmed(s.now())
}

// changeStaff makes a change of a staff user in one transaction. An administrator has to be one while it runs: of two
// who would take the role from each other at the same moment, one remains.
func (s *Service) changeStaff(
	ctx context.Context, actor access.Actor, id string, f func(tx *store.Tx, s *access.Staff) error,
) (*access.Staff, error) {
	if err := s.requireStaffChange(actor); err != nil {
		return nil, err
	}
	id, ok := uuid7.Parse(id)
	if !ok {
		return nil, fault.Missing("staff user")
	}
	ids := []string{id}
	if actor.Kind == access.ByStaff {
		ids = append(ids, actor.ID)
	}
	return changePerson(ctx, s, func(tx *store.Tx) (*access.Staff, error) {
		locked, err := lockStaff(tx, ids...)
		if err != nil {
			return nil, store.NotFoundAs(err, fault.Missing("staff user"))
		}
		if by := locked[actor.ID]; by != nil && !isAdministrator(by) {
			return nil, access.MissingRole(access.Admin)
		}
		return locked[id], nil
	}, f)
}

// lockStaff locks staff users and returns them by their id: always in the same order, so that no transaction waits for
// another that waits for it.
func lockStaff(tx *store.Tx, ids ...string) (map[string]*access.Staff, error) {
	locked := make(map[string]*access.Staff, len(ids))
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		who, err := tx.StaffForUpdate(id)
		if err != nil {
			return nil, err
		}
		locked[id] = who
	}
	return locked, nil
}

func isAdministrator(who *access.Staff) bool { return who.Active() && who.Role.Includes(access.Admin) }

// notifyStaff writes to a staff user whose credentials were changed.
func (s *Service) notifyStaff(tx *store.Tx, who *access.Staff, actor access.Actor, kind letter.Kind) error {
	return s.SignIn(access.Desk).Notify(tx, who.Person(), actor.Origin, kind, nil)
}

// changeActive is changeStaff for changes of somebody who has not left, and records the change.
func (s *Service) changeActive(
	ctx context.Context, actor access.Actor, id string, code audit.ActionCode,
	f func(tx *store.Tx, who *access.Staff) error,
) (*access.Staff, error) {
	return s.changeStaff(ctx, actor, id, func(tx *store.Tx, who *access.Staff) error {
		switch {
		case !who.Active():
			return staffDeactivated
		case who.ID == actor.ID && code != audit.StaffTokenRevoked:
			return ownCredentials
		case who.Role == access.Admin && code != audit.StaffTokenRevoked && s.needsApproval(actor):
			return access.FourEyesCredentials
		}
		if err := f(tx, who); err != nil {
			return err
		}
		return s.recordStaffAction(tx, actor, audit.Action{Code: code, Target: staffTarget(who)})
	})
}

// DeactivateStaff ends the access of a staff user: their token, passkeys, links, invitations and sessions end, and
// orders they review go back to the queue. Orders that wait for photos they have asked for go to the queue when the
// photos arrive. Nobody can do that to themselves, so that an administrator remains.
func (s *Service) DeactivateStaff(ctx context.Context, actor access.Actor, id string) (*access.Staff, error) {
	who, err := s.changeStaff(ctx, actor, id, func(tx *store.Tx, who *access.Staff) error {
		switch {
		case !who.Active():
			return staffDeactivated
		case who.ID == actor.ID:
			return ownAccess
		}
		if _, err := tx.DeactivateStaff(who.ID, s.now()); err != nil {
			return err
		}
		return errors.Join(
			tx.RevokeStaffToken(who.ID), tx.DeletePasskeys(access.Desk, who.ID), tx.DeleteResets(access.Desk, who.ID),
			tx.DeleteLinksBy(who.ID), tx.ForgetDevices(access.Desk, who.ID),
			tx.WithdrawApprovalsOf(who.ID, s.now()), signin.EndSessions(tx, access.Desk, who.ID),
			s.recordStaffAction(tx, actor, audit.Action{Code: audit.StaffDeactivated, Target: staffTarget(who)}),
		)
	})
	if err != nil {
		return nil, err
	}
	return who, s.releaseAll(ctx, who.ID)
}

// releaseAll returns the orders that a staff user reviews to the queue.
func (s *Service) releaseAll(ctx context.Context, staffID string) error {
	// Each order in a transaction of its own: one that held several would wait for others and let them wait. A program
	// that ends in between has lost nothing, for claims without activity expire.
	ids, err := s.store.ClaimsOf(ctx, staffID)
	if err != nil {
		return err
	}
	for _, id := range ids {
		stillTheirs := func(o *order.Order) bool { return o.AssigneeID == staffID }
		if _, err := s.returnToQueue(ctx, id, "reviewer deactivated", stillTheirs); err != nil {
			return err
		}
	}
	return nil
}

// ReactivateStaff lets a staff user come back who was deactivated, with a new password, which is shown once. They have
// no token and no passkeys. A second factor that they had stays.
func (s *Service) ReactivateStaff(ctx context.Context, actor access.Actor, id string) (*access.Staff, string, error) {
	password := access.NewPassword()
	hash := access.HashPassword(password)
	who, err := s.changeStaff(ctx, actor, id, func(tx *store.Tx, who *access.Staff) error {
		if who.Active() {
			return staffActive
		}
		if s.needsApproval(actor) && who.Role == access.Admin { // one alone makes no administrator
			who.Role = access.Reviewer
			if err := tx.SetStaffRole(who.ID, who.Role); err != nil {
				return err
			}
		}
		return errors.Join( // what was added in the very moment of their deactivation ends, too
			tx.ReactivateStaff(who.ID), tx.SetPassword(access.Desk, who.ID, hash), tx.RevokeStaffToken(who.ID),
			tx.DeletePasskeys(access.Desk, who.ID), tx.DeleteResets(access.Desk, who.ID),
			signin.EndSessions(tx, access.Desk, who.ID),
			s.recordStaffAction(tx, actor, audit.Action{
				Code: audit.StaffReactivated, Target: staffTarget(who), Details: map[string]any{"role": string(who.Role)},
			}))
	})
	if err != nil {
		return nil, "", err
	}
	return who, password, nil
}

// ChangeStaffRole gives a staff user another role. Their sessions end; a token has the new role at once. Nobody can do
// that to themselves, so that an administrator remains. The same role changes nothing.
func (s *Service) ChangeStaffRole(
	ctx context.Context, actor access.Actor, id string, role access.StaffRole,
) (*access.Staff, error) {
	if !slices.Contains(access.StaffRoles, role) {
		return nil, fault.InvalidField("role", "unknown_code", "must be reviewer or admin")
	}
	if s.needsApproval(actor) {
		return s.requestRole(ctx, actor, id, role)
	}
	return s.changeStaff(ctx, actor, id, func(tx *store.Tx, who *access.Staff) error {
		return s.changeRoleIn(tx, actor, who, role)
	})
}

// requestRole asks another administrator to approve a role. The same role changes nothing.
func (s *Service) requestRole(
	ctx context.Context, actor access.Actor, id string, role access.StaffRole,
) (*access.Staff, error) {
	if err := s.requireStaffChange(actor); err != nil {
		return nil, err
	}
	m, err := s.StaffMember(ctx, actor, id)
	switch {
	case err != nil:
		return nil, err
	case !m.Active():
		return nil, staffDeactivated
	case m.Role == role:
		return &m.Staff, nil
	case m.ID == actor.ID:
		return nil, ownAccess
	case role == access.Admin && !s.SendsMail():
		return nil, access.FourEyesMail
	}
	return nil, s.requestApproval(ctx, actor, access.Approval{
		Kind: access.ApproveRole, TargetID: m.ID, TargetName: m.Name + " <" + m.Email + ">",
		Payload: access.ApprovalPayload{Role: role, From: m.Role},
	})
}

// changeRoleIn gives a staff user another role in a transaction that holds their row.
func (s *Service) changeRoleIn(tx *store.Tx, actor access.Actor, who *access.Staff, role access.StaffRole) error {
	switch {
	case !who.Active():
		return staffDeactivated
	case who.Role == role:
		return nil
	case who.ID == actor.ID:
		return ownAccess
	}
	from := who.Role
	who.Role = role
	return errors.Join(
		tx.SetStaffRole(who.ID, role), tx.DeleteLinksBy(who.ID),
		tx.WithdrawApprovalsOf(who.ID, s.now()), signin.EndSessions(tx, access.Desk, who.ID),
		s.recordStaffAction(tx, actor, audit.Action{
			Code: audit.StaffRoleChanged, Target: staffTarget(who),
			Details: map[string]any{"from": string(from), "to": string(role)},
		}))
}
