package service

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/letter"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/store"
	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"
	"github.com/google/uuid"
)

// Passkeys returns the passkeys of a user, the oldest first.
func (g *PortalSignIn) Passkeys(ctx context.Context, who *Member) ([]*access.Passkey, error) {
	return g.service.Store.Passkeys(ctx, who.ID)
}

// PasskeyOf returns a passkey of the user, or PasskeyNotFound.
func (g *PortalSignIn) PasskeyOf(ctx context.Context, who *Member, id string) (*access.Passkey, error) {
	id, ok := store.ParseID(id)
	if !ok {
		return nil, PasskeyNotFound
	}
	k, err := g.service.Store.Passkey(ctx, who.ID, id)
	return k, orPasskeyNotFound(err)
}

func orPasskeyNotFound(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return PasskeyNotFound
	}
	return err
}

// newPasskeyContext binds a ceremony to a user and one of their sessions.
func newPasskeyContext(who *Member, sessionID string) string {
	return "new passkey " + who.ID + " " + sessionID
}

// BeginNewPasskey makes the challenge with which a user who has given their password again adds a passkey, in one of their
// sessions.
func (g *PortalSignIn) BeginNewPasskey(ctx context.Context, who *Member, name, password, sessionID string, from Origin) (*PasskeyCeremony, error) {
	w, err := g.webAuthn()
	if err != nil {
		return nil, err
	}
	name = strings.TrimSpace(name)
	if p := nameProblem("name", name); p != nil {
		return nil, fault.Validation(*p)
	}
	if err := g.confirm(who, password, from); err != nil {
		return nil, err
	}
	passkeys, err := g.Passkeys(ctx, who)
	if err != nil {
		return nil, err
	}
	if len(passkeys) >= access.MaxPasskeys {
		return nil, TooManyPasskeys
	}
	user := &passkeyUser{User: &who.User, passkeys: passkeys}
	// A device that has one of these does not make another.
	options, session, err := w.BeginRegistration(user, webauthn.WithExclusions(webauthn.Credentials(user.WebAuthnCredentials()).CredentialDescriptors()))
	if err != nil {
		return nil, err
	}
	return g.sealCeremony(options.Response, session, name, newPasskeyContext(who, sessionID))
}

// AddPasskey keeps the passkey that a device has made for a challenge of the same session. The user is told, and their other
// sessions end.
func (g *PortalSignIn) AddPasskey(ctx context.Context, who *Member, sealed, answer, sessionID string, from Origin) (*access.Passkey, error) {
	w, err := g.webAuthn()
	if err != nil {
		return nil, err
	}
	c, err := g.spendCeremony(ctx, sealed, newPasskeyContext(who, sessionID))
	if err != nil {
		return nil, err
	}
	made, err := newCredential(w, &passkeyUser{User: &who.User}, c, answer)
	if err != nil {
		g.service.Log.WarnContext(ctx, "new passkey refused", "user_id", who.ID, "cause", err)
		return nil, WrongPasskey.Because(err)
	}
	aaguid, err := uuid.FromBytes(made.Authenticator.AAGUID)
	if err != nil {
		aaguid = uuid.Nil
	}
	k := &access.Passkey{
		ID: store.NewID(), UserID: who.ID, Name: c.Name, CredentialID: made.ID, PublicKey: made.PublicKey, SignCount: made.Authenticator.SignCount,
		BackupEligible: made.Flags.BackupEligible, BackedUp: made.Flags.BackupState, AAGUID: aaguid.String(), CreatedAt: g.service.now(),
	}
	for _, t := range made.Transport {
		if slices.Contains(passkeyTransports, t) {
			k.Transports = append(k.Transports, string(t))
		}
	}
	err = g.change(ctx, &who.User, sessionID, func(tx *store.Tx) error {
		// Whoever took the user's passkeys a moment ago has ended the session, too.
		err := tx.HoldSession(access.Portal, who.ID, sessionID)
		if errors.Is(err, store.ErrNotFound) {
			return PasskeyTooLate
		}
		if err != nil {
			return err
		}
		passkeys, err := tx.Passkeys(ctx, who.ID)
		if err != nil {
			return err
		}
		if len(passkeys) >= access.MaxPasskeys {
			return TooManyPasskeys
		}
		if err := tx.InsertPasskey(k); err != nil {
			return err
		}
		return g.tell(tx, &who.User, from, func(l text.Locale) error {
			s := g.service
			return s.post(tx, who.AccountID, who.Email, letter.AddedPasskey(l, who.Email, k.Name, k.CreatedAt, s.PublicURL+"/portal/settings"), nil)
		})
	})
	if errors.Is(err, store.ErrExists) {
		return nil, PasskeyExists
	}
	return k, err
}

// passkeyTransports are the ways to reach a device that are kept; browsers may invent others.
var passkeyTransports = []protocol.AuthenticatorTransport{
	protocol.USB, protocol.NFC, protocol.BLE, protocol.SmartCard, protocol.Hybrid, protocol.Internal,
}

func newCredential(w *webauthn.WebAuthn, user *passkeyUser, c *ceremony, answer string) (*webauthn.Credential, error) {
	given, err := protocol.ParseCredentialCreationResponseBytes([]byte(answer))
	if err != nil {
		return nil, err
	}
	return w.CreateCredential(user, c.Session, given)
}

// RenamePasskey gives a passkey of the user another name. It is no change of how they sign in.
func (g *PortalSignIn) RenamePasskey(ctx context.Context, who *Member, id, name string) error {
	name = strings.TrimSpace(name)
	if p := nameProblem("name", name); p != nil {
		return fault.Validation(*p)
	}
	k, err := g.PasskeyOf(ctx, who, id)
	if err != nil {
		return err
	}
	return orPasskeyNotFound(g.service.Store.Update(ctx, func(tx *store.Tx) error { return tx.RenamePasskey(who.ID, k.ID, name) }))
}

// RemovePasskey takes a passkey from a user who has given their password again, or returns WrongPassword. Their other sessions
// end: one of them may have begun with it.
func (g *PortalSignIn) RemovePasskey(ctx context.Context, who *Member, id, password, sessionID string, from Origin) error {
	k, err := g.PasskeyOf(ctx, who, id)
	if err != nil {
		return err
	}
	if err := g.confirm(who, password, from); err != nil {
		return err
	}
	return orPasskeyNotFound(g.change(ctx, &who.User, sessionID, func(tx *store.Tx) error { return tx.DeletePasskey(who.ID, k.ID) }))
}

// takeFactors leaves a user nothing to sign in with but their password: who has lost a device has lost the authenticator app
// and the passkeys on it alike. All their sessions end.
func takeFactors(tx *store.Tx, userID string) error {
	if err := tx.DeleteUserTOTP(userID); err != nil {
		return err
	}
	if err := tx.DeletePasskeys(userID); err != nil {
		return err
	}
	_, err := tx.DeleteSessions(access.Portal, userID, "")
	return err
}
