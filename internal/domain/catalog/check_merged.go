package catalog

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
)

// maxChecks bounds the work of checking rules in the contexts they apply to: a few kilobytes of rules for every
// brand in every category could take hours. Real catalogs need thousands.
const maxChecks = 2_000_000

// spend counts checks, and reports a problem and stops when there are too many.
func (p *parser) spend(at cursor, checks int) {
	p.checks += checks
	if p.checks > maxChecks {
		at.problem("the rules apply in too many contexts to be checked; state them for fewer brands and categories")
		at.r.stopped = true
	}
}

// checkIndexNames finds rules that leave a photo index without an English name in a context where it is used.
// Checking the rules without a name is enough: in a context that lacks a name, the most specific rule has none
// either, and its contexts are checked. Of several rules that lack the same name, the most general one is reported.
func (p *parser) checkIndexNames(known definitions) {
	rules := make(map[indexKey]*IndexRule, len(p.doc.PhotoIndexes))
	reported := make(map[*IndexRule]bool)
	var nameless []int // places of rules
	for i := range p.doc.PhotoIndexes {
		rule := &p.doc.PhotoIndexes[i]
		key := indexKey{rule.Code, rule.Context}
		if rules[key] == nil { // one that is there twice was reported already
			rules[key] = rule
		}
		switch {
		case p.faultyName[i]:
			reported[rule] = true
		case rule.Name.EN == "":
			nameless = append(nameless, i)
		}
	}
	slices.SortStableFunc(nameless, func(a, b int) int {
		return cmp.Compare(p.doc.PhotoIndexes[a].Context.specificity(), p.doc.PhotoIndexes[b].Context.specificity())
	})

	for _, i := range nameless {
		rule, o := &p.doc.PhotoIndexes[i], p.indexAt[i]
		for context := range p.contextsOf(known, rule.Context) {
			if p.spend(o.cursor, 1); o.r.stopped {
				return
			}
			if !lacksName(rules, reported, rule.Code, context) {
				continue
			}
			c := o.get("name")
			if c.present() {
				c.path += ".en"
			}
			c.problem("is required: no more general rule gives photo index %s an English name in %s", quote(rule.Code), context)
			reported[rule] = true
			break
		}
	}
}

// lacksName reports whether a photo index is used in a context and has no English name there, unless a rule was
// already reported for it.
func lacksName(rules map[indexKey]*IndexRule, reported map[*IndexRule]bool, code string, c Context) bool {
	excluded := false
	for _, context := range c.matching() {
		rule := rules[indexKey{code, context}]
		if rule == nil {
			continue
		}
		if rule.Name.EN != "" || reported[rule] {
			return false
		}
		if rule.Excluded != nil {
			excluded = *rule.Excluded
		}
	}
	return !excluded
}

// contextsOf yields the item contexts that a rule's context covers. More specific contexts within them add nothing
// to the check of names. A context with unknown codes yields itself.
func (p *parser) contextsOf(known definitions, c Context) iter.Seq[Context] {
	return func(yield func(Context) bool) {
		model, brand := known.models[c.Model], known.brands[c.Brand]
		switch {
		case c.Category == "" && c.Model != "" && model != nil:
			c.Category = model.Category
		case c.Category == "" && c.Model == "" && brand != nil && len(brand.Categories) > 0:
			for _, category := range brand.Categories {
				if !yield(Context{Category: category, Brand: c.Brand}) {
					return
				}
			}
			return
		case c == Context{} && len(p.doc.Categories) > 0:
			for _, category := range p.doc.Categories {
				if !yield(Context{Category: category.Code}) {
					return
				}
			}
			return
		}
		yield(c)
	}
}

// checkDefaults finds contexts with more than one offered default answer time. A conflict is reported once, at the
// later of the two statements, with the first context that has it.
func (p *parser) checkDefaults() {
	rules := make(map[timeKey]int, len(p.doc.AnswerTimeRules)) // to the place in the list
	suggested := make(map[int]bool)                            // codes that are the default anywhere
	ruled := make(map[Context]bool)
	for _, t := range p.doc.AnswerTimes {
		suggested[t.Code] = t.Default
	}
	for i, rule := range p.doc.AnswerTimeRules {
		rules[timeKey{rule.Code, rule.Context}] = i
		ruled[rule.Context] = true
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
	seen := make(map[Context]bool)
	for context := range p.orderContexts() {
		simplified := context.simplify(ruled)
		if seen[simplified] {
			continue
		}
		seen[simplified] = true
		if p.spend(p.timeAt[0].cursor, len(candidates)); p.timeAt[0].r.stopped {
			return
		}
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

// simplify returns a context to which the same rules apply, with as few codes as possible. ruled has the contexts
// of all rules.
func (c Context) simplify(ruled map[Context]bool) Context {
	if ruled[c] {
		return c
	}
	if !ruled[Context{Category: c.Category}] {
		c.Category = ""
	}
	if !ruled[Context{Brand: c.Brand}] {
		c.Brand = ""
	}
	return c
}

// defaultChoice is an answer time that is the default in some context, and where the document says so.
type defaultChoice struct {
	code   int
	stated cursor
}

// defaultsIn returns the answer times that are the default in a context, at most two.
func (p *parser) defaultsIn(c Context, candidates []int, rules map[timeKey]int) []defaultChoice {
	var found []defaultChoice
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
			found = append(found, defaultChoice{t.Code, stated})
			if len(found) == 2 {
				break
			}
		}
	}
	return found
}

// orderContexts yields the contexts in which answer times are chosen: every brand in each category it serves. A
// category without brands, and a catalog without categories, yield themselves.
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
