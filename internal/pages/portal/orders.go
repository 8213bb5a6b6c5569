package portal

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/imaging"
	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/service"
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
	Rows     []order.Summary
	Pager    *ui.Pager // where nothing is chosen
	Older    string    // address of the next page, where pages are not numbered
	Newest   string    // empty on the first page
	Export   string
	Curl     string
}

// maxWaiting is how far orders that wait for photos are counted.
const maxWaiting = 100

// orderFilter reads which orders an address chooses; an unknown status or outcome chooses all.
func orderFilter(q url.Values) (f order.Filter) {
	if s := order.Status(q.Get("status")); slices.Contains(order.Statuses, s) {
		f.Statuses = []order.Status{s}
	}
	if o := order.Outcome(q.Get("outcome")); slices.Contains(order.Outcomes, o) {
		f.Outcome = o
	}
	return f
}

// query is the address of the orders that a filter chooses.
func query(path string, f *order.Filter, before *order.Cursor) string {
	q := url.Values{}
	for _, s := range f.Statuses {
		q.Set("status", string(s))
	}
	if f.Outcome != "" {
		q.Set("outcome", string(f.Outcome))
	}
	if before != nil {
		q.Set("before", strconv.FormatInt(before.At, 10))
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// readBefore reads the sequence number that a page begins below; nil: the newest.
func readBefore(q url.Values) *order.Cursor {
	if n, err := strconv.ParseInt(q.Get("before"), 10, 64); err == nil && n > 0 {
		return &order.Cursor{At: n}
	}
	return nil
}

func (p *Portal) showOrders(w http.ResponseWriter, r *http.Request, who *visitor) error {
	q := r.URL.Query()
	filter, actor := orderFilter(q), who.actor()
	v := ordersView{
		place: p.place(r, who, "/orders"), Form: ui.NewForm("status", q.Get("status"), "outcome",
			string(filter.Outcome)),
		Search: q.Get("q"), Filtered: filter.States() != nil,
	}
	base := v.Base + "/orders"
	v.Export = query(base+".csv", &filter, nil)
	v.Curl = p.curl("/orders?page=1&limit=25")
	var err error
	switch {
	case v.Search != "":
		v.Rows, err = p.Service.FindOrders(r.Context(), actor, v.Search, pageSize)
		if err == nil && len(v.Rows) == 1 {
			return p.Site.Redirect(w, r, base+"/"+v.Rows[0].ID)
		}
	case v.Filtered:
		before := readBefore(q)
		var next *order.Cursor
		v.Rows, next, err = p.Service.Orders(r.Context(), actor, filter, before, pageSize)
		if before != nil {
			v.Newest = query(base, &filter, nil)
		}
		if next != nil {
			v.Older = query(base, &filter, next)
		}
	default:
		pager := ui.NewPager(r, pageSize)
		v.Rows, pager.Total, err = p.Service.OrderPage(r.Context(), actor, filter, pager.Page, pageSize)
		v.Pager = &pager
	}
	if err != nil {
		return err
	}
	if v.Waiting, err = p.Service.CountWaiting(r.Context(), actor.Tenant, maxWaiting); err != nil {
		return err
	}
	v.Statuses = ui.Words(p.Site, r, "ui.status.", order.Statuses, p.anything(r))
	v.Outcomes = ui.Options(order.Outcomes, func(o order.Outcome) ui.Option {
		return ui.Option{Value: string(o), Label: o.Label().In(ui.LocaleOf(r))}
	}, p.anything(r))
	return p.pages.Render(w, r, ui.Page{Template: "orders", Data: v})
}

// curl is how a program does what a page shows.
func (p *Portal) curl(path string) string {
	return "curl -H \"Authorization: Bearer $" + keyVariable + "\" \\\n  '" + p.api(path) + "'"
}

// keyVariable is the environment variable of samples, which the program reads itself.
const keyVariable = "ASSAY_KEY"

func (p *Portal) exportOrders(w http.ResponseWriter, r *http.Request, who *visitor) error {
	header := []string{
		"order_number", "id", "external_id", "status", "outcome", "category_code", "brand_code", "model_code", "answer_time",
		"price", "created_at", "due_date", "updated_at", "ended_at",
	}
	actor, filter := who.actor(), orderFilter(r.URL.Query())
	return p.sendCSV(w, r, actor, "orders-"+string(who.env)+".csv", header, func(write func(...string) error) error {
		return p.Service.EachOrder(r.Context(), actor, filter, func(o *order.Summary) error {
			externalID, item := "", &o.Classification
			if o.ExternalID != nil {
				externalID = *o.ExternalID
			}
			return write(o.Number, o.ID, ui.CSVText(externalID), string(o.Status), string(o.Outcome), item.CategoryCode,
				item.BrandCode, item.ModelCode, strconv.Itoa(o.AnswerTime), strconv.FormatInt(o.Price, 10), ui.CSVTime(o.CreatedAt),
				csvTimeOf(o.DueAt), ui.CSVTime(o.UpdatedAt), csvTimeOf(o.EndedAt))
		})
	})
}

// servePhoto shows a photo of the account. A name is never given to other bytes, so the browser may keep the answer for
// good.
func (p *Portal) servePhoto(w http.ResponseWriter, r *http.Request, who *visitor) error {
	name, size := r.PathValue("name"), imaging.Size(r.PathValue("size"))
	if _, ok := photo.ParseName(name); !ok || size != imaging.Thumb && size != imaging.Screen {
		return ui.PageNotFound()
	}
	if _, err := p.Service.Photo(r.Context(), who.User.Actor("", who.Origin), name); err != nil {
		return err
	}
	h := w.Header()
	before := h.Get("Content-Security-Policy")
	h.Set("Cache-Control", "private, max-age=31536000, immutable")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox") // the bytes are untrusted
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	err := p.Images.Serve(w, r.WithContext(imaging.OfAccount(r.Context(), who.User.AccountID)), name, size)
	if err == nil {
		return nil
	}
	h.Set("Content-Security-Policy", before) // of the page that tells the error
	return p.Site.PhotoFailed(w, r, err)
}

type searchView struct {
	place
	*service.Found
	Text     string
	Hits     int
	Requests string // address of the requests that name the text as their order
}

// showSearch looks for one text in all that the environment has. What is the only hit is shown itself.
func (p *Portal) showSearch(w http.ResponseWriter, r *http.Request, who *visitor) error {
	text := strings.TrimSpace(r.URL.Query().Get("q"))
	found, err := p.Service.Search(r.Context(), who.actor(), text)
	if err != nil {
		return err
	}
	q := url.Values{"q": {text}}
	v := searchView{place: p.place(r, who, "/search?"+q.Encode()), Found: found, Text: text}
	to := p.hits(&v)
	if len(to) == 1 {
		return p.Site.Redirect(w, r, to[0])
	}
	v.Hits = len(to)
	v.Requests = v.Base + "/requests?" + url.Values{"order": {text}}.Encode()
	return p.pages.Render(w, r, ui.Page{Template: "search", Data: v})
}

// hits returns the addresses of what was found.
func (p *Portal) hits(v *searchView) (to []string) {
	for i := range v.Orders {
		to = append(to, v.Base+"/orders/"+v.Orders[i].ID)
	}
	if v.Delivery != nil {
		to = append(to, v.Base+"/deliveries/"+v.Delivery.ID)
	}
	if v.Request != nil {
		to = append(to, requestPath(v.Request))
	}
	for _, e := range v.Endpoints {
		to = append(to, v.Base+"/webhooks/"+e.ID)
	}
	if v.Link != nil {
		to = append(to, v.Base+capturePath+"/"+v.Link.ID)
	}
	return to
}
