package admin

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/pages/ui"
)

type catalogView struct {
	Version  int64
	Times    []timeRow
	Tabs     []ui.Tab
	Section  string
	Search   string
	Columns  []string // headings
	Rows     [][]string
	Pager    ui.Pager
	Imported bool
}

// timeRow is an answer time with its pause.
type timeRow struct {
	catalog.AnswerTime
	Open  string
	Pause *catalog.Pause
}

func (a *Admin) showCatalog(w http.ResponseWriter, r *http.Request, who *visitor) error {
	pauses, err := a.Service.Pauses(r.Context(), actorOf(who))
	if err != nil {
		return err
	}
	snap := a.Service.Catalog()
	doc := snap.Document()
	v := catalogView{
		Version: snap.Version(), Imported: snap.Version() > 0, Search: strings.TrimSpace(r.URL.Query().Get("q")),
	}
	for _, t := range doc.AnswerTimes {
		row := timeRow{AnswerTime: t, Open: windowText(ui.LocaleOf(r), t.Open)}
		if p, ok := pauses[t.Code]; ok {
			row.Pause = &p
		}
		v.Times = append(v.Times, row)
	}
	sections := sectionsOf(doc)
	chosen := &sections[0]
	for i := range sections {
		s := &sections[i]
		if s.name == r.URL.Query().Get("section") {
			chosen = s
		}
	}
	for i := range sections {
		s := &sections[i]
		v.Tabs = append(v.Tabs, ui.Tab{
			Href: home + "/catalog?section=" + s.name + "#contents", Label: a.Site.T(r, "admin.section."+s.name),
			Count: len(s.rows), Current: s == chosen,
		})
	}
	v.Section = chosen.name
	for _, c := range chosen.columns {
		v.Columns = append(v.Columns, a.Site.T(r, "admin.column."+c))
	}
	rows := chosen.find(v.Search)
	v.Pager = ui.NewPager(r, listLimit)
	v.Pager.Total = int64(len(rows))
	from := min(len(rows), (v.Pager.Page-1)*listLimit)
	v.Rows = rows[from:min(len(rows), from+listLimit)]
	return a.pages.Render(w, r, ui.Page{Template: "catalog", Data: v})
}

// section is one list of the catalog as a table.
type section struct {
	name    string
	columns []string
	rows    [][]string
}

// find returns the rows that hold the text, in any case.
func (s *section) find(text string) [][]string {
	if text == "" {
		return s.rows
	}
	text = strings.ToLower(text)
	var found [][]string
	for _, row := range s.rows {
		if strings.Contains(strings.ToLower(strings.Join(row, "\n")), text) {
			found = append(found, row)
		}
	}
	return found
}

