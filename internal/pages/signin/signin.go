// Package signin is the HTML pages to sign in, and the settings about it: password, second factor, recovery codes,
// passkeys and sessions. The portal and the desk have the same pages at their own addresses.
package signin

import (
	"context"
	"embed"
	"errors"
	"net/http"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/httpx"
	"github.com/assayhq/assay/internal/pages/ui"
	auth "github.com/assayhq/assay/internal/service/signin"
)

//go:embed templates messages static
var files embed.FS

// Area is needed by the areas of the portal and the desk.
var Area = ui.Area{Name: "signin", Files: files}

// Config is what the pages of one audience work with.
type Config struct {
	Site     *ui.Site
	Audience access.Audience
	SignIn   *auth.SignIn
	Guard    Guard
	Shell    func(r *http.Request) ui.Shell
	Settings string // address of the page where people change how they sign in

	// About is said of who is signed in, above their settings.
	About func(r *http.Request, who *Visitor) string

	// ChangeEmail tells that people may change their email themselves.
	ChangeEmail bool

	// NewToken makes a token for the API of the audience, for who proves who they are. Nil: there is none.
	NewToken func(
		ctx context.Context, staffID string, p auth.Proof, networks access.Networks, from access.Origin,
	) (string, error)
}

// Guard starts and ends sessions; *ui.Guard is one.
type Guard interface {
	SignedIn(r *http.Request) (bool, error)
	Start(w http.ResponseWriter, r *http.Request, userID string, how ui.Entrance) (*access.Session, error)
	Origin(r *http.Request) access.Origin
	FactorNeeded(ctx context.Context, session *access.Session) (bool, error)
	End(w http.ResponseWriter, r *http.Request) error
}

// Visitor is who is signed in.
type Visitor struct {
	*access.Person
	Session *access.Session
	Origin  access.Origin
}

// Pages serves the pages of one audience.
type Pages struct {
	Config
	pages *ui.Pages
	base  string // "/portal" or "/desk"
}

// New returns the pages. The site has to know Area.
func New(c Config) *Pages {
	return &Pages{Config: c, pages: c.Site.Pages(Area.Name).Within(c.Shell), base: "/" + string(c.Audience)}
}

// Route is one address: open to everybody, or for who is signed in.
type Route struct {
	Pattern string
	Open    httpx.Handler
	Signed  func(w http.ResponseWriter, r *http.Request, who *Visitor) error
}

// Signed adapts a handler to the guard of an audience.
func Signed[U interface{ Person() *access.Person }](
	h func(w http.ResponseWriter, r *http.Request, who *Visitor) error,
) func(http.ResponseWriter, *http.Request, *ui.Visitor[U]) error {
	return func(w http.ResponseWriter, r *http.Request, who *ui.Visitor[U]) error {
		return h(w, r, &Visitor{Person: who.User.Person(), Session: who.Session, Origin: who.Origin})
	}
}

// withForm adapts a handler that is open to everybody and is given the form of the request.
func withForm(h func(w http.ResponseWriter, r *http.Request, form *ui.Form) error) httpx.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		form, err := ui.ReadEntryForm(w, r)
		if err != nil {
			return err
		}
		return h(w, r, form)
	}
}

