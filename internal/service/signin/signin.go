// Package signin is how people sign in through a browser, account users in the portal and staff at the desk: passwords,
// second factors, recovery codes, passkeys, sessions, and links to join or to choose a new password. All guesses are
// throttled, and what happens is recorded: in the audit log of the account, or in the log of administration.
package signin

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/letter"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/openid"
	"github.com/assayhq/assay/internal/ratelimit"
	"github.com/assayhq/assay/internal/secret"
	"github.com/assayhq/assay/internal/store"
)

// Config is what signing in works with.
type Config struct {
	Store   *store.Store
	Secrets *secret.Box
	Now     func() time.Time
	Log     *slog.Logger
	Host    Host
	Shared  SharedWindows // nil: attempts are counted in the database

	// Required is whose people must have more than a password.
	Required map[access.Audience]bool
}

// SharedWindows counts attempts outside the database; *ratelimit.Redis does. While it is away they are counted in the
// database.
type SharedWindows interface {
	// Count counts in all windows, or in none when one of them is full: then it tells when that one ends.
	Count(ctx context.Context, windows ...ratelimit.Counter) (retryAfter time.Duration, full bool, err error)

	// GiveBack forgets the first window and takes one back from each other one.
	GiveBack(ctx context.Context, keys ...string) error
}

// Host is the service around it; *service.Service is one.
type Host interface {
	// Address is where people open the pages, without a trailing slash.
	Address() string

	// SendsMail reports whether there is a mail server. Without one, QueueMail does nothing.
	SendsMail() bool

	// QueueMail queues a mail, or something that becomes one, in the transaction of what it is about; content is sealed.
	QueueMail(tx *store.Tx, m *store.Mail, content any) error

	// PostLetter queues a letter. link is the one inside the letter, or nil.
	PostLetter(tx *store.Tx, accountID, to string, l letter.Letter, link *access.Link) error

	// AfterMail wakes the sender unless the transaction that may have queued mail has failed with err, which it returns.
	AfterMail(err error) error
}

// keyedHash is a hash of a text that a copy of the database does not help to guess.
func (c *Config) keyedHash(purpose, text string) string {
	mac := hmac.New(sha256.New, c.Secrets.Derive(purpose))
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil))
}

// now is the current time as the database keeps it.
func (c *Config) now() time.Time { return store.RoundTime(c.Now()) }

// SignIn signs the people of one audience in and keeps what they sign in with.
type SignIn struct {
	Config
	*SessionStore
	OpenID   *openid.Provider // where people can sign in as well; nil: nowhere
	audience access.Audience
	throttle throttle
	resets   throttle      // of requests for links to choose a new password
	invites  throttle      // of invitations that account users have mailed
	decoy    func() string // a hash to verify for people who do not exist, so that they take as long as others
}

// New returns the use cases to sign the people of an audience in.
func New(c Config, sessions *SessionStore, audience access.Audience) *SignIn {
	g := &SignIn{
		Config: c, SessionStore: sessions, audience: audience,
		decoy: sync.OnceValue(func() string { return access.HashPassword(access.NewPassword()) }),
	}
	g.throttle = throttle{Config: &g.Config, audience: audience, purpose: "sign-in", limits: signInLimits}
	g.resets = throttle{Config: &g.Config, audience: audience, purpose: "reset", limits: resetLimits}
	g.invites = throttle{Config: &g.Config, audience: audience, purpose: "invite", limits: inviteLimits}
	return g
}

// Refusals.
var (
	// WrongSignIn is for an email and password that do not belong together. It is the same for an unknown email, a wrong
	// password and a person who may not sign in any more.
	WrongSignIn = fault.New(fault.Invalid, "wrong-sign-in", "The email or the password is wrong.")

	// WrongCode is for a code of the second factor: a wrong one, or one that was used before.
	WrongCode = fault.New(fault.Invalid, "wrong-code", "The code is wrong, or was used before. Wait for the next one.")
)

// Reasons of failed sign-ins, in the logs.
const (
	reasonWrongPassword = "wrong-password"
	reasonWrongCode     = "wrong-code"
	reasonDeactivated   = "deactivated"
)

