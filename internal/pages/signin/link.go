package signin

import (
	"errors"
	"net/http"
	"net/url"
	"time"
	"unicode/utf8"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/httpx"
	"github.com/assayhq/assay/internal/pages/ui"
	auth "github.com/assayhq/assay/internal/service/signin"
)

// forgotPage is the page for who has forgotten their password. Without a mail server it has no form.
func (p *Pages) forgotPage(form *ui.Form, sent bool) ui.Page {
	return p.entryPage("forgot", entryView{Form: form, Sent: sent})
}

func (p *Pages) showForgot(w http.ResponseWriter, r *http.Request) error {
	var form *ui.Form
	if p.SignIn.Host.SendsMail() {
		form = ui.NewForm()
	}
	return p.pages.Render(w, r, p.forgotPage(form, false))
}

// forgot takes a request for a link. The answer is the same whether or not somebody has the email.
func (p *Pages) forgot(w http.ResponseWriter, r *http.Request) error {
	if !p.SignIn.Host.SendsMail() {
		return p.showForgot(w, r)
	}
	form, err := ui.ReadEntryForm(w, r)
	if err != nil {
		return err
	}
	if err := p.SignIn.RequestReset(r.Context(), form.Get("email"), p.Guard.Origin(r)); err != nil {
		return p.refuse(w, r, p.forgotPage(form, false), "", err)
	}
	return p.pages.Render(w, r, p.forgotPage(nil, true))
}

// linkView is a page that somebody has come to with a link.
type linkView struct {
	at
	Link  *access.Link
	Form  *ui.Form
	Token string
}

// linkPages are the templates of what links are for.
var linkPages = map[access.LinkKind]string{
	access.Invitation: "join", access.PasswordReset: "reset", access.EmailChange: "email",
}

func (p *Pages) linkPage(l *access.Link, token string, form *ui.Form) ui.Page {
	return ui.Page{Template: linkPages[l.Kind], Form: form, Data: linkView{at: p.at(), Link: l, Form: form, Token: token}}
}

// showUnusableLink says that a link cannot be used any more, if that is what is wrong.
func (p *Pages) showUnusableLink(w http.ResponseWriter, r *http.Request, err error) error {
	if !errors.Is(err, auth.LinkUnusable) {
		return err
	}
	return p.pages.Render(w, r, ui.Page{Template: "link_gone", Status: http.StatusNotFound, Data: p.at()})
}

// showLink is the page that links of a kind lead to.
func (p *Pages) showLink(kind access.LinkKind) httpx.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		token := r.URL.Query().Get("token")
		l, err := p.SignIn.Link(r.Context(), kind, token)
		if err != nil {
			return p.showUnusableLink(w, r, err)
		}
		w.Header().Set("Referrer-Policy", "no-referrer") // the address is a secret
		return p.pages.Render(w, r, p.linkPage(l, token, ui.NewForm()))
	}
}

// tokenOf returns the token that a form was sent with. Answers are shown as the page that the link leads to, so that
// the switches of language and theme lead there again.
func tokenOf(r *http.Request, form *ui.Form) string {
	token := form.Get("token")
	r.URL.RawQuery = url.Values{"token": {token}}.Encode()
	return token
}

// confirmEmail makes an address that of a user, with a click: programs that look through mail open links, too.
func (p *Pages) confirmEmail(w http.ResponseWriter, r *http.Request, form *ui.Form) error {
	if err := p.SignIn.ConfirmEmail(r.Context(), tokenOf(r, form), p.Guard.Origin(r)); err != nil {
		return p.showUnusableLink(w, r, err)
	}
	return p.Site.Redirect(w, r, p.base+"/sign-in", ui.Done("signin.email.confirmed"))
}

// useLink takes the new password of somebody who came with a link and hands it to use.
func (p *Pages) useLink(
	w http.ResponseWriter, r *http.Request, form *ui.Form, kind access.LinkKind, use func(token, password string) error,
) error {
	token := tokenOf(r, form)
	l, err := p.SignIn.Link(r.Context(), kind, token)
	if err != nil {
		return p.showUnusableLink(w, r, err)
	}
	page := p.linkPage(l, token, form)
	if checkPassword(form); !form.OK() {
		return p.pages.Render(w, r, page)
	}
	err = use(token, form.Raw("new_password"))
	switch {
	case errors.Is(err, auth.LinkUnusable):
		return p.showUnusableLink(w, r, err)
	case err != nil:
		return p.refuse(w, r, page, "", err)
	}
	return nil
}

