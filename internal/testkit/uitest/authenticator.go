package uitest

import (
	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"
)

// Authenticator is a device with passkeys that the browser takes for its own. It does what it is asked, as if its user
// had unlocked it.
type Authenticator struct {
	b  *Browser
	id webauthn.AuthenticatorID
}

// Authenticator gives the browser a device with passkeys; one that is synced copies them to other devices of its owner.
func (b *Browser) Authenticator(synced bool) *Authenticator {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, webauthn.Enable, webauthn.EnableParams{})
	b.must(err)
	made, err := chromedp.Call(b.ctx, webauthn.AddVirtualAuthenticator,
		webauthn.AddVirtualAuthenticatorParams{Options: &webauthn.VirtualAuthenticatorOptions{
			Protocol: webauthn.AuthenticatorProtocolCtap2, Ctap2version: webauthn.Ctap2versionCtap21,
			Transport: webauthn.AuthenticatorTransportInternal, HasResidentKey: true, HasUserVerification: true,
			IsUserVerified: true, AutomaticPresenceSimulation: true, DefaultBackupEligibility: synced,
			DefaultBackupState: synced,
		}})
	b.must(err)
	return &Authenticator{b: b, id: made.AuthenticatorID}
}

// Verifies tells whether the device recognises its user from now on.
func (a *Authenticator) Verifies(verifies bool) {
	a.b.t.Helper()
	_, err := chromedp.Call(a.b.ctx, webauthn.SetUserVerified, webauthn.SetUserVerifiedParams{
		AuthenticatorID: a.id, IsUserVerified: verifies,
	})
	a.b.must(err)
}

// Passkeys returns what the device keeps.
func (a *Authenticator) Passkeys() []*webauthn.Credential {
	a.b.t.Helper()
	kept, err := chromedp.Call(a.b.ctx, webauthn.GetCredentials, webauthn.GetCredentialsParams{AuthenticatorID: a.id})
	a.b.must(err)
	return kept.Credentials
}
