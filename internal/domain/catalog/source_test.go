package catalog

import (
	"fmt"
	"strings"
	"testing"
)

func TestParseSyntax(t *testing.T) {
	tests := []struct {
		name, data string
		want       string
	}{
		{"Empty", "", "1: the document is empty"},
		{"CommentOnly", "# nothing\n", "1: the document is empty"},
		{"Null", "null\n", "1: the document is empty"},
		{"List", "- a\n- b\n", "1: must be a mapping with the properties locales, categories"},
		{
			"Scalar", "catalog\n", `1: must be a mapping with the properties locales, categories, brands, models, ` +
				`photo_indexes, answer_times, ` +
				`answer_time_rules, account_prices, reasons, conditions, requirements, not the text "catalog"`,
		},
		{
			"SecondDocument", "categories: []\n---\nbrands: []\n",
			"2: a second document starts here; the catalog is one document",
		},
		{
			"SecondDocumentBroken", "categories: []\n---\nbrands: [\n",
			"4: the document is not valid YAML: did not find expected node content",
		},
		{"NotUTF8", "categories: []\nbrands: [\xff]\n", "2: the document must be UTF-8 text"},
		{"UTF16", "\xff\xfe{\x00}\x00", "1: the document must be UTF-8 text"},
		{"ControlCharacter", "categories: []\nbrands: [\x01]\n", "2: control characters such as U+0001 are not allowed"},
		{"NUL", "categories: []\n\x00", "2: control characters such as U+0000 are not allowed"},
		{
			"UnknownAlias", "categories: []\nbrands: *b\n",
			"2: the document is not valid YAML: the alias *b refers to no anchor",
		},
		{
			"UnknownEscape", "categories: []\nbrands: \"\\q\"\n",
			"2: the document is not valid YAML: found unknown escape character",
		},
		{
			"Colons", "categories: []\nbrands: a: b\n",
			"2: the document is not valid YAML: mapping values are not allowed in this context",
		},
		{
			"Version", "# mine\n%YAML 1.2\n---\nlocales: [en]\n",
			"2: the document is not valid YAML: the line that begins with %YAML names another version than 1.1; remove it",
		},
		{"VersionFirst", "%YAML 1.2\n---\n{}\n", "1: the document is not valid YAML: the line that begins with %YAML"},
		{"FirstLine", "a: b: c\n", "1: the document is not valid YAML: mapping values are not allowed in this context"},
		{
			"OpenQuote", "categories:\n  - code: \"a\n    name: b\n",
			"2: the document is not valid YAML: found unexpected end of stream",
		},
		{
			"OpenBrace", "categories:\n  - code: a\n    name: {en: A\n  - code: b\n",
			"3: the document is not valid YAML: did not find expected ',' or '}'",
		},
		{
			"TextAfterQuotes", "categories: []\n\nbrands: 'it' s\nmodels: []\n",
			"3: the document is not valid YAML: did not find expected key",
		},
		{
			"Tab", "categories:\n  - code: a\n\tname: {en: A}\n",
			"3: the document is not valid YAML: indentation must be spaces, not tabs",
		},
		{
			"Indentation", "categories:\n  - code: a\n    name: {en: A}\n  - code: b\n    name: {en: B}\n   icon_url: " +
				"https://a.example\nbrands: []\n",
			"6: did not find expected '-' indicator, at this line or just before it, in the block that starts at line 2; " +
				"is the indentation right?",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse([]byte(test.data))
			wantProblems(t, err, test.want)
		})
	}
}

