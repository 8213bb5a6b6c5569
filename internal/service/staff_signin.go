package service

import (
	"context"
	"crypto/subtle"
	"errors"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/store"
	"github.com/pquerna/otp/hotp"
	"github.com/pquerna/otp/totp"
)

// Lengths of a password that a person chooses, in characters.
const (
	MinPassword = 12
	MaxPassword = 256
)

// WrongSignIn is the refusal of an email and password that do not belong together. It is the same for an unknown email, a
// wrong password and a deactivated user.
var WrongSignIn = fault.New(fault.Invalid, "wrong-sign-in", "The email or the password is wrong.")

// WrongCode is the refusal of a code of the second factor: a wrong one, or one that was used before.
var WrongCode = fault.New(fault.Invalid, "wrong-code", "The code is wrong, or was used before. Wait for the next one.")

// WrongPassword is the refusal of a change for which a user has to give their password again.
var WrongPassword = fault.New(fault.Invalid, "wrong-password", "The password is wrong.")

// StaffSignIn signs staff in at the pages of the desk and keeps their passwords and second factors. All guesses are
// throttled.
type StaffSignIn struct {
	service  *Service
	throttle *LoginThrottle
	decoy    func() string // a hash to verify for users who do not exist, so that they take as long as others
}

// NewStaffSignIn returns the use cases to sign staff in.
func NewStaffSignIn(s *Service) *StaffSignIn {
	return &StaffSignIn{
		service: s, throttle: NewLoginThrottle(s.Now),
		decoy: sync.OnceValue(func() string { return access.HashPassword(access.NewPassword()) }),
	}
}

// Password checks email and password. It returns the staff user and whether they owe a code of their second factor before
// they are signed in, or WrongSignIn, or TooManyLogins.
func (g *StaffSignIn) Password(ctx context.Context, email, password string, from Origin) (who *access.Staff, owesCode bool, err error) {
	name := strings.ToLower(strings.TrimSpace(email))
	if err := g.throttle.Begin(from.IP, name); err != nil {
		return nil, false, err
	}
	who, err = g.verify(ctx, name, password)
	if errors.Is(err, WrongSignIn) {
		reason := reasonWrongPassword
		if who != nil && !who.Active() {
			reason = reasonDeactivated
		}
		return nil, false, g.failed(ctx, who, reason, from, WrongSignIn)
	}
	if err != nil {
		return nil, false, err
	}
	g.throttle.Succeeded(from.IP, name)
	owesCode, err = g.HasSecondFactor(ctx, who.ID)
	return who, owesCode, err
}

const reasonDeactivated = "deactivated"

// failed records a failed attempt, where somebody has the email, and returns the refusal.
func (g *StaffSignIn) failed(ctx context.Context, who *access.Staff, reason string, from Origin, refusal error) error {
	g.service.Log.WarnContext(ctx, "staff sign-in failed", "ip", from.IP, "reason", reason)
	err := g.service.Store.Update(ctx, func(tx *store.Tx) error {
		if who == nil {
			return tx.CountUnknownSignIn()
		}
		return g.service.did(byStaff(From(ctx, from), who), tx, audit.Action{
			Code: audit.StaffSignInFailed, Target: onStaff(who), Details: map[string]any{"reason": reason},
		})
	})
	if err != nil {
		return err
	}
	return refusal
}

// verify returns the staff user whose email and password these are. Where the password is wrong or the user is deactivated,
// it returns the user that has the email with WrongSignIn.
func (g *StaffSignIn) verify(ctx context.Context, email, password string) (*access.Staff, error) {
	hash := g.decoy()
	var who *access.Staff
	if address, err := access.NormalizeEmail(email); err == nil {
		who, err = g.service.Store.StaffByEmail(ctx, address)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		if who != nil {
			hash = who.PasswordHash
		}
	}
	ok, err := access.VerifyPassword(hash, password)
	if err != nil {
		return nil, err
	}
	if !ok || who == nil || !who.Active() {
		return who, WrongSignIn
	}
	return who, nil
}

