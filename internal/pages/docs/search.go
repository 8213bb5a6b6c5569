package docs

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"github.com/assayhq/assay/api/spec"
	"github.com/assayhq/assay/docs/guides"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/pages/ui"
)

const (
	searchPath = Path + "/search"
	maxFound   = 30
	maxQuery   = 100 // characters
)

// entry is something that can be found: a section of a guide, an operation, an event.
type entry struct {
	Href, Title, Page string
	Method            string
	keys              string // names that lead straight here, between spaces
	lower             string // title and page
	text, lowerText   string
}

// found is an entry that was asked for, with the place that it was found by.
type found struct {
	entry
	Before, Match, After string
	score                int
}

type searchView struct {
	Contents []contents
	Query    string
	Found    []found
	Title    string
}

func (d *Docs) search(w http.ResponseWriter, r *http.Request) error {
	l := ui.LocaleOf(r)
	v := searchView{Query: strings.TrimSpace(r.URL.Query().Get("q")), Title: d.t(l, "docs.nav.search")}
	v.Query = text.Storable(v.Query, maxQuery)
	index, err := d.indexes.get(l, d.newIndex)
	if err != nil {
		return err
	}
	v.Found = find(index, v.Query)
	if r.URL.Query().Has("part") { // while somebody types
		return d.pages.Fragment(w, r, "search", "found", v)
	}
	v.Contents = d.contents(searchPath, l)
	return d.pages.Render(w, r, ui.Page{Template: "search", Data: v, Wide: true})
}

// newIndex returns everything that can be found in a language.
func (d *Docs) newIndex(l text.Locale) ([]entry, error) {
	var out []entry
	for _, name := range guides.Names() {
		g, err := d.readGuide(name, l)
		if err != nil {
			return nil, err
		}
		for i, s := range g.Sections {
			e := entry{Href: address(name), Title: g.Title, text: s.Text}
			if i > 0 {
				e.Href, e.Title, e.Page = e.Href+"#"+s.ID, s.Title, g.Title
				if name == "errors" {
					e.keys = s.Title
				}
			}
			out = append(out, e)
		}
	}
	integration := integrationAPI(d.site.PublicURL)
	for _, op := range slices.Concat(integration.Operations, integration.Webhooks) {
		out = append(out, operationEntry(op, operationPath(op), d.t(l, "docs.nav.reference"), l))
	}
	for _, op := range deskAPI(d.site.PublicURL).Operations {
		out = append(out, operationEntry(op, deskPath+"#"+op.ID, d.t(l, "docs.nav.desk"), l))
	}
	for i := range out {
		e := &out[i]
		e.keys, e.lower = fold(" "+e.keys+" "), fold(e.Title+" "+e.Page)
		e.lowerText = fold(e.text)
	}
	return out, nil
}

func operationEntry(op *spec.Operation, href, page string, l text.Locale) entry {
	e := entry{
		Href: href, Title: summary(op, l), Page: page, Method: op.Method,
		keys: op.ID + " " + op.Path + " " + op.Method + " " + op.Summary,
	}
	var words []string
	if about := about(op, l); about != "" {
		words = append(words, about)
	}
	words = append(words, op.Method+" "+op.Path, plainMarkdown(op.Description))
	for _, p := range op.Parameters {
		words = append(words, p.Name+": "+plainMarkdown(fieldWords(p.Description, l)))
	}
	if op.Body != nil {
		for _, f := range fieldsOf(op.Body.Content[0].Schema) {
			words = append(words, f.Name)
		}
	}
	for _, r := range op.Responses {
		words = append(words, r.Codes()...)
	}
	e.text = strings.Join(words, " · ")
	return e
}

// fold makes letters comparable: lower case, and full width as half width.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '！' && r <= '～' {
			r -= '！' - '!'
		}
		if r == '　' {
			r = ' '
		}
		return unicode.ToLower(r)
	}, s)
}

// spelling makes words that are written in several ways those that the pages have.
var spelling = strings.NewReplacer("べき等", "冪等")

// find returns the entries that hold every word of a query, the best first.
func find(index []entry, query string) []found {
	words := strings.Fields(spelling.Replace(fold(query)))
	if len(words) == 0 {
		return nil
	}
	var out []found
	for _, e := range index {
		if score := e.score(words); score > 0 {
			f := found{entry: e, score: score}
			f.Before, f.Match, f.After = e.excerpt(words)
			out = append(out, f)
		}
	}
	slices.SortStableFunc(out, func(a, b found) int { return cmp.Compare(b.score, a.score) })
	return out[:min(len(out), maxFound)]
}

func (e entry) score(words []string) int {
	sum := 0
	for _, w := range words {
		score := 0
		switch {
		case strings.Contains(e.keys, " "+w+" "):
			score = 200
		case strings.HasPrefix(e.lower, w):
			score = 60
		case strings.Contains(e.lower, w):
			score = 40
		case strings.Contains(e.keys, w):
			score = 30
		}
		if strings.Contains(e.lowerText, w) {
			score += 5 + min(strings.Count(e.lowerText, w), 5)
		}
		if score == 0 {
			return 0
		}
		sum += score
	}
	return sum
}

const around = 70 // characters on each side of what was found

// excerpt is the text around the first word that stands in it, else its beginning.
func (e entry) excerpt(words []string) (before, match, after string) {
	whole, lower := []rune(e.text), []rune(e.lowerText) // folding keeps the number of characters
	for _, w := range words {
		at := strings.Index(e.lowerText, w)
		if at < 0 || len(whole) != len(lower) {
			continue
		}
		start := len([]rune(e.lowerText[:at]))
		end := start + len([]rune(w))
		from, to := max(0, start-around), min(len(whole), end+around)
		before, match, after = string(whole[from:start]), string(whole[start:end]), string(whole[end:to])
		if from > 0 {
			before = "…" + before
		}
		if to < len(whole) {
			after += "…"
		}
		return before, match, after
	}
	to := min(len(whole), 2*around)
	before = string(whole[:to])
	if to < len(whole) {
		before += "…"
	}
	return before, "", ""
}
