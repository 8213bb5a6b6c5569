package signin

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/pages/ui"
	auth "github.com/assayhq/assay/internal/service/signin"
)

const stepLife = 5 * time.Minute

// maxNext is how long an address may be to which somebody goes after the second factor: it waits in a cookie.
const maxNext = 2000

// cookie is the name of a cookie of the audience.
func (p *Pages) cookie(name string) string { return "assay_" + string(p.Audience) + "_" + name }

// The cookies: who has given the right password and owes a code; a browser that was given a challenge, from which the
// answer has to come; and who has just chosen a new password with a link.
func (p *Pages) stepCookie() string    { return p.cookie("step") }
func (p *Pages) browserCookie() string { return p.cookie("browser") }
func (p *Pages) resetCookie() string   { return p.cookie("reset") }

// entryView is a page of somebody who is not signed in.
type entryView struct {
	at
	Form *ui.Form
	Next string
	Sent bool // a link to choose a new password
}

func (p *Pages) entryPage(template string, v entryView) ui.Page {
	v.at = p.at()
	return ui.Page{Template: template, Data: v, Form: v.Form}
}

func (p *Pages) signInPage(form *ui.Form, next string) ui.Page {
	return p.entryPage("signin", entryView{Form: form, Next: next})
}

func (p *Pages) showSignIn(w http.ResponseWriter, r *http.Request) error {
	next := ui.SafeNext(r.URL.Query().Get("next"), p.base)
	in, err := p.Guard.SignedIn(r)
	if err != nil {
		return err
	}
	if in {
		return p.Site.Redirect(w, r, next)
	}
	return p.pages.Render(w, r, p.signInPage(ui.NewForm(), next))
}

func (p *Pages) signIn(w http.ResponseWriter, r *http.Request, form *ui.Form) error {
	next := ui.SafeNext(form.Get("next"), p.base)
	who, owesCode, err := p.SignIn.Password(r.Context(), form.Get("email"), form.Raw("password"), p.Guard.Origin(r))
	if err != nil {
		return p.refuse(w, r, p.signInPage(form, next), "", err)
	}
	ticket := p.SignIn.TicketOf(who)
	if owesCode {
		return p.askForCode(w, r, ticket, next, "")
	}
	return p.begin(w, r, who.ID, next, ui.Entrance{Ticket: ticket})
}

// askForCode goes on to the page for a code of the second factor.
func (p *Pages) askForCode(w http.ResponseWriter, r *http.Request, ticket, next, method string) error {
	if len(next) > maxNext {
		next = ""
	}
	p.Site.SetSigned(w, r, p.stepCookie(), ticket+" "+method+" "+next, stepLife)
	return p.Site.Redirect(w, r, p.base+"/sign-in/code")
}

func (p *Pages) codePage(form *ui.Form) ui.Page {
	return p.entryPage("code", entryView{Form: form})
}

func (p *Pages) showCode(w http.ResponseWriter, r *http.Request) error {
	owes, err := p.step(r)
	if err != nil {
		return err
	}
	if owes.userID == "" {
		return p.toSignIn(w, r)
	}
	return p.pages.Render(w, r, p.codePage(ui.NewForm()))
}

func (p *Pages) giveCode(w http.ResponseWriter, r *http.Request, form *ui.Form) error {
	owes, err := p.step(r)
	if err != nil {
		return err
	}
	if owes.userID == "" {
		return p.Site.Redirect(w, r, p.base+"/sign-in", ui.Note("signin.again"))
	}
	if err := p.SignIn.Code(r.Context(), owes.userID, form.Get("code"), p.Guard.Origin(r)); err != nil {
		return p.refuse(w, r, p.codePage(form), "", err)
	}
	return p.begin(w, r, owes.userID, owes.next, ui.Entrance{Factor: true, Method: owes.method, Ticket: owes.ticket})
}

// step is how far somebody has come who owes a code.
type step struct {
	userID, ticket string
	method         string // where somebody else has told who it is; empty: here
	next           string // where they want to go
}

