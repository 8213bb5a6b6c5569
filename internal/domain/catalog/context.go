package catalog

import "strings"

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