// checkPassword checks the rules of a chosen password that was given twice.
func checkPassword(form *ui.Form) {
	next := form.Raw("new_password")
	switch n := utf8.RuneCountInString(next); {
	case n < auth.MinPassword || n > auth.MaxPassword:
		form.Fail("new_password", "signin.password.rule", "min", auth.MinPassword, "max", auth.MaxPassword)
	case access.Guessable(next):
		form.Fail("new_password", "signin.problem.guessable")
	case next != form.Raw("repeat"):
		form.Fail("repeat", "signin.password.differs")
	}
}

func (p *Pages) join(w http.ResponseWriter, r *http.Request, form *ui.Form) error {
	return p.useLink(w, r, form, access.Invitation, func(token, password string) error {
		userID, err := p.SignIn.AcceptInvitation(r.Context(), token, password, p.Guard.Origin(r))
		if err != nil {
			return err
		}
		return p.begin(w, r, userID, p.base, ui.Entrance{})
	})
}

// resetCookieLife is how long somebody who has chosen a new password with a link may remove the passkeys that stay.
const resetCookieLife = 15 * time.Minute

func (p *Pages) reset(w http.ResponseWriter, r *http.Request, form *ui.Form) error {
	return p.useLink(w, r, form, access.PasswordReset, func(token, password string) error {
		who, err := p.SignIn.ResetPassword(r.Context(), token, password, p.Guard.Origin(r))
		if err != nil {
			return err
		}
		ticket, err := p.SignIn.Ticket(r.Context(), who.ID)
		if err != nil {
			return err
		}
		p.Site.SetSigned(w, r, p.resetCookie(), ticket, resetCookieLife)
		return p.afterReset(w, r, who.ID, ui.Done("signin.reset.done"))
	})
}

// afterReset goes on to the passkeys that stay after a reset, or else to the page to sign in.
func (p *Pages) afterReset(w http.ResponseWriter, r *http.Request, userID string, done ui.Flash) error {
	passkeys, err := p.SignIn.PasskeysAfterReset(r.Context(), userID)
	if err != nil {
		return err
	}
	if len(passkeys) == 0 {
		p.Site.SetSigned(w, r, p.resetCookie(), "", 0)
		return p.Site.Redirect(w, r, p.base+"/sign-in", done)
	}
	return p.Site.Redirect(w, r, p.base+"/reset/passkeys", done)
}

// afterResetOf returns who has just chosen a new password with a link; nobody when it is too late.
func (p *Pages) afterResetOf(r *http.Request) (userID string, err error) {
	ticket, _ := p.Site.Signed(r, p.resetCookie())
	return p.SignIn.TicketHolder(r.Context(), ticket)
}

// remainingView is the passkeys that stay after a reset.
type remainingView struct {
	at
	Passkeys []*access.Passkey
}

func (p *Pages) showPasskeysAfterReset(w http.ResponseWriter, r *http.Request) error {
	userID, err := p.afterResetOf(r)
	if err != nil {
		return err
	}
	if userID == "" {
		return p.toSignIn(w, r)
	}
	passkeys, err := p.SignIn.PasskeysAfterReset(r.Context(), userID)
	if err != nil {
		return err
	}
	return p.pages.Render(w, r, ui.Page{Template: "reset_passkeys", Data: remainingView{at: p.at(), Passkeys: passkeys}})
}

// removePasskeysAfterReset removes the passkey that was chosen, or all.
func (p *Pages) removePasskeysAfterReset(w http.ResponseWriter, r *http.Request, form *ui.Form) error {
	userID, err := p.afterResetOf(r)
	if err != nil {
		return err
	}
	if userID == "" {
		return p.Site.Redirect(w, r, p.base+"/sign-in", ui.Note("signin.again"))
	}
	id := form.Get("id")
	if id == "" && form.Get("all") == "" {
		return ui.PageNotFound()
	}
	err = p.SignIn.RemovePasskeysAfterReset(r.Context(), userID, id, p.Guard.Origin(r))
	if err != nil && !errors.Is(err, auth.PasskeyNotFound) { // it may be gone already
		return err
	}
	return p.afterReset(w, r, userID, ui.Done("signin.reset.removed"))
}
