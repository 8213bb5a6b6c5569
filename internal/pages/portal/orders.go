package portal

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/imaging"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store"
)

const pageSize = 25

type ordersView struct {
	place
	Form     *ui.Form // what is chosen
	Statuses []ui.Option
	Outcomes []ui.Option
	Search   string
	Filtered bool
	Waiting  int // orders that wait for photos, as far as maxWaiting
	Rows     []store.OrderRow
	Pager    *ui.Pager // where nothing is chosen
	Older    string    // address of the next page, where pages are not numbered
	Newest   string    // empty on the first page
	Export   string
	Curl     string
}

// maxWaiting is how far orders that wait for photos are counted.
const maxWaiting = 100

// orderFilter reads which orders an address chooses; what is no status or outcome chooses all.
func orderFilter(q url.Values) service.OrderFilter {
	f := service.OrderFilter{Status: order.Status(q.Get("status")), Outcome: order.Outcome(q.Get("outcome"))}
	if !slices.Contains(order.Statuses, f.Status) {
		f.Status = ""
	}
	if !slices.Contains(order.Outcomes, f.Outcome) {
		f.Outcome = ""
	}
	return f
}

// query is the address of the orders that a filter chooses.
func query(path string, f service.OrderFilter, before int64) string {
	q := url.Values{}
	if f.Status != "" {
		q.Set("status", string(f.Status))
	}
	if f.Outcome != "" {
		q.Set("outcome", string(f.Outcome))
	}
	if before > 0 {
		q.Set("before", strconv.FormatInt(before, 10))
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

func (p *Portal) showOrders(w http.ResponseWriter, r *http.Request, who *visitor, env access.Environment) error {
	q := r.URL.Query()
	filter := orderFilter(q)
	v := ordersView{
		place: p.place(r, who, env, "/orders"), Form: ui.NewForm("status", string(filter.Status), "outcome", string(filter.Outcome)), Search: q.Get("q"),
		Filtered: filter != service.OrderFilter{},
	}
	base := v.Base + "/orders"
	v.Export = query(base+".csv", filter, 0)
	v.Curl = p.curl(env, "/orders?page=1&limit=25")
	var err error
	switch {
	case v.Search != "":
		v.Rows, err = p.Service.FindOrders(r.Context(), who.User, env, v.Search, pageSize)
		if err == nil && len(v.Rows) == 1 {
			return p.Site.Redirect(w, r, base+"/"+v.Rows[0].ID)
		}
	case v.Filtered:
		before, _ := strconv.ParseInt(q.Get("before"), 10, 64)
		v.Rows, err = p.Service.FilteredOrders(r.Context(), who.User, env, filter, before, pageSize+1)
		if before > 0 {
			v.Newest = query(base, filter, 0)
		}
		if len(v.Rows) > pageSize {
			v.Rows = v.Rows[:pageSize]
			v.Older = query(base, filter, v.Rows[pageSize-1].Seq)
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
	if v.Waiting, err = p.Service.Store.CountWaiting(r.Context(), who.User.AccountID, env, maxWaiting); err != nil {
		return err
	}
	p.orderChoices(r, &v)
	return p.pages.Render(w, r, ui.Page{Template: "orders", Data: v})
}

func (p *Portal) orderChoices(r *http.Request, v *ordersView) {
	v.Statuses = []ui.Option{{Label: p.Site.T(r, "portal.any")}}
	for _, s := range order.Statuses {
		v.Statuses = append(v.Statuses, ui.Option{Value: string(s), Label: p.Site.T(r, "ui.status."+string(s))})
	}
	v.Outcomes = []ui.Option{{Label: p.Site.T(r, "portal.any")}}
	for _, o := range order.Outcomes {
		v.Outcomes = append(v.Outcomes, ui.Option{Value: string(o), Label: o.Label().In(ui.LocaleOf(r))})
	}
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

func (p *Portal) exportOrders(w http.ResponseWriter, r *http.Request, who *visitor, env access.Environment) error {
	header := []string{
		"order_number", "id", "external_id", "status", "outcome", "category_code", "brand_code", "model_code", "answer_time", "price", "created_at",
		"due_date", "updated_at", "ended_at",
	}
	return ui.WriteCSV(w, "orders-"+string(env)+".csv", header, func(write func(...string) error) error {
		return p.Service.EachOrder(r.Context(), who.User, env, orderFilter(r.URL.Query()), func(o *store.OrderRow) error {
			return write(o.Number, o.ID, ui.CSVText(o.ExternalID), string(o.Status), string(o.Outcome), o.Item.CategoryCode, o.Item.BrandCode, o.Item.ModelCode,
				strconv.Itoa(o.AnswerTime), strconv.FormatInt(o.Price, 10), ui.CSVTime(o.CreatedAt), csvTimeOf(o.DueAt), ui.CSVTime(o.UpdatedAt), csvTimeOf(o.EndedAt))
		})
	})
}

// servePhoto shows a photo of the account. A name is never given to other bytes, so the browser may keep the answer for good.
func (p *Portal) servePhoto(w http.ResponseWriter, r *http.Request, who *visitor) error {
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
