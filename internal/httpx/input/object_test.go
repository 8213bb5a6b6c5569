package input

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/domain/fault"
)

func parseObject(t *testing.T, body string) Object {
	t.Helper()
	o, err := ParseObject([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// problemsOf lists the problems of a validation fault as "field code".
func problemsOf(t *testing.T, err error) []string {
	t.Helper()
	if err != nil && fault.CodeOf(err) != fault.CodeValidation {
		t.Fatalf("got %v, want a validation fault", err)
	}
	var out []string
	for _, p := range fault.ProblemsOf(err) {
		out = append(out, p.Field+" "+p.Code)
	}
	return out
}

// wantProblems checks the problems of a validation fault; an empty one stands for none.
func wantProblems(t *testing.T, err error, want ...string) {
	t.Helper()
	want = slices.DeleteFunc(want, func(s string) bool { return s == "" })
	if got := problemsOf(t, err); !slices.Equal(got, want) {
		t.Errorf("problems %q, want %q", got, want)
	}
}

// readTest is a value that is read from a body or a query, and the only problem of it.
type readTest[T any] struct {
	in      string
	rules   []Rule
	want    T
	problem string
}

func eachRead[T comparable](
	t *testing.T, tests map[string]readTest[T], read func(t *testing.T, in string, rules []Rule) (T, error),
) {
	t.Helper()
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := read(t, tt.in, tt.rules)
			if got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			wantProblems(t, err, tt.problem)
		})
	}
}

func TestObjectString(t *testing.T) {
	tests := map[string]readTest[string]{
		"Plain":             {`{"a":"x"}`, nil, "x", ""},
		"Escaped":           {`{"a":"\u00e9\n\ud83d\ude00"}`, nil, "é\n😀", ""},
		"EscapedName":       {`{"\u0061":"x"}`, nil, "x", ""},
		"Absent":            {`{}`, nil, "", ""},
		"Null":              {`{"a":null}`, []Rule{NotEmpty}, "", ""},
		"AbsentRequired":    {`{}`, []Rule{Required}, "", "a required"},
		"NullRequired":      {`{"a":null}`, []Rule{Required}, "", "a required"},
		"EmptyAllowed":      {`{"a":""}`, []Rule{Required}, "", ""},
		"Empty":             {`{"a":""}`, []Rule{NotEmpty}, "", "a empty"},
		"Number":            {`{"a":1}`, nil, "", "a type"},
		"Array":             {`{"a":["x"]}`, nil, "", "a type"},
		"AtTheLimit":        {`{"a":"日本語"}`, []Rule{MaxChars(3)}, "日本語", ""},
		"OverTheLimit":      {`{"a":"日本語x"}`, []Rule{MaxChars(3)}, "", "a max_length"},
		"EscapesCountOnce":  {`{"a":"\ud83d\ude00\u0041"}`, []Rule{MaxChars(2)}, "😀A", ""},
		"OneOf":             {`{"a":"y"}`, []Rule{OneOf("x", "y")}, "y", ""},
		"NotOneOf":          {`{"a":"Y"}`, []Rule{OneOf("x", "y")}, "", "a enum"},
		"Format":            {`{"a":"http://"}`, []Rule{Format("must start with https://", isHTTPS)}, "", "a format"},
		"NUL":               {`{"a":"x\u0000"}`, []Rule{OneOf("x")}, "", "a invalid_character"},
		"UnpairedSurrogate": {`{"a":"\ud800x"}`, nil, "", "a invalid_character"},
		"SurrogatesSwapped": {`{"a":"\ude00\ud83d"}`, nil, "", "a invalid_character"},
		"Duplicate":         {`{"a":"x","a":"y"}`, nil, "x", "a duplicate"},
		"DuplicateEscaped":  {`{"a":"x","\u0061":"x"}`, nil, "x", "a duplicate"},
	}
	eachRead(t, tests, func(t *testing.T, body string, rules []Rule) (string, error) {
		t.Helper()
		o := parseObject(t, body)
		return o.String("a", rules...), o.Done()
	})
}

func isHTTPS(s string) bool { return strings.HasPrefix(s, "https://") }

func TestObjectInt(t *testing.T) {
	tests := map[string]readTest[int64]{
		"Integer":       {`{"a":30}`, []Rule{Min(1), Max(30)}, 30, ""},
		"Integral":      {`{"a":3.0e1}`, []Rule{Min(1)}, 30, ""},
		"Absent":        {`{}`, []Rule{Min(1)}, 0, ""},
		"Required":      {`{}`, []Rule{Required}, 0, "a required"},
		"Fraction":      {`{"a":30.5}`, []Rule{Min(1)}, 0, "a type"},
		"String":        {`{"a":"30"}`, nil, 0, "a type"},
		"Bool":          {`{"a":true}`, nil, 0, "a type"},
		"TooSmall":      {`{"a":0}`, []Rule{Min(1)}, 0, "a min"},
		"TooLarge":      {`{"a":31}`, []Rule{Max(30)}, 0, "a max"},
		"Over64Bits":    {`{"a":1e30}`, nil, 0, "a max"},
		"Below64Bits":   {`{"a":-9223372036854775809}`, nil, 0, "a min"},
		"Over64BitsMax": {`{"a":9223372036854775808}`, []Rule{Min(1), Max(5)}, 0, "a max"},
		"BelowMin64":    {`{"a":-1e30}`, []Rule{Min(1)}, 0, "a min"},
	}
	eachRead(t, tests, func(t *testing.T, body string, rules []Rule) (int64, error) {
		t.Helper()
		o := parseObject(t, body)
		return o.Int("a", rules...), o.Done()
	})
}

