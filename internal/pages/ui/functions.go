package ui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/domain/webhook"
)

// functions are what templates can call, bound to one language. ../README.md lists them.
type functions struct {
	site       *Site
	locale     text.Locale
	components *template.Template
}

func (f *functions) all() template.FuncMap {
	return template.FuncMap{
		"t":         f.t,
		"text":      f.text,
		"lang":      func() string { return string(f.locale) },
		"asset":     f.asset,
		"style":     func(name string) (template.HTML, error) { return f.component("ui-style", name) },
		"script":    func(name string) (template.HTML, error) { return f.component("ui-script", name) },
		"number":    number,
		"icon":      icon,
		"dict":      dict,
		"list":      func(items ...any) []any { return items },
		"badge":     f.badge,
		"status":    f.status,
		"outcome":   f.outcome,
		"time":      f.time,
		"instant":   f.instant,
		"errordocs": ErrorURL,
		"date":      f.date,
		"fulldate":  f.fulldate,
		"ago":       f.ago,
		"clock":     f.clock,
		"duration":  f.duration,
		"input":     f.input,
		"textarea":  f.textarea,
		"choice":    f.choice,
		"radios":    f.radios,
		"checkbox":  f.checkbox,
		"problem":   f.problem,
		"formalert": f.formAlert,
		"pager":     f.pager,
		"tabs":      f.tabs,
		"empty":     f.empty,
		"copy":      f.copy,
		"chart":     f.chart,
		"alert":     f.alert,
		"stat":      f.stat,
		"link":      f.link,
		"dash":      func() template.HTML { return dash },
		"delivery":  f.delivery,
		"table":     f.table,
		"endtable":  func() template.HTML { return "</tbody></table></div>" },
		"num":       numColumn,
		"hidden":    hiddenColumn,
		"older":     f.older,
		"heading":   f.heading,
		"pagehead":  f.pageHead,
		"submit":    f.submit,
	}
}

func (f *functions) t(key string, args ...any) (string, error) {
	return f.site.Messages.lookUp(f.locale, key, args...)
}

// text returns a display text of the catalog in the page's language.
func (f *functions) text(v any) (string, error) {
	switch t := v.(type) {
	case text.Text:
		return t.In(f.locale), nil
	case *text.Text:
		if t == nil {
			return "", nil
		}
		return t.In(f.locale), nil
	}
	return "", fmt.Errorf("text wants a text.Text, not %T", v)
}

func (f *functions) asset(name string) (string, error) { return f.site.assets.url(name) }

// number writes a whole number with separators between thousands.
func number(v any) (string, error) {
	switch v.(type) {
	case int, int64:
		return display(v), nil
	}
	return "", fmt.Errorf("number wants an int or int64, not %T", v)
}

// IndentedJSON writes JSON for people; what is no JSON stays as it is.
func IndentedJSON(body []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, body, "", "  ") != nil {
		return string(body)
	}
	return b.String()
}

