package signin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/store"
	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"
)

// PasskeyCeremonyLife is how long a browser has to answer a challenge.
const PasskeyCeremonyLife = 5 * time.Minute

// spentChallengeAge is how long an answered challenge is remembered after its end, for nodes whose clocks differ.
const spentChallengeAge = time.Hour

// Refusals about passkeys.
var (
	// PasskeysUnavailable is for an address of the service at which browsers offer no passkeys.
	PasskeysUnavailable = fault.New(fault.Conflict, "passkeys-unavailable",
		"Passkeys need the service at an https address with a domain name.")

	// PasskeyTooLate is for an answer to a challenge that is over: too old, answered before, or of another browser.
	PasskeyTooLate = fault.New(fault.Invalid, "passkey-too-late", "That took too long, or was done before. Try again.")

	// WrongPasskey is for an answer that proves nothing, of which it tells no more.
	WrongPasskey = fault.New(fault.Invalid, "wrong-passkey", "This passkey is not accepted.")

	PasskeyExists   = fault.New(fault.Conflict, "passkey-exists", "This passkey is registered already.")
	TooManyPasskeys = fault.New(fault.Conflict, "too-many-passkeys", "There are 20 passkeys already. Remove one first.")
	PasskeyNotFound = fault.Missing("passkey")
)

// PasskeyCeremony is a challenge to a browser.
type PasskeyCeremony struct {
	Options json.RawMessage // what the browser's own function takes, with bytes in base64url
	Sealed  string          // comes back with the answer
}

// ceremony is what the server has to know again when the answer comes. It is not kept here: it travels with the page,
// sealed and bound to the browser. Only challenges that were answered are kept, so that visitors cannot fill the
// database.
type ceremony struct {
	Session webauthn.SessionData `json:"session"`
	Name    string               `json:"name,omitempty"` // of the passkey to be added
	Expires time.Time            `json:"expires"`
}

// RelyingParty returns what the service is for browsers; false where they offer no passkeys.
func (g *SignIn) RelyingParty() (access.RelyingParty, bool) {
	return access.NewRelyingParty(g.Host.Address())
}

func (g *SignIn) webAuthn() (*webauthn.WebAuthn, error) {
	rp, ok := g.RelyingParty()
	if !ok {
		return nil, PasskeysUnavailable
	}
	// The library does not enforce them: spendCeremony does, by the clock of the service.
	ask := webauthn.TimeoutConfig{Timeout: PasskeyCeremonyLife, TimeoutUVD: PasskeyCeremonyLife}
	required := true
	return webauthn.New(&webauthn.Config{
		RPID: rp.ID, RPOrigins: []string{rp.Origin}, RPDisplayName: issuer,
		AttestationPreference: protocol.PreferNoAttestation, // the make of a device is nobody's business
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementRequired, RequireResidentKey: &required,
			UserVerification: protocol.VerificationRequired,
		},
		Timeouts: webauthn.TimeoutsConfig{Login: ask, Registration: ask},
	})
}

// sealCeremony hands a ceremony to the browser that the context names.
func (g *SignIn) sealCeremony(
	options any, session *webauthn.SessionData, name, context string,
) (*PasskeyCeremony, error) {
	shown, err := json.Marshal(options)
	if err != nil {
		return nil, err
	}
	kept, err := json.Marshal(ceremony{Session: *session, Name: name, Expires: g.now().Add(PasskeyCeremonyLife)})
	if err != nil {
		return nil, err
	}
	return &PasskeyCeremony{Options: shown, Sealed: g.Secrets.Seal(string(kept), context)}, nil
}

// spendCeremony takes a ceremony back for its one answer, whether that is right or wrong, or returns PasskeyTooLate.
func (g *SignIn) spendCeremony(ctx context.Context, sealed, context string) (*ceremony, error) {
	c := new(ceremony)
	if err := g.unseal(sealed, context, c); err != nil {
		return nil, PasskeyTooLate.Because(err)
	}
	if !g.now().Before(c.Expires) {
		return nil, PasskeyTooLate
	}
	return c, g.spend(ctx, c.Session.Challenge, c.Expires, PasskeyTooLate)
}

// unseal reads what a browser has brought back. It may have been made by another version of the program.
func (g *SignIn) unseal(sealed, context string, into any) error {
	text, err := g.Secrets.Open(sealed, context)
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(text), into)
}

// spend remembers that a challenge was answered, or returns the refusal when it was before.
func (g *SignIn) spend(ctx context.Context, challenge string, expires time.Time, refusal error) error {
	sum := sha256.Sum256([]byte(challenge))
	hash := hex.EncodeToString(sum[:])
	err := g.Store.Update(ctx, func(tx *store.Tx) error { return tx.SpendChallenge(hash, expires) })
	if errors.Is(err, store.ErrExists) {
		return refusal
	}
	return err
}

// passkeyUser is a person with their passkeys as the library wants them.
type passkeyUser struct {
	*access.Person
	passkeys []*access.Passkey
}

func (u *passkeyUser) WebAuthnID() []byte          { return access.UserHandle(u.ID) }
func (u *passkeyUser) WebAuthnName() string        { return u.Email }
func (u *passkeyUser) WebAuthnDisplayName() string { return u.Name }

func (u *passkeyUser) WebAuthnCredentials() []webauthn.Credential {
	var credentials []webauthn.Credential
	for _, k := range u.passkeys {
		c := webauthn.Credential{
			ID: k.CredentialID, PublicKey: k.PublicKey, Authenticator: webauthn.Authenticator{SignCount: k.SignCount},
			Flags: webauthn.CredentialFlags{
				UserPresent: true, UserVerified: true, BackupEligible: k.BackupEligible, BackupState: k.BackedUp,
			},
		}
		for _, t := range k.Transports {
			c.Transport = append(c.Transport, protocol.AuthenticatorTransport(t))
		}
		credentials = append(credentials, c)
	}
	return credentials
}

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
	if err != nil {
		return nil, nil, store.IgnoreNotFound(err)
	}
	who, err := g.Store.Person(ctx, g.audience, passkey.UserID)
	if errors.Is(err, store.ErrNotFound) || err == nil && !who.Active {
		return nil, nil, nil
	}
	return who, passkey, err
}
