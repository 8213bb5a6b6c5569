package admin

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/credit"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/service"
	"github.com/google/uuid"
)

const listLimit = 50

type accountsView struct {
	Search   string
	Accounts []access.AccountSummary
	Pager    ui.Pager
}

func (a *Admin) listAccounts(w http.ResponseWriter, r *http.Request, who *visitor) error {
	v := accountsView{Search: query(r).Get("q"), Pager: ui.NewPager(r, listLimit)}
	var err error
	v.Accounts, v.Pager.Total, err = a.Service.Accounts(r.Context(), actorOf(who), v.Search, v.Pager.Page, v.Pager.Limit)
	if err != nil {
		return err
	}
	return a.pages.Render(w, r, ui.Page{Template: "accounts", Data: v})
}

type newAccountView struct {
	Form    *ui.Form
	Locales []ui.Option
}

func (a *Admin) newAccount(w http.ResponseWriter, r *http.Request, _ *visitor) error {
	return a.pages.Render(w, r, newAccountPage(ui.NewForm("locale", "en")))
}

func newAccountPage(form *ui.Form) ui.Page {
	return ui.Page{Template: "account_new", Data: newAccountView{Form: form, Locales: ui.Languages()}, Form: form}
}

func (a *Admin) createAccount(w http.ResponseWriter, r *http.Request, who *visitor, form *ui.Form) error {
	locale := text.Locale(form.Get("locale"))
	n, err := a.Service.CreateAccount(r.Context(), actorOf(who), form.Get("name"), form.Get("email"), locale)
	if err != nil {
		return a.pages.Again(w, r, newAccountPage(form), err)
	}
	return a.showOnce(w, r, onceView{
		Title:  a.Site.T(r, "admin.accounts.created", "name", n.Account.Name),
		Text:   a.Site.T(r, "admin.accounts.created_text"),
		Values: []onceValue{{a.Site.T(r, "admin.email"), n.Owner.Email}, {a.Site.T(r, "admin.password"), n.Password}},
		Back:   accountPath(&n.Account),
	})
}

func accountPath(account *access.Account, more ...string) string {
	return strings.Join(append([]string{home, "accounts", account.ID}, more...), "/")
}

// accountHead is what all pages of an account show at the top.
type accountHead struct {
	Account *access.Account
	Tabs    []ui.Tab
	tenant  access.Tenant // without an environment where the address has none
}

// withAccount adapts a page of the account, and perhaps the environment, that the address names.
func (a *Admin) withAccount(h func(http.ResponseWriter, *http.Request, *visitor, *accountHead) error) handler {
	return func(w http.ResponseWriter, r *http.Request, who *visitor) error {
		head, err := a.accountHead(r, who)
		if err != nil {
			return err
		}
		return h(w, r, who, head)
	}
}

func (a *Admin) accountHead(r *http.Request, who *visitor) (*accountHead, error) {
	env, ok := access.ParseEnvironment(r.PathValue("environment"))
	if !ok && r.PathValue("environment") != "" {
		return nil, ui.PageNotFound()
	}
	account, err := a.Service.Account(r.Context(), actorOf(who), r.PathValue("account"))
	if err != nil {
		return nil, err
	}
	h := &accountHead{Account: account, tenant: access.Tenant{AccountID: account.ID, Environment: env}}
	for _, x := range []struct{ path, key string }{
		{"", "admin.account.overview"},
		{"/keys", "admin.account.keys"},
		{"/credits/live", "admin.account.live_credits"},
		{"/credits/test", "admin.account.test_credits"},
		{"/orders/live", "admin.account.live_orders"},
		{"/orders/test", "admin.account.test_orders"},
	} {
		href := accountPath(account) + x.path
		current := r.URL.Path == href || x.path == "/keys" && strings.HasPrefix(r.URL.Path, href+"/")
		h.Tabs = append(h.Tabs, ui.Tab{Href: href, Label: a.Site.T(r, x.key), Current: current})
	}
	return h, nil
}

type accountView struct {
	*accountHead
	*service.AccountDetails
	Live, Test credit.AccountTotals
}

func (a *Admin) showAccount(w http.ResponseWriter, r *http.Request, who *visitor, head *accountHead) error {
	d, err := a.Service.AccountDetails(r.Context(), actorOf(who), head.Account.ID)
	if err != nil {
		return err
	}
	v := accountView{accountHead: head, AccountDetails: d, Live: d.Totals[access.Live], Test: d.Totals[access.Test]}
	return a.pages.Render(w, r, ui.Page{Template: "account", Data: v})
}

