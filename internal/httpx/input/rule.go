package input

import (
	"fmt"
	"slices"
	"unicode/utf8"
)

// Rule restricts a value that is read from a body or a query. A rule that does not fit the type it is used with is a
// mistake in the program and panics.
type Rule struct {
	kind   ruleKind
	n      int64
	values []string
	text   string
	holds  func(string) bool
}

type ruleKind uint16

const (
	ruleRequired ruleKind = 1 << iota
	ruleNotEmpty
	ruleMaxChars
	ruleOneOf
	ruleFormat
	ruleMin
	ruleMax
	ruleMinItems
	ruleMaxItems
	ruleUnique

	stringRules = ruleRequired | ruleNotEmpty | ruleMaxChars | ruleOneOf | ruleFormat
	intRules    = ruleRequired | ruleMin | ruleMax
	arrayRules  = ruleRequired | ruleMinItems | ruleMaxItems
)

// Required refuses a value that is absent or null. Without it an absent value is read as the zero value.
var Required = Rule{kind: ruleRequired}

// NotEmpty refuses the empty string.
var NotEmpty = Rule{kind: ruleNotEmpty}

// Unique refuses an array of strings that has the same one twice.
var Unique = Rule{kind: ruleUnique}

// MaxChars refuses strings of more than n Unicode code points.
func MaxChars(n int) Rule { return Rule{kind: ruleMaxChars, n: int64(n)} }

// OneOf refuses every string but the given ones.
func OneOf(values ...string) Rule { return Rule{kind: ruleOneOf, values: values} }

// Format refuses strings for which holds is false. The rule completes the sentence "the field …", for example
// "must start with https://".
func Format(rule string, holds func(string) bool) Rule {
	return Rule{kind: ruleFormat, text: rule, holds: holds}
}

// Min refuses integers below n.
func Min(n int64) Rule { return Rule{kind: ruleMin, n: n} }

// Max refuses integers above n.
func Max(n int64) Rule { return Rule{kind: ruleMax, n: n} }

// MinItems refuses arrays of fewer than n elements.
func MinItems(n int) Rule { return Rule{kind: ruleMinItems, n: int64(n)} }

// MaxItems refuses arrays of more than n elements.
func MaxItems(n int) Rule { return Rule{kind: ruleMaxItems, n: int64(n)} }

// has reports whether a rule of the kind is among the rules.
func has(rules []Rule, kind ruleKind) bool {
	return slices.ContainsFunc(rules, func(r Rule) bool { return r.kind == kind })
}

// mustFit panics when a rule is used with a type it says nothing about.
func mustFit(rules []Rule, allowed ruleKind, what string) {
	for i := range rules {
		if rules[i].kind&allowed == 0 {
			panic(fmt.Sprintf("input: rule %d of %s does not apply to its type", i+1, what))
		}
	}
}

// checkString returns the code and the words of the first rule that s breaks, or two empty strings.
func checkString(s string, rules []Rule) (code, message string) {
	for i := range rules {
		switch r := &rules[i]; {
		case r.kind == ruleNotEmpty && s == "":
			return CodeEmpty, "must not be empty"
		case r.kind == ruleMaxChars && len(s) > int(r.n): // bytes first: they are quicker to count
			if n := utf8.RuneCountInString(s); n > int(r.n) {
				return CodeMaxLength, fmt.Sprintf("must be at most %s, has %d", count(int(r.n), "character"), n)
			}
		case r.kind == ruleOneOf && !slices.Contains(r.values, s):
			return CodeEnum, alternatives(r.values)
		case r.kind == ruleFormat && !r.holds(s):
			return CodeFormat, r.text
		}
	}
	return "", ""
}

// checkInt is checkString for integers.
func checkInt(n int64, rules []Rule) (code, message string) {
	for i := range rules {
		switch r := &rules[i]; {
		case r.kind == ruleMin && n < r.n:
			return CodeMin, fmt.Sprintf("must be at least %d", r.n)
		case r.kind == ruleMax && n > r.n:
			return CodeMax, fmt.Sprintf("must be at most %d", r.n)
		}
	}
	return "", ""
}

// checkLen is checkString for the number of elements of an array.
func checkLen(n int, rules []Rule) (code, message string) {
	for i := range rules {
		switch r := &rules[i]; {
		case r.kind == ruleMinItems && n < int(r.n):
			return CodeMinItems, fmt.Sprintf("must have at least %s, has %d", count(int(r.n), "item"), n)
		case r.kind == ruleMaxItems && n > int(r.n):
			return CodeMaxItems, fmt.Sprintf("must have at most %s, has %d", count(int(r.n), "item"), n)
		}
	}
	return "", ""
}
