package portal

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/service"
)

type orderPage struct {
	place
	*service.OrderRecord
	Indexes        []*catalog.PhotoIndex // of the order's item
	Late           bool
	Groups         []photoGroup
	Events         []eventView
	CertificateURL string
	External       string
	Answer         *ui.Form // of the photo request
	State          *ui.Form // of the move to another state
	States         []ui.Option
	AskFor         []ui.Option // indexes that a photo request can ask for
	Curl           string
	MaxBytes       int64
}

// photoGroup is the photos of one index.
type photoGroup struct {
	Code   string
	Name   text.Text
	Photos []order.Photo
}

// eventView is an entry of the timeline in words.
type eventView struct {
	At      time.Time
	Label   string
	By      string
	Outcome order.Outcome
	Indexes string
}

func (p *Portal) showOrder(w http.ResponseWriter, r *http.Request, who *visitor) error {
	return p.renderOrder(w, r, who, &orderPage{}, nil)
}

func (p *Portal) renderOrder(w http.ResponseWriter, r *http.Request, who *visitor, v *orderPage, form *ui.Form,
) error {
	o, err := p.Service.Order(r.Context(), who.actor(), r.PathValue("id"))
	if err != nil {
		return err
	}
	v.place, v.OrderRecord, v.MaxBytes = p.place(r, who, "/orders"), o, p.MaxPhotoBytes
	v.Late, v.Indexes = o.IsDelayed(p.Site.Now()), p.Service.PhotoIndexes(o.Order)
	if o.CertificateID != "" {
		v.CertificateURL = p.Service.CertificateURL(o.CertificateID)
	}
	if o.ExternalID != nil {
		v.External = *o.ExternalID
	}
	v.Groups = p.groupPhotos(v)
	for i := range o.Timeline {
		v.Events = append(v.Events, p.eventView(r, v, &o.Timeline[i]))
	}
	if v.State == nil {
		v.State = ui.NewForm()
	}
	if who.env == access.Test {
		v.States = ui.Options(order.SandboxStates, func(s order.SandboxState) ui.Option {
			return ui.Option{Value: string(s), Label: p.stateLabel(r, s)}
		})
		v.AskFor = ui.Options(v.Indexes, func(x *catalog.PhotoIndex) ui.Option {
			return ui.Option{Value: x.Code, Label: x.Name.In(ui.LocaleOf(r))}
		})
	}
	v.Curl = p.curl("/orders/" + o.ID)
	if o.Status == order.UpdatePhotos {
		v.Curl += "\n\n" + p.answerCurl(o.Order)
	}
	return p.pages.Render(w, r, ui.Page{Template: "order", Data: v, Form: form})
}

// stateLabel says a state as the badges of orders do.
func (p *Portal) stateLabel(r *http.Request, s order.SandboxState) string {
	if slices.Contains(order.Outcomes, order.Outcome(s)) {
		return order.Outcome(s).Label().In(ui.LocaleOf(r))
	}
	return p.Site.T(r, "ui.status."+string(s))
}

// answerCurl is how a program answers the photo request of an order.
func (p *Portal) answerCurl(o *order.Order) string {
	var b strings.Builder
	b.WriteString("curl -X POST -H \"Authorization: Bearer $" + keyVariable + "\" \\\n" +
		"  -H 'Content-Type: application/json' \\\n  -d '{\"photos\":[")
	for i := range o.Requested {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString(`{"index_code":"` + o.Requested[i].IndexCode + `","url":"…"}`)
	}
	b.WriteString("]}' \\\n  '" + p.api("/orders/"+o.ID+"/update_photos") + "'")
	return b.String()
}

func (p *Portal) groupPhotos(v *orderPage) []photoGroup {
	var groups []photoGroup
	for _, ph := range v.Photos {
		at := slices.IndexFunc(groups, func(g photoGroup) bool { return g.Code == ph.IndexCode })
		if at < 0 {
			at = len(groups)
			groups = append(groups, photoGroup{Code: ph.IndexCode, Name: p.Service.PhotoIndexName(v.Order, ph.IndexCode)})
		}
		groups[at].Photos = append(groups[at].Photos, ph)
	}
	return groups
}

func (p *Portal) eventView(r *http.Request, page *orderPage, e *order.TimelineEntry) eventView {
	v := eventView{At: e.At, Label: e.Event}
	if key := "portal.event." + e.Event; p.Site.Messages.Has(key) {
		v.Label = p.Site.T(r, key)
	}
	switch e.Actor.Kind {
	case access.ByAPIKey:
		v.By = p.Site.T(r, "portal.by.key", "name", e.Actor.Name)
	case access.ByUser:
		v.By = e.Actor.Name
	case access.ByStaff:
		v.By = p.Site.T(r, "portal.by.reviewer")
	case access.BySystem, access.ByOperator:
		v.By = p.Site.T(r, "portal.by.system")
	}
	if s, ok := e.Details["outcome"].(string); ok {
		v.Outcome = order.Outcome(s)
	}
	if codes, ok := e.Details["index_codes"].([]any); ok {
		var names []string
		for _, c := range codes {
			if code, ok := c.(string); ok {
				names = append(names, p.Service.PhotoIndexName(page.Order, code).In(ui.LocaleOf(r)))
			}
		}
		v.Indexes = strings.Join(names, " · ")
	}
	return v
}

func (p *Portal) backToOrder(w http.ResponseWriter, r *http.Request, who *visitor) error {
	o, err := p.Service.Order(r.Context(), who.actor(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return p.Site.Redirect(w, r, who.base()+"/orders/"+o.ID)
}

func (p *Portal) showCancel(w http.ResponseWriter, r *http.Request, who *visitor) error {
	o, err := p.Service.Order(r.Context(), who.actor(), r.PathValue("id"))
	if err != nil {
		return err
	}
	back := who.base() + "/orders/" + o.ID
	if o.Status != order.Queued {
		return p.Site.Redirect(w, r, back, ui.Failed("portal.order.too_late"))
	}
	return p.confirm(w, r, "portal.order.cancel", back, "number", o.Number, "n", o.Price)
}

func (p *Portal) cancelOrder(w http.ResponseWriter, r *http.Request, who *visitor) error {
	if _, err := p.Service.CancelOrder(r.Context(), who.actor(), r.PathValue("id"), ""); err != nil {
		return err
	}
	return p.Site.Redirect(w, r, who.base()+"/orders/"+r.PathValue("id"), ui.Done("portal.order.canceled"))
}
