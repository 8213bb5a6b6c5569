package desk

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/service"
)

// tab is one view of the orders.
type tab struct {
	name     string
	statuses []order.Status
	mine     bool
	ended    bool
}

var tabs = []tab{
	{name: "queue", statuses: []order.Status{order.Queued, order.Processing}},
	{name: "mine", statuses: []order.Status{order.Processing, order.UpdatePhotos}, mine: true},
	{name: "photos", statuses: []order.Status{order.UpdatePhotos}},
	{name: "done", statuses: []order.Status{order.Completed, order.Failed}, ended: true},
}

const rowsPerPage = 50

// queueQuery is what the address of the queue says.
type queueQuery struct {
	tab      tab
	brand    string
	category string
	status   order.Status
	mine     bool
	after    *order.Cursor // nil: the beginning
}

// readQueueQuery reads what it knows of an address and ignores the rest, so that old links still work.
func readQueueQuery(v url.Values, snap *catalog.Snapshot) queueQuery {
	q := queueQuery{tab: tabs[0], mine: v.Get("mine") != "", after: order.ParseCursor(v.Get("after"))}
	if _, err := snap.Brands(v.Get("category"), ""); err == nil {
		q.category = v.Get("category")
	}
	if _, err := snap.Categories(v.Get("brand")); err == nil {
		q.brand = v.Get("brand")
	}
	for _, t := range tabs {
		if t.name == v.Get("tab") {
			q.tab = t
		}
	}
	if s := order.Status(v.Get("status")); slices.Contains(q.tab.statuses, s) {
		q.status = s
	}
	return q
}

// pageAt is the address of the queue from a cursor on, with everything else as it is.
func pageAt(r *http.Request, cursor *order.Cursor) string {
	v := r.URL.Query()
	v.Del("after")
	v.Del("lang")
	if cursor != nil {
		v.Set("after", cursor.String())
	}
	return home + "?" + v.Encode()
}

func (q *queueQuery) filter(who *access.Staff) order.Filter {
	f := order.Filter{
		Sort: order.DueFirst, Environment: access.Live, Statuses: q.tab.statuses,
		BrandCode: q.brand, CategoryCode: q.category,
	}
	if q.tab.ended {
		f.Sort = order.RecentlyEnded
	}
	if q.status != "" {
		f.Statuses = []order.Status{q.status}
	}
	if q.mine || q.tab.mine {
		f.AssigneeID = who.ID
	}
	return f
}

func (q *queueQuery) filtered() bool {
	return q.brand != "" || q.category != "" || q.status != "" || q.mine
}

// queueView is what the page of the queue shows.
type queueView struct {
	Tab        string
	Tabs       []ui.Tab
	Rows       []rowView
	Losses     []loss // which others took from the visitor
	First      string // address of the first page; empty: this one
	Next       string // of what follows; empty: nothing does
	Me         string // id of who looks
	Form       *ui.Form
	Brands     []ui.Option
	Categories []ui.Option
	Statuses   []ui.Option
	Part       order.QueueFilter // that take next takes from
	Filtered   bool
	Ended      bool
	Query      string // to fetch the rows again
	Version    uint64 // of the orders that the page shows, or an older one
}

// Again is the address of the page.
func (v *queueView) Again() string { return "/desk?" + v.Query }

// rowView is an order in a list.
type rowView struct {
	order.Summary
	Answer string // how long the answer may take
}

func (d *Desk) rowViews(r *http.Request, rows []order.Summary) []rowView {
	views := make([]rowView, len(rows))
	for i := range rows {
		views[i] = rowView{Summary: rows[i], Answer: d.answerTime(r, rows[i].AnswerTime)}
	}
	return views
}

// answerTime says an answer time in hours where it is a number of whole hours.
func (d *Desk) answerTime(r *http.Request, minutes int) string {
	if minutes%60 == 0 {
		return d.Site.T(r, "desk.hours", "n", minutes/60)
	}
	return d.Site.T(r, "desk.minutes", "n", minutes)
}

