package catalog

import (
	"fmt"
	"iter"
)

// checkIndexNames finds rules that leave a photo index without an English name in a context where it is asked for.
// Looking at rules without a name is enough: whatever context lacks a name, the most specific rule there has none either,
// and its own contexts are looked at.
func (p *parser) checkIndexNames(known definitions) {
	rules := make(map[indexKey]*IndexRule, len(p.doc.PhotoIndexes))
	for i := range p.doc.PhotoIndexes {
		rule := &p.doc.PhotoIndexes[i]
		key := indexKey{rule.Code, rule.Context}
		if rules[key] == nil { // one that is there twice was reported already
			rules[key] = rule
		}
	}
	for i, o := range p.indexAt {
		rule := &p.doc.PhotoIndexes[i]
		if rule.Name.EN != "" || p.faultyName[i] {
			continue
		}
		for context := range p.contextsOf(known, rule.Context) {
			if named, excluded := nameIn(rules, rule.Code, context); named || excluded {
				continue
			}
			c := o.get("name")
			if c.present() {
				c.path += ".en"
			}
			c.problem("is required: no more general rule gives photo index %s an English name in %s", quote(rule.Code), context)
			break
		}
	}
}

// nameIn resolves, for one photo index in one context, whether it has an English name and whether it is excluded.
func nameIn(rules map[indexKey]*IndexRule, code string, c Context) (named, excluded bool) {
	for _, context := range c.matching() {
		rule := rules[indexKey{code, context}]
		if rule == nil {
			continue
		}
		named = named || rule.Name.EN != ""
		if rule.Excluded != nil {
			excluded = *rule.Excluded
		}
	}
	return named, excluded
}

// contextsOf yields the contexts of items that a rule's context stands for. More specific ones within them add nothing to
// the check of names. A context that refers to nothing stands for itself.
func (p *parser) contextsOf(known definitions, c Context) iter.Seq[Context] {
	var categories []string
	switch model, brand := known.models[c.Model], known.brands[c.Brand]; {
	case c.Category != "":
	case c.Model != "":
		if model != nil {
			c.Category = model.Category
		}
	case c.Brand != "":
		if brand != nil {
			categories = brand.Categories
		}
	default:
		for _, category := range p.doc.Categories {
			categories = append(categories, category.Code)
		}
	}
	return func(yield func(Context) bool) {
		if len(categories) == 0 {
			yield(c)
			return
		}
		for _, category := range categories {
			if !yield(Context{Category: category, Brand: c.Brand}) {
				return
			}
		}
	}
}

// checkDefaults finds contexts in which more than one offered answer time is the default. A conflict is reported once, at
// the later of the two statements, with the first context that has it.
func (p *parser) checkDefaults() {
	rules := make(map[timeKey]int, len(p.doc.AnswerTimeRules)) // to the place in the list
	suggested := make(map[int]bool)                            // codes that are the default anywhere
	for _, t := range p.doc.AnswerTimes {
		suggested[t.Code] = t.Default
	}
	for i, rule := range p.doc.AnswerTimeRules {
		rules[timeKey{rule.Code, rule.Context}] = i
		if rule.Default != nil && *rule.Default {
			suggested[rule.Code] = true
		}
	}
	var candidates []int // places of answer times
	for i, t := range p.doc.AnswerTimes {
		if suggested[t.Code] {
			candidates = append(candidates, i)
		}
	}
	if len(candidates) < 2 {
		return
	}

	reported := make(map[string]bool)
	for context := range p.orderContexts() {
		found := p.defaultsIn(context, candidates, rules)
		if len(found) < 2 {
			continue
		}
		later := found[1].stated
		if found[0].stated.line > later.line {
			later = found[0].stated
		}
		key := fmt.Sprint(later.path, found[0].code, found[1].code)
		if !reported[key] {
			reported[key] = true
			later.problem("answer times %d and %d are both the default in %s; at most one may be",
				found[0].code, found[1].code, context)
		}
	}
}

// suggestion is an answer time that is the default in some context, and where the document says so.
type suggestion struct {
	code   int
	stated cursor
}

// defaultsIn returns the answer times that are offered as the default in a context, two at most.
func (p *parser) defaultsIn(c Context, candidates []int, rules map[timeKey]int) []suggestion {
	var found []suggestion
	matching := c.matching()
	for _, i := range candidates {
		t := p.doc.AnswerTimes[i]
		suggested, offered := t.Default, true
		stated := p.timeAt[i].get("default")
		for _, context := range matching {
			j, ok := rules[timeKey{t.Code, context}]
			if !ok {
				continue
			}
			rule := p.doc.AnswerTimeRules[j]
			if rule.Offered != nil {
				offered = *rule.Offered
			}
			if rule.Default != nil {
				suggested, stated = *rule.Default, p.ruleAt[j].get("default")
			}
		}
		if suggested && offered {
			found = append(found, suggestion{t.Code, stated})
			if len(found) == 2 {
				break
			}
		}
	}
	return found
}

// orderContexts yields the contexts in which answer times are chosen: every brand in each category it serves. A category
// without brands, and a catalog without categories, are looked at as they are.
func (p *parser) orderContexts() iter.Seq[Context] {
	return func(yield func(Context) bool) {
		if len(p.doc.Categories) == 0 && !yield(Context{}) {
			return
		}
		served := make(map[string]bool)
		for _, brand := range p.doc.Brands {
			for _, category := range brand.Categories {
				served[category] = true
				if !yield(Context{Category: category, Brand: brand.Code}) {
					return
				}
			}
		}
		for _, category := range p.doc.Categories {
			if !served[category.Code] && !yield(Context{Category: category.Code}) {
				return
			}
		}
	}
}
