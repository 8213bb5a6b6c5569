package service

import (
	"context"
	"errors"
	"slices"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/store"
)

// StaffMember is a staff user as administrators see them.
type StaffMember struct {
	*access.Staff
	SecondFactor bool
	HasToken     bool
	Holds        map[order.Status]int64 // open orders in their hands
	Sessions     int
}

// Staff returns every staff user, deactivated ones included, the oldest first.
func (a *Administration) Staff(ctx context.Context, who *access.Staff) ([]StaffMember, error) {
	if err := a.allow(who); err != nil {
		return nil, err
	}
	all, err := a.store().AllStaff(ctx)
	if err != nil {
		return nil, err
	}
	members := make([]StaffMember, len(all))
	for i, s := range all {
		if members[i], err = a.member(ctx, s); err != nil {
			return nil, err
		}
	}
	return members, nil
}

// StaffMember returns a staff user.
func (a *Administration) StaffMember(ctx context.Context, who *access.Staff, id string) (*StaffMember, error) {
	s, err := a.staff(ctx, who, id)
	if err != nil {
		return nil, err
	}
	m, err := a.member(ctx, s)
	return &m, err
}

func (a *Administration) member(ctx context.Context, s *access.Staff) (StaffMember, error) {
	m := StaffMember{Staff: s}
	var err error
	if m.Holds, err = a.store().ClaimCounts(ctx, s.ID); err != nil {
		return m, err
	}
	sessions, err := a.store().Sessions(ctx, access.Desk, s.ID, a.service.now())
	if err != nil {
		return m, err
	}
	m.Sessions = len(sessions)
	if m.HasToken, err = a.store().StaffHasToken(ctx, s.ID); err != nil {
		return m, err
	}
	_, err = a.store().StaffTOTP(ctx, s.ID)
	if errors.Is(err, store.ErrNotFound) {
		return m, nil
	}
	m.SecondFactor = err == nil
	return m, err
}

func (a *Administration) staff(ctx context.Context, who *access.Staff, id string) (*access.Staff, error) {
	if err := a.allow(who); err != nil {
		return nil, err
	}
	id, ok := store.ParseID(id)
	if !ok {
		return nil, missing("staff user")
	}
	s, err := a.store().Staff(ctx, id)
	return s, orMissing(err, "staff user")
}

// CreateStaff makes a staff user. Password and token are told once. An email that is taken is a problem of its field.
func (a *Administration) CreateStaff(ctx context.Context, who *access.Staff, email, name string, role access.StaffRole) (*NewStaff, error) {
	if err := a.allow(who); err != nil {
		return nil, err
	}
	var p problems
	p.name("name", name)
	address := p.email("email", email)
	if _, ok := access.ParseStaffRole(string(role)); !ok {
		p.add("role", "unknown_code", "must be reviewer or admin")
	}
	if err := p.err(); err != nil {
		return nil, err
	}
	n, err := a.service.CreateStaff(byStaff(ctx, who), address, name, role)
	if err != nil {
		if _, found := a.store().StaffByEmail(ctx, address); found == nil {
			p.add("email", "taken", "belongs to a staff user already")
		}
		return nil, errors.Join(p.err(), err)
	}
	return n, nil
}

var (
	// deactivated is the refusal to change a staff user who has left.
	deactivated = fault.New(fault.Conflict, "staff-deactivated", "This staff user is deactivated.")
	// stillActive is the refusal to let somebody come back who never left.
	stillActive = fault.New(fault.Conflict, "staff-active", "This staff user is active.")
	// ownAccess is the refusal to end one's own access: there must always be an administrator.
	ownAccess = fault.New(fault.Conflict, "own-access", "You cannot change your own role or deactivate yourself. Another administrator can.")
)

// changeStaff makes a change of a staff user in one transaction, by an administrator who is one while it runs: of two who
// would take the role from each other at the same moment, one remains.
func (a *Administration) changeStaff(
	ctx context.Context, who *access.Staff, id string, f func(ctx context.Context, tx *store.Tx, s *access.Staff) error,
) (*access.Staff, error) {
	if err := a.allow(who); err != nil {
		return nil, err
	}
	id, ok := store.ParseID(id)
	if !ok {
		return nil, missing("staff user")
	}
	var changed *access.Staff
	err := a.store().Update(ctx, func(tx *store.Tx) error {
		rows := make(map[string]*access.Staff, 2)
		for _, each := range slices.Compact(slices.Sorted(slices.Values([]string{who.ID, id}))) { // always in the same order: none waits for the other
			row, err := tx.StaffForUpdate(each)
			if err != nil {
				return orMissing(err, "staff user")
			}
			rows[each] = row
		}
		if !rows[who.ID].Active() {
			return access.MissingRole(access.Admin)
		}
		if err := a.allow(rows[who.ID]); err != nil {
			return err
		}
		changed = rows[id]
		return f(byStaff(ctx, who), tx, changed)
	})
	a.service.sessions.drop()
	if err != nil {
		return nil, err
	}
	return changed, nil
}

// changeActive is changeStaff for changes of somebody who has not left, and writes the change down.
func (a *Administration) changeActive(
	ctx context.Context, who *access.Staff, id string, code audit.ActionCode, f func(tx *store.Tx, s *access.Staff) error,
) (*access.Staff, error) {
	return a.changeStaff(ctx, who, id, func(ctx context.Context, tx *store.Tx, s *access.Staff) error {
		if !s.Active() {
			return deactivated
		}
		if err := f(tx, s); err != nil {
			return err
		}
		return a.service.did(ctx, tx, audit.Action{Code: code, Target: onStaff(s)})
	})
}