// Code checks a code of the second factor of a staff user who has given the right password. It returns WrongCode or
// TooManyLogins. A code is accepted once.
func (g *StaffSignIn) Code(ctx context.Context, staffID, code string, from Origin) error {
	name := "code " + staffID
	if err := g.throttle.Begin(from.IP, name); err != nil {
		return err
	}
	factor, err := g.service.Store.StaffTOTP(ctx, staffID)
	if errors.Is(err, store.ErrNotFound) {
		return WrongCode
	}
	if err != nil {
		return err
	}
	secret, err := g.service.Secrets.Open(factor.SealedSecret, totpContext(staffID))
	if err != nil {
		return err
	}
	counter, ok := matchCode(secret, code, g.service.now(), factor.LastCounter)
	if !ok {
		who, err := g.service.Store.Staff(ctx, staffID)
		if err != nil {
			return err
		}
		return g.failed(ctx, who, reasonWrongCode, from, WrongCode)
	}
	err = g.service.Store.Update(ctx, func(tx *store.Tx) error { return tx.UseStaffTOTP(staffID, counter) })
	if errors.Is(err, store.ErrNotFound) { // somebody else has used it at the same moment
		return WrongCode
	}
	if err == nil {
		g.throttle.Succeeded(from.IP, name)
	}
	return err
}

const (
	totpPeriod = 30 // seconds
	totpSkew   = 1  // periods that a clock may be off
	totpIssuer = "Assay"
)

// matchCode returns the counter of a code that is valid now and newer than the last one.
func matchCode(secret, code string, now time.Time, last int64) (int64, bool) {
	code = strings.Join(strings.Fields(code), "")
	current := now.Unix() / totpPeriod
	for counter := current - totpSkew; counter <= current+totpSkew; counter++ {
		want, err := hotp.GenerateCode(secret, uint64(counter)) //nolint:gosec // the year 1970 is past
		if err != nil {
			return 0, false
		}
		if subtle.ConstantTimeCompare([]byte(want), []byte(code)) == 1 && counter > last {
			return counter, true
		}
	}
	return 0, false
}

func totpContext(staffID string) string { return "totp of " + staffID }

