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
	Book  store.Book
	Lines []store.LedgerLine
	Pager ui.Pager
	Curl  string
}

func (p *Portal) showCredits(w http.ResponseWriter, r *http.Request, who *signed, env access.Environment) error {
	page := pageNumber(r.URL.Query())
	lines, book, err := p.Service.PortalLedger(r.Context(), who.User, env, page, pageSize)
	if err != nil {
		return err
	}
	return p.pages.Render(w, r, ui.Page{Template: "credits", Data: creditsView{
		place: p.place(r, who, env, "/credits"), Book: book, Lines: lines, Curl: p.curl(env, "/balance"),
		Pager: ui.Pager{Page: page, Limit: pageSize, Total: book.Entries, URL: r.URL},
	}})
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
