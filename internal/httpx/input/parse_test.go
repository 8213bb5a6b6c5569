package input

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/assayhq/assay/internal/domain/fault"
)

func TestParseObjectRefuses(t *testing.T) {
	deep := func(n int) string { return `{"a":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + "}" }
	tests := map[string]struct {
		body   string
		code   string
		offset any // nil: no offset is given
	}{
		"Empty":              {"", fault.CodeBadRequest, nil},
		"OnlySpace":          {" \r\n\t", fault.CodeBadRequest, nil},
		"ByteOrderMark":      {"\ufeff{}", fault.CodeBadRequest, 0},
		"NotUTF8":            {"{\"a\":\"\xff\"}", fault.CodeBadRequest, nil},
		"SurrogateInUTF8":    {"{\"a\":\"\xed\xa0\x80\"}", fault.CodeBadRequest, nil},
		"OpenObject":         {`{"a":1`, fault.CodeBadRequest, 6},
		"OpenString":         {`{"a`, fault.CodeBadRequest, 3},
		"TrailingData":       {`{} {}`, fault.CodeBadRequest, 3},
		"TrailingComma":      {`{"a":1,}`, fault.CodeBadRequest, 7},
		"TrailingCommaArray": {`{"a":[1,]}`, fault.CodeBadRequest, 8},
		"MissingColon":       {`{"a" 1}`, fault.CodeBadRequest, 5},
		"NameWithoutQuotes":  {`{a:1}`, fault.CodeBadRequest, 1},
		"SingleQuotes":       {`{'a':1}`, fault.CodeBadRequest, 1},
		"Comment":            {`{"a":1/*x*/}`, fault.CodeBadRequest, 6},
		"LeadingZero":        {`{"a":01}`, fault.CodeBadRequest, 6},
		"PlusSign":           {`{"a":+1}`, fault.CodeBadRequest, 5},
		"NoDigitsAfterPoint": {`{"a":1.}`, fault.CodeBadRequest, 7},
		"NoDigitsInExponent": {`{"a":1e+}`, fault.CodeBadRequest, 8},
		"OnlyMinus":          {`{"a":-}`, fault.CodeBadRequest, 6},
		"NaN":                {`{"a":NaN}`, fault.CodeBadRequest, 5},
		"Misspelt":           {`{"a":nul}`, fault.CodeBadRequest, 8},
		"LineBreakInString":  {"{\"a\":\"x\ny\"}", fault.CodeBadRequest, 7},
		"RawNUL":             {"{\"a\":\"x\x00y\"}", fault.CodeBadRequest, 7},
		"BadEscape":          {`{"a":"\x41"}`, fault.CodeBadRequest, 6},
		"ShortUnicodeEscape": {`{"a":"\u00"}`, fault.CodeBadRequest, 6},
		"TooDeep":            {deep(MaxDepth + 1), fault.CodeBadRequest, 5 + MaxDepth - 1},
		"VeryDeep":           {strings.Repeat("[", 500_000), fault.CodeBadRequest, MaxDepth},
		"TooLarge":           {`{"a":"` + strings.Repeat("x", MaxBody) + `"}`, fault.CodeBadRequest, nil},
		"RootArray":          {`[{}]`, fault.CodeValidation, nil},
		"RootString":         {`"{}"`, fault.CodeValidation, nil},
		"RootNull":           {`null`, fault.CodeValidation, nil},
		"RootNumber":         {`3`, fault.CodeValidation, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := ParseObject([]byte(tt.body))
			f, ok := errors.AsType[*fault.Error](err)
			if !ok || f.Code != tt.code {
				t.Fatalf("got %v, want %s", err, tt.code)
			}
			if f.Details["offset"] != tt.offset {
				t.Errorf("offset %v, want %v (%s)", f.Details["offset"], tt.offset, f.Message)
			}
			if tt.code == fault.CodeValidation {
				if p := f.Details["errors"].([]fault.Problem); len(p) != 1 || p[0].Field != "body" || p[0].Code != CodeType {
					t.Errorf("problems %v", p)
				}
			}
		})
	}
	t.Run("DeepestAllowed", func(t *testing.T) {
		if _, err := ParseObject([]byte(deep(MaxDepth))); err != nil {
			t.Error(err)
		}
	})
}

var syntaxSeeds = []string{
	`{}`, `[]`, `null`, `true`, `false`, `0`, `-0`, `1.5e-3`, `""`, ` { "a" : [ 1 , 2.0 , -3e+7 ] } `,
	`{"a":"\"\\\/\b\f\n\r\t\u0041\u00e9\ud83d\ude00"}`, `{"\u0061":1,"b":{"c":[null,true,false,{"d":""}]}}`,
	`{"a":"\u0000"}`, `{"a":"\ud800"}`, `{"a":"\udc00\ud800"}`, `{"a":"\ud800\ud83d\ude00"}`, `{"a":"\ud800\u0041"}`,
	`{"a":"\ud800\u00"}`, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"":0}`, `{"a":"é世界"}`, `{"a":1,}`, `[1,]`, `{"a"}`,
	`nul`, `01`, `1.`, `-`, `"\x"`, `{} x`, `{"a":"\u00E9"}`, `"\`, `{"a":"\ud800\uzzzz"}`, `[1 2]`, `{"a":1 "b":2}`,
	"\ufeff{}", "{\"a\":\"\x7f\"}", "\"\xff\"",
	`{"brand_code":"rolex","photos":[{"url":"https://m/p/1","index_code":"front"}]}`,
}