// step returns who owes a code; nobody when it is too late.
func (p *Pages) step(r *http.Request) (owes step, err error) {
	value, _ := p.Site.Signed(r, p.stepCookie())
	ticket, rest, _ := strings.Cut(value, " ")
	method, next, _ := strings.Cut(rest, " ")
	userID, err := p.SignIn.TicketHolder(r.Context(), ticket)
	return step{userID, ticket, method, ui.SafeNext(next, p.base)}, err
}

// withFactor is how somebody has signed in with a passkey.
var withFactor = ui.Entrance{Factor: true}

// begin signs somebody in: whoever was signed in with this browser before is signed out, and a fresh session begins.
func (p *Pages) begin(w http.ResponseWriter, r *http.Request, userID, next string, how ui.Entrance) error {
	for _, name := range []string{p.stepCookie(), p.resetCookie()} {
		if _, ok := p.Site.Signed(r, name); ok {
			p.Site.SetSigned(w, r, name, "", 0)
		}
	}
	if _, err := p.Guard.Start(w, r, userID, how); err != nil {
		return p.refuseSignIn(w, r, next, err)
	}
	return p.Site.Redirect(w, r, next)
}

func (p *Pages) signOut(w http.ResponseWriter, r *http.Request) error {
	if err := p.Guard.End(w, r); err != nil {
		return err
	}
	return p.Site.Redirect(w, r, p.base+"/sign-in", ui.Done("signin.out"))
}

// challengeView is what the script on the page to sign in gets.
type challengeView struct {
	Options  json.RawMessage `json:"options"`
	Ceremony string          `json:"ceremony"`
}

// passkeyChallenge makes a challenge for a browser. Several pages of one browser may have theirs at the same time.
func (p *Pages) passkeyChallenge(w http.ResponseWriter, r *http.Request) error {
	browser, ok := p.Site.Signed(r, p.browserCookie())
	if !ok {
		browser = access.NewSessionToken()
	}
	c, err := p.SignIn.BeginPasskey(browser)
	if err != nil {
		return err
	}
	p.Site.SetSigned(w, r, p.browserCookie(), browser, 2*auth.PasskeyCeremonyLife)
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	return json.NewEncoder(w).Encode(challengeView{Options: c.Options, Ceremony: c.Sealed})
}

func (p *Pages) signInWithPasskey(w http.ResponseWriter, r *http.Request, form *ui.Form) error {
	next := ui.SafeNext(form.Get("next"), p.base)
	browser, _ := p.Site.Signed(r, p.browserCookie()) // nobody has a challenge of no browser
	userID, err := p.SignIn.Passkey(r.Context(), browser, form.Get("ceremony"), form.Get("answer"), p.Guard.Origin(r))
	if err != nil {
		return p.refuse(w, r, p.signInPage(form, next), "", err)
	}
	return p.begin(w, r, userID, next, withFactor)
}

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
		return p.refuseSignIn(w, r, next, err)
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
		return p.refuseSignIn(w, r, p.base, err)
	}
	next := ui.SafeNext(entry.Next, p.base)
	if entry.OwesCode {
		ticket, err := p.SignIn.Ticket(r.Context(), entry.UserID)
		if err != nil {
			return err
		}
		return p.askForCode(w, r, ticket, next, auth.MethodOpenID)
	}
	return p.begin(w, r, entry.UserID, next, ui.Entrance{Factor: entry.Factor, Method: auth.MethodOpenID})
}

// refuseSignIn shows the page to sign in, as if it had been asked for: nothing of what came from a provider is in it.
func (p *Pages) refuseSignIn(w http.ResponseWriter, r *http.Request, next string, err error) error {
	plain := r.Clone(r.Context())
	plain.URL = &url.URL{Path: p.base + "/sign-in"}
	return p.refuse(w, plain, p.signInPage(ui.NewForm(), next), "", err)
}
