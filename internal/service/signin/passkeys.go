package signin

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"
	"github.com/google/uuid"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
)

// Passkeys returns the passkeys of a person, the oldest first.
func (g *SignIn) Passkeys(ctx context.Context, userID string) ([]*access.Passkey, error) {
	return g.Store.Passkeys(ctx, g.audience, userID)
}

// PasskeyOf returns a passkey of the person, or PasskeyNotFound.
func (g *SignIn) PasskeyOf(ctx context.Context, userID, id string) (*access.Passkey, error) {
	id, ok := uuid7.Parse(id)
	if !ok {
		return nil, PasskeyNotFound
	}
	k, err := g.Store.Passkey(ctx, g.audience, userID, id)
	return k, store.NotFoundAs(err, PasskeyNotFound)
}

// newPasskeyContext binds a ceremony to a person and one of their sessions.
func newPasskeyContext(who *access.Person, sessionID string) string {
	return "new passkey " + who.ID + " " + sessionID
}

// checkPasskeyName checks the name of a passkey.
func checkPasskeyName(name string) error {
	if name == "" {
		return fault.InvalidField("name", "required", "must not be empty")
	}
	if err := access.CheckName("name", name); err != nil {
		return fault.InvalidField("name", "name", "must have 1 to 100 characters and no control characters")
	}
	return nil
}

// BeginNewPasskey makes the challenge with which a person who has proved who they are (see Confirm) adds a passkey, in
// one of their sessions.
func (g *SignIn) BeginNewPasskey(
	ctx context.Context, who *access.Person, name string, p Proof, from access.Origin,
) (*PasskeyCeremony, error) {
	w, err := g.webAuthn()
	if err != nil {
		return nil, err
	}
	name = strings.TrimSpace(name)
	if err := checkPasskeyName(name); err != nil {
		return nil, err
	}
	if err := g.Confirm(ctx, who, p, from); err != nil {
		return nil, err
	}
	passkeys, err := g.Passkeys(ctx, who.ID)
	if err != nil {
		return nil, err
	}
	if len(passkeys) >= access.MaxPasskeys {
		return nil, TooManyPasskeys
	}
	user := &passkeyUser{Person: who, passkeys: passkeys}
	has := webauthn.Credentials(user.WebAuthnCredentials()).CredentialDescriptors()
	options, session, err := w.BeginRegistration(user, webauthn.WithExclusions(has)) // a device makes no second one
	if err != nil {
		return nil, err
	}
	return g.sealCeremony(options.Response, session, name, newPasskeyContext(who, from.SessionID()))
}

// AddPasskey keeps the passkey that a device has made for a challenge of the same session. The person gets a mail, and
// their other sessions end.
func (g *SignIn) AddPasskey(
	ctx context.Context, who *access.Person, sealed, answer string, from access.Origin,
) (*access.Passkey, error) {
	w, err := g.webAuthn()
	if err != nil {
		return nil, err
	}
	c, err := g.spendCeremony(ctx, sealed, newPasskeyContext(who, from.SessionID()))
	if err != nil {
		return nil, err
	}
	made, err := newCredential(w, &passkeyUser{Person: who}, c, answer)
	if err != nil {
		g.Log.WarnContext(ctx, "new passkey refused", "user_id", who.ID, "cause", err)
		return nil, WrongPasskey.Because(err)
	}
	k := g.newPasskey(who, c.Name, made)
	err = g.change(ctx, who, from.SessionID(), func(tx *store.Tx) error {
		passkeys, err := tx.Passkeys(ctx, g.audience, who.ID)
		if err != nil {
			return err
		}
		if len(passkeys) >= access.MaxPasskeys {
			return TooManyPasskeys
		}
		if err := tx.InsertPasskey(k); err != nil {
			return err
		}
		return errors.Join(
			tx.SetSessionFactor(from.SessionID()), g.record(tx, who, from, passkeyAdded, map[string]any{"name": k.Name}),
		)
	})
	if errors.Is(err, store.ErrExists) {
		return nil, PasskeyExists
	}
	return k, err
}

