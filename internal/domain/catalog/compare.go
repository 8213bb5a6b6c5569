package catalog

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
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

// Compare returns the changes from one document to another, section by section. A nil document is empty.
func Compare(before, after *Document) []Change {
	was, is := entriesOf(before), entriesOf(after)
	changes := []Change{}
	for i := range was {
		changes = append(changes, was[i].compare(is[i])...)
	}
	return changes
}

// entryList is a section prepared for comparison.
type entryList struct {
	entity  string
	ordered bool // whether the order of entries is visible anywhere
	entries []entry
}

// entry has what identifies an entry of a section, and its other properties.
type entry struct {
	code, context string
	facts         []fact
}

// fact is a flattened property, such as name.ja and シャネル.
type fact struct{ path, value string }

func entriesOf(d *Document) []entryList {
	if d == nil {
		d = &Document{}
	}
	var lists []entryList
	for _, s := range d.sections() {
		l := entryList{entity: s.entity, ordered: true, entries: make([]entry, len(s.entries))}
		var identifying []string // beside the code
		switch s.key {
		case "photo_indexes":
			identifying = []string{"category", "brand", "model"}
		case "answer_time_rules":
			identifying, l.ordered = []string{"category", "brand"}, false
		case "account_prices":
			identifying, l.ordered = []string{"account"}, false
		}
		for i, m := range s.entries {
			l.entries[i] = entryOf(m, identifying)
		}
		lists = append(lists, l)
	}
	return lists
}

func entryOf(m mapping, identifying []string) entry {
	var e entry
	for _, f := range facts("", m) {
		switch {
		case f.path == "code":
			e.code = f.value
		case slices.Contains(identifying, f.path):
			e.context += ", " + f.path + " " + f.value
		default:
			e.facts = append(e.facts, f)
		}
	}
	e.context = strings.TrimPrefix(e.context, ", ")
	return e
}

// facts flattens a mapping into paths and values; a list is one value.
func facts(prefix string, m mapping) []fact {
	var all []fact
	for _, p := range m {
		path := prefix + p.key
		switch v := p.value.(type) {
		case mapping:
			all = append(all, facts(path+".", v)...)
		case []string:
			all = append(all, fact{path, "[" + strings.Join(v, ", ") + "]"})
		case string:
			if strings.Contains(v, "\n") {
				v = strconv.Quote(v) // a change is one line
			}
			all = append(all, fact{path, v})
		default:
			all = append(all, fact{path, fmt.Sprint(v)})
		}
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
	var order []int // old positions of the entries that stay, in their new order
	for _, e := range after.entries {
		k := key{e.code, e.context}
		if i, ok := was[k]; ok {
			kept[k] = true
			order = append(order, i)
		}
	}
	moves := moved(order)

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
			change.Kind, change.Detail = Added, summary(e.facts)
			changes = append(changes, change)
			continue
		}
		for _, detail := range differences(l.entries[i].facts, e.facts) {
			change.Detail = detail
			changes = append(changes, change)
		}
		if l.ordered && moves[i] {
			change.Detail = "moved to the first place"
			if place > 0 {
				change.Detail = "moved after " + after.entries[place-1].code
			}
			changes = append(changes, change)
		}
	}
	return changes
}

func summary(facts []fact) string {
	parts := make([]string, len(facts))
	for i, f := range facts {
		parts[i] = f.path + ": " + f.value
	}
	return strings.Join(parts, ", ")
}

// differences describes the properties that differ: first those stated now, then those no longer stated.
func differences(before, after []fact) []string {
	const absent = "(none)"
	was := make(map[string]string, len(before))
	for _, f := range before {
		was[f.path] = f.value
	}
	is := make(map[string]bool, len(after))
	var details []string
	for _, f := range after {
		is[f.path] = true
		value, ok := was[f.path]
		switch {
		case !ok:
			details = append(details, f.path+": "+absent+" → "+f.value)
		case value != f.value:
			details = append(details, f.path+": "+value+" → "+f.value)
		}
	}
	for _, f := range before {
		if !is[f.path] {
			details = append(details, f.path+": "+f.value+" → "+absent)
		}
	}
	return details
}

// moved returns the smallest set of old positions that must have moved, given the old positions in their new order:
// all that are not in a longest increasing subsequence.
func moved(order []int) map[int]bool {
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
