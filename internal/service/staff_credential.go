package service

import (
	"context"
	"errors"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/letter"
	"github.com/assayhq/assay/internal/service/signin"
	"github.com/assayhq/assay/internal/store"
)

// newStaffToken returns a token and how it is kept.
func (s *Service) newStaffToken(networks access.Networks) (token string, kept store.StaffToken) {
	token = access.NewStaffToken()
	return token, store.StaffToken{Hash: access.HashSecretKey(token), Networks: networks, MadeAt: s.now()}
}

// RotateStaffToken gives a staff user a new token for the desk API, which is shown once and works from the networks, or
// from anywhere without them. The old one ends at once, and the staff user gets a mail.
func (s *Service) RotateStaffToken(
	ctx context.Context, actor access.Actor, id string, networks access.Networks,
) (*access.Staff, string, error) {
	token, kept := s.newStaffToken(networks)
	who, err := s.changeActive(ctx, actor, id, audit.StaffTokenMade, func(tx *store.Tx, who *access.Staff) error {
		return errors.Join(tx.SetStaffToken(who.ID, kept), s.notifyStaff(tx, who, actor, letter.TokenMade))
	})
	if err != nil {
		return nil, "", err
	}
	return who, token, nil
}

// RotateOwnToken gives staff a new token for the desk API, after they have proved who they are. They get a mail.
func (s *Service) RotateOwnToken(
	ctx context.Context, staffID string, p signin.Proof, networks access.Networks, from access.Origin,
) (string, error) {
	who, err := s.store.Staff(ctx, staffID)
	if err != nil {
		return "", store.NotFoundAs(err, fault.Missing("staff user"))
	}
	if err := s.SignIn(access.Desk).Confirm(ctx, who.Person(), p, from); err != nil {
		return "", err
	}
	token, kept := s.newStaffToken(networks)
	actor := who.Actor(from)
	err = s.store.Update(ctx, func(tx *store.Tx) error {
		if err := signin.Hold(tx, access.Desk, who.ID, from.SessionID()); err != nil {
			return err
		}
		return errors.Join(
			tx.SetStaffToken(who.ID, kept), s.notifyStaff(tx, who, actor, letter.TokenMade),
			s.recordStaffAction(tx, actor, audit.Action{Code: audit.StaffTokenMade, Target: staffTarget(who)}),
		)
	})
	return token, s.AfterMail(err)
}

// RevokeStaffToken takes the token for the desk API from a staff user, at once.
func (s *Service) RevokeStaffToken(ctx context.Context, actor access.Actor, id string) (*access.Staff, error) {
	return s.changeActive(ctx, actor, id, audit.StaffTokenRevoked, func(tx *store.Tx, who *access.Staff) error {
		return errors.Join(tx.RevokeStaffToken(who.ID), s.notifyStaff(tx, who, actor, letter.TokenRevoked))
	})
}

// ResetStaffPassword gives a staff user a new password, which is shown once. Their sessions and their token end, and
// they get a mail.
func (s *Service) ResetStaffPassword(
	ctx context.Context, actor access.Actor, id string,
) (*access.Staff, string, error) {
	password := access.NewPassword()
	hash := access.HashPassword(password)
	who, err := s.changeActive(ctx, actor, id, audit.StaffPasswordReset, func(tx *store.Tx, who *access.Staff) error {
		return errors.Join(
			tx.SetPassword(access.Desk, who.ID, hash), tx.DeleteResets(access.Desk, who.ID),
			tx.RevokeStaffToken(who.ID), tx.ForgetDevices(access.Desk, who.ID), signin.EndSessions(tx, access.Desk, who.ID),
			s.notifyStaff(tx, who, actor, letter.PasswordChanged),
		)
	})
	if err != nil {
		return nil, "", err
	}
	return who, password, nil
}

// ResetStaffFactors removes the second factor and the passkeys of a staff user who has lost them. Their sessions end,
// and they get a mail.
func (s *Service) ResetStaffFactors(ctx context.Context, actor access.Actor, id string) (*access.Staff, error) {
	return s.changeActive(ctx, actor, id, audit.StaffFactorReset, func(tx *store.Tx, who *access.Staff) error {
		return errors.Join(
			signin.RemoveFactors(tx, access.Desk, who.ID), s.notifyStaff(tx, who, actor, letter.FactorOff),
		)
	})
}

// AuthenticateStaff returns the staff user behind a bearer token that is used from an address, or
// access.StaffUnauthenticated, which is the same for missing, malformed, unknown, replaced and expired tokens and for
// those of deactivated staff; or access.WrongStaffNetwork for a token that must not be used from there.
func (s *Service) AuthenticateStaff(ctx context.Context, token, address string) (*access.Staff, error) {
	if !access.ValidStaffToken(token) {
		return nil, access.StaffUnauthenticated
	}
	staff, kept, err := s.store.StaffByToken(ctx, access.HashSecretKey(token))
	if errors.Is(err, store.ErrNotFound) || err == nil && (!staff.Active() || s.tokenEnded(kept.MadeAt)) {
		return nil, access.StaffUnauthenticated
	}
	if err != nil {
		return nil, err
	}
	if !kept.Networks.Allow(address) || !s.limits.DeskNetworks.Allow(address) {
		return nil, access.WrongStaffNetwork(address)
	}
	return staff, nil
}

// tokenEnded tells by what the operator has set now, whatever was set when the token was made.
func (s *Service) tokenEnded(made time.Time) bool {
	age := s.limits.StaffTokenAge
	return age > 0 && !s.now().Before(made.Add(age))
}
