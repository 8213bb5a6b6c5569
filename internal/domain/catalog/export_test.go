package catalog

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/domain/text"
)

func TestExport(t *testing.T) {
	t.Run("YAML", func(t *testing.T) {
		data, err := parse(t, example(t)).YAML()
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			"locales: [en, ja]\ncategories:\n  - code: bags\n    name: {en: Bags, ja: バッグ}\n    icon_url: " +
				"https://cdn.example/icons/bags.png\n",
			"    categories: [bags, shoes]\n",
			"    example_urls: []\n",
			"    open: {timezone: Asia/Tokyo, days: [mon, tue, wed, thu, fri], from: \"09:00\", to: \"18:00\"}\n    " +
				"max_open_orders: 50\n",
			"  - code: 30\n    category: shoes\n    offered: false\n",
		} {
			if !strings.Contains(string(data), want) {
				t.Errorf("%q is not in\n%s", want, data)
			}
		}
	})
	t.Run("JSON", func(t *testing.T) {
		data, err := parse(t, example(t)).JSON()
		if err != nil {
			t.Fatal(err)
		}
		want := `{"locales":["en","ja"],"categories":[{"code":"bags","name":{"en":"Bags","ja":"バッグ"},` +
			`"icon_url":"https://cdn.example/icons/bags.png"},{"code":"shoes",`
		if !strings.HasPrefix(string(data), want) {
			t.Errorf("got %s", data)
		}
	})
	t.Run("RoundTrip", func(t *testing.T) { roundTrip(t, parse(t, example(t))) })
	t.Run("Empty", func(t *testing.T) { roundTrip(t, parse(t, "{}")) })
	t.Run("EmptyListOfCategories", func(t *testing.T) {
		roundTrip(t, parse(t, "brands: [{code: a, name: {en: A}, categories: []}]"))
	})
	t.Run("OrderIsKept", func(t *testing.T) {
		doc := parse(t, "categories: [{code: c, name: {en: C}}, {code: a, name: {en: A}}, {code: b, name: {en: B}}]")
		data, err := doc.YAML()
		if err != nil {
			t.Fatal(err)
		}
		var order string
		for _, c := range parse(t, string(data)).Categories {
			order += c.Code
		}
		if order != "cab" {
			t.Errorf("got %s", order)
		}
	})

	texts := map[string]string{
		"LooksLikeNumber":  "2.55",
		"LooksLikeNull":    "null",
		"LooksLikeTruth":   "yes",
		"LooksLikeMerge":   "<<",
		"Colon":            "a: b # c",
		"Braces":           "{a}, [b]",
		"Quotes":           `"it's"`,
		"LineBreaks":       "\n  a\n\n b \n",
		"Tab":              "\ta\t",
		"CarriageReturn":   "a b",
		"Spaces":           "  a  ",
		"Emoji":            "👜",
		"LineSeparator":    "a\u2028b\u2029c",
		"NoBreakSpace":     "\u00a0a\u3000",
		"ByteOrderMark":    "a\ufeffb",
		"Document":         "---",
		"Indicator":        "- a",
		"Question":         "? a",
		"Percent":          "%a",
		"Backslash":        `\n \ `,
		"HTML":             "<b>&amp;</b>",
		"ReplacementMark":  "\ufffd",
		"PrivateCharacter": "\ue000\U000F0000",
	}
	for name, s := range texts {
		t.Run("Text"+name, func(t *testing.T) {
			doc := &Document{Locales: text.Locales, Conditions: []Phrase{{Code: "a", Text: text.Text{EN: s, JA: s}}}}
			roundTrip(t, doc)
		})
	}
}

// TestExportRandomTexts mixes YAML syntax characters with characters that must be escaped.
func TestExportRandomTexts(t *testing.T) {
	const alphabet = "aeyn0159xz  \n\t:-,#'\"\\{}[]&*!|>%@`?=<./~_+" +
		"\u00a0\u2028\u3000\ufeff\uffff\u0301\ufe0f全体👜\U0010ffff"
	characters := []rune(alphabet)
	random := rand.New(rand.NewPCG(1, 2))
	var doc strings.Builder
	doc.WriteString(`{"conditions":[`)
	for i := range 20_000 {
		s := make([]rune, 1+random.IntN(8))
		for j := range s {
			s[j] = characters[random.IntN(len(characters))]
		}
		value, err := json.Marshal("a"[:random.IntN(2)] + string(s) + "."[:random.IntN(2)])
		if err != nil {
			t.Fatal(err)
		}
		if strings.TrimSpace(string(s)) == "" {
			continue
		}
		if doc.Len() > 20 {
			doc.WriteByte(',')
		}
		fmt.Fprintf(&doc, `{"code":"c%d","text":{"en":%s}}`, i, value)
	}
	doc.WriteString("]}")
	roundTrip(t, parse(t, doc.String()))
}

// TestReasonCategories checks that a reason keeps its categories in every form of the document.
func TestReasonCategories(t *testing.T) {
	doc := parse(t, edited(t, "    outcome: fake\n", "    outcome: fake\n    categories: [shoes]\n"))
	for _, export := range []func() ([]byte, error){doc.YAML, doc.JSON} {
		data, err := export()
		if err != nil {
			t.Fatal(err)
		}
		again := parse(t, string(data))
		if !again.Equal(doc) || again.Equal(parse(t, example(t))) {
			t.Errorf("the categories are lost:\n%s", data)
		}
		if r := &again.Reasons[0]; r.For("bags") || !r.For("shoes") {
			t.Errorf("offered for %v", r.Categories)
		}
	}
	if r := &parse(t, example(t)).Reasons[0]; !r.For("bags") {
		t.Error("a reason without categories is not offered everywhere")
	}
}

// roundTrip checks that a document is unchanged by exporting and parsing it.
func roundTrip(t testing.TB, doc *Document) {
	t.Helper()
	for name, write := range map[string]func() ([]byte, error){"YAML": doc.YAML, "JSON": doc.JSON} {
		data, err := write()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		again, err := Parse(data)
		if err != nil {
			t.Fatalf("%s does not parse: %v\n%s", name, err, data)
		}
		if !again.Equal(doc) {
			t.Errorf("%s gives another document:\n%s", name, data)
		}
		if got, want := withoutPositions(again), withoutPositions(doc); !reflect.DeepEqual(got, want) {
			t.Errorf("%s gives another document:\n%s\n got %+v\nwant %+v", name, data, got, want)
		}
	}
}
