// Package catalog defines what can be ordered: categories, brands, models, the photos that each of them needs,
// answer times with prices and opening hours, and the coded texts that reviewers use.
//
// A Document is the catalog as an operator writes it (Parse, YAML, JSON, Compare). A Snapshot is the same catalog
// indexed for lookups by context, where a rule of a model overrides a rule of its brand, which overrides a rule of
// the category.
package catalog

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/text"
)

// Document is a complete catalog. Every list is in display order. A nil pointer or an empty string means that the
// document does not state the property.
//
// Documents come from Parse only: the rest of this package relies on its checks.
type Document struct {
	Locales         []text.Locale
	Categories      []Category
	Brands          []BrandEntry
	Models          []Model
	PhotoIndexes    []IndexRule
	AnswerTimes     []AnswerTime
	AnswerTimeRules []AnswerTimeRule
	AccountPrices   []AccountPrice
	Reasons         []Reason
	Conditions      []Phrase
	Requirements    []Phrase
}

// Category is a kind of item.
type Category struct {
	Code    string
	Name    text.Text
	IconURL *string
}

// BrandEntry is a brand as the document writes it, with the codes of the categories it serves. Brand is its
// resolved form.
type BrandEntry struct {
	Code       string
	Name       text.Text
	Categories []string
}

// Model is a product line of one brand in one category.
type Model struct {
	Code     string
	Brand    string
	Category string
	Name     text.Text
	ImageURL *string
}

// Context is the position of an item in the catalog, or the positions that a rule applies to. An empty code matches
// everything in a rule, and means "not known yet" for an item.
type Context struct {
	Category string
	Brand    string
	Model    string
}

// IndexRule states properties of the photo index Code in every context that Context matches. What it does not state
// comes from less specific rules of the same code.
type IndexRule struct {
	Code        string
	Context     Context
	Name        text.Text // a language that is empty is not stated
	Required    *bool
	PhotoLimit  *int
	IconURL     *string
	ExampleURLs []string // nil is not stated, empty is stated as empty
	Excluded    *bool
}

// AnswerTime is one choice of how fast an answer is due: its code is minutes, its price whole credits.
type AnswerTime struct {
	Code          int
	Name          text.Text
	Price         int64
	Default       bool
	Open          *Window // nil is always open
	MaxOpenOrders int     // zero is no limit
}

// AnswerTimeRule changes the price or availability of the answer time Code in every context that Context matches.
// Its Model is always empty: answer times are chosen by category and brand.
type AnswerTimeRule struct {
	Code    int
	Context Context
	Price   *int64
	Offered *bool
	Default *bool
}

// AccountPrice is the price of an answer time that was agreed with one account. It overrides every rule.
type AccountPrice struct {
	Account string // its name
	Code    int
	Price   int64
}

// Reason is a coded reason for an outcome.
type Reason struct {
	Code    string
	Outcome string // authentic, fake or unable-to-verify
	Text    text.Text

	// Categories are those whose items it is offered for; none: all.
	Categories []string
}

// For reports whether a reason is offered for the items of a category.
func (r *Reason) For(category string) bool {
	return len(r.Categories) == 0 || slices.Contains(r.Categories, category)
}

// Phrase is a coded text: a condition of a photo, or a requirement on the next one.
type Phrase struct {
	Code string
	Text text.Text
}

// IndexNames returns what photo indexes are called, by code: of several names, for several contexts, the first.
func (d *Document) IndexNames() map[string]text.Text {
	names := make(map[string]text.Text)
	for i := range d.PhotoIndexes {
		rule := &d.PhotoIndexes[i]
		name := names[rule.Code]
		names[rule.Code] = text.Text{EN: cmp.Or(name.EN, rule.Name.EN), JA: cmp.Or(name.JA, rule.Name.JA)}
	}
	return names
}

// WithoutAccount returns the document without the prices of an account, and how many it had.
func (d *Document) WithoutAccount(name string) (without *Document, prices int) {
	c := *d
	c.AccountPrices = slices.DeleteFunc(slices.Clone(d.AccountPrices), func(p AccountPrice) bool {
		return p.Account == name
	})
	return &c, len(d.AccountPrices) - len(c.AccountPrices)
}

// Draft is an uploaded catalog that is not imported yet.
type Draft struct {
	ID          string
	Document    []byte
	FileName    string
	BaseVersion int64 // of the catalog that it was compared with
	StaffID     string
	CreatedAt   time.Time
}

// Pause says who has paused an answer time, and when.
type Pause struct {
	StaffName string
	At        time.Time
}

// indexKey and timeKey identify a rule: there is at most one of a code for the same context.
type (
	indexKey struct {
		code    string
		context Context
	}
	timeKey struct {
		code    int
		context Context
	}
)

// String describes the context, for example "category bags, brand chanel".
func (c Context) String() string {
	var parts []string
	if c.Category != "" {
		parts = append(parts, "category "+c.Category)
	}
	if c.Brand != "" {
		parts = append(parts, "brand "+c.Brand)
	}
	if c.Model != "" {
		parts = append(parts, "model "+c.Model)
	}
	if len(parts) == 0 {
		return "every context"
	}
	return strings.Join(parts, ", ")
}

// matching returns the contexts of the rules that apply to an item, least specific first: a model overrides a
// brand, a brand overrides a category, and of two rules for a brand the one that also names the category wins.
func (c Context) matching() []Context {
	list := make([]Context, 0, 6)
	list = append(list, Context{})
	if c.Category != "" {
		list = append(list, Context{Category: c.Category})
	}
	if c.Brand == "" {
		return list
	}
	list = append(list, Context{Brand: c.Brand})
	if c.Category != "" {
		list = append(list, Context{Category: c.Category, Brand: c.Brand})
	}
	if c.Model == "" {
		return list
	}
	list = append(list, Context{Brand: c.Brand, Model: c.Model})
	if c.Category != "" {
		list = append(list, c)
	}
	return list
}

// specificity orders contexts as matching does.
func (c Context) specificity() int {
	n := 0
	if c.Category != "" {
		n++
	}
	if c.Brand != "" {
		n += 2
	}
	if c.Model != "" {
		n += 4
	}
	return n
}
