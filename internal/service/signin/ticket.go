package signin

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/store"
)

const idLength = 36

// Ticket names a person between two pages of one flow, such as the password and the code of the second factor. It ends
// when the person gets another password. Whoever keeps it has to sign it and to limit its time.
func (g *SignIn) Ticket(ctx context.Context, userID string) (string, error) {
	who, err := g.Store.Person(ctx, g.audience, userID)
	if err != nil {
		return "", err
	}
	return g.ticketOf(who), nil
}

func (g *SignIn) ticketOf(who *access.Person) string {
	mac := hmac.New(sha256.New, g.Secrets.Derive("sign-in tickets"))
	mac.Write([]byte(who.PasswordHash))
	return who.ID + hex.EncodeToString(mac.Sum(nil))
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
	if err != nil || !who.Active || !hmac.Equal([]byte(g.ticketOf(who)), []byte(ticket)) {
		return "", err
	}
	return who.ID, nil
}
