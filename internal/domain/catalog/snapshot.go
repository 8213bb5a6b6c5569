package catalog

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/text"
)

// Brand is a brand with the categories it serves, in the order given by the brand.
type Brand struct {
	Code       string
	Name       text.Text
	Categories []*Category
}

// Snapshot is one version of the catalog, indexed for lookups. It is immutable and safe for concurrent use; callers
// must not change what its methods return.
type Snapshot struct {
	version  int64
	document *Document

	categories []*Category
	brands     []*Brand
	category   map[string]*Category
	brand      map[string]*Brand
	model      map[string]*Model

	brandNames map[string][]string // folded for search, by code
	modelNames map[string][]string

	brandsIn map[string][]*Brand  // by category
	modelsIn map[Context][]*Model // by brand and category

	indexRules   map[Context][]orderedIndexRule
	photoIndexes sync.Map // []*PhotoIndex by Context, of those that were asked for

	timeRules map[Context][]*AnswerTimeRule
	agreed    map[string]map[int]int64 // price by account id and answer time

	indexNames  map[string]text.Text
	reason      map[string]*Reason
	condition   map[string]*Phrase
	requirement map[string]*Phrase
}

// NewSnapshot indexes a document returned by Parse. accounts maps account names to account ids; prices of accounts
// that are not (or no longer) in it are dropped. names are those of photo indexes of earlier catalogs.
func NewSnapshot(doc *Document, version int64, accounts map[string]string, names map[string]text.Text) *Snapshot {
	s := &Snapshot{
		version: version, document: doc, brand: make(map[string]*Brand, len(doc.Brands)),
		category: byCode(doc.Categories, func(c *Category) string { return c.Code }),
		model:    byCode(doc.Models, func(m *Model) string { return m.Code }),
		brandsIn: make(map[string][]*Brand), modelsIn: make(map[Context][]*Model),
		brandNames: make(map[string][]string, len(doc.Brands)), modelNames: make(map[string][]string, len(doc.Models)),
		indexRules: groupIndexRules(doc.PhotoIndexes), indexNames: names,
		timeRules: make(map[Context][]*AnswerTimeRule), agreed: make(map[string]map[int]int64),
		reason:      byCode(doc.Reasons, func(r *Reason) string { return r.Code }),
		condition:   byCode(doc.Conditions, func(p *Phrase) string { return p.Code }),
		requirement: byCode(doc.Requirements, func(p *Phrase) string { return p.Code }),
	}
	s.addEntities()
	for i := range doc.AnswerTimeRules {
		rule := &doc.AnswerTimeRules[i]
		s.timeRules[rule.Context] = append(s.timeRules[rule.Context], rule)
	}
	for _, p := range doc.AccountPrices {
		id, ok := accounts[p.Account]
		if !ok {
			continue
		}
		if s.agreed[id] == nil {
			s.agreed[id] = make(map[int]int64)
		}
		s.agreed[id][p.Code] = p.Price
	}
	return s
}

func byCode[T any](entries []T, code func(*T) string) map[string]*T {
	all := make(map[string]*T, len(entries))
	for i := range entries {
		all[code(&entries[i])] = &entries[i]
	}
	return all
}

func (s *Snapshot) addEntities() {
	for i := range s.document.Categories {
		s.categories = append(s.categories, &s.document.Categories[i])
	}
	for _, entry := range s.document.Brands {
		b := &Brand{Code: entry.Code, Name: entry.Name, Categories: make([]*Category, 0, len(entry.Categories))}
		for _, code := range entry.Categories {
			b.Categories = append(b.Categories, s.category[code])
			s.brandsIn[code] = append(s.brandsIn[code], b)
		}
		s.brands = append(s.brands, b)
		s.brand[b.Code] = b
		s.brandNames[b.Code] = foldedNames(b.Name)
	}
	for i := range s.document.Models {
		m := &s.document.Models[i]
		place := Context{Category: m.Category, Brand: m.Brand}
		s.modelsIn[place] = append(s.modelsIn[place], m)
		s.modelNames[m.Code] = foldedNames(m.Name)
	}
}

// Version returns the number that was given to NewSnapshot.
func (s *Snapshot) Version() int64 { return s.version }

// Document returns the document that the snapshot was made from.
func (s *Snapshot) Document() *Document { return s.document }

// Categories returns all categories, or those of a brand if it is not empty. An unknown brand is a not-found fault.
func (s *Snapshot) Categories(brand string) ([]*Category, error) {
	if brand == "" {
		return s.categories, nil
	}
	b := s.brand[brand]
	if b == nil {
		return nil, notFound("brand", brand)
	}
	return b.Categories, nil
}

