package admin

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/credit"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/pages/ui"
)

type creditsView struct {
	*accountHead
	Environment access.Environment
	Balance     int64
	Entries     []*credit.Entry
	Pager       ui.Pager
	Form        *ui.Form
}

func (a *Admin) showCredits(w http.ResponseWriter, r *http.Request, who *visitor) error {
	return a.renderCredits(w, r, who, ui.NewForm(), http.StatusOK)
}

func (a *Admin) renderCredits(w http.ResponseWriter, r *http.Request, who *visitor, form *ui.Form, status int) error {
	head, t, err := a.tenant(r, who)
	if err != nil {
		return err
	}
	v := creditsView{
		accountHead: head, Environment: t.Environment, Form: form,
		Pager: ui.Pager{Page: pageOf(r), Limit: listLimit, URL: r.URL},
	}
	entries, totals, err := a.Service.Ledger(r.Context(), actorOf(who), t, v.Pager.Page, v.Pager.Limit)
	if err != nil {
		return err
	}
	v.Entries, v.Balance, v.Pager.Total = entries, totals.Credits, totals.Entries
	return a.pages.Render(w, r, ui.Page{Template: "credits", Data: v, Status: status})
}

func (a *Admin) grantCredits(w http.ResponseWriter, r *http.Request, who *visitor) error {
	head, t, err := a.tenant(r, who)
	if err != nil {
		return err
	}
	form, err := ui.ReadForm(w, r)
	if err != nil {
		return err
	}
	amount, err := strconv.ParseInt(strings.NewReplacer(",", "", "−", "-", "+", "").Replace(form.Get("amount")), 10, 64)
	if err != nil {
		form.Fail("amount", "admin.problem.range")
		return a.renderCredits(w, r, who, form, http.StatusUnprocessableEntity)
	}
	balance, err := a.Service.GrantCredits(r.Context(), actorOf(who), t, amount, form.Get("note"))
	if fault.CodeOf(err) == "not-enough-credits" {
		form.Fail("amount", "admin.credits.out_of_bounds")
	} else if err != nil {
		if err := a.refuse(form, err); err != nil {
			return err
		}
	}
	if !form.OK() {
		return a.renderCredits(w, r, who, form, http.StatusUnprocessableEntity)
	}
	back := accountPath(head.Account, "credits", string(t.Environment))
	return a.Site.Redirect(w, r, back, ui.Done("admin.credits.granted", "balance", balance))
}

type ordersView struct {
	*accountHead
	Environment access.Environment
	Orders      []order.Summary
	Pager       ui.Pager
}

func (a *Admin) listOrders(w http.ResponseWriter, r *http.Request, who *visitor) error {
	head, t, err := a.tenant(r, who)
	if err != nil {
		return err
	}
	v := ordersView{
		accountHead: head, Environment: t.Environment, Pager: ui.Pager{Page: pageOf(r), Limit: listLimit, URL: r.URL},
	}
	v.Orders, v.Pager.Total, err = a.Service.OrderPage(r.Context(), actorOf(who), order.Filter{Tenant: t}, v.Pager.Page,
		v.Pager.Limit)
	if err != nil {
		return err
	}
	return a.pages.Render(w, r, ui.Page{Template: "orders", Data: v})
}