func TestObjectOptional(t *testing.T) {
	o := parseObject(t, `{"empty":"","null":null,"wrong":true}`)
	if s := o.OptString("empty"); s == nil || *s != "" {
		t.Error("an empty string is lost")
	}
	if o.OptString("null") != nil || o.OptString("absent") != nil || o.OptString("wrong") != nil {
		t.Error("an absent string is not nil")
	}
	wantProblems(t, o.Done(), "wrong type")
}

func TestObjectBool(t *testing.T) {
	o := parseObject(t, `{"t":true,"f":false,"n":null,"w":1}`)
	if !o.Bool("t") || o.Bool("f") || o.Bool("n") || o.Bool("w") || o.Bool("r", Required) {
		t.Error("a wrong value")
	}
	wantProblems(t, o.Done(), "w type", "r required")
}

func TestObjectArrays(t *testing.T) {
	t.Run("Bounds", func(t *testing.T) {
		o := parseObject(t, `{"none":[],"many":["1","2","3"],"wrong":{},"null":null}`)
		if got := o.Objects("none", MinItems(1)); got != nil {
			t.Errorf("got %v", got)
		}
		if got := o.Strings("many", MaxItems(2)); !slices.Equal(got, []string{"1", "2", "3"}) {
			t.Errorf("got %q", got)
		}
		o.Objects("wrong")
		o.Objects("null", Required, MinItems(1))
		o.Strings("absent", MinItems(1))
		wantProblems(t, o.Done(), "none min_items", "many max_items", "wrong type", "null required")
	})
	t.Run("Objects", func(t *testing.T) {
		o := parseObject(t, `{"photos":[{"url":"x"},7,{"url":8},null,{"url":"y","more":{"a":1,"a":2}}]}`)
		var urls []string
		for _, p := range o.Objects("photos") {
			urls = append(urls, p.String("url", Required))
		}
		if !slices.Equal(urls, []string{"x", "", "", "", "y"}) {
			t.Errorf("urls %q", urls)
		}
		wantProblems(t, o.Done(), "photos[1] type", "photos[3] type", "photos[2].url type", "photos[4].more unknown")
	})
	t.Run("Strings", func(t *testing.T) {
		o := parseObject(t, `{"events":["a","b","a",1,"c","b",null,"a\u0000"]}`)
		got := o.Strings("events", Required, MaxItems(2), Unique, OneOf("a", "b"))
		if !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("got %q", got)
		}
		wantProblems(t, o.Done(), "events max_items", "events[2] duplicate", "events[3] type", "events[4] enum",
			"events[5] duplicate", "events[6] type", "events[7] invalid_character")
	})
	t.Run("StringsWithoutUnique", func(t *testing.T) {
		o := parseObject(t, `{"codes":["a","a"]}`)
		if got := o.Strings("codes", NotEmpty); !slices.Equal(got, []string{"a", "a"}) {
			t.Errorf("got %q", got)
		}
		wantProblems(t, o.Done())
	})
	t.Run("Nested", func(t *testing.T) {
		o := parseObject(t, `{"a":[{"b":[{"c":[true]}]},{"b":[]}]}`)
		for _, row := range o.Objects("a") {
			for _, cell := range row.Objects("b", MinItems(1)) {
				cell.Strings("c")
			}
		}
		wantProblems(t, o.Done(), "a[0].b[0].c[0] type", "a[1].b min_items")
	})
}

func TestObjectRaw(t *testing.T) {
	kinds := map[string]Kind{
		`null`: KindNull, `true`: KindBool, `1`: KindNumber, `"x"`: KindString, `[]`: KindArray, `{"unread":1}`: KindObject,
		`"\u0078"`: KindString,
	}
	for raw, kind := range kinds {
		t.Run(raw, func(t *testing.T) {
			o := parseObject(t, `{"a":`+raw+`}`)
			v := o.Raw("a")
			if v.Kind() != kind || v.Exists() != (kind != KindNull) {
				t.Errorf("kind %v", v.Kind())
			}
			if s, ok := v.Text(); ok != (kind == KindString) || (ok && s != "x") {
				t.Errorf("text %q, %v", s, ok)
			}
			wantProblems(t, o.Done())
		})
	}
	t.Run("Absent", func(t *testing.T) {
		o := parseObject(t, `{}`)
		if v := o.Raw("a"); v.Kind() != KindMissing || v.Exists() {
			t.Error("an absent property is there")
		}
	})
	t.Run("DefectsInside", func(t *testing.T) {
		o := parseObject(t, `{"a":{"b":1,"b":2,"c":["\u0000"]}}`)
		o.Raw("a")
		wantProblems(t, o.Done(), "a.b duplicate", "a.c[0] invalid_character")
	})
	t.Run("NUL", func(t *testing.T) {
		o := parseObject(t, `{"a":"\u0000"}`)
		if _, ok := o.Raw("a").Text(); ok {
			t.Error("text that cannot be stored is returned")
		}
		wantProblems(t, o.Done(), "a invalid_character")
	})
}

