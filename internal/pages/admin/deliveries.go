package admin

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/service"
)

const deliveryLimit = 50

type deliveriesView struct {
	Form         *ui.Form
	Deliveries   []*webhook.Delivery
	Accounts     map[string]string // names by id
	Environments []ui.Option
	Statuses     []ui.Option
	Since        []ui.Option
	Older        string // address of the next page
	Newest       string // of the first; empty on it
	Filtered     bool
	Redeliver    *ui.Form
}

// deliveryFilter reads which deliveries are meant. A field that names nothing fails.
func (a *Admin) deliveryFilter(r *http.Request, who *visitor, form *ui.Form) webhook.DeliveryFilter {
	var f webhook.DeliveryFilter
	f.AccountID = a.accountFilter(r, who, form)
	if env, ok := access.ParseEnvironment(form.Get("environment")); ok {
		f.Environment = env
	}
	if id := form.Get("endpoint"); id != "" {
		var ok bool
		if f.EndpointID, ok = service.ParseID(id); !ok {
			form.Fail("endpoint", "admin.deliveries.no_id")
		}
	}
	if text := form.Get("order"); text != "" {
		id, err := a.Service.FindOrderID(r.Context(), text)
		if err != nil {
			form.Fail("order", "admin.deliveries.no_order")
		}
		f.OrderID = id
	}
	if s := webhook.Status(form.Get("status")); slices.Contains(webhook.Statuses, s) {
		f.Status = s
	}
	return f
}

func (a *Admin) listDeliveries(w http.ResponseWriter, r *http.Request, who *visitor) error {
	return a.renderDeliveries(w, r, who, query(r), http.StatusOK)
}

// query returns the query of an address as a form, without what databases cannot hold.
func query(r *http.Request) *ui.Form {
	q := r.URL.Query()
	for _, values := range q {
		for i, v := range values {
			values[i] = strings.ReplaceAll(strings.ToValidUTF8(v, ""), "\x00", "")
		}
	}
	return &ui.Form{Values: q}
}

func (a *Admin) renderDeliveries(
	w http.ResponseWriter, r *http.Request, who *visitor, form *ui.Form, status int,
) error {
	v := deliveriesView{Form: form, Accounts: make(map[string]string), Redeliver: ui.NewForm("since", "24h")}
	filter := a.deliveryFilter(r, who, form)
	v.Filtered = filter != (webhook.DeliveryFilter{}) || !form.OK()
	rest := url.Values{}
	for _, name := range []string{"account", "environment", "endpoint", "order", "status"} {
		if value := form.Get(name); value != "" {
			rest.Set(name, value)
		}
	}
	if before, ok := service.ParseID(form.Get("before")); ok {
		filter.Before, v.Newest = before, home+"/deliveries?"+rest.Encode()
	}
	if form.OK() {
		var err error
		if v.Deliveries, err = a.Service.Deliveries(r.Context(), actorOf(who), filter, deliveryLimit+1); err != nil {
			return err
		}
	}
	if len(v.Deliveries) > deliveryLimit {
		v.Deliveries = v.Deliveries[:deliveryLimit]
		rest.Set("before", v.Deliveries[deliveryLimit-1].ID)
		v.Older = home + "/deliveries?" + rest.Encode()
	}
	for _, d := range v.Deliveries {
		if err := a.nameAccount(r, who, v.Accounts, d.AccountID); err != nil {
			return err
		}
	}
	all := ui.Option{Label: a.Site.T(r, "admin.any")}
	v.Environments = ui.Words(a.Site, r, "admin.env.", access.Environments, all)
	v.Statuses = ui.Words(a.Site, r, "ui.delivery.", webhook.Statuses, all)
	v.Since = ui.Words(a.Site, r, "admin.since.", []string{"1h", "6h", "24h", "72h", "168h", "720h"})
	return a.pages.Render(w, r, ui.Page{Template: "deliveries", Data: v, Status: status})
}

// longestSince bounds how far back failed deliveries are sent again.
const longestSince = 720 * time.Hour

func (a *Admin) redeliverFailed(w http.ResponseWriter, r *http.Request, who *visitor, form *ui.Form) error {
	filter := a.deliveryFilter(r, who, form)
	since, err := time.ParseDuration(form.Get("since"))
	if err != nil || since <= 0 || since > longestSince {
		form.Alert("admin.deliveries.no_since")
	}
	if !form.OK() {
		return a.renderDeliveries(w, r, who, form, http.StatusUnprocessableEntity)
	}
	n, err := a.Service.RedeliverFailed(r.Context(), actorOf(who), filter, a.Site.Now().Add(-since))
	if err != nil {
		return err
	}
	return a.Site.Redirect(w, r, home+"/deliveries?status=pending", ui.Done("admin.deliveries.sent_again", "n", n))
}

type deliveryView struct {
	*webhook.Delivery
	Account  *access.Account
	Attempts []webhook.Attempt
	Made     int // attempts ever made
	Body     string
}

func (a *Admin) showDelivery(w http.ResponseWriter, r *http.Request, who *visitor) error {
	d, attempts, err := a.Service.Delivery(r.Context(), actorOf(who), r.PathValue("delivery"))
	if err != nil {
		return err
	}
	account, err := a.Service.Account(r.Context(), actorOf(who), d.AccountID)
	if err != nil {
		return err
	}
	v := deliveryView{Delivery: d, Account: account, Attempts: attempts, Made: d.Attempts, Body: ui.IndentedJSON(d.Body)}
	return a.pages.Render(w, r, ui.Page{Template: "delivery", Data: v})
}

func (a *Admin) redeliver(w http.ResponseWriter, r *http.Request, who *visitor) error {
	back := home + "/deliveries/" + r.PathValue("delivery")
	if err := a.Service.Redeliver(r.Context(), actorOf(who), r.PathValue("delivery")); err != nil {
		return a.redirectWithFault(w, r, back, err)
	}
	return a.Site.Redirect(w, r, back, ui.Done("admin.deliveries.sent_again", "n", 1))
}
