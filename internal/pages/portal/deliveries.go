package portal

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/service"
)

type deliveriesView struct {
	place
	Form      *ui.Form // what is chosen
	Statuses  []ui.Option
	Endpoints []ui.Option
	Rows      []*webhook.Delivery
	Older     string
	Newest    string // empty on the first page
	Again     *ui.Form
	Spans     []ui.Option
	Filtered  bool
}

// spans are since when failed deliveries can be sent again.
var spans = []struct {
	name string
	past time.Duration
}{{"hour", time.Hour}, {"day", 24 * time.Hour}, {"week", 7 * 24 * time.Hour}, {"month", 30 * 24 * time.Hour}}

func (p *Portal) showDeliveries(w http.ResponseWriter, r *http.Request, who *visitor) error {
	q, actor := r.URL.Query(), who.actor()
	v := &deliveriesView{
		place: p.place(r, who, "/deliveries"),
		Form:  ui.NewForm("status", q.Get("status"), "endpoint", q.Get("endpoint")), Again: ui.NewForm("since", "day"),
	}
	f := webhook.DeliveryFilter{Tenant: actor.Tenant}
	if s := webhook.Status(q.Get("status")); slices.Contains(webhook.Statuses, s) {
		f.Status = s
	}
	v.Statuses = ui.Words(p.Site, r, "ui.delivery.", webhook.Statuses, p.anything(r))
	f.EndpointID, _ = service.ParseID(q.Get("endpoint"))
	f.Before, _ = service.ParseID(q.Get("before"))
	v.Filtered = f.Status != "" || f.EndpointID != ""
	endpoints, err := p.Service.Endpoints(r.Context(), actor, actor.Tenant)
	if err != nil {
		return err
	}
	v.Endpoints = ui.Options(endpoints, func(e *webhook.Endpoint) ui.Option {
		return ui.Option{Value: e.ID, Label: e.URL}
	}, p.anything(r))
	for _, s := range spans {
		v.Spans = append(v.Spans, ui.Option{Value: s.name, Label: p.Site.T(r, "portal.delivery.since_"+s.name)})
	}
	if v.Rows, err = p.Service.Deliveries(r.Context(), actor, f, pageSize+1); err != nil {
		return err
	}
	next := url.Values{"status": {string(f.Status)}, "endpoint": {f.EndpointID}}
	if f.Before != "" {
		v.Newest = r.URL.Path + "?" + next.Encode()
	}
	if len(v.Rows) > pageSize {
		v.Rows = v.Rows[:pageSize]
		next.Set("before", v.Rows[pageSize-1].ID)
		v.Older = r.URL.Path + "?" + next.Encode()
	}
	return p.pages.Render(w, r, ui.Page{Template: "deliveries", Data: v})
}

func (p *Portal) redeliverFailed(w http.ResponseWriter, r *http.Request, who *visitor, form *ui.Form) error {
	past := spans[1].past
	for _, s := range spans {
		if s.name == form.Get("since") {
			past = s.past
		}
	}
	actor := who.actor()
	f := webhook.DeliveryFilter{Tenant: actor.Tenant}
	n, err := p.Service.RedeliverFailed(r.Context(), actor, f, p.Site.Now().Add(-past))
	if err != nil {
		return err
	}
	return p.Site.Redirect(w, r, r.URL.Path, ui.Done("portal.delivery.all_again", "n", n))
}

type deliveryView struct {
	place
	*webhook.Delivery
	Attempts []sentAttempt
	Readable string // the body, indented
	Exact    string // the body as it is signed and sent
	Ended    bool
	Curl     string // sends the same once more, from wherever it runs
}

// sentAttempt is an attempt with the headers that it sent, as far as they are known.
type sentAttempt struct {
	webhook.Attempt
	Headers []webhook.Header
}

// Proven reports whether it is known how the receiver could tell where the attempt came from.
func (a sentAttempt) Proven() bool { return slices.ContainsFunc(a.Headers, webhook.Header.IsProof) }

func (p *Portal) showDelivery(w http.ResponseWriter, r *http.Request, who *visitor) error {
	d, made, err := p.Service.Delivery(r.Context(), who.actor(), r.PathValue("id"))
	if err != nil {
		return err
	}
	headers, err := p.Service.SentHeaders(r.Context(), d)
	if err != nil {
		return err
	}
	attempts := make([]sentAttempt, len(made))
	for i, a := range made {
		attempts[i] = sentAttempt{a, headers(a)}
	}
	v := deliveryView{
		place: p.place(r, who, "/deliveries"), Delivery: d, Attempts: attempts,
		Exact: string(d.Body), Readable: ui.IndentedJSON(d.Body), Ended: d.Status != webhook.Pending,
	}
	if len(attempts) > 0 {
		v.Curl = replay(attempts[len(attempts)-1].Headers, v.Exact)
	}
	return p.pages.Render(w, r, ui.Page{Template: "delivery", Data: v})
}

// replay is how a developer sends a delivery to a server of their own.
func replay(headers []webhook.Header, body string) string {
	var b strings.Builder
	b.WriteString("curl http://localhost:3000/ \\\n")
	for _, h := range headers {
		b.WriteString("  -H " + shellQuote(h.Name+": "+h.Value) + " \\\n")
	}
	b.WriteString("  --data-binary " + shellQuote(body))
	return b.String()
}

// shellQuote makes a text one word of a shell.
func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func (p *Portal) redeliver(w http.ResponseWriter, r *http.Request, who *visitor) error {
	if err := p.Service.Redeliver(r.Context(), who.actor(), r.PathValue("id")); err != nil {
		return err
	}
	return p.Site.Redirect(
		w, r, who.base()+"/deliveries/"+r.PathValue("id"), ui.Done("portal.delivery.again_done"),
	)
}

func (p *Portal) backToDelivery(w http.ResponseWriter, r *http.Request, who *visitor) error {
	d, _, err := p.Service.Delivery(r.Context(), who.actor(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return p.Site.Redirect(w, r, who.base()+"/deliveries/"+d.ID)
}
