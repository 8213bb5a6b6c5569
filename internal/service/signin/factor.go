package signin

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"net/url"
	"strings"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/store"
	"github.com/pquerna/otp/totp"
)

// TOTPContext is what the sealed secret of a person is bound to.
func TOTPContext(userID string) string  { return "totp of " + userID }
func enrolContext(userID string) string { return "enrol " + TOTPContext(userID) }

// HasSecondFactor reports whether a person has a second factor.
func (g *SignIn) HasSecondFactor(ctx context.Context, userID string) (bool, error) {
	_, err := g.Store.TOTP(ctx, g.audience, userID)
	return err == nil, store.IgnoreNotFound(err)
}

const issuer = "Assay"

// Enrolment is a second factor that is not in force yet.
type Enrolment struct {
	Secret string // to type into an authenticator app
	URL    string // to scan
	Sealed string // to give back with the first code; only this program can read it
}

// BeginSecondFactor makes a second factor for a person. Nothing is kept until ConfirmSecondFactor gets its first code.
func (g *SignIn) BeginSecondFactor(who *access.Person) (*Enrolment, error) {
	key, err := totp.Generate(totp.GenerateOpts{Issuer: issuer, AccountName: who.Email})
	if err != nil {
		return nil, err
	}
	return newEnrolment(who.Email, key.Secret(), g.Secrets.Seal(key.Secret(), enrolContext(who.ID))), nil
}

// ResumeSecondFactor returns an enrolment again, from what it was sealed as: after a mistyped code, say.
func (g *SignIn) ResumeSecondFactor(who *access.Person, sealed string) (*Enrolment, error) {
	secret, err := g.Secrets.Open(sealed, enrolContext(who.ID))
	if err != nil {
		return nil, fault.BadRequest("The enrolment cannot be read. Begin again.").Because(err)
	}
	return newEnrolment(who.Email, secret, sealed), nil
}

func newEnrolment(email, secret, sealed string) *Enrolment {
	u := url.URL{
		Scheme: "otpauth", Host: "totp", Path: "/" + issuer + ":" + email,
		RawQuery: url.Values{"secret": {secret}, "issuer": {issuer}}.Encode(),
	}
	return &Enrolment{Secret: secret, URL: u.String(), Sealed: sealed}
}

// ConfirmSecondFactor puts an enrolment in force for a person who has proved who they are (see Confirm) and given a
// code of it, else WrongCode. It returns the recovery codes, which are shown once. Other sessions end,
// and the person gets a mail.
func (g *SignIn) ConfirmSecondFactor(
	ctx context.Context, who *access.Person, e *Enrolment, p Proof, code string, from access.Origin,
) ([]string, error) {
	if err := g.Confirm(ctx, who, p, from); err != nil {
		return nil, err
	}
	try, err := g.throttle.begin(ctx, from, "enrol "+who.ID, who.ID)
	if err != nil {
		return nil, err
	}
	counter, ok := matchCode(e.Secret, code, g.now(), 0)
	if !ok {
		return nil, WrongCode
	}
	if err := try.succeeded(ctx); err != nil {
		return nil, err
	}
	factor := &store.TOTP{SealedSecret: g.Secrets.Seal(e.Secret, TOTPContext(who.ID)), LastCounter: counter}
	codes, hashes := g.newRecoveryCodes(who.ID)
	err = g.change(ctx, who, from.SessionID(), func(tx *store.Tx) error {
		if err := errors.Join(
			tx.SetTOTP(g.audience, who.ID, factor, g.now()),
			tx.ReplaceRecoveryCodes(g.audience, who.ID, hashes), tx.SetSessionFactor(from.SessionID()),
		); err != nil {
			return err
		}
		if from.Session != nil { // what proved who they are has changed
			if err := tx.ConfirmSession(from.Session.ID, from.Session.CreatedAt); err != nil {
				return err
			}
		}
		return g.record(tx, who, from, factorAdded, nil)
	})
	return codes, err
}

