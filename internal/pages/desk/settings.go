package desk

import (
	"bytes"
	"encoding/base64"
	"errors"
	"html/template"
	"image/png"
	"net/http"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store"
	"github.com/boombuler/barcode"
	"github.com/boombuler/barcode/qr"
)

// meView is a staff user's own settings.
type meView struct {
	Staff        *access.Staff
	SecondFactor bool
	Sessions     []*access.Session
	Current      string // id of the session of this browser
	Password     *ui.Form
	Off          *ui.Form // to end the second factor
	Token        *ui.Form
	NewToken     string // shown once
}

func (d *Desk) showMe(w http.ResponseWriter, r *http.Request, who *visitor) error {
	return d.renderMe(w, r, who, new(meView), http.StatusOK)
}

func (d *Desk) renderMe(w http.ResponseWriter, r *http.Request, who *visitor, v *meView, status int) error {
	var err error
	v.Staff, v.Current = who.User, who.Session.ID
	if v.SecondFactor, err = d.SignIn.HasSecondFactor(r.Context(), who.User.ID); err != nil {
		return err
	}
	if v.Sessions, err = d.Service.Sessions(r.Context(), access.Desk, who.User.ID); err != nil {
		return err
	}
	return d.pages.Render(w, r, ui.Page{Template: "me", Data: v, Status: status})
}

// refuseMe shows the settings again when it was the user who was wrong.
func (d *Desk) refuseMe(w http.ResponseWriter, r *http.Request, who *visitor, v *meView, form *ui.Form, field string, err error) error {
	status := http.StatusUnprocessableEntity
	f, _ := errors.AsType[*fault.Error](err)
	switch {
	case errors.Is(err, service.WrongPassword):
		form.Fail(field, "desk.me.wrong_password")
	case errors.Is(err, service.TooManyLogins):
		form.Alert("desk.signin.wait", "n", max(1, int((f.RetryAfter+time.Minute-1)/time.Minute)))
		status = http.StatusTooManyRequests
	default:
		if err := form.Refuse(err); err != nil {
			return err
		}
	}
	return d.renderMe(w, r, who, v, status)
}

func (d *Desk) changePassword(w http.ResponseWriter, r *http.Request, who *visitor) error {
	form, err := ui.ReadForm(w, r)
	if err != nil {
		return err
	}
	v := &meView{Password: form}
	next := form.Raw("new_password")
	switch {
	case service.CheckNewPassword("new_password", next) != nil:
		form.Fail("new_password", "desk.me.password_rule", "min", service.MinPassword, "max", service.MaxPassword)
	case next != form.Raw("repeat"):
		form.Fail("repeat", "desk.me.password_differs")
	}
	if !form.OK() {
		return d.renderMe(w, r, who, v, http.StatusUnprocessableEntity)
	}
	if err := d.SignIn.ChangePassword(r.Context(), who.User, form.Raw("password"), next, who.Session.ID, ui.OriginOf(r)); err != nil {
		return d.refuseMe(w, r, who, v, form, "password", err)
	}
	return d.Site.Redirect(w, r, "/desk/me", ui.Done("desk.me.password_changed"))
}

// secondFactorView is a second factor that waits for its first code.
type secondFactorView struct {
	Form   *ui.Form
	Secret string
	Sealed string
	QR     template.URL
}

func (d *Desk) showSecondFactor(w http.ResponseWriter, r *http.Request, who *visitor) error {
	e, err := d.SignIn.BeginSecondFactor(who.User)
	if err != nil {
		return err
	}
	return d.renderSecondFactor(w, r, e, ui.NewForm(), http.StatusOK)
}

func (d *Desk) renderSecondFactor(w http.ResponseWriter, r *http.Request, e *service.Enrolment, form *ui.Form, status int) error {
	code, err := qrCode(e.URL)
	if err != nil {
		return err
	}
	return d.pages.Render(w, r, ui.Page{
		Template: "second_factor", Data: secondFactorView{Form: form, Secret: e.Secret, Sealed: e.Sealed, QR: code}, Status: status,
	})
}

