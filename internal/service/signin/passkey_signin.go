package signin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/store"
	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"
)

// Reasons of failed sign-ins with a passkey, in the audit log.
const (
	reasonWrongPasskey     = "wrong-passkey"      // the answer proves nothing: another origin, signature or device
	reasonPasskeyTooLate   = "passkey-too-late"   // the challenge is over
	reasonPasskeySignCount = "passkey-sign-count" // the counter went back, as that of a copied key does
)

// passkeySignInContext binds a ceremony to a browser at the pages of the audience.
func (g *SignIn) passkeySignInContext(browser string) string {
	return "passkey sign-in " + string(g.audience) + " " + browser
}

// BeginPasskey makes a challenge for whoever sits at a browser, which is named by a secret that only it has. Nothing
// is kept.
func (g *SignIn) BeginPasskey(browser string) (*PasskeyCeremony, error) {
	w, err := g.webAuthn()
	if err != nil {
		return nil, err
	}
	options, session, err := w.BeginDiscoverableLogin()
	if err != nil {
		return nil, err
	}
	return g.sealCeremony(options.Response, session, "", g.passkeySignInContext(browser))
}

// Passkey checks the answer of a browser to its challenge and returns the id of the user, who owes nothing more: the
// device has made sure that it is them. It returns WrongPasskey, PasskeyTooLate or TooManyLogins.
func (g *SignIn) Passkey(
	ctx context.Context, browser, sealed, answer string, from access.Origin,
) (userID string, err error) {
	w, err := g.webAuthn()
	if err != nil {
		return "", err
	}
	given, err := protocol.ParseCredentialRequestResponseBytes([]byte(answer))
	if err != nil {
		// All answers that cannot be read are one name: at most they keep out each other.
		if _, err := g.throttle.begin(ctx, from, "passkey", ""); err != nil {
			return "", err
		}
		return "", g.failed(ctx, nil, reasonWrongPasskey, from, WrongPasskey.Because(err))
	}
	id := sha256.Sum256(given.RawID) // which may be long
	name := "passkey " + hex.EncodeToString(id[:])
	user, passkey, err := g.passkeyUser(ctx, given.RawID)
	if err != nil {
		return "", err
	}
	whose := ""
	if user != nil {
		whose = user.ID
	}
	try, err := g.throttle.begin(ctx, from, name, whose)
	if err != nil {
		return "", err
	}
	c, err := g.spendCeremony(ctx, sealed, g.passkeySignInContext(browser))
	if errors.Is(err, PasskeyTooLate) {
		return "", g.failed(ctx, user, reasonPasskeyTooLate, from, err)
	}
	if err != nil {
		return "", err
	}
	if user == nil {
		return "", g.failed(ctx, nil, reasonWrongPasskey, from, WrongPasskey)
	}
	proved, err := w.ValidateDiscoverableLogin(func(_, _ []byte) (webauthn.User, error) {
		return &passkeyUser{Person: user, passkeys: []*access.Passkey{passkey}}, nil
	}, c.Session, given)
	if err != nil {
		g.Log.WarnContext(ctx, "passkey refused", "passkey_id", passkey.ID, "cause", err)
		return "", g.failed(ctx, user, reasonWrongPasskey, from, WrongPasskey.Because(err))
	}
	count := given.Response.AuthenticatorData.Counter
	err = g.Store.Update(ctx, func(tx *store.Tx) error {
		return tx.UsePasskey(passkey.ID, count, proved.Flags.BackupState, g.now())
	})
	// the counter went back, or somebody has removed the passkey at this very moment
	if errors.Is(err, store.ErrNotFound) {
		return "", g.failed(ctx, user, reasonPasskeySignCount, from, WrongPasskey)
	}
	if err != nil {
		return "", err
	}
	return user.ID, try.succeeded(ctx)
}

// passkeyUser returns who has the passkey that a device knows by the id; nil when nobody of the audience has it, or
// may not sign in any more.
func (g *SignIn) passkeyUser(ctx context.Context, credentialID []byte) (*access.Person, *access.Passkey, error) {
	passkey, err := g.Store.PasskeyByCredential(ctx, g.audience, credentialID)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	who, err := g.Store.Person(ctx, g.audience, passkey.UserID)
	if errors.Is(err, store.ErrNotFound) || err == nil && !who.Active {
		return nil, nil, nil
	}
	return who, passkey, err
}
