package catalog

import (
	"slices"
	"sort"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// ChangeKind is what happens to an entry.
type ChangeKind string

// The kinds of change.
const (
	Added   ChangeKind = "added"
	Removed ChangeKind = "removed"
	Changed ChangeKind = "changed"
)

// Change is one difference between two documents.
type Change struct {
	Kind    ChangeKind `json:"kind"`
	Entity  string     `json:"entity"`            // such as brand or photo-index
	Code    string     `json:"code"`              // of the entry
	Context string     `json:"context,omitempty"` // of a rule, or the account of a price
	Detail  string     `json:"detail"`            // such as "name.ja: シャネル → CHANEL"; empty for a removed entry
}

// String is the change as one line for people.
func (c Change) String() string {
	s := string(c.Kind) + " " + c.Entity + " " + c.Code
	if c.Context != "" {
		s += " (" + c.Context + ")"
	}
	if c.Detail != "" {
		s += ": " + c.Detail
	}
	return s
}

// Compare tells what replacing one document by another changes, section by section. A nil document is an empty one.
func Compare(before, after *Document) []Change {
	was, is := entriesOf(before), entriesOf(after)
	changes := []Change{}
	for i := range was {
		changes = append(changes, was[i].compare(is[i])...)
	}
	return changes
}

// entry is an entry of any section in a form that can be compared.
type entry struct {
	code, context string
	fields        []property
}

type property struct{ path, value string }

type entryList struct {
	entity  string
	ordered bool // whether the order is seen by anyone
	entries []entry
}

func entriesOf(d *Document) []entryList {
	if d == nil {
		d = &Document{}
	}
	return []entryList{
		list("category", d.Categories, Category.tree),
		list("brand", d.Brands, BrandEntry.tree),
		list("model", d.Models, Model.tree),
		list("photo-index", d.PhotoIndexes, IndexRule.tree),
		list("answer-time", d.AnswerTimes, AnswerTime.tree),
		unordered(list("answer-time-rule", d.AnswerTimeRules, AnswerTimeRule.tree)),
		unordered(list("account-price", d.AccountPrices, AccountPrice.tree)),
		list("reason", d.Reasons, Reason.tree),
		list("condition", d.Conditions, Phrase.tree),
		list("requirement", d.Requirements, Phrase.tree),
	}
}

// list takes entries apart. A model's brand and category are properties; a rule's are part of what identifies it.
func list[T any](entity string, values []T, treeOf func(T) tree) entryList {
	identifying := []string{"category", "brand", "model"}
	switch entity {
	case "model":
		identifying = nil
	case "account-price":
		identifying = []string{"account"}
	}
	l := entryList{entity: entity, ordered: true, entries: make([]entry, len(values))}
	for i, value := range values {
		e := &l.entries[i]
		for _, p := range flatten("", treeOf(value).node) {
			switch {
			case p.path == "code":
				e.code = p.value
			case slices.Contains(identifying, p.path):
				e.context += ", " + p.path + " " + p.value
			default:
				e.fields = append(e.fields, p)
			}
		}
		e.context = strings.TrimPrefix(e.context, ", ")
	}
	return l
}

func unordered(l entryList) entryList {
	l.ordered = false
	return l
}

// flatten lists the properties of a mapping with their paths; a list is one property.
func flatten(path string, n *yaml.Node) []property {
	if n.Kind == yaml.ScalarNode {
		value := n.Value
		if strings.Contains(value, "\n") {
			value = strconv.Quote(value) // a change is one line
		}
		return []property{{path, value}}
	}
	if n.Kind == yaml.SequenceNode {
		values := make([]string, len(n.Content))
		for i, child := range n.Content {
			values[i] = child.Value
		}
		return []property{{path, "[" + strings.Join(values, ", ") + "]"}}
	}
	var all []property
	for i := 0; i+1 < len(n.Content); i += 2 {
		child := n.Content[i].Value
		if path != "" {
			child = path + "." + child
		}
		all = append(all, flatten(child, n.Content[i+1])...)
	}
	return all
}

func (l entryList) compare(after entryList) []Change {
	type key struct{ code, context string }
	was := make(map[key]int, len(l.entries))
	for i, e := range l.entries {
		was[key{e.code, e.context}] = i
	}
	kept := make(map[key]bool, len(after.entries))
	var order []int // old places of the entries that stay, in their new order
	for _, e := range after.entries {
		k := key{e.code, e.context}
		if i, ok := was[k]; ok {
			kept[k] = true
			order = append(order, i)
		}
	}
	moved := displaced(order)

	var changes []Change
	for _, e := range l.entries {
		if !kept[key{e.code, e.context}] {
			changes = append(changes, Change{Kind: Removed, Entity: l.entity, Code: e.code, Context: e.context})
		}
	}
	for place, e := range after.entries {
		change := Change{Kind: Changed, Entity: l.entity, Code: e.code, Context: e.context}
		i, ok := was[key{e.code, e.context}]
		if !ok {
			change.Kind, change.Detail = Added, summary(e.fields)
			changes = append(changes, change)
			continue
		}
		for _, detail := range differences(l.entries[i].fields, e.fields) {
			change.Detail = detail
			changes = append(changes, change)
		}
		if l.ordered && moved[i] {
			change.Detail = "moved to the first place"
			if place > 0 {
				change.Detail = "moved after " + after.entries[place-1].code
			}
			changes = append(changes, change)
		}
	}
	return changes
}

func summary(fields []property) string {
	parts := make([]string, len(fields))
	for i, p := range fields {
		parts[i] = p.path + ": " + p.value
	}
	return strings.Join(parts, ", ")
}

// differences describes the properties that differ, in the order of the format.
func differences(before, after []property) []string {
	const absent = "(none)"
	was := make(map[string]string, len(before))
	for _, p := range before {
		was[p.path] = p.value
	}
	is := make(map[string]bool, len(after))
	var details []string
	for _, p := range after {
		is[p.path] = true
		value, ok := was[p.path]
		switch {
		case !ok:
			details = append(details, p.path+": "+absent+" → "+p.value)
		case value != p.value:
			details = append(details, p.path+": "+value+" → "+p.value)
		}
	}
	for _, p := range before {
		if !is[p.path] {
			details = append(details, p.path+": "+p.value+" → "+absent)
		}
	}
	return details
}

// displaced returns, of distinct old places in their new order, the fewest that must have moved: all that are not in a
// longest increasing run.
func displaced(order []int) map[int]bool {
	var ends []int                      // index in order of the least end of a run, by length
	previous := make([]int, len(order)) // index in order of the one before in its run
	for i, place := range order {
		n := sort.Search(len(ends), func(k int) bool { return order[ends[k]] >= place })
		previous[i] = -1
		if n > 0 {
			previous[i] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, i)
		} else {
			ends[n] = i
		}
	}
	moved := make(map[int]bool)
	for _, place := range order {
		moved[place] = true
	}
	if len(ends) > 0 {
		for i := ends[len(ends)-1]; i >= 0; i = previous[i] {
			delete(moved, order[i])
		}
	}
	return moved
}