func TestParseLimits(t *testing.T) {
	// A list of categories whose names are aliases of one long name.
	aliases := func(size, times int) string {
		var b strings.Builder
		fmt.Fprintf(&b, "categories:\n- {code: a, name: &n {en: %s}}\n", strings.Repeat("x", size))
		for i := range times {
			fmt.Fprintf(&b, "- {code: c%d, name: *n}\n", i)
		}
		return b.String()
	}
	tests := []struct {
		name, data string
		want       []string
	}{
		{"Bytes", "categories: []\n#" + strings.Repeat(" ", maxBytes), []string{"1: the document is larger than 8 MiB"}},
		{"Values", "categories: [" + strings.Repeat("a,", maxSeparators), []string{"1: the document has too many values"}},
		{
			"NestedLists", "categories: " + strings.Repeat("[", 20_000),
			[]string{"1: the document is not valid YAML: exceeded max depth"},
		},
		{"NestedJSON", strings.Repeat(`{"a":`, 20_000), []string{"1: the document is not valid JSON"}},
		{"NestedBlocks", strings.Repeat("- ", 20_000), []string{"1: the document is not valid YAML: exceeded max depth"}},
		{"AliasesOfLongText", aliases(1<<20, 1000), []string{
			"2 categories[7].name.en: the document is too large when its aliases are written out",
		}},
		{"AliasOfAliases", billionLaughs(), []string{
			"1 a: unknown property", "2 b: unknown property", "3 c: unknown property", "4 categories[0]: must be a mapping",
			"4 categories[1]: must be a mapping",
		}},
		{
			"AnchorInItself", "categories: &c\n- *c\n",
			[]string{"2 categories[0]: must be a mapping with the properties code, name, icon_url, not a list"},
		},
		{"EntryInItself", "categories:\n- &c\n  code: a\n  name: *c\n", []string{
			"3 categories[0].name.code: unknown property; known here are en, ja",
			"4 categories[0].name.name: unknown property; known here are en, ja", "4 categories[0].name.en: is required",
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse([]byte(test.data))
			wantProblems(t, err, test.want...)
		})
	}

	t.Run("AliasedLists", func(t *testing.T) {
		var b strings.Builder
		b.WriteString(
			"categories:\n- {code: a, name: {en: A}}\nphoto_indexes:\n- {code: i, name: {en: I}, example_urls: &u [",
		)
		for i := range 20_000 {
			fmt.Fprintf(&b, "http://a.example/%d,", i)
		}
		b.WriteString("]}\n")
		for i := range 20_000 {
			fmt.Fprintf(&b, "- {code: i%d, name: {en: I}, example_urls: *u}\n", i)
		}
		_, err := Parse([]byte(b.String()))
		problems := problemsOf(t, err)
		if len(problems) != 1 || problems[0].Message != "the document is too large when its aliases are written out" {
			t.Errorf("got %v", problems)
		}
	})
	t.Run("TooManyProblems", func(t *testing.T) {
		_, err := Parse([]byte("categories:\n" + strings.Repeat("- a\n", maxProblems+5)))
		problems := problemsOf(t, err)
		last := problems[len(problems)-1]
		if len(problems) != maxProblems+1 || last.Message != "there are more problems; the first 10000 are listed" {
			t.Errorf("%d problems, the last is %v", len(problems), last)
		}
	})
	t.Run("GrowsInExport", func(t *testing.T) {
		// Each of these characters takes three bytes as it is, and six in an export.
		name := strings.Repeat("\u2028", maxBytes/5)
		_, err := Parse([]byte("categories:\n- code: a\n  name:\n    en: \"x" + name + "\"\n"))
		wantProblems(t, err, "1: written out in full, the document is larger than 8 MiB")
	})
}

// TestParseManyContexts checks that rules for every brand in every category are refused when there are too many to
// check.
func TestParseManyContexts(t *testing.T) {
	const n = 300
	var b strings.Builder
	list := func(section, line string) {
		b.WriteString(section + ":\n")
		for i := range n {
			fmt.Fprintf(&b, line+"\n", i)
		}
	}
	list("categories", "- {code: c%d, name: {en: C}}")
	list("brands", "- {code: b%d, name: {en: B}, categories: *all}")
	all := "&all [c0"
	for i := range n - 1 {
		all += fmt.Sprintf(", c%d", i+1)
	}
	places := strings.Replace(b.String(), "*all", all+"]", 1)

	t.Run("Names", func(t *testing.T) {
		b.Reset()
		b.WriteString(places + "photo_indexes:\n")
		for code := range 25 {
			for i := range n {
				fmt.Fprintf(&b, "- {code: i%d, category: c%d, name: {en: I}}\n- {code: i%d, brand: b%d}\n", code, i, code, i)
			}
		}
		_, err := Parse([]byte(b.String()))
		problems := problemsOf(t, err)
		if len(problems) != 1 || !strings.Contains(problems[0].Message, "too many contexts to be checked") {
			t.Errorf("got %v", problems)
		}
	})
	t.Run("Defaults", func(t *testing.T) {
		b.Reset()
		b.WriteString(places + "answer_times:\n")
		for code := range maxAnswerTimes {
			fmt.Fprintf(&b, "- {code: %d, name: {en: T}, price: 1, default: true}\n", code+1)
		}
		b.WriteString("answer_time_rules:\n")
		for code := range maxAnswerTimes {
			fmt.Fprintf(&b, "- {code: %d, offered: false}\n", code+1)
		}
		parse(t, b.String())
		for i := range n {
			fmt.Fprintf(&b, "- {code: 1, category: c%d}\n- {code: 1, brand: b%d}\n", i, i)
		}
		_, err := Parse([]byte(b.String()))
		problems := problemsOf(t, err)
		if len(problems) != 1 || !strings.Contains(problems[0].Message, "too many contexts to be checked") {
			t.Errorf("got %v", problems)
		}
	})
}

func billionLaughs() string {
	return "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\ncategories: " +
		"[*c, *c]\n"
}