// qrCode draws a text as a picture that stands in the page itself: nobody else is asked to draw a secret.
func qrCode(text string) (template.URL, error) {
	const side = 240
	code, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		return "", err
	}
	scaled, err := barcode.Scale(code, side, side)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := png.Encode(&b, scaled); err != nil {
		return "", err
	}
	return template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes())), nil //nolint:gosec // made here
}

func (d *Desk) confirmSecondFactor(w http.ResponseWriter, r *http.Request, who *visitor) error {
	form, err := ui.ReadForm(w, r)
	if err != nil {
		return err
	}
	e, err := d.SignIn.ResumeSecondFactor(who.User, form.Get("sealed"))
	if err != nil {
		return err
	}
	err = d.SignIn.ConfirmSecondFactor(r.Context(), who.User, e, form.Get("code"), who.Session.ID, ui.OriginOf(r))
	f, _ := errors.AsType[*fault.Error](err)
	switch {
	case err == nil:
		return d.Site.Redirect(w, r, "/desk/me", ui.Done("desk.me.factor_on"))
	case errors.Is(err, service.WrongCode):
		form.Fail("code", "desk.signin.wrong_code")
	case errors.Is(err, service.TooManyLogins):
		form.Alert("desk.signin.wait", "n", max(1, int((f.RetryAfter+time.Minute-1)/time.Minute)))
	default:
		return err
	}
	form.Set("code", "")
	return d.renderSecondFactor(w, r, e, form, http.StatusUnprocessableEntity)
}

func (d *Desk) endSecondFactor(w http.ResponseWriter, r *http.Request, who *visitor) error {
	form, err := ui.ReadForm(w, r)
	if err != nil {
		return err
	}
	if err := d.SignIn.EndSecondFactor(r.Context(), who.User, form.Raw("off_password"), who.Session.ID, ui.OriginOf(r)); err != nil {
		return d.refuseMe(w, r, who, &meView{Off: form}, form, "off_password", err)
	}
	return d.Site.Redirect(w, r, "/desk/me", ui.Done("desk.me.factor_off"))
}

func (d *Desk) endSession(w http.ResponseWriter, r *http.Request, who *visitor) error {
	id, ok := store.ParseID(r.PathValue("id"))
	if !ok {
		return ui.PageNotFound()
	}
	err := d.Service.RevokeSession(r.Context(), access.Desk, who.User.ID, id)
	if err != nil && !errors.Is(err, service.SessionNotFound) {
		return err
	}
	if id == who.Session.ID {
		return d.Site.Redirect(w, r, "/desk/sign-in", ui.Done("desk.signin.out"))
	}
	return d.Site.Redirect(w, r, "/desk/me", ui.Done("desk.me.session_ended"))
}

func (d *Desk) endOtherSessions(w http.ResponseWriter, r *http.Request, who *visitor) error {
	if err := d.Service.RevokeSessions(r.Context(), access.Desk, who.User.ID, who.Session.ID); err != nil {
		return err
	}
	return d.Site.Redirect(w, r, "/desk/me", ui.Done("desk.me.sessions_ended"))
}

// rotateToken shows a new token for the desk interface once, in the answer itself: it must not travel in a cookie.
func (d *Desk) rotateToken(w http.ResponseWriter, r *http.Request, who *visitor) error {
	form, err := ui.ReadForm(w, r)
	if err != nil {
		return err
	}
	v := &meView{Token: form}
	if v.NewToken, err = d.SignIn.RotateToken(r.Context(), who.User, form.Raw("token_password"), ui.OriginOf(r)); err != nil {
		return d.refuseMe(w, r, who, v, form, "token_password", err)
	}
	return d.renderMe(w, r, who, v, http.StatusOK)
}

// backToMe leads those who ask for the address of a form, to read its answer in another language, say, to the settings.
func (d *Desk) backToMe(w http.ResponseWriter, r *http.Request, _ *visitor) error {
	return d.Site.Redirect(w, r, "/desk/me")
}
