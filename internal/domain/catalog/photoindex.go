package catalog

import (
	"cmp"
	"slices"

	"github.com/assayhq/assay/internal/domain/text"
)

// PhotoIndex is a view of the item that photos are required or accepted for, resolved for one context.
type PhotoIndex struct {
	Code        string
	Name        text.Text
	Required    bool
	PhotoLimit  int
	IconURL     *string
	ExampleURLs []string // never nil
}

// orderedIndexRule is a rule with the display position of its code: where the code first occurs in the document.
type orderedIndexRule struct {
	*IndexRule
	place int
}

// groupIndexRules groups rules by context.
func groupIndexRules(rules []IndexRule) map[Context][]orderedIndexRule {
	placed := make(map[Context][]orderedIndexRule)
	places := make(map[string]int)
	for i := range rules {
		rule := &rules[i]
		place, ok := places[rule.Code]
		if !ok {
			place = i
			places[rule.Code] = i
		}
		placed[rule.Context] = append(placed[rule.Context], orderedIndexRule{rule, place})
	}
	return placed
}

// PhotoIndexes returns the photo indexes of a context from Check, in display order. Rules of brands and models apply
// only if the context names them. They are put together once, because every order asks for them: callers only read.
func (s *Snapshot) PhotoIndexes(c Context) []*PhotoIndex {
	if indexes, ok := s.photoIndexes.Load(c); ok {
		return indexes.([]*PhotoIndex)
	}
	indexes, _ := s.photoIndexes.LoadOrStore(c, s.mergeIndexes(c))
	return indexes.([]*PhotoIndex)
}

// IndexName returns the name of a photo index in a context, also of one that the catalog has no longer.
func (s *Snapshot) IndexName(c Context, code string) text.Text {
	for _, x := range s.PhotoIndexes(c) {
		if x.Code == code {
			return x.Name
		}
	}
	return s.FormerIndexName(code)
}

// FormerIndexName returns what a photo index was called that the catalog has no longer, or its code.
func (s *Snapshot) FormerIndexName(code string) text.Text {
	if name := s.indexNames[code]; name.EN != "" {
		return name
	}
	return text.Text{EN: code}
}

func (s *Snapshot) mergeIndexes(c Context) []*PhotoIndex {
	var matching []orderedIndexRule
	for _, context := range c.matching() {
		matching = append(matching, s.indexRules[context]...)
	}
	// The sort is stable: rules of one code stay in their order, the least specific first.
	slices.SortStableFunc(matching, func(a, b orderedIndexRule) int { return cmp.Compare(a.place, b.place) })

	indexes := make([]*PhotoIndex, 0, len(matching))
	for len(matching) > 0 {
		n := 1
		for n < len(matching) && matching[n].place == matching[0].place {
			n++
		}
		if index := mergeIndex(matching[:n]); index != nil {
			indexes = append(indexes, index)
		}
		matching = matching[n:]
	}
	return indexes
}

// mergeIndex applies the rules of one code, the least specific first. Nil is an excluded index.
func mergeIndex(rules []orderedIndexRule) *PhotoIndex {
	index := &PhotoIndex{Code: rules[0].Code, PhotoLimit: 1, ExampleURLs: []string{}}
	excluded := false
	for _, rule := range rules {
		if rule.Name.EN != "" {
			index.Name.EN = rule.Name.EN
		}
		if rule.Name.JA != "" {
			index.Name.JA = rule.Name.JA
		}
		if rule.Required != nil {
			index.Required = *rule.Required
		}
		if rule.PhotoLimit != nil {
			index.PhotoLimit = *rule.PhotoLimit
		}
		if rule.IconURL != nil {
			index.IconURL = rule.IconURL
		}
		if rule.ExampleURLs != nil {
			index.ExampleURLs = rule.ExampleURLs
		}
		if rule.Excluded != nil {
			excluded = *rule.Excluded
		}
	}
	if excluded {
		return nil
	}
	return index
}
