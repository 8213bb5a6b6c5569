package docs

import (
	"slices"
	"strings"
	"testing"

	"github.com/assayhq/assay/api"
	"github.com/assayhq/assay/api/spec"
	"github.com/assayhq/assay/internal/domain/text"
)

// describedFields returns the descriptions of all parameters and fields of both APIs, without those of errors.
func describedFields() map[string]bool {
	found := make(map[string]bool)
	add := func(contents []*spec.Content) {
		for _, c := range contents {
			for _, f := range fieldsOf(c.Schema) {
				found[strings.TrimSpace(f.Description)] = true
			}
		}
	}
	i, d := api.Integration(), api.Desk()
	for _, op := range slices.Concat(i.Operations, i.Webhooks, d.Operations) {
		for _, p := range op.Parameters {
			found[strings.TrimSpace(p.Description)] = true
		}
		if op.Body != nil {
			add(op.Body.Content)
		}
		for _, r := range op.Responses {
			if r.Status < "300" {
				add(r.Content)
			}
		}
	}
	delete(found, "")
	return found
}

// TestJapaneseFields checks that what parameters and fields are is said in Japanese. Very few may be newer than their
// translation, and are shown in English.
func TestJapaneseFields(t *testing.T) {
	const few = 5
	found, words := describedFields(), japaneseFields()
	var missing, unused []string
	for description := range found {
		if words[description] == "" {
			missing = append(missing, description)
		}
	}
	for description := range words {
		if !found[description] {
			unused = append(unused, description)
		}
	}
	if len(missing) > few || len(unused) > few {
		t.Errorf("without Japanese words: %q\nnot in the document any more: %q", missing, unused)
	}
	t.Logf("%d descriptions, %d without Japanese words, %d unused", len(found), len(missing), len(unused))
}

// TestTerms says types and rules in both languages.
func TestTerms(t *testing.T) {
	for words, want := range map[string]string{
		"string": "string", "string or null": "string または null", "array of objects": "object の配列",
		"array of strings or null": "string の配列 または null", "at most 100 characters": "100 文字以下",
		"1 to 100": "1〜100", "1 to 10 entries": "1〜10 件", "default 25": "既定値 25", "not empty": "空は不可",
		"no repeats": "重複不可", "never returned": "返されません", "at least 1 entries": "1 件以上",
	} {
		if got := term(words, text.Japanese); got != want {
			t.Errorf("%q is %q, want %q", words, got, want)
		}
		if got := term(words, text.English); got != words {
			t.Errorf("%q is %q in English", words, got)
		}
	}
}
