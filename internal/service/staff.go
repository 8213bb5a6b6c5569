package service

import (
	"context"
	"errors"
	"fmt"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/store"
)

// NewStaff is a created staff user with their first password and their token, which are not kept.
type NewStaff struct {
	Staff    access.Staff
	Password string
	Token    string // for the desk interface
}

// CreateStaff makes a staff user.
func (s *Service) CreateStaff(ctx context.Context, email, name string, role access.StaffRole) (*NewStaff, error) {
	if err := access.CheckName("the staff user's name", name); err != nil {
		return nil, err
	}
	address, err := access.NormalizeEmail(email)
	if err != nil {
		return nil, err
	}
	if _, ok := access.ParseStaffRole(string(role)); !ok {
		return nil, fmt.Errorf("unknown staff role %q: use %s or %s", role, access.Reviewer, access.Admin)
	}
	n := &NewStaff{Password: access.NewPassword(), Token: access.NewStaffToken()}
	n.Staff = access.Staff{
		ID: store.NewID(), Email: address, Name: name, Role: role, PasswordHash: access.HashPassword(n.Password), CreatedAt: s.now(),
	}
	err = s.Store.Update(ctx, func(tx *store.Tx) error {
		if err := tx.InsertStaff(&n.Staff, access.HashSecretKey(n.Token)); err != nil {
			return taken(err, "a staff user with the email %q exists already", address)
		}
		return s.did(ctx, tx, audit.Action{Code: audit.StaffCreated, Target: onStaff(&n.Staff), Details: map[string]any{"role": string(role)}})
	})
	if err != nil {
		return nil, err
	}
	return n, nil
}

// AuthenticateStaff returns the staff user behind a bearer token, or access.StaffUnauthenticated, which is the same for
// missing, malformed, unknown and replaced tokens and for those of deactivated staff.
func (s *Service) AuthenticateStaff(ctx context.Context, token string) (*access.Staff, error) {
	if !access.ValidStaffToken(token) {
		return nil, access.StaffUnauthenticated
	}
	staff, err := s.Store.StaffByToken(ctx, access.HashSecretKey(token))
	if errors.Is(err, store.ErrNotFound) || err == nil && !staff.Active() {
		return nil, access.StaffUnauthenticated
	}
	return staff, err
}

// StaffUsers returns every staff user, deactivated ones included, the oldest first.
func (s *Service) StaffUsers(ctx context.Context) ([]*access.Staff, error) {
	return s.Store.AllStaff(ctx)
}

// FindStaff returns a staff user by their id or email.
func (s *Service) FindStaff(ctx context.Context, idOrEmail string) (*access.Staff, error) {
	find, key := s.Store.Staff, ""
	if id, ok := store.ParseID(idOrEmail); ok {
		key = id
	} else if address, err := access.NormalizeEmail(idOrEmail); err == nil {
		find, key = s.Store.StaffByEmail, address
	}
	staff, err := find(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("there is no staff user with the id or email %q", idOrEmail)
	}
	return staff, err
}

// RotateStaffToken gives a staff user a new token, which is returned once; the old one ends at once.
func (s *Service) RotateStaffToken(ctx context.Context, staffID string) (string, error) {
	token := access.NewStaffToken()
	err := s.Store.Update(ctx, func(tx *store.Tx) error {
		if err := tx.SetStaffToken(staffID, access.HashSecretKey(token)); err != nil {
			return err
		}
		staff, err := tx.Staff(ctx, staffID)
		if err != nil {
			return err
		}
		return s.did(ctx, tx, audit.Action{Code: audit.StaffTokenMade, Target: onStaff(staff)})
	})
	if errors.Is(err, store.ErrNotFound) {
		return "", fmt.Errorf("there is no staff user with the id %q", staffID)
	}
	return token, err
}

// DeactivateStaff ends a staff user: their token is gone, their sessions end, and what they hold goes back to the queue.
// Orders that wait for photos they have asked for go to the queue when the photos arrive. Deactivating again changes
// nothing.
func (s *Service) DeactivateStaff(ctx context.Context, staffID string) error {
	err := s.Store.Update(ctx, func(tx *store.Tx) error {
		staff, err := tx.StaffForUpdate(staffID)
		if err != nil {
			return err
		}
		return s.deactivate(ctx, tx, staff)
	})
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("there is no staff user with the id %q", staffID)
	}
	if err != nil {
		return err
	}
	s.sessions.drop()
	return s.releaseAll(ctx, staffID)
}

// deactivate is the part of DeactivateStaff that is one transaction.
func (s *Service) deactivate(ctx context.Context, tx *store.Tx, staff *access.Staff) error {
	changed, err := tx.DeactivateStaff(staff.ID, s.now())
	if err != nil || !changed {
		return err
	}
	if err := tx.RevokeStaffToken(staff.ID); err != nil {
		return err
	}
	if _, err := tx.DeleteSessions(access.Desk, staff.ID, ""); err != nil {
		return err
	}
	return s.did(ctx, tx, audit.Action{Code: audit.StaffDeactivated, Target: onStaff(staff)})
}

// releaseAll returns what a staff user holds to the queue.
func (s *Service) releaseAll(ctx context.Context, staffID string) error {
	// Each order in a transaction of its own: one that held several would wait for others and let them wait. A program
	// that ends in between has lost nothing, for claims without activity expire.
	ids, err := s.Store.ClaimsOf(ctx, staffID)
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
