package portal

import (
	"net/http"
	"strconv"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/credit"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/pages/ui"
)

type creditsView struct {
	place
	Totals credit.AccountTotals
	Tabs   []ui.Tab
	Lines  []*credit.Entry
	Pager  *ui.Pager
	Older  string
	Newest string
	Curl   string
	Notice *noticeView // of Live
}

// noticeView is when owners are told that the balance is low.
type noticeView struct {
	Form  *ui.Form
	Owner bool // may change it
	Mail  bool // there is a mail server
	Below int64
}

func (p *Portal) showCredits(w http.ResponseWriter, r *http.Request, who *visitor) error {
	return p.renderCredits(w, r, who, nil)
}

// renderCredits shows the ledger; form is that of the notice when it has to be shown again.
func (p *Portal) renderCredits(w http.ResponseWriter, r *http.Request, who *visitor, form *ui.Form) error {
	q := r.URL.Query()
	v := creditsView{place: p.place(r, who, "/credits"), Curl: p.curl("/balance")}
	base, changes := v.Base+"/credits", q.Get("view") == "changes"
	v.Tabs = []ui.Tab{
		{Href: base, Label: p.Site.T(r, "portal.orders.all"), Current: !changes},
		{Href: base + "?view=changes", Label: p.Site.T(r, "portal.credits.changes"), Current: changes},
	}
	var err error
	pager := ui.NewPager(r, pageSize)
	actor := who.actor()
	if v.Lines, v.Totals, err = p.Service.Ledger(r.Context(), actor, actor.Tenant, pager.Page, pageSize); err != nil {
		return err
	}
	if who.env == access.Live {
		v.Notice = &noticeView{
			Form: form, Owner: who.User.Role.Includes(access.Owner), Mail: p.Service.SendsMail(), Below: v.Totals.LowCredits,
		}
		if form == nil {
			v.Notice.Form = ui.NewForm("below", strconv.FormatInt(v.Totals.LowCredits, 10))
		}
	}
	if !changes {
		pager.Total = v.Totals.Entries
		v.Pager = &pager
		return p.pages.Render(w, r, ui.Page{Template: "credits", Data: v, Form: form})
	}
	before, _ := strconv.ParseInt(q.Get("before"), 10, 64)
	if v.Lines, err = p.Service.LedgerChanges(r.Context(), actor, actor.Tenant, before, pageSize+1); err != nil {
		return err
	}
	if before > 0 {
		v.Newest = base + "?view=changes"
	}
	if len(v.Lines) > pageSize {
		v.Lines = v.Lines[:pageSize]
		v.Older = base + "?view=changes&before=" + strconv.FormatInt(v.Lines[pageSize-1].Seq, 10)
	}
	return p.pages.Render(w, r, ui.Page{Template: "credits", Data: v})
}

func (p *Portal) setLowCredits(w http.ResponseWriter, r *http.Request, who *visitor, form *ui.Form) error {
	below, err := strconv.ParseInt(form.Get("below"), 10, 64)
	if err == nil {
		err = p.Service.SetLowCredits(r.Context(), who.actor(), below)
	} else {
		err = fault.InvalidField("below", "range", "must be a whole number")
	}
	if err != nil {
		if err := p.pages.Refuse(form, err); err != nil {
			return err
		}
		return p.renderCredits(w, r, who, form)
	}
	return p.Site.Redirect(w, r, "/portal/live/credits", ui.Done("portal.credits.notice_saved"))
}

func (p *Portal) exportCredits(w http.ResponseWriter, r *http.Request, who *visitor) error {
	header := []string{"seq", "created_at", "kind", "amount", "balance_after", "order_number", "order_id", "note"}
	actor, number := who.actor(), func(n int64) string { return strconv.FormatInt(n, 10) }
	return p.sendCSV(w, r, actor, "credits-"+string(who.env)+".csv", header, func(write func(...string) error) error {
		return p.Service.EachLedgerEntry(r.Context(), actor, actor.Tenant, func(e *credit.Entry) error {
			return write(number(e.Seq), ui.CSVTime(e.CreatedAt), string(e.Kind), number(e.Amount), number(e.BalanceAfter),
				e.OrderNumber, e.OrderID, ui.CSVText(e.Note))
		})
	})
}
