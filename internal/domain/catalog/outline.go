package catalog

import (
	"github.com/assayhq/assay/internal/domain/enum"
	"github.com/assayhq/assay/internal/domain/text"
)

// mapping lists the properties that an entry states, in the order of the format. Exports and comparisons are both
// built from it, so that neither can forget a property. A value is a string, int64, bool, Clock, []string, mapping
// or, for a section, []mapping.
type mapping []property

type property struct {
	key   string
	value any
}

// outline returns the complete document. Sections without entries are omitted.
func (d *Document) outline() mapping {
	m := mapping{{"locales", enum.Names(d.Locales)}}
	for _, s := range d.sections() {
		if len(s.entries) > 0 {
			m.add(s.key, s.entries)
		}
	}
	return m
}

// section is one list of the document.
type section struct {
	key     string // in the document
	entity  string // what an entry is called
	entries []mapping
}

// sections are the lists in the order of the format.
func (d *Document) sections() []section {
	return []section{
		{"categories", "category", outlines(d.Categories, Category.outline)},
		{"brands", "brand", outlines(d.Brands, BrandEntry.outline)},
		{"models", "model", outlines(d.Models, Model.outline)},
		{"photo_indexes", "photo-index", outlines(d.PhotoIndexes, IndexRule.outline)},
		{"answer_times", "answer-time", outlines(d.AnswerTimes, AnswerTime.outline)},
		{"answer_time_rules", "answer-time-rule", outlines(d.AnswerTimeRules, AnswerTimeRule.outline)},
		{"account_prices", "account-price", outlines(d.AccountPrices, AccountPrice.outline)},
		{"reasons", "reason", outlines(d.Reasons, Reason.outline)},
		{"conditions", "condition", outlines(d.Conditions, Phrase.outline)},
		{"requirements", "requirement", outlines(d.Requirements, Phrase.outline)},
	}
}

func outlines[T any](entries []T, outline func(T) mapping) []mapping {
	list := make([]mapping, len(entries))
	for i, e := range entries {
		list[i] = outline(e)
	}
	return list
}

func (m *mapping) add(key string, value any) { *m = append(*m, property{key, value}) }

// add appends a property if the document states it.
func add[T any](m *mapping, key string, value *T) {
	if value != nil {
		m.add(key, *value)
	}
}

func (m *mapping) text(key string, t text.Text) {
	var languages mapping
	if t.EN != "" {
		languages.add("en", t.EN)
	}
	if t.JA != "" {
		languages.add("ja", t.JA)
	}
	if languages != nil {
		m.add(key, languages)
	}
}

func (m *mapping) context(c Context) {
	for _, part := range []property{{"category", c.Category}, {"brand", c.Brand}, {"model", c.Model}} {
		if part.value != "" {
			*m = append(*m, part)
		}
	}
}

func (c Category) outline() mapping {
	m := mapping{{"code", c.Code}}
	m.text("name", c.Name)
	add(&m, "icon_url", c.IconURL)
	return m
}

func (b BrandEntry) outline() mapping {
	m := mapping{{"code", b.Code}}
	m.text("name", b.Name)
	m.add("categories", append([]string{}, b.Categories...)) // a list, also when it is empty
	return m
}

func (p Model) outline() mapping {
	m := mapping{{"code", p.Code}, {"brand", p.Brand}, {"category", p.Category}}
	m.text("name", p.Name)
	add(&m, "image_url", p.ImageURL)
	return m
}

func (r IndexRule) outline() mapping {
	m := mapping{{"code", r.Code}}
	m.context(r.Context)
	m.text("name", r.Name)
	add(&m, "required", r.Required)
	if r.PhotoLimit != nil {
		m.add("photo_limit", int64(*r.PhotoLimit))
	}
	add(&m, "icon_url", r.IconURL)
	if r.ExampleURLs != nil {
		m.add("example_urls", r.ExampleURLs)
	}
	add(&m, "excluded", r.Excluded)
	return m
}

func (a AnswerTime) outline() mapping {
	m := mapping{{"code", int64(a.Code)}}
	m.text("name", a.Name)
	m.add("price", a.Price)
	m.add("default", a.Default)
	if a.Open != nil {
		m.add("open", a.Open.outline())
	}
	if a.MaxOpenOrders != 0 {
		m.add("max_open_orders", int64(a.MaxOpenOrders))
	}
	return m
}

func (w *Window) outline() mapping {
	days := make([]string, len(w.Days))
	for i, day := range w.Days {
		days[i] = dayNames[day]
	}
	return mapping{{"timezone", w.Timezone}, {"days", days}, {"from", w.From}, {"to", w.To}}
}

func (r AnswerTimeRule) outline() mapping {
	m := mapping{{"code", int64(r.Code)}}
	m.context(r.Context)
	add(&m, "price", r.Price)
	add(&m, "offered", r.Offered)
	add(&m, "default", r.Default)
	return m
}

func (p AccountPrice) outline() mapping {
	return mapping{{"account", p.Account}, {"code", int64(p.Code)}, {"price", p.Price}}
}

func (r Reason) outline() mapping {
	m := mapping{{"code", r.Code}, {"outcome", r.Outcome}}
	m.text("text", r.Text)
	if len(r.Categories) > 0 {
		m.add("categories", r.Categories)
	}
	return m
}

func (p Phrase) outline() mapping {
	m := mapping{{"code", p.Code}}
	m.text("text", p.Text)
	return m
}
