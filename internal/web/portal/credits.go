package portal

import (
	"net/http"
	"strconv"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/web/ui"
)

type creditsView struct {
	place
	Book   store.Book
	Tabs   []ui.Tab
	Lines  []store.LedgerLine
	Pager  *ui.Pager
	Older  string
	Newest string
	Curl   string
}

func (p *Portal) showCredits(w http.ResponseWriter, r *http.Request, who *signed, env access.Environment) error {
	q := r.URL.Query()
	v := creditsView{place: p.place(r, who, env, "/credits"), Curl: p.curl(env, "/balance")}
	base, changes := v.Base+"/credits", q.Get("view") == "changes"
	v.Tabs = []ui.Tab{
		{Href: base, Label: p.Site.T(r, "portal.orders.all"), Current: !changes},
		{Href: base + "?view=changes", Label: p.Site.T(r, "portal.credits.changes"), Current: changes},
	}
	var err error
	page := pageNumber(q)
	if v.Lines, v.Book, err = p.Service.PortalLedger(r.Context(), who.User, env, page, pageSize); err != nil {
		return err
	}
	if !changes {
		v.Pager = &ui.Pager{Page: page, Limit: pageSize, Total: v.Book.Entries, URL: r.URL}
		return p.pages.Render(w, r, ui.Page{Template: "credits", Data: v})
	}
	before, _ := strconv.ParseInt(q.Get("before"), 10, 64)
	if v.Lines, err = p.Service.PortalLedgerChanges(r.Context(), who.User, env, before, pageSize+1); err != nil {
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

func (p *Portal) exportCredits(w http.ResponseWriter, r *http.Request, who *signed, env access.Environment) error {
	header := []string{"seq", "created_at", "kind", "amount", "balance_after", "order_number", "order_id", "note"}
	return writeCSV(w, "credits-"+string(env)+".csv", header, func(write func(...string) error) error {
		return p.Service.EachLedgerLine(r.Context(), who.User, env, func(l *store.LedgerLine) error {
			return write(strconv.FormatInt(l.Seq, 10), csvTime(l.CreatedAt), string(l.Kind), strconv.FormatInt(l.Amount, 10), strconv.FormatInt(l.BalanceAfter, 10),
				l.OrderNumber, l.OrderID, cell(l.Note))
		})
	})
}