// newPasskey is what is kept of a passkey that a device has made.
func (g *SignIn) newPasskey(who *access.Person, name string, made *webauthn.Credential) *access.Passkey {
	aaguid, err := uuid.FromBytes(made.Authenticator.AAGUID)
	if err != nil {
		aaguid = uuid.Nil
	}
	k := &access.Passkey{
		ID: uuid7.New(), Audience: g.audience, UserID: who.ID, Name: name, CredentialID: made.ID, PublicKey: made.PublicKey,
		SignCount: made.Authenticator.SignCount, BackupEligible: made.Flags.BackupEligible, BackedUp: made.Flags.BackupState,
		AAGUID: aaguid.String(), CreatedAt: g.now(),
	}
	for _, t := range made.Transport {
		if slices.Contains(passkeyTransports, t) {
			k.Transports = append(k.Transports, string(t))
		}
	}
	return k
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

// RenamePasskey gives a passkey of the person another name. It is no change of how they sign in.
func (g *SignIn) RenamePasskey(
	ctx context.Context, who *access.Person, id, name string, from access.Origin,
) error {
	name = strings.TrimSpace(name)
	if err := checkPasskeyName(name); err != nil {
		return err
	}
	k, err := g.PasskeyOf(ctx, who.ID, id)
	if err != nil {
		return err
	}
	err = g.Store.Update(ctx, func(tx *store.Tx) error {
		return errors.Join(tx.RenamePasskey(g.audience, who.ID, k.ID, name),
			g.record(tx, who, from, passkeyRenamed, map[string]any{"old_name": k.Name, "name": name}))
	})
	return store.NotFoundAs(err, PasskeyNotFound)
}

// RemovePasskey removes a passkey of a person who has proved who they are; see Confirm. Their other sessions end: one
// of them may have begun with it.
func (g *SignIn) RemovePasskey(ctx context.Context, who *access.Person, id string, p Proof, from access.Origin) error {
	k, err := g.PasskeyOf(ctx, who.ID, id)
	if err != nil {
		return err
	}
	if err := g.Confirm(ctx, who, p, from); err != nil {
		return err
	}
	return g.removePasskeys(ctx, who, from.SessionID(), from, k)
}

// PasskeysAfterReset returns the passkeys that a person who has just chosen a new password with a link may remove:
// none where nothing else protects them, because then the mailbox alone would be enough to sign in.
func (g *SignIn) PasskeysAfterReset(ctx context.Context, userID string) ([]*access.Passkey, error) {
	if protected, err := g.passkeyProtects(ctx, userID); err != nil || protected {
		return nil, err
	}
	return g.Passkeys(ctx, userID)
}

// RemovePasskeysAfterReset removes passkeys of a person who has just chosen a new password with a link: the one with
// the id, or all with an empty id. It returns PasskeyRequired where nothing else protects them.
func (g *SignIn) RemovePasskeysAfterReset(ctx context.Context, userID, id string, from access.Origin) error {
	who, err := g.Store.Person(ctx, g.audience, userID)
	if err != nil {
		return store.NotFoundAs(err, PasskeyNotFound)
	}
	if protected, err := g.passkeyProtects(ctx, userID); err != nil {
		return err
	} else if protected {
		return PasskeyRequired
	}
	if id == "" {
		all, err := g.Passkeys(ctx, userID)
		if err != nil {
			return err
		}
		return g.removePasskeys(ctx, who, "", from, all...)
	}
	k, err := g.PasskeyOf(ctx, userID, id)
	if err != nil {
		return err
	}
	return g.removePasskeys(ctx, who, "", from, k)
}

func (g *SignIn) removePasskeys(
	ctx context.Context, who *access.Person, sessionID string, from access.Origin, passkeys ...*access.Passkey,
) error {
	err := g.change(ctx, who, sessionID, func(tx *store.Tx) error {
		if err := tx.ProveSession(sessionID, nil); err != nil { // it may have been with one of them
			return err
		}
		for _, k := range passkeys {
			if err := tx.DeletePasskey(g.audience, who.ID, k.ID); err != nil {
				return err
			}
			if err := g.record(tx, who, from, passkeyRemoved, map[string]any{"name": k.Name}); err != nil {
				return err
			}
		}
		return nil
	})
	return store.NotFoundAs(err, PasskeyNotFound)
}