// HasSecondFactor reports whether a staff user has a second factor.
func (g *StaffSignIn) HasSecondFactor(ctx context.Context, staffID string) (bool, error) {
	_, err := g.service.Store.StaffTOTP(ctx, staffID)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Enrolment is a second factor that is not in force yet.
type Enrolment struct {
	Secret string // to type into an authenticator app
	URL    string // to scan
	Sealed string // to give back with the first code; only this program can read it
}

// BeginSecondFactor makes a second factor for a staff user. Nothing is kept until ConfirmSecondFactor gets its first code.
func (g *StaffSignIn) BeginSecondFactor(who *access.Staff) (*Enrolment, error) {
	key, err := totp.Generate(totp.GenerateOpts{Issuer: totpIssuer, AccountName: who.Email})
	if err != nil {
		return nil, err
	}
	return newEnrolment(who, key.Secret(), g.service.Secrets.Seal(key.Secret(), enrolContext(who.ID))), nil
}

// ResumeSecondFactor returns an enrolment again, from what it was sealed as: after a mistyped code, say.
func (g *StaffSignIn) ResumeSecondFactor(who *access.Staff, sealed string) (*Enrolment, error) {
	secret, err := g.service.Secrets.Open(sealed, enrolContext(who.ID))
	if err != nil {
		return nil, fault.BadRequest("The enrolment cannot be read. Begin again.").Because(err)
	}
	return newEnrolment(who, secret, sealed), nil
}

func newEnrolment(who *access.Staff, secret, sealed string) *Enrolment {
	u := url.URL{
		Scheme: "otpauth", Host: "totp", Path: "/" + totpIssuer + ":" + who.Email, RawQuery: url.Values{"secret": {secret}, "issuer": {totpIssuer}}.Encode(),
	}
	return &Enrolment{Secret: secret, URL: u.String(), Sealed: sealed}
}

func enrolContext(staffID string) string { return "enrol " + totpContext(staffID) }

// ConfirmSecondFactor puts an enrolment in force when the code is one of it, else it returns WrongCode. Other sessions of
// the user end.
func (g *StaffSignIn) ConfirmSecondFactor(ctx context.Context, who *access.Staff, e *Enrolment, code, sessionID string, from Origin) error {
	name := "enrol " + who.ID
	if err := g.throttle.Begin(from.IP, name); err != nil {
		return err
	}
	counter, ok := matchCode(e.Secret, code, g.service.now(), 0)
	if !ok {
		return WrongCode
	}
	g.throttle.Succeeded(from.IP, name)
	factor := &store.TOTP{SealedSecret: g.service.Secrets.Seal(e.Secret, totpContext(who.ID)), LastCounter: counter}
	return g.change(ctx, who, sessionID, audit.StaffFactorAdded, func(tx *store.Tx) error { return tx.SetStaffTOTP(who.ID, factor, g.service.now()) })
}

// EndSecondFactor takes the second factor from a staff user who has given their password again, or returns WrongPassword.
func (g *StaffSignIn) EndSecondFactor(ctx context.Context, who *access.Staff, password, sessionID string, from Origin) error {
	if err := g.confirm(who, password, from); err != nil {
		return err
	}
	return g.change(ctx, who, sessionID, audit.StaffFactorRemoved, func(tx *store.Tx) error { return tx.DeleteStaffTOTP(who.ID) })
}

// ChangePassword gives a staff user another password. Their other sessions end.
func (g *StaffSignIn) ChangePassword(ctx context.Context, who *access.Staff, current, next, sessionID string, from Origin) error {
	if err := CheckNewPassword("new_password", next); err != nil {
		return err
	}
	if err := g.confirm(who, current, from); err != nil {
		return err
	}
	hash := access.HashPassword(next)
	return g.change(ctx, who, sessionID, audit.StaffPasswordChanged, func(tx *store.Tx) error { return tx.SetStaffPassword(who.ID, hash) })
}

// CheckNewPassword holds the rules of a password that a person chooses; field names it in the problem.
func CheckNewPassword(field, password string) error {
	switch n := utf8.RuneCountInString(password); {
	case n < MinPassword:
		return fault.Validation(fault.Problem{Field: field, Code: "min_length", Message: "must have at least 12 characters"})
	case n > MaxPassword:
		return fault.Validation(fault.Problem{Field: field, Code: "max_length", Message: "must have at most 256 characters"})
	}
	return nil
}

// RotateToken gives a staff user a new token for the desk interface, after they have given their password again.
func (g *StaffSignIn) RotateToken(ctx context.Context, who *access.Staff, password string, from Origin) (string, error) {
	if err := g.confirm(who, password, from); err != nil {
		return "", err
	}
	return g.service.RotateStaffToken(byStaff(ctx, who), who.ID)
}

// confirm checks the password of a user who is signed in already.
func (g *StaffSignIn) confirm(who *access.Staff, password string, from Origin) error {
	return g.throttle.confirm(from.IP, who.ID, who.PasswordHash, password)
}

// change makes a change of how a staff user signs in, writes it down, and ends all their sessions but one.
func (g *StaffSignIn) change(ctx context.Context, who *access.Staff, sessionID string, code audit.ActionCode, f func(*store.Tx) error) error {
	err := g.service.Store.Update(ctx, func(tx *store.Tx) error {
		if err := f(tx); err != nil {
			return err
		}
		if _, err := tx.DeleteSessions(access.Desk, who.ID, sessionID); err != nil {
			return err
		}
		return g.service.did(byStaff(ctx, who), tx, audit.Action{Code: code, Target: onStaff(who)})
	})
	g.service.sessions.drop()
	return err
}

// StaffOfSession returns the staff user of a session, or access.NoSession when they are gone.
func (s *Service) StaffOfSession(ctx context.Context, staffID string) (*access.Staff, error) {
	who, err := s.Store.Staff(ctx, staffID)
	if errors.Is(err, store.ErrNotFound) || err == nil && !who.Active() {
		return nil, access.NoSession
	}
	return who, err
}