func (d *Desk) showQueue(w http.ResponseWriter, r *http.Request, who *visitor) error {
	v, err := d.queueView(w, r, who)
	if err != nil {
		return err
	}
	d.rememberView(w, r)
	return d.pages.Render(w, r, ui.Page{Template: "queue", Data: v, Wide: true})
}

// showRows gives the changing part of the queue to the page's script.
func (d *Desk) showRows(w http.ResponseWriter, r *http.Request, who *visitor) error {
	v, err := d.queueView(w, r, who)
	if err != nil {
		return err
	}
	return d.pages.Fragment(w, r, "queue", "board", v)
}

func (d *Desk) queueView(w http.ResponseWriter, r *http.Request, who *visitor) (*queueView, error) {
	ctx, q := r.Context(), readQueueQuery(r.URL.Query(), d.Service.Catalog())
	begun := time.Now()
	counts, err := d.Service.OrderCounts(ctx, access.Live)
	if err != nil {
		return nil, err
	}
	d.feed.seen(counts, begun, false) // it has read them anyway
	version, _ := d.feed.state()
	mine, err := d.Service.CountAssigned(ctx, actorOf(who), mostAssigned)
	if err != nil {
		return nil, err
	}
	rows, next, err := d.Service.Orders(ctx, actorOf(who), q.filter(who.User), q.after, rowsPerPage)
	if err != nil {
		return nil, err
	}
	v := &queueView{
		Tab: q.tab.name, Rows: d.rowViews(r, rows), Me: who.User.ID,
		Filtered: q.filtered(), Ended: q.tab.ended, Part: order.QueueFilter{BrandCode: q.brand, CategoryCode: q.category},
		Form:  &ui.Form{Values: r.URL.Query()},
		Query: r.URL.RawQuery, Version: version,
	}
	if v.Losses, err = d.losses(w, r, who, v.Rows); err != nil {
		return nil, err
	}
	if q.after != nil {
		v.First = pageAt(r, nil)
	}
	if next != nil {
		v.Next = pageAt(r, next)
	}
	v.Tabs = d.queueTabs(r, &q, counts, mine)
	d.queueFilters(r, v, &q)
	return v, nil
}

// mostAssigned is how far one's own orders are counted.
const mostAssigned = 200

func (d *Desk) queueTabs(r *http.Request, q *queueQuery, counts map[order.Status]int64, mine int) []ui.Tab {
	total := map[string]int{
		"queue":  int(counts[order.Queued] + counts[order.Processing]),
		"mine":   mine,
		"photos": int(counts[order.UpdatePhotos]),
	}
	list := make([]ui.Tab, len(tabs))
	for i, t := range tabs {
		address := url.Values{"tab": {t.name}}
		for _, name := range []string{"brand", "category"} {
			if value := r.URL.Query().Get(name); value != "" {
				address.Set(name, value)
			}
		}
		list[i] = ui.Tab{
			Href: "/desk?" + address.Encode(), Label: d.Site.T(r, "desk.tab."+t.name), Count: total[t.name],
			More: t.name == "mine" && mine == mostAssigned, Current: t.name == q.tab.name,
		}
	}
	return list
}

func (d *Desk) queueFilters(r *http.Request, v *queueView, q *queueQuery) {
	snap, l := d.Service.Catalog(), ui.LocaleOf(r)
	anything := ui.Option{Label: d.Site.T(r, "desk.queue.any")}
	brands, _ := snap.Brands("", "") // fails for an unknown category only
	v.Brands = ui.Options(brands, func(b *catalog.Brand) ui.Option {
		return ui.Option{Value: b.Code, Label: b.Name.In(l)}
	}, anything)
	categories, _ := snap.Categories("") // fails for an unknown brand only
	v.Categories = ui.Options(categories, func(c *catalog.Category) ui.Option {
		return ui.Option{Value: c.Code, Label: c.Name.In(l)}
	}, anything)
	v.Statuses = ui.Words(d.Site, r, "ui.status.", q.tab.statuses, anything)
}

