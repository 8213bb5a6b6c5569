package service

import (
	"context"
	"errors"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/store"
)

// StaffMember is a staff user as administrators see them.
type StaffMember struct {
	*access.Staff
	SecondFactor bool
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
	n, err := a.service.CreateStaff(ctx, address, name, role)
	if err != nil {
		if _, found := a.store().StaffByEmail(ctx, address); found == nil {
			p.add("email", "taken", "belongs to a staff user already")
		}
		return nil, errors.Join(p.err(), err)
	}
	a.done(ctx, who, "staff user created", "created_id", n.Staff.ID, "role", string(role))
	return n, nil
}

var (
	// deactivated is the refusal to change a staff user who has left.
	deactivated = fault.New(fault.Conflict, "staff-deactivated", "This staff user is deactivated.")
	// ownAccess is the refusal to end one's own access: there must always be an administrator.
	ownAccess = fault.New(fault.Conflict, "own-access", "You cannot deactivate yourself. Another administrator can.")
)

// active is staff for changes that need somebody who has not left.
func (a *Administration) active(ctx context.Context, who *access.Staff, id string) (*access.Staff, error) {
	s, err := a.staff(ctx, who, id)
	if err == nil && !s.Active() {
		return nil, deactivated
	}
	return s, err
}

// DeactivateStaff ends a staff user for good. Nobody can do that to themselves, so that an administrator remains.
func (a *Administration) DeactivateStaff(ctx context.Context, who *access.Staff, id string) (*access.Staff, error) {
	s, err := a.active(ctx, who, id)
	if err != nil {
		return nil, err
	}
	if s.ID == who.ID {
		return nil, ownAccess
	}
	if err := a.service.DeactivateStaff(ctx, s.ID); err != nil {
		return nil, err
	}
	a.done(ctx, who, "staff user deactivated", "deactivated_id", s.ID)
	return s, nil
}

// RotateStaffToken gives a staff user a new token for the desk interface, which is told once. The old one ends at once.
func (a *Administration) RotateStaffToken(ctx context.Context, who *access.Staff, id string) (*access.Staff, string, error) {
	s, err := a.active(ctx, who, id)
	if err != nil {
		return nil, "", err
	}
	token, err := a.service.RotateStaffToken(ctx, s.ID)
	if err != nil {
		return nil, "", err
	}
	a.done(ctx, who, "token rotated", "of_id", s.ID)
	return s, token, nil
}

// ResetStaffPassword gives a staff user a new password, which is told once. Their sessions end.
func (a *Administration) ResetStaffPassword(ctx context.Context, who *access.Staff, id string) (*access.Staff, string, error) {
	s, err := a.active(ctx, who, id)
	if err != nil {
		return nil, "", err
	}
	password := access.NewPassword()
	hash := access.HashPassword(password)
	if err := a.changeSignIn(ctx, s, func(tx *store.Tx) error { return tx.SetStaffPassword(s.ID, hash) }); err != nil {
		return nil, "", err
	}
	a.done(ctx, who, "password reset", "of_id", s.ID)
	return s, password, nil
}

// ResetStaffSecondFactor takes the second factor from a staff user who has lost it. Their sessions end.
func (a *Administration) ResetStaffSecondFactor(ctx context.Context, who *access.Staff, id string) (*access.Staff, error) {
	s, err := a.active(ctx, who, id)
	if err != nil {
		return nil, err
	}
	if err := a.changeSignIn(ctx, s, func(tx *store.Tx) error { return tx.DeleteStaffTOTP(s.ID) }); err != nil {
		return nil, err
	}
	a.done(ctx, who, "second factor removed", "of_id", s.ID)
	return s, nil
}

// changeSignIn changes how a staff user signs in and ends their sessions.
func (a *Administration) changeSignIn(ctx context.Context, s *access.Staff, f func(*store.Tx) error) error {
	err := a.store().Update(ctx, func(tx *store.Tx) error {
		if err := f(tx); err != nil {
			return err
		}
		_, err := tx.DeleteSessions(access.Desk, s.ID, "")
		return err
	})
	a.service.sessions.drop()
	return err
}
