package catalog

import (
	"errors"
	"testing"
)

// FuzzParse checks that no input panics, that every error has a message, and that an accepted document survives
// export and import.
func FuzzParse(f *testing.F) {
	doc := parse(f, example(f))
	asJSON, err := doc.JSON()
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(example(f)))
	f.Add(asJSON)
	f.Add([]byte(billionLaughs()))
	f.Add([]byte("categories: [{code: a, name: &n {en: A}}, {code: b, name: *n}]"))
	f.Add([]byte("conditions: [{code: a, text: {en: \"\\u2028 \\n\\t\", ja: |\n  a\n  b\n}}]"))
	f.Add([]byte("{}\n---\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, err := Parse(data)
		if err == nil {
			NewSnapshot(doc, 1, nil, nil)
			roundTrip(t, doc)
			return
		}
		refusal, ok := errors.AsType[*DocumentError](err)
		if !ok || len(refusal.Problems) == 0 {
			t.Fatalf("refused without a problem: %v", err)
		}
		for _, p := range refusal.Problems {
			if p.Line < 1 || p.Message == "" {
				t.Errorf("a problem without line or message: %+v", p)
			}
		}
	})
}