func TestObjectMissing(t *testing.T) {
	var o Object
	if o.Exists() || o.String("a", Required) != "" || o.Int("a", Required) != 0 || o.Bool("a", Required) ||
		o.Strings("a", Required) != nil || o.Objects("a", Required) != nil || o.Object("a").Exists() {
		t.Error("a missing object is not empty")
	}
	o.Problem("a", "b", "c")
	if err := o.Done(); err != nil {
		t.Error(err)
	}
	Value{}.Problem("a", "b")
	if text, ok := (Value{}).Text(); ok || text != "" || (Value{}).Bool() {
		t.Error("a missing value is not empty")
	}
}

func TestObjectUnknown(t *testing.T) {
	t.Run("DocumentOrder", func(t *testing.T) {
		o := parseObject(t, `{"z":1,"a":{"x":1,"b":[{"y":2}]},"":0,"m":{"deep":{"deeper":1}}}`)
		a := o.Object("a")
		for _, b := range a.Objects("b") {
			b.String("c", Required)
		}
		wantProblems(t, o.Done(), "a.b[0].c required", "z unknown", "a.x unknown", "a.b[0].y unknown", `"" unknown`,
			"m unknown")
		wantProblems(t, o.Done(), "a.b[0].c required", "z unknown", "a.x unknown", "a.b[0].y unknown", `"" unknown`,
			"m unknown")
	})
	t.Run("ManyProperties", func(t *testing.T) {
		var b strings.Builder
		for i := range 1000 {
			fmt.Fprintf(&b, `,"p%d":1,"p%d":2`, i, i)
		}
		o := parseObject(t, "{"+b.String()[1:]+"}")
		if got := problemsOf(t, o.Done()); len(got) != maxProblems || got[0] != "p0 unknown" || got[1] != "p0 duplicate" {
			t.Errorf("%d problems: %q", len(got), got)
		}
	})
	t.Run("LongName", func(t *testing.T) {
		o := parseObject(t, `{"`+strings.Repeat("世", 1000)+`":1}`)
		if got := problemsOf(t, o.Done()); len(got) != 1 || got[0] != strings.Repeat("世", 199)+"… unknown" {
			t.Errorf("problems %q", got)
		}
	})
}

func TestObjectProblem(t *testing.T) {
	o := parseObject(t, `{"photos":[{"url":"x"},{"url":"y"}]}`)
	for i, p := range o.Objects("photos") {
		p.String("url")
		if i == 1 {
			p.Problem("url", "scheme", "must be https")
			p.Problem("", "form", "must be complete")
		}
	}
	o.Problem("note", "policy", "must be polite")
	o.Problem("", "policy", "must be short")
	wantProblems(t, o.Done(), "photos[1].url scheme", "photos[1] form", "note policy", "body policy")
}

func TestObjectMessages(t *testing.T) {
	o := parseObject(t, `{"name":"`+strings.Repeat("x", 130)+`","n":"1","list":["1"],"u":1}`)
	o.String("name", MaxChars(100))
	o.Int("n")
	o.Strings("list", MinItems(2))
	o.String("code", Required)
	f, ok := errors.AsType[*fault.Error](o.Done())
	if !ok {
		t.Fatal("no fault")
	}
	want := []fault.Problem{
		{Field: "name", Code: "max_length", Message: "must be at most 100 characters, has 130"},
		{Field: "n", Code: "type", Message: "must be an integer, is a string"},
		{Field: "list", Code: "min_items", Message: "must have at least 2 items, has 1"},
		{Field: "code", Code: "required", Message: "is required"},
		{Field: "u", Code: "unknown", Message: "is not a known property"},
	}
	if got := f.Details["errors"]; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
}

func TestRuleThatDoesNotFit(t *testing.T) {
	o := parseObject(t, `{}`)
	for name, read := range map[string]func(){
		"StringMin":     func() { o.String("a", Min(1)) },
		"IntNotEmpty":   func() { o.Int("a", NotEmpty) },
		"BoolMax":       func() { o.Bool("a", Max(1)) },
		"ArrayMaxChars": func() { o.Objects("a", MaxChars(1)) },
		"StringsMin":    func() { o.Strings("a", Min(1)) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("the mistake is not noticed")
				}
			}()
			read()
		})
	}
}

// TestObject_Alternatives checks what is said of values that a member may have: one is no choice.
func TestObject_Alternatives(t *testing.T) {
	for want, values := range map[string][]string{"a must be x": {"x"}, "a must be one of x, y": {"x", "y"}} {
		o := parseObject(t, `{"a":"z"}`)
		o.String("a", OneOf(values...))
		if err := o.Done(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", values, err, want)
		}
	}
}