// dict makes a map of pairs, to give several things to a template.
func dict(pairs ...any) (map[string]any, error) {
	if len(pairs)%2 != 0 {
		return nil, fmt.Errorf("dict wants pairs of name and value")
	}
	m := make(map[string]any, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		m[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	return m, nil
}

// component runs a template of ui and returns what it wrote.
func (f *functions) component(name string, data any) (template.HTML, error) {
	var b bytes.Buffer
	if err := f.components.ExecuteTemplate(&b, name, data); err != nil {
		return "", err
	}
	return template.HTML(b.String()), nil //nolint:gosec // escaped by the template
}

var tones = []Tone{Neutral, Info, Good, Warn, Bad}

// badge is a short word with a tone.
func (f *functions) badge(tone any, label string) (template.HTML, error) {
	t := Tone(fmt.Sprint(tone))
	if !slices.Contains(tones, t) {
		return "", fmt.Errorf("badge: unknown tone %q", t)
	}
	badge := `<span class="badge tone-` + string(t) + `">` + html.EscapeString(label) + `</span>`
	return template.HTML(badge), nil //nolint:gosec // escaped here
}

var statusTones = map[order.Status]Tone{
	order.Queued: Neutral, order.Processing: Info, order.UpdatePhotos: Warn, order.Completed: Good, order.Failed: Bad,
}

// status is the badge of an order's status.
func (f *functions) status(s order.Status) (template.HTML, error) {
	label, err := f.t("ui.status." + string(s))
	if err != nil {
		return "", err
	}
	return f.badge(statusTones[s], label)
}

var outcomeTones = map[order.Outcome]Tone{
	order.Authentic: Good, order.Fake: Bad, order.UnableToVerify: Warn, order.Canceled: Neutral,
}

// outcome is the badge of an order's outcome, or a dash when there is none yet.
func (f *functions) outcome(o order.Outcome) (template.HTML, error) {
	if o == "" {
		return dash, nil
	}
	return f.badge(outcomeTones[o], o.Label().In(f.locale))
}

var deliveryTones = map[webhook.Status]Tone{webhook.Pending: Info, webhook.Delivered: Good, webhook.Failed: Bad}

// delivery is the badge of a webhook delivery's status. A pending one says whether an attempt has failed before.
func (f *functions) delivery(d webhook.Delivery) (template.HTML, error) {
	key := "ui.delivery." + string(d.Status)
	if d.Retrying() {
		key = "ui.delivery.retrying"
	}
	label, err := f.t(key)
	if err != nil {
		return "", err
	}
	return f.badge(deliveryTones[d.Status], label)
}

const dash = template.HTML(`<span class="none">–</span>`)

// alert is a message with a tone, above what it is about.
func (f *functions) alert(tone Tone, text string) (template.HTML, error) {
	return f.component("ui-alert", map[string]any{"Tone": tone, "Text": text})
}

// stat is a card with a figure: {{stat (t "x.orders") (number .Orders) (t "x.this_week")}}; the note may be left out.
func (f *functions) stat(label string, value any, note ...any) (template.HTML, error) {
	return f.component("ui-stat", map[string]any{"Label": label, "Value": value, "Notes": note})
}

// link is a link as a value, for a function that takes one.
func (f *functions) link(href, label string) (template.HTML, error) {
	return f.component("ui-link", map[string]string{"Href": href, "Label": label})
}

// heading is the title of a page: {{heading (t "x.title") "lead" (t "x.lead") "up" (link "/x" (t "x.list"))}}. The lead
// is a sentence below it, up the link to the page above it; both may be left out.
func (f *functions) heading(title string, pairs ...any) (template.HTML, error) {
	given, err := dict(pairs...)
	if err != nil {
		return "", err
	}
	parts := map[string]any{"title": title, "lead": "", "up": ""}
	for name, value := range given {
		if _, ok := parts[name]; !ok {
			return "", fmt.Errorf("heading: unknown option %q", name)
		}
		parts[name] = value
	}
	return f.component("ui-heading", parts)
}

// pageHead is a heading without buttons beside it.
func (f *functions) pageHead(title string, pairs ...any) (template.HTML, error) {
	heading, err := f.heading(title, pairs...)
	return `<div class="page-head">` + heading + `</div>`, err
}

// submit ends a form: its button, and a link that leaves it.
func (f *functions) submit(label, href, leave string) (template.HTML, error) {
	return f.component("ui-submit", map[string]string{"Label": label, "Href": href, "Leave": leave})
}

// empty says that a list has nothing, and what to do about it.
func (f *functions) empty(title string, more ...string) (template.HTML, error) {
	return f.component("ui-empty", map[string]any{"Title": title, "Text": strings.Join(more, " ")})
}

// copy shows a value to take along, with a button that copies it where scripts run.
func (f *functions) copy(value string) (template.HTML, error) { return f.component("ui-copy", value) }

// column is the heading of a table's column.
type column struct {
	Label  string
	Class  string
	Hidden bool // only for screen readers
}

// table begins a table whose rows follow, up to {{endtable}}:
// {{table "stacked" (t "x.name") (num (t "x.price")) (hidden (t "x.actions"))}}.
func (f *functions) table(class string, headings ...any) (template.HTML, error) {
	columns := make([]column, len(headings))
	for i, h := range headings {
		switch h := h.(type) {
		case string:
			columns[i].Label = h
		case column:
			columns[i] = h
		default:
			return "", fmt.Errorf("table wants texts, num or hidden, not %T", h)
		}
	}
	return f.component("ui-table", map[string]any{"Class": class, "Columns": columns})
}

// numColumn is the heading of a column of numbers.
func numColumn(label string) column { return column{Label: label, Class: "num"} }

// hiddenColumn is a heading for screen readers only, of a column of buttons.
func hiddenColumn(label string) column { return column{Label: label, Hidden: true} }

// older links the pages of a list that continues from a cursor: back to its newest entries and on to older ones. Either
// address may be empty.
func (f *functions) older(newest, older string) (template.HTML, error) {
	if newest == "" && older == "" {
		return "", nil
	}
	return f.component("ui-older", map[string]string{"Newest": newest, "Older": older})
}

// Tab is one of several views of the same thing; each is a page of its own.
type Tab struct {
	Href    string
	Label   string
	Count   int  // shown when it is not 0
	More    bool // there may be more than Count
	Current bool
}

func (f *functions) tabs(label string, tabs []Tab) (template.HTML, error) {
	return f.component("ui-tabs", map[string]any{"Label": label, "Tabs": tabs})
}

// Pager leads through the pages of a list whose length is known.
type Pager struct {
	Page  int
	Limit int
	Total int64
	URL   *url.URL
}

// NewPager returns the pager of a list at the page that a request asks for; what is no number is the first.
func NewPager(r *http.Request, limit int) Pager {
	const most = 1_000_000_000
	n, err := strconv.Atoi(r.URL.Query().Get("page"))
	if err != nil || n < 1 || n > most {
		n = 1
	}
	return Pager{Page: n, Limit: limit, URL: r.URL}
}

// pagerView is a pager as the template shows it.
type pagerView struct {
	From, To, Total int64
	Prev, Next      string
	Links           []pagerLink
}

type pagerLink struct {
	Page    int
	Href    string // empty: a gap
	Current bool
}

func (f *functions) pager(p Pager) (template.HTML, error) {
	v := pagerView{From: int64(p.Page-1)*int64(p.Limit) + 1, Total: p.Total}
	v.To = min(v.From+int64(p.Limit)-1, p.Total)
	last := int(max(1, (p.Total+int64(p.Limit)-1)/int64(p.Limit)))
	for _, n := range pageNumbers(p.Page, last) {
		link := pagerLink{Page: n, Current: n == p.Page}
		if n > 0 {
			link.Href = p.at(n)
		}
		v.Links = append(v.Links, link)
	}
	if p.Page > 1 {
		v.Prev = p.at(p.Page - 1)
	}
	if p.Page < last {
		v.Next = p.at(p.Page + 1)
	}
	if p.Total <= int64(p.Limit) && p.Page == 1 {
		v.Links = nil
	}
	return f.component("ui-pager", v)
}

func (p Pager) at(page int) string {
	u := url.URL{}
	q := url.Values{}
	if p.URL != nil {
		u.Path, u.RawPath, q = p.URL.Path, p.URL.RawPath, p.URL.Query()
	}
	q.Del(languageQuery)
	q.Set("page", fmt.Sprint(page))
	u.RawQuery = q.Encode()
	return u.String()
}

// pageNumbers are the pages to link: the ends and those around the current one; 0 is a gap.
func pageNumbers(page, last int) []int {
	var numbers []int
	for n := 1; n <= last; n++ {
		if n == 1 || n == last || (n >= page-1 && n <= page+1) {
			if len(numbers) > 0 {
				if before := numbers[len(numbers)-1]; before == n-2 {
					numbers = append(numbers, n-1)
				} else if before < n-2 {
					numbers = append(numbers, 0)
				}
			}
			numbers = append(numbers, n)
		} else if n < page-1 {
			n = max(n, page-2) // lists have a million pages
		} else {
			n = last - 1
		}
	}
	return numbers
}
