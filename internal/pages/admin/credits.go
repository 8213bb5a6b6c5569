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

func (a *Admin) showCredits(w http.ResponseWriter, r *http.Request, who *visitor, head *accountHead) error {
	return a.renderCredits(w, r, who, head, ui.NewForm())
}

func (a *Admin) renderCredits(
	w http.ResponseWriter, r *http.Request, who *visitor, head *accountHead, form *ui.Form,
) error {
	v := creditsView{
		accountHead: head, Environment: head.tenant.Environment, Form: form, Pager: ui.NewPager(r, listLimit),
	}
	entries, totals, err := a.Service.Ledger(r.Context(), actorOf(who), head.tenant, v.Pager.Page, v.Pager.Limit)
	if err != nil {
		return err
	}
	v.Entries, v.Balance, v.Pager.Total = entries, totals.Credits, totals.Entries
	return a.pages.Render(w, r, ui.Page{Template: "credits", Data: v, Form: form})
}

func (a *Admin) grantCredits(w http.ResponseWriter, r *http.Request, who *visitor, head *accountHead) error {
	form, err := ui.ReadForm(w, r)
	if err != nil {
		return err
	}
	amount, err := strconv.ParseInt(strings.NewReplacer(",", "", "−", "-", "+", "").Replace(form.Get("amount")), 10, 64)
	if err != nil {
		form.Fail("amount", "admin.problem.range")
		return a.renderCredits(w, r, who, head, form)
	}
	balance, err := a.Service.GrantCredits(r.Context(), actorOf(who), head.tenant, amount, form.Get("note"))
	if fault.CodeOf(err) == "not-enough-credits" {
		form.Fail("amount", "admin.credits.out_of_bounds")
	} else if err := a.pages.Refuse(form, err); err != nil {
		return err
	}
	if !form.OK() {
		return a.renderCredits(w, r, who, head, form)
	}
	back := accountPath(head.Account, "credits", string(head.tenant.Environment))
	return a.Site.Redirect(w, r, back, ui.Done("admin.credits.granted", "balance", balance))
}

type ordersView struct {
	*accountHead
	Environment access.Environment
	Orders      []order.Summary
	Pager       ui.Pager
}

func (a *Admin) listOrders(w http.ResponseWriter, r *http.Request, who *visitor, head *accountHead) error {
	v := ordersView{accountHead: head, Environment: head.tenant.Environment, Pager: ui.NewPager(r, listLimit)}
	filter := order.Filter{Tenant: head.tenant}
	var err error
	v.Orders, v.Pager.Total, err = a.Service.OrderPage(r.Context(), actorOf(who), filter, v.Pager.Page, v.Pager.Limit)
	if err != nil {
		return err
	}
	return a.pages.Render(w, r, ui.Page{Template: "orders", Data: v})
}
