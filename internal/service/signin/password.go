package signin

import (
	"context"
	"errors"
	"unicode/utf8"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/letter"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/store"
)

// Lengths of a password that a person chooses, in characters.
const (
	MinPassword = 12
	MaxPassword = 256
)

// CheckNewPassword checks the rules of a password that a person chooses; field names it in the problem.
func CheckNewPassword(field, password string) error {
	switch n := utf8.RuneCountInString(password); {
	case n < MinPassword:
		return fault.Validation(fault.Problem{Field: field, Code: "min_length", Message: "must have at least 12 characters"})
	case n > MaxPassword:
		return fault.Validation(fault.Problem{Field: field, Code: "max_length", Message: "must have at most 256 characters"})
	}
	return nil
}

// ChangePassword gives a person another password. Their other sessions end, and links to reset the old one are
// withdrawn.
func (g *SignIn) ChangePassword(
	ctx context.Context, who *access.Person, current, next, sessionID string, from access.Origin,
) error {
	if err := CheckNewPassword("new_password", next); err != nil {
		return err
	}
	if err := g.ConfirmPassword(ctx, who, current, from); err != nil {
		return err
	}
	hash := access.HashPassword(next)
	return g.change(ctx, who, sessionID, func(tx *store.Tx) error { return g.setPassword(tx, who, hash, from) })
}

func (g *SignIn) setPassword(tx *store.Tx, who *access.Person, hash string, from access.Origin) error {
	if err := tx.SetPassword(g.audience, who.ID, hash); err != nil {
		return err
	}
	if err := tx.DeleteResets(g.audience, who.ID); err != nil {
		return err
	}
	err := g.tell(tx, who, from, func(l text.Locale) letter.Letter {
		return letter.ChangedPassword(l, g.audience, who.Email, g.now(), g.Host.Address()+"/"+string(g.audience)+"/forgot")
	})
	if err != nil {
		return err
	}
	return g.record(tx, who, from, passwordChanged, nil)
}

// EmailUnusable is the refusal of an email that is none, or that another user has: which of them is not told.
var EmailUnusable = fault.New(fault.Invalid, "email-unusable", "This email address cannot be used.")

// ChangeEmail gives an account user another email, after they have given their password again. The event names the old
// one.
func (g *SignIn) ChangeEmail(
	ctx context.Context, who *access.Person, password, email, sessionID string, from access.Origin,
) error {
	address, err := access.NormalizeEmail(email)
	if err != nil {
		return EmailUnusable
	}
	if err := g.ConfirmPassword(ctx, who, password, from); err != nil {
		return err
	}
	err = g.change(ctx, who, sessionID, func(tx *store.Tx) error {
		if err := tx.SetUserEmail(who.ID, address); err != nil {
			return err
		}
		if err := tx.DeleteResets(g.audience, who.ID); err != nil { // they were sent to the old address
			return err
		}
		l, err := g.localeOf(tx, who, from)
		if err != nil {
			return err
		}
		toOld, toNew := letter.ChangedEmail(l, who.Email, address, g.now(), g.Host.Address()+"/portal")
		if err := errors.Join(
			g.Host.PostLetter(tx, who.AccountID, who.Email, toOld, nil),
			g.Host.PostLetter(tx, who.AccountID, address, toNew, nil),
		); err != nil {
			return err
		}
		return g.record(tx, who, from, emailChanged, nil)
	})
	if errors.Is(err, store.ErrExists) {
		return EmailUnusable
	}
	return err
}
