package signin

import (
	"context"
	"errors"
	"unicode/utf8"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/store"
)

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
	ctx context.Context, who *access.Person, p Proof, next, sessionID string, from access.Origin,
) error {
	if err := CheckNewPassword("new_password", next, who.Email, who.Name); err != nil {
		return err
	}
	if err := g.Confirm(ctx, who, p, from); err != nil {
		return err
	}
	hash := access.HashPassword(next)
	return g.change(ctx, who, sessionID, func(tx *store.Tx) error { return g.setPassword(tx, who, hash, from) })
}

func (g *SignIn) setPassword(tx *store.Tx, who *access.Person, hash string, from access.Origin) error {
	return errors.Join(
		tx.SetPassword(g.audience, who.ID, hash), tx.DeleteResets(g.audience, who.ID),
		g.record(tx, who, from, passwordChanged, nil),
	)
}
