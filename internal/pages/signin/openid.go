package signin

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/pages/ui"
	auth "github.com/assayhq/assay/internal/service/signin"
)

// openIDCookie names the browser that was sent to the provider, from which the answer has to come.
func (p *Pages) openIDCookie() string { return p.cookie("openid") }

// beginOpenID sends a browser to the provider. Several pages of one browser may do so at the same time.
func (p *Pages) beginOpenID(w http.ResponseWriter, r *http.Request) error {
	if p.SignIn.OpenID == nil {
		return ui.PageNotFound()
	}
	next := ui.SafeNext(r.URL.Query().Get("next"), p.base)
	browser, ok := p.Site.Signed(r, p.openIDCookie())
	if !ok {
		browser = access.NewSessionToken()
	}
	address, err := p.SignIn.BeginOpenID(r.Context(), browser, next)
	if err != nil {
		return p.refuseOpenID(w, r, next, err)
	}
	p.Site.SetSigned(w, r, p.openIDCookie(), browser, 2*auth.OpenIDLife)
	http.Redirect(w, r, address, http.StatusSeeOther) //nolint:gosec // the provider that the operator has set
	return nil
}

// finishOpenID takes a browser back from the provider.
func (p *Pages) finishOpenID(w http.ResponseWriter, r *http.Request) error {
	if p.SignIn.OpenID == nil {
		return ui.PageNotFound()
	}
	w.Header().Set("Referrer-Policy", "no-referrer") // the address has a code in it
	q := r.URL.Query()
	browser, _ := p.Site.Signed(r, p.openIDCookie()) // nobody was sent with no browser
	entry, err := p.SignIn.FinishOpenID(r.Context(), browser, auth.OpenIDAnswer{
		State: q.Get("state"), Code: q.Get("code"), Issuer: q.Get("iss"), Error: q.Get("error"),
	}, p.Guard.Origin(r))
	if errors.Is(err, auth.OpenIDTooLate) { // who has gone back in their browser is signed in already
		if in, err := p.Guard.SignedIn(r); err != nil || in {
			return errors.Join(err, p.Site.Redirect(w, r, p.base))
		}
	}
	if err != nil {
		return p.refuseOpenID(w, r, p.base, err)
	}
	next, how := ui.SafeNext(entry.Next, p.base), ui.Entrance{Factor: entry.Factor, Method: auth.MethodOpenID}
	if entry.OwesCode {
		return p.askForCode(w, r, entry.UserID, next, how)
	}
	return p.begin(w, r, entry.UserID, next, how)
}

// refuseOpenID shows the page to sign in, as if it had been asked for: nothing of what came from the provider is in it.
func (p *Pages) refuseOpenID(w http.ResponseWriter, r *http.Request, next string, err error) error {
	plain := r.Clone(r.Context())
	plain.URL = &url.URL{Path: p.base + "/sign-in"}
	return p.refuse(w, plain, p.signInPage(ui.NewForm(), next), "", err)
}
