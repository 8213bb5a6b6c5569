package portal

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/capture"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/service"
)

const capturePath = "/capture-links"

type captureLinksView struct {
	place
	Rows   []service.Capture
	Older  string
	Newest string // empty on the first page
	Curl   string
}

func (p *Portal) showCaptureLinks(w http.ResponseWriter, r *http.Request, who *visitor) error {
	v := &captureLinksView{place: p.place(r, who, capturePath)}
	before, _ := service.ParseID(r.URL.Query().Get("before"))
	var err error
	if v.Rows, err = p.Service.CaptureLinks(r.Context(), who.actor(), before, pageSize+1); err != nil {
		return err
	}
	if before != "" {
		v.Newest = r.URL.Path
	}
	if len(v.Rows) > pageSize {
		v.Rows = v.Rows[:pageSize]
		v.Older = r.URL.Path + "?before=" + v.Rows[pageSize-1].ID
	}
	v.Curl = p.postCurl("/capture_links", map[string]any{"category_code": "…", "brand_code": "…"})
	return p.pages.Render(w, r, ui.Page{Template: "capture_links", Data: v})
}

type newCaptureView struct {
	place
	itemChoice
	Form    *ui.Form
	Lives   []ui.Option
	Locales []ui.Option
}

// captureLives are how long a link can be used, in hours: all between the bounds of the interface.
var captureLives = []string{"1", "24", "48", "168"}

func (p *Portal) newCaptureView(r *http.Request, who *visitor, form *ui.Form) (v *newCaptureView, err error) {
	v = &newCaptureView{place: p.place(r, who, capturePath), Form: form}
	if v.itemChoice, err = p.chooseItem(r, form); err != nil {
		return nil, err
	}
	v.Lives = ui.Words(p.Site, r, "portal.capture.life_", captureLives)
	v.Locales = ui.Languages(ui.Option{Label: p.Site.T(r, "portal.capture.any_language")})
	return v, nil
}

func (p *Portal) showNewCaptureLink(w http.ResponseWriter, r *http.Request, who *visitor) error {
	q, form := r.URL.Query(), ui.NewForm("life", strconv.Itoa(int(capture.DefaultLife.Hours())))
	for _, name := range []string{"category", "brand", "model", "external_id", "life", "locale", "return_url"} {
		if value := q.Get(name); value != "" { // chosen or typed before the item was changed
			form.Set(name, ui.PlainText(value))
		}
	}
	v, err := p.newCaptureView(r, who, form)
	if err != nil {
		return err
	}
	return p.pages.Render(w, r, ui.Page{Template: "capture_link_new", Data: v})
}

func (p *Portal) createCaptureLink(w http.ResponseWriter, r *http.Request, who *visitor, form *ui.Form) error {
	v, err := p.newCaptureView(r, who, form)
	if err != nil {
		return err
	}
	page := ui.Page{Template: "capture_link_new", Data: v, Form: form}
	n := p.captureLinkOf(form)
	if !v.Ready {
		form.Fail("brand", "ui.problem.required")
	}
	n.CategoryCode, n.BrandCode, n.ModelCode = v.Where.Category, v.Where.Brand, v.Where.Model
	if !form.OK() {
		return p.pages.Render(w, r, page)
	}
	l, address, err := p.Service.CreateCaptureLink(r.Context(), who.actor(), n)
	if err != nil {
		return p.pages.Again(w, r, page, err)
	}
	return p.captureLinkMade(w, r, v.place, l, address)
}

// captureLinkOf reads a link from a form, besides its item, and marks what is wrong with it.
func (p *Portal) captureLinkOf(form *ui.Form) service.NewCaptureLink {
	n := service.NewCaptureLink{ExternalID: form.Get("external_id"), ReturnURL: form.Get("return_url")}
	if len([]rune(n.ExternalID)) > order.MaxExternalID {
		form.Fail("external_id", "ui.problem.max_length")
	}
	if n.ReturnURL != "" {
		p.failURL(form, webhook.CheckLink("return_url", n.ReturnURL))
	}
	if life := form.Get("life"); slices.Contains(captureLives, life) {
		n.Life, _ = time.ParseDuration(life + "h")
	}
	if l := form.Get("locale"); l != "" {
		n.Locale, _ = text.ParseLocale(l)
	}
	return n
}