// DeactivateStaff ends the access of a staff user; see Service.DeactivateStaff. Nobody can do that to themselves, so that an
// administrator remains.
func (a *Administration) DeactivateStaff(ctx context.Context, who *access.Staff, id string) (*access.Staff, error) {
	s, err := a.changeStaff(ctx, who, id, func(ctx context.Context, tx *store.Tx, s *access.Staff) error {
		switch {
		case !s.Active():
			return deactivated
		case s.ID == who.ID:
			return ownAccess
		}
		return a.service.deactivate(ctx, tx, s)
	})
	if err != nil {
		return nil, err
	}
	return s, a.service.releaseAll(ctx, s.ID)
}

// ReactivateStaff lets a staff user come back who was deactivated, with a new password, which is told once. They have no
// token until one is made. A second factor that they had stays.
func (a *Administration) ReactivateStaff(ctx context.Context, who *access.Staff, id string) (*access.Staff, string, error) {
	password := access.NewPassword()
	hash := access.HashPassword(password)
	s, err := a.changeStaff(ctx, who, id, func(ctx context.Context, tx *store.Tx, s *access.Staff) error {
		if s.Active() {
			return stillActive
		}
		if err := errors.Join(tx.ReactivateStaff(s.ID), tx.SetStaffPassword(s.ID, hash), tx.RevokeStaffToken(s.ID)); err != nil {
			return err
		}
		return a.service.did(ctx, tx, audit.Action{Code: audit.StaffReactivated, Target: onStaff(s), Details: map[string]any{"role": string(s.Role)}})
	})
	if err != nil {
		return nil, "", err
	}
	return s, password, nil
}

// ChangeStaffRole gives a staff user another role. Their sessions end; a token has the new role at once. Nobody can do that
// to themselves, so that an administrator remains. The same role changes nothing.
func (a *Administration) ChangeStaffRole(ctx context.Context, who *access.Staff, id string, role access.StaffRole) (*access.Staff, error) {
	if _, ok := access.ParseStaffRole(string(role)); !ok {
		return nil, fault.Validation(fault.Problem{Field: "role", Code: "unknown_code", Message: "must be reviewer or admin"})
	}
	return a.changeStaff(ctx, who, id, func(ctx context.Context, tx *store.Tx, s *access.Staff) error {
		switch {
		case !s.Active():
			return deactivated
		case s.Role == role:
			return nil
		case s.ID == who.ID:
			return ownAccess
		}
		if err := tx.SetStaffRole(s.ID, role); err != nil {
			return err
		}
		if _, err := tx.DeleteSessions(access.Desk, s.ID, ""); err != nil {
			return err
		}
		from := s.Role
		s.Role = role
		return a.service.did(ctx, tx, audit.Action{
			Code: audit.StaffRoleChanged, Target: onStaff(s), Details: map[string]any{"from": string(from), "to": string(role)},
		})
	})
}

// RotateStaffToken gives a staff user a new token for the desk interface, which is told once. The old one ends at once.
func (a *Administration) RotateStaffToken(ctx context.Context, who *access.Staff, id string) (*access.Staff, string, error) {
	token := access.NewStaffToken()
	s, err := a.changeActive(ctx, who, id, audit.StaffTokenMade, func(tx *store.Tx, s *access.Staff) error {
		return tx.SetStaffToken(s.ID, access.HashSecretKey(token))
	})
	if err != nil {
		return nil, "", err
	}
	return s, token, nil
}

// RevokeStaffToken takes the token for the desk interface from a staff user, at once.
func (a *Administration) RevokeStaffToken(ctx context.Context, who *access.Staff, id string) (*access.Staff, error) {
	return a.changeActive(ctx, who, id, audit.StaffTokenRevoked, func(tx *store.Tx, s *access.Staff) error { return tx.RevokeStaffToken(s.ID) })
}

// ResetStaffPassword gives a staff user a new password, which is told once. Their sessions end.
func (a *Administration) ResetStaffPassword(ctx context.Context, who *access.Staff, id string) (*access.Staff, string, error) {
	password := access.NewPassword()
	hash := access.HashPassword(password)
	s, err := a.changeActive(ctx, who, id, audit.StaffPasswordReset, func(tx *store.Tx, s *access.Staff) error {
		if err := tx.SetStaffPassword(s.ID, hash); err != nil {
			return err
		}
		_, err := tx.DeleteSessions(access.Desk, s.ID, "")
		return err
	})
	if err != nil {
		return nil, "", err
	}
	return s, password, nil
}

// ResetStaffSecondFactor takes the second factor from a staff user who has lost it. Their sessions end.
func (a *Administration) ResetStaffSecondFactor(ctx context.Context, who *access.Staff, id string) (*access.Staff, error) {
	return a.changeActive(ctx, who, id, audit.StaffFactorReset, func(tx *store.Tx, s *access.Staff) error {
		if err := tx.DeleteStaffTOTP(s.ID); err != nil {
			return err
		}
		_, err := tx.DeleteSessions(access.Desk, s.ID, "")
		return err
	})
}