// takeNext claims the order that is due first among those that the queue shows.
func (d *Desk) takeNext(w http.ResponseWriter, r *http.Request, who *visitor, form *ui.Form) error {
	return d.redirectToNext(w, r, who, order.QueueFilter{BrandCode: form.Get("brand"), CategoryCode: form.Get("category")})
}

// redirectToNext claims the next order of a part of the queue and leads to it, with messages; or to the queue, when
// there is none or the visitor may take no more.
func (d *Desk) redirectToNext(
	w http.ResponseWriter, r *http.Request, who *visitor, part order.QueueFilter, done ...ui.Flash,
) error {
	o, err := d.Service.TakeNextOrder(r.Context(), actorOf(who), part)
	f, _ := errors.AsType[*fault.Error](err)
	switch {
	case errors.Is(err, service.ClaimLimitReached):
		return d.Site.Redirect(w, r, d.queuePath(r), append(done, conflict(f))...)
	case err != nil:
		return err
	case o == nil && part != order.QueueFilter{}:
		return d.Site.Redirect(w, r, d.queuePath(r), append(done, ui.Note("desk.queue.nothing_here"))...)
	case o == nil:
		return d.Site.Redirect(w, r, d.queuePath(r), append(done, ui.Note("desk.queue.nothing"))...)
	}
	d.feed.changed()
	return d.Site.Redirect(w, r, orderPath(o.ID), done...)
}

// The queue as it was seen last, so that the way back leads there: its tab and filters.
const (
	viewCookie = "assay_desk_view"
	viewLife   = 12 * time.Hour
)

// rememberView keeps what the queue shows for the way back.
func (d *Desk) rememberView(w http.ResponseWriter, r *http.Request) {
	view, asked := make(url.Values), r.URL.Query()
	q := readQueueQuery(asked, d.Service.Catalog())
	for name, known := range map[string]string{
		"tab": q.tab.name, "brand": q.brand, "category": q.category, "status": string(q.status), "mine": asked.Get("mine"),
	} {
		if known != "" && asked.Get(name) == known { // what the address says besides, the queue does not show
			view.Set(name, known)
		}
	}
	if before, _ := d.Site.Signed(r, viewCookie); before != view.Encode() {
		d.Site.SetSigned(w, r, viewCookie, view.Encode(), viewLife)
	}
}

// queuePath is the address of the queue as it was seen last.
func (d *Desk) queuePath(r *http.Request) string {
	if view, ok := d.Site.Signed(r, viewCookie); ok {
		return home + "?" + view
	}
	return home
}

// lastQueueFilter is the filter with which the queue was last seen.
func (d *Desk) lastQueueFilter(r *http.Request) order.QueueFilter {
	view, _ := d.Site.Signed(r, viewCookie)
	v, err := url.ParseQuery(view)
	if err != nil {
		return order.QueueFilter{}
	}
	q := readQueueQuery(v, d.Service.Catalog())
	return order.QueueFilter{BrandCode: q.brand, CategoryCode: q.category}
}

func orderPath(id string) string { return "/desk/orders/" + id }

// foundView is the orders that customers call by the same reference.
type foundView struct {
	Text   string
	Orders []*order.Order
	Queue  string // address of the queue as it was seen last
}

// find leads to the order that somebody asks for by its number or by the customer's reference. Where several customers
// use the same reference it lists their orders.
func (d *Desk) find(w http.ResponseWriter, r *http.Request, who *visitor) error {
	text := strings.TrimSpace(r.URL.Query().Get("q"))
	if text == "" {
		return d.Site.Redirect(w, r, d.queuePath(r))
	}
	orders, err := d.Service.FindForReview(r.Context(), actorOf(who), text)
	switch {
	case err != nil:
		return err
	case len(orders) == 0:
		return d.Site.Redirect(w, r, d.queuePath(r), ui.Failed("desk.queue.not_found", "text", text))
	case len(orders) == 1:
		return d.Site.Redirect(w, r, orderPath(orders[0].ID))
	}
	v := foundView{Text: text, Orders: orders, Queue: d.queuePath(r)}
	return d.pages.Render(w, r, ui.Page{Template: "found", Data: v})
}
