package portal

import (
	"encoding/json"
	"net/http"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/service"
)

// browserCookie names a browser that was given a challenge: the answer has to come from the same one. It says nothing about who
// sits there.
const browserCookie = "assay_portal_browser"

// passkeyOrigin is where passkeys of the portal work; empty: nowhere.
func (p *Portal) passkeyOrigin() string {
	rp, _ := p.SignIn.RelyingParty()
	return rp.Origin
}

// challengeView is what the script on the page to sign in gets.
type challengeView struct {
	Options  json.RawMessage `json:"options"`
	Ceremony string          `json:"ceremony"`
}

// passkeyChallenge makes a challenge for a browser. Several pages of one browser may have theirs at the same time.
func (p *Portal) passkeyChallenge(w http.ResponseWriter, r *http.Request) error {
	browser, ok := p.Site.Signed(r, browserCookie)
	if !ok {
		browser = access.NewSessionToken()
	}
	c, err := p.SignIn.BeginPasskey(browser)
	if err != nil {
		return err
	}
	p.Site.SetSigned(w, r, browserCookie, browser, 2*service.PasskeyCeremonyLife)
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	return json.NewEncoder(w).Encode(challengeView{Options: c.Options, Ceremony: c.Sealed})
}

func (p *Portal) signInWithPasskey(w http.ResponseWriter, r *http.Request) error {
	form, err := ui.ReadForm(w, r)
	if err != nil {
		return err
	}
	next := ui.SafeNext(form.Get("next"), home)
	browser, _ := p.Site.Signed(r, browserCookie) // nobody has a challenge of no browser
	userID, err := p.SignIn.Passkey(r.Context(), browser, form.Get("ceremony"), form.Get("answer"), ui.OriginOf(r))
	if err != nil {
		return p.refuse(w, r, p.signInPage(form, next), form, "", err)
	}
	return p.begin(w, r, userID, next)
}

// backToSignIn is for who asks for the address of the form, to read its answer in the other language, say.
func (p *Portal) backToSignIn(w http.ResponseWriter, r *http.Request) error {
	return p.Site.Redirect(w, r, "/portal/sign-in")
}