// sectionsOf turns a catalog into tables. What a rule does not state is empty.
func sectionsOf(doc *catalog.Document) []section {
	categories := section{name: "categories", columns: []string{"code", "name_en", "name_ja", "icon"}}
	for _, c := range doc.Categories {
		categories.rows = append(categories.rows, []string{c.Code, c.Name.EN, c.Name.JA, stated(c.IconURL)})
	}
	brands := section{name: "brands", columns: []string{"code", "name_en", "name_ja", "categories"}}
	for _, b := range doc.Brands {
		brands.rows = append(brands.rows, []string{b.Code, b.Name.EN, b.Name.JA, strings.Join(b.Categories, ", ")})
	}
	models := section{name: "models", columns: []string{"code", "name_en", "name_ja", "brand", "category"}}
	for _, m := range doc.Models {
		models.rows = append(models.rows, []string{m.Code, m.Name.EN, m.Name.JA, m.Brand, m.Category})
	}
	indexes := section{
		name:    "photo_indexes",
		columns: []string{"code", "context", "name_en", "name_ja", "required", "photo_limit", "examples", "excluded"},
	}
	for i := range doc.PhotoIndexes {
		x := &doc.PhotoIndexes[i]
		examples := ""
		if x.ExampleURLs != nil {
			examples = strconv.Itoa(len(x.ExampleURLs))
		}
		indexes.rows = append(indexes.rows, []string{
			x.Code, contextText(x.Context), x.Name.EN, x.Name.JA, stated(x.Required), stated(x.PhotoLimit), examples,
			stated(x.Excluded),
		})
	}
	rules := section{name: "answer_time_rules", columns: []string{"code", "context", "price", "offered", "default"}}
	for _, x := range doc.AnswerTimeRules {
		rules.rows = append(
			rules.rows,
			[]string{strconv.Itoa(x.Code), contextText(x.Context), stated(x.Price), stated(x.Offered), stated(x.Default)},
		)
	}
	prices := section{name: "account_prices", columns: []string{"account", "code", "price"}}
	for _, x := range doc.AccountPrices {
		prices.rows = append(prices.rows, []string{x.Account, strconv.Itoa(x.Code), strconv.FormatInt(x.Price, 10)})
	}
	reasons := section{name: "reasons", columns: []string{"code", "outcome", "text_en", "text_ja"}}
	for _, x := range doc.Reasons {
		reasons.rows = append(reasons.rows, []string{x.Code, x.Outcome, x.Text.EN, x.Text.JA})
	}
	return []section{
		categories, brands, models, indexes, rules, prices, reasons, phrases("conditions", doc.Conditions),
		phrases("requirements", doc.Requirements),
	}
}

func phrases(name string, list []catalog.Phrase) section {
	s := section{name: name, columns: []string{"code", "text_en", "text_ja"}}
	for _, x := range list {
		s.rows = append(s.rows, []string{x.Code, x.Text.EN, x.Text.JA})
	}
	return s
}

// stated writes a property, or nothing when it is not stated.
func stated[T any](v *T) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(*v)
}

func contextText(c catalog.Context) string {
	var parts []string
	for _, code := range []string{c.Category, c.Brand, c.Model} {
		if code != "" {
			parts = append(parts, code)
		}
	}
	return strings.Join(parts, " › ")
}

// dayNames are short names of the days, from Sunday.
var dayNames = map[text.Locale][]string{
	text.English:  {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"},
	text.Japanese: {"日", "月", "火", "水", "木", "金", "土"},
}

// windowText writes a window in the language of the page.
func windowText(l text.Locale, w *catalog.Window) string {
	if w == nil {
		return ""
	}
	days := make([]string, len(w.Days))
	for i, d := range w.Days {
		days[i] = dayNames[l][d]
	}
	separator := " "
	if l == text.Japanese {
		separator = "・"
	}
	return fmt.Sprintf("%s %s–%s %s", strings.Join(days, separator), w.From, w.To, w.Timezone)
}

func (a *Admin) exportCatalog(w http.ResponseWriter, r *http.Request, _ *visitor) error {
	doc, err := a.Service.CatalogDocument(r.Context())
	if err != nil {
		return err
	}
	format, content, write := "yaml", "application/yaml", doc.YAML
	if r.URL.Query().Get("format") == "json" {
		format, content, write = "json", "application/json", doc.JSON
	}
	text, err := write()
	if err != nil {
		return err
	}
	name := "catalog-" + a.Site.Now().UTC().Format(time.DateOnly) + "." + format
	w.Header().Set("Content-Type", content+"; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	_, _ = w.Write(text) // a client that is gone is no failure
	return nil
}

// changeAnswerTime pauses an answer time or offers it again.
func (a *Admin) changeAnswerTime(
	change func(ctx context.Context, actor access.Actor, code int) error, done string,
) handler {
	return func(w http.ResponseWriter, r *http.Request, who *visitor) error {
		code, err := strconv.Atoi(r.PathValue("code"))
		if err != nil {
			return ui.PageNotFound()
		}
		if err := change(r.Context(), actorOf(who), code); err != nil {
			return err
		}
		return a.Site.Redirect(w, r, home+"/catalog", ui.Done(done, "code", r.PathValue("code")))
	}
}
