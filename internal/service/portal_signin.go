package service

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"strings"
	"sync"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/letter"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/store"
	"github.com/pquerna/otp/totp"
)

// Reasons of failed sign-ins, in the audit log.
const (
	reasonWrongPassword = "wrong-password"
	reasonWrongCode     = "wrong-code"
)

// PortalSignIn signs account users in and keeps their passwords, emails and second factors. All guesses are throttled, and
// each of these things stands in the audit log of the account.
type PortalSignIn struct {
	service  *Service
	throttle *LoginThrottle
	resets   *LoginThrottle // of requests for links to choose a new password
	decoy    func() string  // a hash to verify for users who do not exist, so that they take as long as others
}

// NewPortalSignIn returns the use cases to sign account users in.
func NewPortalSignIn(s *Service) *PortalSignIn {
	return &PortalSignIn{
		service: s, throttle: NewLoginThrottle(s.Now), resets: newThrottle(s.Now, resetLimits),
		decoy: sync.OnceValue(func() string { return access.HashPassword(access.NewPassword()) }),
	}
}

// Password checks email and password. It returns the id of the user and whether they owe a code of their second factor
// before they are signed in, or WrongSignIn, or TooManyLogins. Nothing in the answer, its time included, tells whether the
// email exists.
func (g *PortalSignIn) Password(ctx context.Context, email, password string, from Origin) (userID string, owesCode bool, err error) {
	name := strings.ToLower(strings.TrimSpace(email))
	if err := g.throttle.Begin(from.IP, name); err != nil {
		return "", false, err
	}
	hash := g.decoy()
	var user *access.User
	if address, err := access.NormalizeEmail(name); err == nil {
		user, err = g.service.Store.UserByEmail(ctx, address)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return "", false, err
		}
		if user != nil {
			hash = user.PasswordHash
		}
	}
	ok, err := access.VerifyPassword(hash, password)
	if err != nil {
		return "", false, err
	}
	if !ok || user == nil {
		return "", false, g.failed(ctx, user, reasonWrongPassword, from, WrongSignIn)
	}
	g.throttle.Succeeded(from.IP, name)
	owesCode, err = g.HasSecondFactor(ctx, user.ID)
	return user.ID, owesCode, err
}

// failed records a failed attempt, where the account is known, and returns the refusal.
func (g *PortalSignIn) failed(ctx context.Context, user *access.User, reason string, from Origin, refusal error) error {
	g.service.Log.WarnContext(ctx, "portal sign-in failed", "ip", from.IP, "reason", reason)
	err := g.service.Store.Update(ctx, func(tx *store.Tx) error {
		if user == nil {
			return tx.CountUnknownSignIn()
		}
		return tx.AppendAudit(g.service.ownEvent(audit.LoginFailed, user, from, map[string]any{"reason": reason}))
	})
	if err != nil {
		return err
	}
	return refusal
}

// Code checks a code of the second factor, or a recovery code, of a user who has given the right password. It returns
// WrongCode or TooManyLogins. Each code is accepted once.
func (g *PortalSignIn) Code(ctx context.Context, userID, code string, from Origin) error {
	name := "code " + userID
	if err := g.throttle.Begin(from.IP, name); err != nil {
		return err
	}
	user, err := g.service.Store.User(ctx, userID)
	if errors.Is(err, store.ErrNotFound) {
		return WrongCode
	}
	if err != nil {
		return err
	}
	err = g.useCode(ctx, user, code)
	if errors.Is(err, WrongCode) {
		return g.failed(ctx, user, reasonWrongCode, from, WrongCode)
	}
	if err == nil {
		g.throttle.Succeeded(from.IP, name)
	}
	return err
}

// useCode spends a code of either kind.
func (g *PortalSignIn) useCode(ctx context.Context, user *access.User, code string) error {
	factor, err := g.service.Store.UserTOTP(ctx, user.ID)
	if errors.Is(err, store.ErrNotFound) {
		return WrongCode
	}
	if err != nil {
		return err
	}
	use := func(tx *store.Tx) error {
		return tx.UseRecoveryCode(user.ID, g.recoveryHash(user.ID, code), g.service.now())
	}
	if !isRecoveryCode(code) {
		secret, err := g.service.Secrets.Open(factor.SealedSecret, totpContext(user.ID))
		if err != nil {
			return err
		}
		counter, ok := matchCode(secret, code, g.service.now(), factor.LastCounter)
		if !ok {
			return WrongCode
		}
		use = func(tx *store.Tx) error { return tx.UseUserTOTP(user.ID, counter) }
	}
	err = g.service.Store.Update(ctx, use)
	if errors.Is(err, store.ErrNotFound) { // spent before, perhaps at this very moment
		return WrongCode
	}
	return err
}