// Routes lists all pages.
func (p *Pages) Routes() []Route {
	var routes []Route
	open := func(method, path string, h httpx.Handler) {
		routes = append(routes, Route{Pattern: method + " " + p.base + path, Open: h})
	}
	signed := func(method, path string, h func(http.ResponseWriter, *http.Request, *Visitor) error) {
		routes = append(routes, Route{Pattern: method + " " + p.Settings + path, Signed: h})
	}
	// form is the address of a form on the page of the settings. Who asks for it, to read its answer in the other
	// language, say, gets that page.
	form := func(path string, h func(http.ResponseWriter, *http.Request, *Visitor, *ui.Form) error) {
		signed("GET", path, p.toSettings)
		signed("POST", path, ui.WithForm(h))
	}
	open("GET", "/sign-in", p.showSignIn)
	open("POST", "/sign-in", withForm(p.signIn))
	open("GET", "/sign-in/code", p.showCode)
	open("POST", "/sign-in/code", withForm(p.giveCode))
	open("GET", "/sign-in/passkey", p.toSignIn)
	open("POST", "/sign-in/passkey", withForm(p.signInWithPasskey))
	open("POST", "/sign-in/passkey/challenge", p.passkeyChallenge)
	if p.Audience == access.Desk {
		open("GET", "/sign-in/openid", p.beginOpenID)
		open("GET", "/sign-in/openid/callback", p.finishOpenID)
	}
	open("POST", "/sign-out", p.signOut)
	open("GET", "/forgot", p.showForgot)
	open("POST", "/forgot", p.forgot)
	open("GET", "/join", p.showLink(access.Invitation))
	open("POST", "/join", withForm(p.join))
	open("GET", "/reset", p.showLink(access.PasswordReset))
	open("POST", "/reset", withForm(p.reset))
	open("GET", "/reset/passkeys", p.showPasskeysAfterReset)
	open("POST", "/reset/passkeys", withForm(p.removePasskeysAfterReset))

	signed("GET", "", p.showSettings)
	signed("GET", "/confirm", p.showConfirm)
	signed("POST", "/confirm", ui.WithForm(p.confirm))
	signed("GET", "/confirm/passkey", p.showConfirm)
	signed("POST", "/confirm/passkey", ui.WithForm(p.confirmWithPasskey))
	form("/password", p.changePassword)
	if p.ChangeEmail {
		form("/email", p.changeEmail)
		open("GET", "/email", p.showLink(access.EmailChange))
		open("POST", "/email", withForm(p.confirmEmail))
	}
	if p.NewToken != nil {
		form("/token", p.newToken)
	}
	signed("GET", "/second-factor", p.showSecondFactor)
	signed("POST", "/second-factor", ui.WithForm(p.confirmSecondFactor))
	form("/second-factor/end", p.endSecondFactor)
	form("/recovery-codes", p.renewRecoveryCodes)
	form("/passkeys", p.addPasskey)
	form("/passkeys/new", p.beginPasskey)
	signed("GET", "/passkeys/{id}", p.showPasskey)
	signed("GET", "/passkeys/{id}/rename", p.showPasskey)
	signed("POST", "/passkeys/{id}/rename", ui.WithForm(p.renamePasskey))
	signed("GET", "/passkeys/{id}/remove", p.showPasskey)
	signed("POST", "/passkeys/{id}/remove", ui.WithForm(p.removePasskey))
	signed("POST", "/sessions/{id}/end", p.endSession)
	signed("POST", "/sessions/end", p.endOtherSessions)
	return routes
}

func (p *Pages) toSettings(w http.ResponseWriter, r *http.Request, _ *Visitor) error {
	return p.Site.Redirect(w, r, p.Settings)
}

func (p *Pages) toSignIn(w http.ResponseWriter, r *http.Request) error {
	return p.Site.Redirect(w, r, p.base+"/sign-in")
}

// at is what every page knows of its audience.
type at struct {
	Audience access.Audience
	Base     string
	Settings string
	Origin   string // where passkeys work; empty: nowhere
	OpenID   string // where people can sign in as well; empty: nowhere
}

func (p *Pages) at() at {
	rp, _ := p.SignIn.RelyingParty()
	here := at{Audience: p.Audience, Base: p.base, Settings: p.Settings, Origin: rp.Origin}
	if p.SignIn.OpenID != nil {
		here.OpenID = p.SignIn.OpenID.Host()
	}
	return here
}

// refuse shows a page with its form again. Too many attempts are said as such, with the time to wait. passwordField is
// the field of the current password; empty: at sign-in, where everything about a refusal is one message.
func (p *Pages) refuse(w http.ResponseWriter, r *http.Request, page ui.Page, passwordField string, err error) error {
	form := page.Form
	f, ok := errors.AsType[*fault.Error](err)
	switch {
	case !ok:
		return err
	case errors.Is(err, auth.TooManyLogins):
		key, unit := "signin.wait", time.Minute
		if f.RetryAfter > time.Hour {
			key, unit = "signin.wait-hours", time.Hour
		}
		form.Alert(key, "n", max(1, int((f.RetryAfter+unit-1)/unit)))
		page.Status = http.StatusTooManyRequests
	case errors.Is(err, auth.WrongSignIn):
		form.Alert("signin.wrong")
	case errors.Is(err, auth.WrongCode):
		form.Fail("code", "signin.code.wrong")
		form.Set("code", "")
	case errors.Is(err, auth.WrongPassword) && passwordField != "":
		form.Fail(passwordField, "signin.password.wrong")
	case errors.Is(err, auth.WrongCurrentCode):
		form.Fail(currentCode, "signin.code.wrong")
		form.Set(currentCode, "")
	case errors.Is(err, auth.EmailUnusable):
		form.Fail("email", "signin.email.unusable")
	case p.Site.Messages.Has("signin.fault." + f.Code):
		if form.Alert("signin.fault." + f.Code); f.Kind == fault.Unavailable {
			page.Status = http.StatusServiceUnavailable
		}
	default:
		if err := p.pages.Refuse(form, err); err != nil {
			return err
		}
	}
	return p.pages.Render(w, r, page)
}
