package portal

import (
	"errors"
	"net/http"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store"
)

const (
	stepCookie = "assay_portal_step" // who has given the right password and owes a code
	stepLife   = 5 * time.Minute
)

type signInView struct {
	Form     *ui.Form
	Next     string
	Passkeys string // the origin where they work; empty: none
}

func (p *Portal) signInPage(form *ui.Form, next string) ui.Page {
	return ui.Page{Template: "signin", Data: signInView{Form: form, Next: next, Passkeys: p.passkeyOrigin()}}
}

func (p *Portal) showSignIn(w http.ResponseWriter, r *http.Request) error {
	next := ui.SafeNext(r.URL.Query().Get("next"), home)
	if _, err := p.guard.Who(r); err == nil {
		return p.Site.Redirect(w, r, next)
	} else if !errors.Is(err, access.NoSession) {
		return err
	}
	return p.pages.Render(w, r, p.signInPage(ui.NewForm(), next))
}

func (p *Portal) signIn(w http.ResponseWriter, r *http.Request) error {
	form, err := ui.ReadForm(w, r)
	if err != nil {
		return err
	}
	next := ui.SafeNext(form.Get("next"), home)
	userID, owesCode, err := p.SignIn.Password(r.Context(), form.Get("email"), form.Raw("password"), ui.OriginOf(r))
	if err != nil {
		return p.refuse(w, r, p.signInPage(form, next), form, "", err)
	}
	if owesCode {
		p.Site.SetSigned(w, r, stepCookie, userID+" "+next, stepLife)
		return p.Site.Redirect(w, r, "/portal/sign-in/code")
	}
	return p.begin(w, r, userID, next)
}

// refuse shows a form again. Too many attempts are told as such, with the time to wait. passwordField is the field in which
// the current password was given; empty: at sign-in, where everything about a refusal is one message.
func (p *Portal) refuse(w http.ResponseWriter, r *http.Request, page ui.Page, form *ui.Form, passwordField string, err error) error {
	page.Status = http.StatusUnprocessableEntity
	f, _ := errors.AsType[*fault.Error](err)
	switch {
	case errors.Is(err, service.TooManyLogins):
		form.Alert("portal.signin.wait", "n", max(1, int((f.RetryAfter+time.Minute-1)/time.Minute)))
		page.Status = http.StatusTooManyRequests
	case errors.Is(err, service.WrongSignIn):
		form.Alert("portal.signin.wrong")
	case errors.Is(err, service.WrongCode):
		form.Fail("code", "portal.signin.wrong_code")
		form.Set("code", "")
	case errors.Is(err, service.WrongPassword) && passwordField != "":
		form.Fail(passwordField, "portal.settings.wrong_password")
	case errors.Is(err, service.EmailUnusable):
		form.Fail("email", "portal.settings.email_unusable")
	default:
		if err := p.refuseField(form, err); err != nil {
			return err
		}
	}
	return p.pages.Render(w, r, page)
}

// refuseField puts what a use case refused beside its field, in the words of the portal where it has some.
func (p *Portal) refuseField(form *ui.Form, err error) error {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err
	}
	if key := "portal.fault." + f.Code; p.Site.Messages.Has(key) {
		form.Alert(key)
		return nil
	}
	problems, _ := f.Details["errors"].([]fault.Problem)
	for _, problem := range problems {
		if key := "portal.problem." + problem.Code; p.Site.Messages.Has(key) {
			form.Fail(problem.Field, key)
		}
	}
	return form.Refuse(err)
}

func (p *Portal) showCode(w http.ResponseWriter, r *http.Request) error {
	if _, _, ok := p.step(r); !ok {
		return p.Site.Redirect(w, r, "/portal/sign-in")
	}
	return p.pages.Render(w, r, ui.Page{Template: "code", Data: signInView{Form: ui.NewForm()}})
}

func (p *Portal) giveCode(w http.ResponseWriter, r *http.Request) error {
	form, err := ui.ReadForm(w, r)
	if err != nil {
		return err
	}
	userID, next, ok := p.step(r)
	if !ok {
		return p.Site.Redirect(w, r, "/portal/sign-in", ui.Note("portal.signin.again"))
	}
	if err := p.SignIn.Code(r.Context(), userID, form.Get("code"), ui.OriginOf(r)); err != nil {
		return p.refuse(w, r, ui.Page{Template: "code", Data: signInView{Form: form}}, form, "", err)
	}
	p.Site.SetSigned(w, r, stepCookie, "", 0)
	return p.begin(w, r, userID, next)
}

// step returns who owes a code, and where they want to go.
func (p *Portal) step(r *http.Request) (userID, next string, ok bool) {
	value, ok := p.Site.Signed(r, stepCookie)
	const idLength = 36
	if !ok || len(value) < idLength+1 {
		return "", "", false
	}
	return value[:idLength], ui.SafeNext(value[idLength+1:], home), true
}