// FuzzParseObject compares the parser with encoding/json: the same texts are accepted, with the same values.
func FuzzParseObject(f *testing.F) {
	for _, s := range syntaxSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		text := string(body)
		nodes, defects, err := parse(text)
		valid := json.Valid(body)
		if err != nil {
			if fault.CodeOf(err) != fault.CodeBadRequest {
				t.Fatalf("%q: %v", body, err)
			}
			if valid && utf8.Valid(body) && len(body) <= MaxBody && !strings.Contains(err.Error(), "nesting over") {
				t.Fatalf("%q is refused (%v) and valid", body, err)
			}
			return
		}
		if !valid {
			t.Fatalf("%q is accepted and not valid", body)
		}
		doc := &document{text: text, nodes: nodes, defects: defects}
		got, duplicates := plain(doc, 0)
		if !duplicates { // which of two wins is a question that requests may not ask
			dec := json.NewDecoder(bytes.NewReader(body))
			dec.UseNumber()
			var want any
			if err := dec.Decode(&want); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%q is read as %#v, want %#v", body, got, want)
			}
		}
		o, err := ParseObject(body)
		if (err == nil) != (nodes[0].kind == KindObject) {
			t.Fatalf("%q: %v", body, err)
		}
		if err == nil {
			readEverything(t, o)
		}
	})
}

// plain turns a node into what encoding/json makes of it, and reports whether it has a duplicate property.
func plain(d *document, at int) (value any, duplicates bool) {
	n := d.nodes[at]
	raw := d.text[n.start:n.end]
	switch n.kind {
	case KindMissing, KindNull:
		return nil, false
	case KindBool:
		return raw == "true", false
	case KindNumber:
		return json.Number(raw), false
	case KindString:
		if n.flags&flagEscaped != 0 {
			raw = unescape(raw)
		}
		return raw, false
	case KindArray:
		list := []any{}
		for i := at + 1; i < int(n.next); i = int(d.nodes[i].next) {
			v, dup := plain(d, i)
			list, duplicates = append(list, v), duplicates || dup
		}
		return list, duplicates
	case KindObject:
		m := map[string]any{}
		for i := at + 1; i < int(n.next); i = int(d.nodes[i].next) {
			v, dup := plain(d, i)
			name := nodeKey(d.text, &d.nodes[i])
			_, again := m[name]
			if again != (d.nodes[i].flags&flagDuplicate != 0) {
				panic("duplicate " + name + " is not marked")
			}
			m[name], duplicates = v, duplicates || dup || again
		}
		return m, duplicates
	}
	panic("unknown kind")
}

// readEverything uses every reader on the object; none may panic, and problems stay few and short.
func readEverything(t *testing.T, o Object) {
	t.Helper()
	o.String("a", Required, NotEmpty, MaxChars(3))
	o.Int("a", Min(1), Max(30))
	o.Bool("b")
	o.Strings("c", Unique, MinItems(1), OneOf("x"))
	for _, v := range o.Objects("a", MaxItems(2)) {
		v.String("a")
		v.Int("a")
	}
	o.Object("b").Objects("c")
	err := o.Done()
	if err == nil {
		return
	}
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		t.Fatal(err)
	}
	list := f.Details["errors"].([]fault.Problem)
	if len(list) == 0 || len(list) > maxProblems {
		t.Fatalf("%d problems", len(list))
	}
	for _, p := range list {
		if p.Field == "" || p.Code == "" || p.Message == "" || utf8.RuneCountInString(p.Field) > maxFieldChars {
			t.Fatalf("problem %+v", p)
		}
	}
}

// FuzzInteger compares the integers of a body with a reference of arbitrary precision.
func FuzzInteger(f *testing.F) {
	for _, s := range []string{
		"0", "-0", "30", "30.0", "3e1", "300e-1", "1.5", "1e400", "-1e400", "1e-400", "0e999999999999",
		"9223372036854775807", "9223372036854775808", "-9223372036854775808", "0.00001e5", "92233720368547758070e-1",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if !json.Valid([]byte(raw)) || raw == "" || !strings.ContainsRune("-0123456789", rune(raw[0])) || len(raw) > 60 {
			return
		}
		n, fits, ok := integer(raw)
		want, exact := reference(raw)
		if exact == nil {
			return // an exponent too large for the reference
		}
		if ok != *exact || (ok && fits != want.IsInt64()) || (ok && fits && n != want.Int64()) {
			t.Fatalf("integer(%q) = %d, %v, %v; want %v, %v", raw, n, fits, ok, want, *exact)
		}
	})
}