// Begin signs a user in who has proved who they are: the session and the event are one transaction. It returns the token
// for the cookie.
func (g *PortalSignIn) Begin(ctx context.Context, userID string, from Origin) (token string, err error) {
	err = g.service.Store.Update(ctx, func(tx *store.Tx) error {
		user, err := tx.User(ctx, userID)
		if errors.Is(err, store.ErrNotFound) {
			return WrongSignIn
		}
		if err != nil {
			return err
		}
		if _, token, err = g.service.startSession(tx, access.Portal, user.ID, from); err != nil {
			return err
		}
		return tx.AppendAudit(g.service.ownEvent(audit.LoginSucceeded, user, from, nil))
	})
	return token, err
}

// HasSecondFactor reports whether a user has a second factor.
func (g *PortalSignIn) HasSecondFactor(ctx context.Context, userID string) (bool, error) {
	_, err := g.service.Store.UserTOTP(ctx, userID)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// BeginSecondFactor makes a second factor for a user. Nothing is kept until ConfirmSecondFactor gets its first code.
func (g *PortalSignIn) BeginSecondFactor(who *Member) (*Enrolment, error) {
	key, err := totp.Generate(totp.GenerateOpts{Issuer: totpIssuer, AccountName: who.Email})
	if err != nil {
		return nil, err
	}
	return newEnrolment(&access.Staff{Email: who.Email}, key.Secret(), g.service.Secrets.Seal(key.Secret(), enrolContext(who.ID))), nil
}

// ResumeSecondFactor returns an enrolment again, from what it was sealed as: after a mistyped code, say.
func (g *PortalSignIn) ResumeSecondFactor(who *Member, sealed string) (*Enrolment, error) {
	secret, err := g.service.Secrets.Open(sealed, enrolContext(who.ID))
	if err != nil {
		return nil, fault.BadRequest("The enrolment cannot be read. Begin again.").Because(err)
	}
	return newEnrolment(&access.Staff{Email: who.Email}, secret, sealed), nil
}

// ConfirmSecondFactor puts an enrolment in force when the code is one of it, else it returns WrongCode. It returns the
// recovery codes, which are told once. Other sessions of the user end.
func (g *PortalSignIn) ConfirmSecondFactor(ctx context.Context, who *Member, e *Enrolment, code, sessionID string, from Origin) ([]string, error) {
	name := "enrol " + who.ID
	if err := g.throttle.Begin(from.IP, name); err != nil {
		return nil, err
	}
	counter, ok := matchCode(e.Secret, code, g.service.now(), 0)
	if !ok {
		return nil, WrongCode
	}
	g.throttle.Succeeded(from.IP, name)
	factor := &store.TOTP{SealedSecret: g.service.Secrets.Seal(e.Secret, totpContext(who.ID)), LastCounter: counter}
	codes, hashes := g.newRecoveryCodes(who.ID)
	err := g.change(ctx, &who.User, sessionID, func(tx *store.Tx) error {
		if err := tx.SetUserTOTP(who.ID, factor, g.service.now()); err != nil {
			return err
		}
		return tx.ReplaceRecoveryCodes(who.ID, hashes)
	})
	return codes, err
}

// EndSecondFactor takes the second factor from a user who has given their password again, or returns WrongPassword.
func (g *PortalSignIn) EndSecondFactor(ctx context.Context, who *Member, password, sessionID string, from Origin) error {
	if err := g.confirm(who, password, from); err != nil {
		return err
	}
	return g.change(ctx, &who.User, sessionID, func(tx *store.Tx) error { return tx.DeleteUserTOTP(who.ID) })
}

// RenewRecoveryCodes replaces the recovery codes of a user who has a second factor and gave their password again.
func (g *PortalSignIn) RenewRecoveryCodes(ctx context.Context, who *Member, password string, from Origin) ([]string, error) {
	if err := g.confirm(who, password, from); err != nil {
		return nil, err
	}
	if has, err := g.HasSecondFactor(ctx, who.ID); err != nil || !has {
		return nil, errors.Join(err, fault.BadRequest("There is no second factor."))
	}
	codes, hashes := g.newRecoveryCodes(who.ID)
	return codes, g.service.Store.Update(ctx, func(tx *store.Tx) error { return tx.ReplaceRecoveryCodes(who.ID, hashes) })
}

// RecoveryCodesLeft returns how many recovery codes a user has not spent.
func (g *PortalSignIn) RecoveryCodesLeft(ctx context.Context, who *Member) (int, error) {
	return g.service.Store.RecoveryCodesLeft(ctx, who.ID)
}

const (
	recoveryCodes     = 10
	recoveryCodeBytes = 10 // 80 bits: 16 characters
)

var recoveryEncoding = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// newRecoveryCodes returns codes to write down, and what is kept of them.
func (g *PortalSignIn) newRecoveryCodes(userID string) (codes, hashes []string) {
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
	return strings.ToLower(strings.Join(strings.FieldsFunc(code, func(r rune) bool { return r == '-' || r == ' ' }), ""))
}

// isRecoveryCode tells the two kinds of codes apart by their length.
func isRecoveryCode(code string) bool {
	return len(plainRecoveryCode(code)) == recoveryEncoding.EncodedLen(recoveryCodeBytes)
}

// recoveryHash is keyed, so that a copy of the database does not help to guess.
func (g *PortalSignIn) recoveryHash(userID, code string) string {
	mac := hmac.New(sha256.New, g.service.Secrets.Derive("recovery codes"))
	mac.Write([]byte(userID + "\x00" + plainRecoveryCode(code)))
	return hex.EncodeToString(mac.Sum(nil))
}

// ChangePassword gives a user another password. Their other sessions end, and links to reset the old one are taken back.
func (g *PortalSignIn) ChangePassword(ctx context.Context, who *Member, current, next, sessionID string, from Origin) error {
	if err := CheckNewPassword("new_password", next); err != nil {
		return err
	}
	if err := g.confirm(who, current, from); err != nil {
		return err
	}
	hash := access.HashPassword(next)
	return g.change(ctx, &who.User, sessionID, func(tx *store.Tx) error { return g.setPassword(tx, &who.User, hash, from) })
}

func (g *PortalSignIn) setPassword(tx *store.Tx, user *access.User, hash string, from Origin) error {
	if err := tx.SetUserPassword(user.ID, hash); err != nil {
		return err
	}
	if err := tx.DeleteResets(user.ID); err != nil {
		return err
	}
	if err := g.tell(tx, user, from, func(l text.Locale) error {
		s := g.service
		return s.post(tx, user.AccountID, user.Email, letter.ChangedPassword(l, user.Email, s.now(), s.PublicURL+"/portal/forgot"), nil)
	}); err != nil {
		return err
	}
	return tx.AppendAudit(g.service.ownEvent(audit.PasswordChanged, user, from, nil))
}

// tell calls post with the language in which a user is written to: that of the page where they made a change.
func (g *PortalSignIn) tell(tx *store.Tx, user *access.User, from Origin, post func(text.Locale) error) error {
	if !g.service.SendsMail() {
		return nil
	}
	account, err := tx.Account(context.Background(), user.AccountID)
	if err != nil {
		return err
	}
	return post(localeOr(from, account.Locale))
}

// EmailUnusable is the refusal of an email that is none, or that another user has: which of them is not told.
var EmailUnusable = fault.New(fault.Invalid, "email-unusable", "This email address cannot be used.")

// ChangeEmail gives a user another email, after they have given their password again. The event names the old one.
func (g *PortalSignIn) ChangeEmail(ctx context.Context, who *Member, password, email, sessionID string, from Origin) error {
	address, err := access.NormalizeEmail(email)
	if err != nil {
		return EmailUnusable
	}
	if err := g.confirm(who, password, from); err != nil {
		return err
	}
	err = g.change(ctx, &who.User, sessionID, func(tx *store.Tx) error {
		if err := tx.SetUserEmail(who.ID, address); err != nil {
			return err
		}
		if err := tx.DeleteResets(who.ID); err != nil { // they were sent to the address of before
			return err
		}
		if err := g.tell(tx, &who.User, from, func(l text.Locale) error {
			s := g.service
			toBefore, toAfter := letter.ChangedEmail(l, who.Email, address, s.now(), s.PublicURL+"/portal")
			return errors.Join(s.post(tx, who.AccountID, who.Email, toBefore, nil), s.post(tx, who.AccountID, address, toAfter, nil))
		}); err != nil {
			return err
		}
		return tx.AppendAudit(g.service.ownEvent(audit.EmailChanged, &who.User, from, nil))
	})
	if errors.Is(err, store.ErrExists) {
		return EmailUnusable
	}
	return err
}

// confirm checks the password of a user who is signed in already.
func (g *PortalSignIn) confirm(who *Member, password string, from Origin) error {
	return g.throttle.confirm(from.IP, who.ID, who.PasswordHash, password)
}

// change makes a change of how a user signs in and ends all their sessions but one.
func (g *PortalSignIn) change(ctx context.Context, user *access.User, sessionID string, f func(*store.Tx) error) error {
	err := g.service.Store.Update(ctx, func(tx *store.Tx) error {
		if err := f(tx); err != nil {
			return err
		}
		_, err := tx.DeleteSessions(access.Portal, user.ID, sessionID)
		return err
	})
	g.service.sessions.drop()
	if err == nil {
		g.service.mailed()
	}
	return err
}