// EndSecondFactor removes the second factor of a person who has proved who they are; see Confirm. Other sessions end,
// and the person gets a mail.
func (g *SignIn) EndSecondFactor(ctx context.Context, who *access.Person, p Proof, from access.Origin) error {
	if err := g.Confirm(ctx, who, p, from); err != nil {
		return err
	}
	return g.change(ctx, who, from.SessionID(), func(tx *store.Tx) error {
		return errors.Join(tx.DeleteTOTP(g.audience, who.ID), g.record(tx, who, from, factorRemoved, nil))
	})
}

// noSecondFactor is the refusal of recovery codes without a second factor.
var noSecondFactor = fault.BadRequest("There is no second factor.")

// RenewRecoveryCodes replaces the recovery codes of a person who has a second factor and has proved who they are; see
// Confirm. The person gets a mail.
func (g *SignIn) RenewRecoveryCodes(
	ctx context.Context, who *access.Person, p Proof, from access.Origin,
) ([]string, error) {
	if err := g.Confirm(ctx, who, p, from); err != nil {
		return nil, err
	}
	has, err := g.HasSecondFactor(ctx, who.ID)
	if err != nil {
		return nil, err
	}
	if !has {
		return nil, noSecondFactor
	}
	codes, hashes := g.newRecoveryCodes(who.ID)
	err = g.Store.Update(ctx, func(tx *store.Tx) error {
		if err := Hold(tx, g.audience, who.ID, from.SessionID()); err != nil {
			return err
		}
		return errors.Join(
			tx.ReplaceRecoveryCodes(g.audience, who.ID, hashes), g.record(tx, who, from, codesRenewed, nil),
		)
	})
	return codes, g.Host.AfterMail(err)
}

// RecoveryCodesLeft returns how many recovery codes a person has not spent.
func (g *SignIn) RecoveryCodesLeft(ctx context.Context, userID string) (int, error) {
	return g.Store.RecoveryCodesLeft(ctx, g.audience, userID)
}

const (
	recoveryCodes     = 10
	recoveryCodeBytes = 10 // 80 bits: 16 characters
)

var recoveryEncoding = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// newRecoveryCodes returns codes to write down, and what is kept of them.
func (g *SignIn) newRecoveryCodes(userID string) (codes, hashes []string) {
	for range recoveryCodes {
		var b [recoveryCodeBytes]byte
		_, _ = rand.Read(b[:])
		s := recoveryEncoding.EncodeToString(b[:])
		code := s[:4] + "-" + s[4:8] + "-" + s[8:12] + "-" + s[12:]
		codes, hashes = append(codes, code), append(hashes, g.recoveryHash(userID, code))
	}
	return codes, hashes
}

func plainRecoveryCode(code string) string {
	parts := strings.FieldsFunc(code, func(r rune) bool { return r == '-' || r == ' ' })
	return strings.ToLower(strings.Join(parts, ""))
}

// isRecoveryCode tells the two kinds of codes apart by their length.
func isRecoveryCode(code string) bool {
	return len(plainRecoveryCode(code)) == recoveryEncoding.EncodedLen(recoveryCodeBytes)
}

func (g *SignIn) recoveryHash(userID, code string) string {
	return g.keyedHash("recovery codes", userID+"\x00"+plainRecoveryCode(code))
}

// RemoveFactors leaves a person nothing to sign in with but their password: who has lost a device has lost the
// authenticator app and the passkeys on it alike, and its browser is not known any more. All their sessions end; the
// caller calls SessionStore.ForgetSessions after it.
func RemoveFactors(tx *store.Tx, a access.Audience, userID string) error {
	return errors.Join(
		tx.DeleteTOTP(a, userID), tx.DeletePasskeys(a, userID), tx.ForgetDevices(a, userID), EndSessions(tx, a, userID),
	)
}