// createOrderCaptureLink makes a link for the photo request of an order.
func (p *Portal) createOrderCaptureLink(w http.ResponseWriter, r *http.Request, who *visitor, form *ui.Form) error {
	n := p.captureLinkOf(form)
	n.OrderID, n.ExternalID, n.ReturnURL = r.PathValue("id"), "", ""
	l, address, err := p.Service.CreateCaptureLink(r.Context(), who.actor(), n)
	back := who.base() + "/orders/" + r.PathValue("id")
	switch fault.CodeOf(err) {
	case order.CodeNotAwaitingPhotos:
		return p.Site.Redirect(w, r, back, ui.Failed("portal.capture.not_awaiting"))
	case capture.LimitReached.Code:
		return p.Site.Redirect(w, r, back, ui.Failed("portal.team.refused", "text", p.pages.FaultText(r, err)))
	}
	if err != nil {
		return err
	}
	return p.captureLinkMade(w, r, p.place(r, who, capturePath), l, address)
}

// captureMadeView shows the address of a link once.
type captureMadeView struct {
	place
	Link    *capture.Link
	Address string
	QR      ui.QR
}

func (p *Portal) captureLinkMade(
	w http.ResponseWriter, r *http.Request, at place, l *capture.Link, address string,
) error {
	code, err := ui.NewQR(address)
	if err != nil {
		return err
	}
	v := captureMadeView{place: at, Link: l, Address: address, QR: code}
	return p.pages.Render(w, r, ui.Page{Template: "capture_link_made", Data: v})
}

type captureLinkView struct {
	place
	*service.Capture
	By   string
	Curl string
}

func (p *Portal) showCaptureLink(w http.ResponseWriter, r *http.Request, who *visitor) error {
	l, err := p.Service.CaptureLink(r.Context(), who.actor(), r.PathValue("id"))
	if err != nil {
		return err
	}
	v := captureLinkView{place: p.place(r, who, capturePath), Capture: l, By: l.MadeBy.Name}
	if l.MadeBy.Kind == access.ByAPIKey {
		v.By = p.Site.T(r, "portal.by.key", "name", l.MadeBy.Name)
	}
	v.Curl = p.curl("/capture_links/" + l.ID)
	if l.Status == capture.Submitted && l.OrderID == "" {
		v.Curl = p.orderFromCapture(l)
	}
	return p.pages.Render(w, r, ui.Page{Template: "capture_link", Data: v})
}

// orderFromCapture is how a program turns the photos of a link into an order.
func (p *Portal) orderFromCapture(l *service.Capture) string {
	photos := make([]map[string]string, len(l.URLs))
	for i, ph := range l.URLs {
		photos[i] = map[string]string{"index_code": ph.IndexCode, "url": ph.URL}
	}
	body := map[string]any{"category_code": l.CategoryCode, "brand_code": l.BrandCode, "photos": photos}
	if l.ModelCode != "" {
		body["model_code"] = l.ModelCode
	}
	if l.ExternalID != "" {
		body["external_id"] = l.ExternalID
	}
	return p.postCurl("/orders", body)
}

// postCurl is how a program sends JSON.
func (p *Portal) postCurl(path string, body any) string {
	text, err := json.MarshalIndent(body, "", "  ")
	if err != nil { // maps of texts always marshal
		panic(err)
	}
	return "curl -X POST -H \"Authorization: Bearer $" + keyVariable + "\" \\\n" +
		"  -H 'Content-Type: application/json' \\\n  -d " + shellQuote(string(text)) + " \\\n  '" + p.api(path) + "'"
}

func (p *Portal) showRevokeCaptureLink(w http.ResponseWriter, r *http.Request, who *visitor) error {
	l, err := p.Service.CaptureLink(r.Context(), who.actor(), r.PathValue("id"))
	if err != nil {
		return err
	}
	back := who.base() + capturePath + "/" + l.ID
	if l.Status != capture.Open {
		return p.Site.Redirect(w, r, back, ui.Failed("portal.capture.too_late"))
	}
	return p.confirm(w, r, "portal.capture.revoke", back)
}

func (p *Portal) revokeCaptureLink(w http.ResponseWriter, r *http.Request, who *visitor) error {
	id := r.PathValue("id")
	err := p.Service.RevokeCaptureLink(r.Context(), who.actor(), id)
	if errors.Is(err, capture.NotFound) {
		if l, err := p.Service.CaptureLink(r.Context(), who.actor(), id); err == nil { // it has ended in the meantime
			return p.Site.Redirect(w, r, who.base()+capturePath+"/"+l.ID, ui.Failed("portal.capture.too_late"))
		}
	}
	if err != nil {
		return err
	}
	return p.Site.Redirect(w, r, who.base()+capturePath, ui.Done("portal.capture.was_revoked"))
}