// Password checks email and password. It returns the person, with the password that they had then (see TicketOf), and
// whether they owe a code of their second factor before they are signed in, or WrongSignIn, PasskeyRequired or
// TooManyLogins. Nothing in the answer, its time included, tells whether the email exists.
func (g *SignIn) Password(
	ctx context.Context, email, password string, from access.Origin,
) (who *access.Person, owesCode bool, err error) {
	name := strings.ToLower(strings.TrimSpace(email))
	hash, whose := g.decoy(), ""
	if address, err := access.NormalizeEmail(name); err == nil {
		who, err = g.Store.PersonByEmail(ctx, g.audience, address)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, false, err
		}
		if who != nil {
			hash, whose = who.PasswordHash, who.ID
		}
	}
	try, err := g.throttle.begin(ctx, from, name, whose)
	if err != nil {
		return nil, false, err
	}
	ok, err := access.VerifyPassword(ctx, hash, password)
	if err != nil {
		return nil, false, err
	}
	if who != nil && !who.Active {
		return nil, false, g.failed(ctx, who, reasonDeactivated, from, WrongSignIn)
	}
	if !ok || who == nil {
		return nil, false, g.failed(ctx, who, reasonWrongPassword, from, WrongSignIn)
	}
	if err := try.succeeded(ctx); err != nil {
		return nil, false, err
	}
	owesCode, err = g.owesCode(ctx, who.ID)
	return who, owesCode, err
}

// PasskeyRequired is for who has a passkey and nothing else beside the password, where more than that is required: with
// the password alone anybody who has learnt it could set up a second factor of their own.
var PasskeyRequired = fault.New(fault.Invalid, "passkey-required", "Sign in with your passkey.")

// owesCode reports whether somebody who has proved who they are with one factor owes a code. It returns PasskeyRequired
// where nothing but a passkey helps.
func (g *SignIn) owesCode(ctx context.Context, userID string) (bool, error) {
	has, err := g.HasSecondFactor(ctx, userID)
	if err != nil || has {
		return has, err
	}
	protected, err := g.passkeyProtects(ctx, userID)
	if err == nil && protected {
		err = PasskeyRequired
	}
	return false, err
}

// passkeyProtects reports whether a passkey is all that somebody has beside the password, where more than that is
// required. Where browsers offer no passkeys it protects nothing.
func (g *SignIn) passkeyProtects(ctx context.Context, userID string) (bool, error) {
	if _, ok := g.RelyingParty(); !ok || !g.Required[g.audience] {
		return false, nil
	}
	has, err := g.HasSecondFactor(ctx, userID)
	if err != nil || has {
		return false, err
	}
	passkeys, err := g.Passkeys(ctx, userID)
	return len(passkeys) > 0, err
}

// failed records a failed attempt, where it is known whose, and returns the refusal.
func (g *SignIn) failed(
	ctx context.Context, who *access.Person, reason string, from access.Origin, refusal error,
) error {
	g.Log.WarnContext(ctx, "sign-in failed", "audience", g.audience, "ip", from.IP, "reason", reason)
	err := g.Store.Update(ctx, func(tx *store.Tx) error {
		if who == nil {
			return tx.CountUnknownSignIn()
		}
		return g.record(tx, who, from, signInFailed, map[string]any{"reason": reason})
	})
	if err != nil {
		return err
	}
	return refusal
}

// event is something that is recorded: of account users in the logs of the account, of staff in the log of
// administration. Without a code it is not recorded there.
type event struct {
	user   audit.Code
	staff  audit.ActionCode
	change string      // of how the person signs in, for the program's own log
	notice letter.Kind // that the person gets; empty: none
}

var (
	signedIn        = event{user: audit.LoginSucceeded, staff: audit.StaffSignedIn}
	signInFailed    = event{user: audit.LoginFailed, staff: audit.StaffSignInFailed}
	passwordChanged = event{audit.PasswordChanged, audit.StaffPasswordChanged, "password", letter.PasswordChanged}
	emailChanged    = event{user: audit.EmailChanged, change: "email"}
	factorAdded     = event{audit.FactorAdded, audit.StaffFactorAdded, "second factor added", letter.FactorOn}
	factorRemoved   = event{audit.FactorRemoved, audit.StaffFactorRemoved, "second factor removed", letter.FactorOff}
	passkeyAdded    = event{audit.PasskeyAdded, audit.StaffPasskeyAdded, "passkey added", letter.PasskeyAdded}
	passkeyRemoved  = event{audit.PasskeyRemoved, audit.StaffPasskeyRemoved, "passkey removed", letter.PasskeyRemoved}
	passkeyRenamed  = event{user: audit.PasskeyRenamed}
	codesRenewed    = event{audit.CodesRenewed, audit.StaffCodesRenewed, "recovery codes renewed", letter.CodesRenewed}
	confirmed       = event{user: audit.Confirmed}
	resetRequested  = event{user: audit.ResetRequested}
	emailRequested  = event{user: audit.EmailRequested}
	joined          = event{user: audit.UserJoined, staff: audit.StaffCreated}
	signedOut       = event{user: audit.SignedOut}
	sessionsEnded   = event{user: audit.SessionsEnded}
)

