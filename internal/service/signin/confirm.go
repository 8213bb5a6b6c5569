package signin

import (
	"context"
	"errors"
	"unicode/utf8"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/store"
)

// Proof is what somebody who is signed in gives again before how people sign in is changed.
type Proof struct {
	Password string
	Code     string // of the second factor, or a recovery code
}

// Refusals of a proof.
var (
	// WrongPassword is for a change that needs the password again.
	WrongPassword = fault.New(fault.Invalid, "wrong-password", "The password is wrong.")

	// WrongCurrentCode is for a change that needs a code of the second factor again.
	WrongCurrentCode = fault.New(fault.Invalid, "wrong-current-code",
		"The code is wrong, or was used before. Wait for the next one.")
)

// Confirm proves that it is still the person of a session who acts: with the password, and a code where they have a
// second factor. For five minutes after a proof the password is enough, and after one with a passkey nothing more is
// needed; a sign-in is none. It returns WrongPassword, WrongCurrentCode or TooManyLogins.
func (g *SignIn) Confirm(ctx context.Context, who *access.Person, p Proof, from access.Origin) error {
	if from.Session != nil && from.Session.ProvedWithPasskey(g.now()) {
		return nil
	}
	if err := g.confirmPassword(ctx, who, p.Password, from); err != nil {
		return err
	}
	if from.Session != nil && from.Session.Proved(g.now()) {
		return nil
	}
	if err := g.confirmCode(ctx, who, p.Code, from); err != nil {
		return err
	}
	if from.Session == nil {
		return nil
	}
	err := g.Store.Update(ctx, func(tx *store.Tx) error { return tx.ConfirmSession(from.Session.ID, g.now()) })
	g.ForgetSessions()
	return err
}

// ProveAgain is Confirm with nothing taken on trust, for who wants to change something within the next minutes.
func (g *SignIn) ProveAgain(ctx context.Context, who *access.Person, p Proof, from access.Origin) error {
	session := from.Session
	from.Session = nil
	if err := g.Confirm(ctx, who, p, from); err != nil {
		return err
	}
	return g.proved(ctx, who, from, func(tx *store.Tx) error { return tx.ConfirmSession(session.ID, g.now()) })
}

// ProveWithPasskey is ProveAgain with a passkey of the person, which stands for password and code: its device has made
// sure that it is them. browser, ceremony and answer are those of BeginPasskey. It returns WrongPasskey, also for a
// passkey of somebody else, PasskeyTooLate or TooManyLogins.
func (g *SignIn) ProveWithPasskey(
	ctx context.Context, who *access.Person, browser, ceremony, answer string, from access.Origin,
) error {
	userID, err := g.Passkey(ctx, browser, ceremony, answer, from)
	if err != nil {
		return err
	}
	if userID != who.ID {
		return g.failed(ctx, who, reasonWrongPasskey, from, WrongPasskey)
	}
	now := g.now()
	return g.proved(ctx, who, from, func(tx *store.Tx) error { return tx.ProveSession(from.Session.ID, &now) })
}

// proved keeps a proof in the session of a person, and writes it down.
func (g *SignIn) proved(
	ctx context.Context, who *access.Person, from access.Origin, keep func(*store.Tx) error,
) error {
	err := g.Store.Update(ctx, func(tx *store.Tx) error {
		return errors.Join(keep(tx), g.record(tx, who, from, confirmed, nil))
	})
	g.ForgetSessions()
	return err
}

// confirmPassword checks the password of somebody who is signed in already.
func (g *SignIn) confirmPassword(ctx context.Context, who *access.Person, password string, from access.Origin) error {
	try, err := g.throttle.begin(ctx, from, "confirm "+who.ID, who.ID)
	if err != nil {
		return err
	}
	ok, err := access.VerifyPassword(ctx, who.PasswordHash, password)
	if err != nil {
		return err
	}
	if !ok {
		return WrongPassword
	}
	return try.succeeded(ctx)
}

// confirmCode spends a code of somebody who has a second factor.
func (g *SignIn) confirmCode(ctx context.Context, who *access.Person, code string, from access.Origin) error {
	has, err := g.HasSecondFactor(ctx, who.ID)
	if err != nil || !has {
		return err
	}
	err = g.checkCode(ctx, who, code, from)
	if errors.Is(err, WrongCode) {
		return WrongCurrentCode
	}
	return err
}

// Lengths of a password that a person chooses, in characters.
const (
	MinPassword = 12
	MaxPassword = 256
)

// CheckNewPassword checks the rules of a password that a person chooses; field names it in the problem. context is what
// is known of the person: a password must not be made of it.
func CheckNewPassword(field, password string, context ...string) error {
	switch n := utf8.RuneCountInString(password); {
	case n < MinPassword:
		return fault.InvalidField(field, "min_length", "must have at least 12 characters")
	case n > MaxPassword:
		return fault.InvalidField(field, "max_length", "must have at most 256 characters")
	}
	if access.Guessable(password, context...) {
		return fault.InvalidField(field, "guessable",
			"must not be made of common words, keyboard runs, or your name or email")
	}
	return nil
}

// ChangePassword gives a person another password. Their other sessions end, and links to reset the old one are
// withdrawn.
func (g *SignIn) ChangePassword(
	ctx context.Context, who *access.Person, p Proof, next string, from access.Origin,
) error {
	if err := CheckNewPassword("new_password", next, who.Email, who.Name); err != nil {
		return err
	}
	if err := g.Confirm(ctx, who, p, from); err != nil {
		return err
	}
	hash := access.HashPassword(next)
	return g.change(ctx, who, from.SessionID(), func(tx *store.Tx) error { return g.setPassword(tx, who, hash, from) })
}

func (g *SignIn) setPassword(tx *store.Tx, who *access.Person, hash string, from access.Origin) error {
	if err := tx.SetPassword(g.audience, who.ID, hash); err != nil { // who was removed meanwhile has changed nothing
		return err
	}
	return errors.Join(tx.DeleteResets(g.audience, who.ID), g.record(tx, who, from, passwordChanged, nil))
}