// begin signs a user in: whoever was signed in with this browser before is signed out, and a fresh session begins.
func (p *Portal) begin(w http.ResponseWriter, r *http.Request, userID, next string) error {
	before, err := p.guard.Who(r)
	switch {
	case err == nil:
		if err := p.Service.EndSession(r.Context(), before.Session); err != nil {
			return err
		}
	case !errors.Is(err, access.NoSession):
		return err
	}
	token, err := p.SignIn.Begin(r.Context(), userID, ui.OriginOf(r))
	if err != nil {
		return err
	}
	p.guard.SetCookie(w, r, token)
	return p.Site.Redirect(w, r, next)
}

func (p *Portal) signOut(w http.ResponseWriter, r *http.Request) error {
	if err := p.guard.End(w, r); err != nil {
		return err
	}
	return p.Site.Redirect(w, r, "/portal/sign-in", ui.Done("portal.signin.out"))
}

// linkView is a page that somebody has come to with a link.
type linkView struct {
	Form    *ui.Form
	Token   string
	Email   string
	Account string
	Role    access.Role
}

// openLink returns what a page with a link shows, or the refusal of a link that cannot be used any more.
func (p *Portal) openLink(r *http.Request, kind store.LinkKind, token string) (*linkView, error) {
	l, err := p.Service.Link(r.Context(), kind, token)
	if err != nil {
		return nil, err
	}
	account, err := p.Service.Store.Account(r.Context(), l.AccountID)
	if err != nil {
		return nil, err
	}
	return &linkView{Form: ui.NewForm(), Token: token, Email: l.Email, Account: account.Name, Role: l.Role}, nil
}

func (p *Portal) showLink(kind store.LinkKind, template string) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		v, err := p.openLink(r, kind, r.URL.Query().Get("token"))
		if errors.Is(err, service.LinkUnusable) {
			return p.pages.Render(w, r, ui.Page{Template: "link_gone", Status: http.StatusNotFound})
		}
		if err != nil {
			return err
		}
		w.Header().Set("Referrer-Policy", "no-referrer") // the address is a secret
		return p.pages.Render(w, r, ui.Page{Template: template, Data: v})
	}
}

func (p *Portal) showJoin(w http.ResponseWriter, r *http.Request) error {
	return p.showLink(store.Invitation, "join")(w, r)
}

func (p *Portal) showReset(w http.ResponseWriter, r *http.Request) error {
	return p.showLink(store.PasswordReset, "reset")(w, r)
}

// sendLink takes the new password of somebody who came with a link and hands it to use.
func (p *Portal) sendLink(w http.ResponseWriter, r *http.Request, kind store.LinkKind, template string, use func(token, password string) error) error {
	form, err := ui.ReadForm(w, r)
	if err != nil {
		return err
	}
	v, err := p.openLink(r, kind, form.Get("token"))
	if errors.Is(err, service.LinkUnusable) {
		return p.pages.Render(w, r, ui.Page{Template: "link_gone", Status: http.StatusNotFound})
	}
	if err != nil {
		return err
	}
	v.Form = form
	checkPassword(form)
	page := ui.Page{Template: template, Data: v, Status: http.StatusUnprocessableEntity}
	if !form.OK() {
		return p.pages.Render(w, r, page)
	}
	err = use(v.Token, form.Raw("new_password"))
	if errors.Is(err, service.LinkUnusable) {
		return p.pages.Render(w, r, ui.Page{Template: "link_gone", Status: http.StatusNotFound})
	}
	if err != nil {
		return p.refuse(w, r, page, form, "", err)
	}
	return nil
}

// checkPassword holds the rules of a chosen password that was given twice.
func checkPassword(form *ui.Form) {
	switch next := form.Raw("new_password"); {
	case service.CheckNewPassword("new_password", next) != nil:
		form.Fail("new_password", "portal.settings.password_rule", "min", service.MinPassword, "max", service.MaxPassword)
	case next != form.Raw("repeat"):
		form.Fail("repeat", "portal.settings.password_differs")
	}
}

func (p *Portal) join(w http.ResponseWriter, r *http.Request) error {
	return p.sendLink(w, r, store.Invitation, "join", func(token, password string) error {
		userID, err := p.SignIn.AcceptInvitation(r.Context(), token, password)
		if err != nil {
			return err
		}
		return p.begin(w, r, userID, home)
	})
}

func (p *Portal) reset(w http.ResponseWriter, r *http.Request) error {
	return p.sendLink(w, r, store.PasswordReset, "reset", func(token, password string) error {
		if err := p.SignIn.ResetPassword(r.Context(), token, password, ui.OriginOf(r)); err != nil {
			return err
		}
		return p.Site.Redirect(w, r, "/portal/sign-in", ui.Done("portal.signin.reset_done"))
	})
}