func (a *Admin) resetUserPassword(w http.ResponseWriter, r *http.Request, who *visitor, head *accountHead) error {
	user, link, err := a.Service.ResetUserPassword(r.Context(), actorOf(who), head.Account.ID, r.PathValue("user"))
	if err != nil {
		return err
	}
	words := a.Site.T(r, "admin.account.reset_link_text", "email", user.Email)
	if a.Service.SendsMail() {
		words = a.Site.T(r, "admin.account.reset_link_mailed", "email", user.Email)
	}
	return a.showOnce(w, r, onceView{
		Title: a.Site.T(r, "admin.account.reset_link"), Text: words,
		Values: []onceValue{{a.Site.T(r, "admin.account.link"), link}}, Back: accountPath(head.Account),
	})
}

func (a *Admin) resetUserFactors(w http.ResponseWriter, r *http.Request, who *visitor, head *accountHead) error {
	user, err := a.Service.ResetUserFactors(r.Context(), actorOf(who), head.Account.ID, r.PathValue("user"))
	if err != nil {
		return err
	}
	return a.Site.Redirect(w, r, accountPath(head.Account), ui.Done("admin.account.factor_removed", "email", user.Email))
}

// nameAccount looks up the name of an account that a list mentions, unless it is known already.
func (a *Admin) nameAccount(r *http.Request, who *visitor, names map[string]string, id string) error {
	if _, known := names[id]; known || id == "" {
		return nil
	}
	account, err := a.Service.Account(r.Context(), actorOf(who), id)
	if err == nil {
		names[id] = account.Name
	}
	return err
}

// accountFilter returns the id of the account that a filter names, or nothing. A name that no account has fails.
func (a *Admin) accountFilter(r *http.Request, who *visitor, form *ui.Form) string {
	name := form.Get("account")
	if name == "" {
		return ""
	}
	account, err := a.Service.FindAccount(r.Context(), actorOf(who), name)
	if err != nil {
		form.Fail("account", "admin.deliveries.no_account")
		return ""
	}
	return account.ID
}

type creditsView struct {
	*accountHead
	Environment access.Environment
	Balance     int64
	Entries     []*credit.Entry
	Pager       ui.Pager
	Form        *ui.Form
	Once        string // the id of what the form does: sent twice it does it once
}

func (a *Admin) showCredits(w http.ResponseWriter, r *http.Request, who *visitor, head *accountHead) error {
	return a.renderCredits(w, r, who, head, ui.NewForm())
}

func (a *Admin) renderCredits(
	w http.ResponseWriter, r *http.Request, who *visitor, head *accountHead, form *ui.Form,
) error {
	v := creditsView{
		accountHead: head, Environment: head.tenant.Environment, Form: form, Pager: ui.NewPager(r, listLimit),
		Once: cmp.Or(form.Get("once"), newOnce()),
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
	id := onceID(form.Get("once"), form.Get("amount"), form.Get("note"))
	balance, err := a.Service.GrantCreditsOnce(r.Context(), actorOf(who), head.tenant, id, amount, form.Get("note"))
	if fault.CodeOf(err) == credit.CodeNotEnough {
		form.Fail("amount", "admin.credits.out_of_bounds")
	} else if err := a.pages.Refuse(form, err); err != nil {
		return err
	}
	if fault.CodeOf(err) == access.ApprovalDecided.Code {
		form.Set("once", "") // what was asked for is over: sent again, it is asked for anew
	}
	if !form.OK() {
		return a.renderCredits(w, r, who, head, form)
	}
	back := accountPath(head.Account, "credits", string(head.tenant.Environment))
	return a.Site.Redirect(w, r, back, ui.Done("admin.credits.granted", "balance", balance))
}

// newOnce returns a fresh id for a form: of version 7, as those of all rows.
func newOnce() string { return uuid.Must(uuid.NewV7()).String() }

// onceID returns an id that is the same for the same form with the same content, however often it is sent. It has the
// time of the form's.
func onceID(form string, content ...string) string {
	id, err := uuid.Parse(form)
	if err != nil || id.Version() != 7 {
		return newOnce()
	}
	once := uuid.NewSHA1(id, []byte(strings.Join(content, "\n")))
	copy(once[:6], id[:6])
	once[6] = 0x70 | once[6]&0x0f
	return once.String()
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