// record writes down what a person did about themselves, and tells them of it where that is a change of how they sign
// in. A detail called name is also told.
func (c *Config) record(tx *store.Tx, who *access.Person, from access.Origin, e event, details map[string]any) error {
	if e.change != "" {
		c.Log.InfoContext(tx.Context(), "sign-in changed", "audience", who.Audience, "user_id", who.ID, "change", e.change,
			"ip", from.IP)
	}
	if e.notice != "" {
		name, _ := details["name"].(string)
		if err := c.Notify(tx, who, from, e.notice, map[string]string{"name": name}); err != nil {
			return err
		}
	}
	switch {
	case who.Audience == access.Portal && e.user != "":
		return tx.AppendEvent(&audit.Event{
			AccountID: who.AccountID, UserID: who.ID, At: c.now(), Code: e.user, Actor: audit.By(who.Actor(from)),
			Target: audit.Target{Type: audit.TargetUser, ID: who.ID}, Metadata: details,
		})
	case who.Audience == access.Desk && e.staff != "":
		return tx.AppendStaffAction(&audit.Action{
			At: c.now(), Code: e.staff, StaffID: who.ID, StaffName: who.Name, IP: from.IP, UserAgent: from.Agent(),
			Target: audit.ActionTarget{Type: audit.ActionTargetStaff, ID: who.ID, Name: who.Email}, Details: details,
		})
	}
	return nil
}

// Notify posts a notice to a person, in the language of the page where a change was made; see letter.Notice. It leads
// to where they change how they sign in, or to a new password.
func (c *Config) Notify(
	tx *store.Tx, who *access.Person, from access.Origin, kind letter.Kind, more map[string]string,
) error {
	if !c.Host.SendsMail() {
		return nil
	}
	locale, err := c.localeOf(tx, who, from)
	if err != nil {
		return err
	}
	link := c.Host.Address() + "/portal/settings"
	switch {
	case kind == letter.PasswordChanged:
		link = c.Host.Address() + "/" + string(who.Audience) + "/forgot"
	case who.Audience == access.Desk:
		link = c.Host.Address() + "/desk/me"
	}
	l := letter.Notice(kind, locale, who, c.now(), link, more)
	return c.Host.PostLetter(tx, who.AccountID, who.Email, l, nil)
}

func (c *Config) localeOf(tx *store.Tx, who *access.Person, from access.Origin) (text.Locale, error) {
	if from.Locale != "" {
		return from.Locale, nil
	}
	if who.Audience == access.Desk {
		return text.English, nil
	}
	account, err := tx.Account(tx.Context(), who.AccountID)
	if err != nil {
		return "", err
	}
	return account.Locale, nil
}

// Hold keeps the session in which a person makes a change from ending before the transaction does, or returns
// access.NoSession when it has ended: whoever has ended it did not want the change. Without a session there is nothing
// to hold.
func Hold(tx *store.Tx, a access.Audience, userID, sessionID string) error {
	if sessionID == "" {
		return nil
	}
	if _, err := tx.PersonForUpdate(a, userID); err != nil { // first, as in a sign-in
		return store.NotFoundAs(err, access.NoSession)
	}
	return store.NotFoundAs(tx.HoldSession(a, userID, sessionID), access.NoSession)
}

// change makes a change of how a person signs in and ends all their sessions but the one in which they make it.
func (g *SignIn) change(ctx context.Context, who *access.Person, sessionID string, f func(*store.Tx) error) error {
	err := g.Store.Update(ctx, func(tx *store.Tx) error {
		if err := Hold(tx, g.audience, who.ID, sessionID); err != nil {
			return err
		}
		if err := f(tx); err != nil {
			return err
		}
		_, err := tx.DeleteSessions(g.audience, who.ID, sessionID)
		return err
	})
	g.ForgetSessions()
	return g.Host.AfterMail(err)
}

const idLength = 36

// Ticket names a person between two pages of one flow, such as the password and the code of the second factor. It ends
// when the person gets another password. Whoever keeps it has to sign it and to limit its time.
func (g *SignIn) Ticket(ctx context.Context, userID string) (string, error) {
	who, err := g.Store.Person(ctx, g.audience, userID)
	if err != nil {
		return "", err
	}
	return g.TicketOf(who), nil
}

// TicketOf is Ticket for somebody with the password that they are known to have given.
func (c *Config) TicketOf(who *access.Person) string {
	return who.ID + c.keyedHash("sign-in tickets", who.PasswordHash)
}

// TicketHolder returns the id of the person whom a ticket names; empty when it has ended.
func (g *SignIn) TicketHolder(ctx context.Context, ticket string) (userID string, err error) {
	if len(ticket) < idLength {
		return "", nil
	}
	who, err := g.Store.Person(ctx, g.audience, ticket[:idLength])
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	if err != nil || !who.Active || !hmac.Equal([]byte(g.TicketOf(who)), []byte(ticket)) {
		return "", err
	}
	return who.ID, nil
}