// Brands returns all brands, or those that serve a category if it is not empty, filtered by name: the search text
// may occur in any language, ignoring case. An unknown category is a not-found fault.
func (s *Snapshot) Brands(category, search string) ([]*Brand, error) {
	brands := s.brands
	if category != "" {
		if s.category[category] == nil {
			return nil, notFound("category", category)
		}
		brands = s.brandsIn[category]
	}
	return filterByName(brands, search, func(b *Brand) []string { return s.brandNames[b.Code] }), nil
}

// Models returns the models of a brand in a category, filtered by name: the search text may occur in any language,
// ignoring case. The model of where does not matter. Errors are those of Check.
func (s *Snapshot) Models(where Context, search string) ([]*Model, error) {
	where.Model = ""
	if err := s.Check(where); err != nil {
		return nil, err
	}
	models := s.modelsIn[where]
	return filterByName(models, search, func(m *Model) []string { return s.modelNames[m.Code] }), nil
}

// Check checks the context of an item. Brand and model may be empty if they are not known. An unknown code is a
// not-found fault with the details entity and code, the category checked first; a brand that does not serve the
// category, or a model of another brand or category, is a bad-request fault.
func (s *Snapshot) Check(item Context) error {
	category, brand, model := item.Category, item.Brand, item.Model
	b, m := s.brand[brand], s.model[model]
	switch {
	case s.category[category] == nil:
		return notFound("category", category)
	case brand != "" && b == nil:
		return notFound("brand", brand)
	case model != "" && m == nil:
		return notFound("model", model)
	case b != nil && !slices.Contains(b.Categories, s.category[category]):
		return fault.BadRequest(fmt.Sprintf("Brand %s does not serve category %s.", brand, category))
	case m != nil && m.Category != category:
		return fault.BadRequest(fmt.Sprintf("Model %s is not of category %s.", model, category))
	case m != nil && m.Brand != brand:
		return fault.BadRequest(fmt.Sprintf("Model %s is not of brand %s.", model, brand))
	}
	return nil
}

// ClippedCode returns an unknown code as errors repeat it, cut to a length that no code of the catalog has.
func ClippedCode(code string) string { return text.Clip(code, 100) }

func notFound(entity, code string) error {
	return fault.New(fault.NotFound, fault.CodeNotFound, fmt.Sprintf("The catalog has no %s %s.", entity, quote(code))).
		With("entity", entity).With("code", ClippedCode(code))
}

// filterByName returns the entities with a name that contains the search text.
func filterByName[T any](all []T, search string, names func(T) []string) []T {
	if search == "" {
		return all
	}
	search = fold(search)
	var matches []T
	for _, e := range all {
		if slices.ContainsFunc(names(e), func(name string) bool { return strings.Contains(name, search) }) {
			matches = append(matches, e)
		}
	}
	return matches
}

func foldedNames(t text.Text) []string {
	if t.JA == "" {
		return []string{fold(t.EN)}
	}
	return []string{fold(t.EN), fold(t.JA)}
}

// fold maps all cases of a letter to one, by Unicode simple case folding.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, s)
}

// Reasons returns the reasons of an outcome, or all if it is empty, in display order.
func (s *Snapshot) Reasons(outcome string) []*Reason {
	var list []*Reason
	for i := range s.document.Reasons {
		if r := &s.document.Reasons[i]; outcome == "" || r.Outcome == outcome {
			list = append(list, r)
		}
	}
	return list
}

// Conditions returns the conditions of a photo in display order.
func (s *Snapshot) Conditions() []Phrase { return s.document.Conditions }

// Requirements returns the requirements on a photo in display order.
func (s *Snapshot) Requirements() []Phrase { return s.document.Requirements }

// Reason returns the reason with the code, or nil.
func (s *Snapshot) Reason(code string) *Reason { return s.reason[code] }

// Condition returns the condition with the code, or nil.
func (s *Snapshot) Condition(code string) *Phrase { return s.condition[code] }

// Requirement returns the requirement with the code, or nil.
func (s *Snapshot) Requirement(code string) *Phrase { return s.requirement[code] }

// Category returns the category with the code, or nil.
func (s *Snapshot) Category(code string) *Category { return s.category[code] }

// Brand returns the brand with the code, or nil.
func (s *Snapshot) Brand(code string) *Brand { return s.brand[code] }

// Model returns the model with the code, or nil.
func (s *Snapshot) Model(code string) *Model { return s.model[code] }
