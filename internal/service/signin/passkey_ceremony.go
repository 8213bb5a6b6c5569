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
	kept, err := g.Secrets.Open(sealed, context)
	if err != nil {
		return nil, PasskeyTooLate.Because(err)
	}
	c := new(ceremony)
	if err := json.Unmarshal([]byte(kept), c); err != nil { // made by another version of the program
		return nil, PasskeyTooLate.Because(err)
	}
	if !g.now().Before(c.Expires) {
		return nil, PasskeyTooLate
	}
	err = g.spend(ctx, c.Session.Challenge, c.Expires)
	if errors.Is(err, store.ErrExists) {
		return nil, PasskeyTooLate
	}
	return c, err
}

// spend remembers that a challenge was answered, or returns store.ErrExists.
func (g *SignIn) spend(ctx context.Context, challenge string, expires time.Time) error {
	sum := sha256.Sum256([]byte(challenge))
	hash := hex.EncodeToString(sum[:])
	return g.Store.Update(ctx, func(tx *store.Tx) error { return tx.SpendChallenge(hash, expires) })
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
