package admin

import (
	"errors"
	"net/http"
	"time"

	"github.com/assayhq/assay/internal/domain/certificate"
	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/service"
)

const revokedShown = 50

type certificatesView struct {
	Form    *ui.Form
	Revoked []certificate.Revoked
}

func (a *Admin) listCertificates(w http.ResponseWriter, r *http.Request, who *visitor) error {
	form := query(r)
	status := http.StatusOK
	if text := form.Get("q"); text != "" {
		c, err := a.Service.FindCertificate(r.Context(), actorOf(who), text)
		if err == nil {
			return a.Site.Redirect(w, r, home+"/certificates/"+c.ID)
		}
		if !errors.Is(err, service.CertificateNotFound) {
			return err
		}
		form.Fail("q", "admin.certificates.none")
		status = http.StatusNotFound
	}
	revoked, err := a.Service.RevokedCertificates(r.Context(), actorOf(who), revokedShown)
	if err != nil {
		return err
	}
	v := certificatesView{Form: form, Revoked: revoked}
	return a.pages.Render(w, r, ui.Page{Template: "certificates", Data: v, Status: status})
}

type certificateView struct {
	*certificate.Issued
	Facts    *certificate.Certificate
	Item     string
	IssuedAt time.Time
	Reason   string // of the revocation; empty while it stands
	At       time.Time
	URL      string
	Form     *ui.Form
}

func (a *Admin) showCertificate(w http.ResponseWriter, r *http.Request, who *visitor) error {
	return a.renderCertificate(w, r, who, ui.NewForm())
}

func (a *Admin) renderCertificate(w http.ResponseWriter, r *http.Request, who *visitor, form *ui.Form) error {
	c, err := a.Service.FindCertificate(r.Context(), actorOf(who), r.PathValue("certificate"))
	if err != nil {
		return err
	}
	facts, err := c.Read()
	if err != nil {
		return err
	}
	v := certificateView{
		Issued: c, Facts: facts, Item: facts.Item.Title(ui.LocaleOf(r)), IssuedAt: time.Time(facts.IssuedAt),
		URL: a.Service.CertificateURL(c.ID), Form: form,
	}
	if c.Revoked != nil {
		v.Reason, v.At = c.Revoked.Reason, time.Time(c.Revoked.At)
	}
	return a.pages.Render(w, r, ui.Page{Template: "certificate", Data: v, Form: form})
}

func (a *Admin) revokeCertificate(w http.ResponseWriter, r *http.Request, who *visitor, form *ui.Form) error {
	if form.Get("sure") != "yes" {
		form.Fail("sure", "admin.certificates.say_yes")
	} else {
		err := a.Service.RevokeCertificate(r.Context(), actorOf(who), r.PathValue("certificate"), form.Get("reason"))
		if err := a.pages.Refuse(form, err); err != nil {
			return err
		}
	}
	if !form.OK() {
		return a.renderCertificate(w, r, who, form)
	}
	back := home + "/certificates/" + r.PathValue("certificate")
	return a.Site.Redirect(w, r, back, ui.Done("admin.certificates.revoked_done"))
}
