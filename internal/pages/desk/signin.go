package desk

import (
	"errors"
	"net/http"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/service"
)

const (
	stepCookie = "assay_desk_step" // who has given the right password and owes a code
	stepLife   = 5 * time.Minute
	home       = "/desk"
)

type signInView struct {
	Form *ui.Form
	Next string
}

func (d *Desk) showSignIn(w http.ResponseWriter, r *http.Request) error {
	next := ui.SafeNext(r.URL.Query().Get("next"), home)
	if _, err := d.guard.Who(r); err == nil {
		return d.Site.Redirect(w, r, next)
	} else if !errors.Is(err, access.NoSession) {
		return err
	}
	return d.pages.Render(w, r, ui.Page{Template: "signin", Data: signInView{Form: ui.NewForm(), Next: next}})
}

func (d *Desk) signIn(w http.ResponseWriter, r *http.Request) error {
	form, err := ui.ReadForm(w, r)
	if err != nil {
		return err
	}
	next := ui.SafeNext(form.Get("next"), home)
	who, owesCode, err := d.SignIn.Password(r.Context(), form.Get("email"), form.Raw("password"), ui.OriginOf(r))
	if err != nil {
		return d.refuseSignIn(w, r, ui.Page{Template: "signin", Data: signInView{Form: form, Next: next}}, form, err)
	}
	if owesCode {
		d.Site.SetSigned(w, r, stepCookie, who.ID+" "+next, stepLife)
		return d.Site.Redirect(w, r, "/desk/sign-in/code")
	}
	return d.begin(w, r, who.ID, next)
}

// refuseSignIn shows the form again. Too many attempts are told as such, with the time to wait; everything else about a
// refusal is one message.
func (d *Desk) refuseSignIn(w http.ResponseWriter, r *http.Request, page ui.Page, form *ui.Form, err error) error {
	page.Status = http.StatusUnprocessableEntity
	switch f, _ := errors.AsType[*fault.Error](err); {
	case errors.Is(err, service.TooManyLogins):
		minutes := int((f.RetryAfter + time.Minute - 1) / time.Minute)
		form.Alert("desk.signin.wait", "n", max(1, minutes))
		page.Status = http.StatusTooManyRequests
	case errors.Is(err, service.WrongSignIn):
		form.Alert("desk.signin.wrong")
	case errors.Is(err, service.WrongCode):
		form.Alert("desk.signin.wrong_code")
	default:
		return err
	}
	return d.pages.Render(w, r, page)
}

func (d *Desk) showCode(w http.ResponseWriter, r *http.Request) error {
	if _, _, ok := d.step(r); !ok {
		return d.Site.Redirect(w, r, "/desk/sign-in")
	}
	return d.pages.Render(w, r, ui.Page{Template: "code", Data: signInView{Form: ui.NewForm()}})
}

func (d *Desk) giveCode(w http.ResponseWriter, r *http.Request) error {
	form, err := ui.ReadForm(w, r)
	if err != nil {
		return err
	}
	staffID, next, ok := d.step(r)
	if !ok {
		return d.Site.Redirect(w, r, "/desk/sign-in", ui.Note("desk.signin.again"))
	}
	if err := d.SignIn.Code(r.Context(), staffID, form.Get("code"), ui.OriginOf(r)); err != nil {
		form.Set("code", "")
		return d.refuseSignIn(w, r, ui.Page{Template: "code", Data: signInView{Form: form}}, form, err)
	}
	d.Site.SetSigned(w, r, stepCookie, "", 0)
	return d.begin(w, r, staffID, next)
}

// step returns who owes a code, and where they want to go.
func (d *Desk) step(r *http.Request) (staffID, next string, ok bool) {
	value, ok := d.Site.Signed(r, stepCookie)
	const idLength = 36
	if !ok || len(value) < idLength+1 {
		return "", "", false
	}
	return value[:idLength], value[idLength+1:], true
}

func (d *Desk) begin(w http.ResponseWriter, r *http.Request, staffID, next string) error {
	if _, err := d.guard.Start(w, r, staffID); err != nil {
		return err
	}
	return d.Site.Redirect(w, r, next)
}

func (d *Desk) signOut(w http.ResponseWriter, r *http.Request) error {
	if err := d.guard.End(w, r); err != nil {
		return err
	}
	return d.Site.Redirect(w, r, "/desk/sign-in", ui.Done("desk.signin.out"))
}
