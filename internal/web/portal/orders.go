package portal

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/imaging"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/web/ui"
)

const pageSize = 25

type ordersView struct {
	place
	Tabs    []ui.Tab
	Search  string
	Waiting bool
	Rows    []store.OrderRow
	Pager   *ui.Pager
	Older   string // address of the next page, where pages are not numbered
	Curl    string
}

func (p *Portal) showOrders(w http.ResponseWriter, r *http.Request, who *signed, env access.Environment) error {
	q := r.URL.Query()
	v := ordersView{place: p.place(r, who, env, "/orders"), Search: q.Get("q"), Waiting: q.Get("view") == "waiting"}
	base := v.Base + "/orders"
	v.Curl = p.curl(env, "/orders?page=1&limit=25")
	var err error
	switch {
	case v.Search != "":
		v.Rows, err = p.Service.FindOrders(r.Context(), who.User, env, v.Search, pageSize)
		if err == nil && len(v.Rows) == 1 {
			return p.Site.Redirect(w, r, base+"/"+v.Rows[0].ID)
		}
	case v.Waiting:
		before, _ := strconv.ParseInt(q.Get("before"), 10, 64)
		v.Rows, err = p.Service.WaitingOrders(r.Context(), who.User, env, before, pageSize+1)
		if len(v.Rows) > pageSize {
			v.Rows = v.Rows[:pageSize]
			v.Older = base + "?view=waiting&before=" + strconv.FormatInt(v.Rows[pageSize-1].Seq, 10)
		}
	default:
		page := pageNumber(q)
		var total int64
		v.Rows, total, err = p.Service.PortalOrders(r.Context(), who.User, env, page, pageSize)
		v.Pager = &ui.Pager{Page: page, Limit: pageSize, Total: total, URL: r.URL}
	}
	if err != nil {
		return err
	}
	waiting, err := p.Service.Store.CountWaiting(r.Context(), who.User.AccountID, env, pageSize*4)
	if err != nil {
		return err
	}
	v.Tabs = []ui.Tab{
		{Href: base, Label: p.Site.T(r, "portal.orders.all"), Current: !v.Waiting},
		{Href: base + "?view=waiting", Label: p.Site.T(r, "portal.orders.waiting"), Count: waiting, Current: v.Waiting},
	}
	return p.pages.Render(w, r, ui.Page{Template: "orders", Data: v})
}

// pageNumber reads ?page=; what is none is the first page.
func pageNumber(q url.Values) int {
	const most = 1 << 40
	n, err := strconv.ParseInt(q.Get("page"), 10, 64)
	if err != nil || n < 1 || n > most {
		return 1
	}
	return int(n)
}

// curl is how a program does what a page shows.
func (p *Portal) curl(env access.Environment, path string) string {
	return "curl -H \"Authorization: Bearer $" + keyVariable(env) + "\" \\\n  '" + p.api(path) + "'"
}

func keyVariable(env access.Environment) string {
	if env == access.Live {
		return "ASSAY_LIVE_KEY"
	}
	return "ASSAY_TEST_KEY"
}

func (p *Portal) exportOrders(w http.ResponseWriter, r *http.Request, who *signed, env access.Environment) error {
	header := []string{
		"order_number", "id", "external_id", "status", "outcome", "category_code", "brand_code", "model_code", "answer_time", "price", "created_at",
		"due_date", "updated_at", "ended_at",
	}
	return ui.WriteCSV(w, "orders-"+string(env)+".csv", header, func(write func(...string) error) error {
		return p.Service.EachOrder(r.Context(), who.User, env, func(o *store.OrderRow) error {
			return write(o.Number, o.ID, ui.CSVText(o.ExternalID), string(o.Status), string(o.Outcome), o.Item.CategoryCode, o.Item.BrandCode, o.Item.ModelCode,
				strconv.Itoa(o.AnswerTime), strconv.FormatInt(o.Price, 10), ui.CSVTime(o.CreatedAt), csvTimeOf(o.DueAt), ui.CSVTime(o.UpdatedAt), csvTimeOf(o.EndedAt))
		})
	})
}

// servePhoto shows a photo of the account. A name is never given to other bytes, so the browser may keep the answer for good.
func (p *Portal) servePhoto(w http.ResponseWriter, r *http.Request, who *signed) error {
	name, size := r.PathValue("name"), imaging.Size(r.PathValue("size"))
	format, ok := photo.ParseName(name)
	if !ok || size != imaging.Thumb && size != imaging.Screen {
		return ui.PageNotFound()
	}
	own, err := p.Service.OwnsPhoto(r.Context(), who.User, name)
	if err != nil {
		return err
	}
	if !own {
		return ui.PageNotFound()
	}
	h := w.Header()
	before := h.Get("Content-Security-Policy")
	h.Set("Cache-Control", "private, max-age=31536000, immutable")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox") // the bytes are a stranger's
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if p.Images != nil {
		err = p.Images.Serve(w, r, name, size)
	} else {
		err = p.serveStored(w, r, name, format)
	}
	if err == nil {
		return nil
	}
	h.Set("Content-Security-Policy", before) // of the page that tells the error
	switch {
	case errors.Is(err, media.ErrNotFound):
		return ui.PageNotFound()
	case errors.Is(err, imaging.ErrUndecodable):
		p.Site.NoPicture(w, r)
		return nil
	}
	return err
}

func (p *Portal) serveStored(w http.ResponseWriter, r *http.Request, name string, format photo.Format) error {
	file, err := p.Service.Media.Open(r.Context(), name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // opened for reading only
	w.Header().Set("Content-Type", format.ContentType())
	http.ServeContent(w, r, "", time.Time{}, file)
	return nil
}
