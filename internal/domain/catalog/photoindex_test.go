package catalog

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/domain/text"
)

const indexes = goods + `  - {code: boy, brand: chanel, category: bags, name: {en: Boy}}
photo_indexes:
  - {code: clasp, category: bags, brand: chanel, model: flap, name: {en: Turn lock}, required: true}
  - {code: overall, category: bags, name: {en: Overall, ja: 全体}, required: true, photo_limit: 2,
     icon_url: https://a.example/i, example_urls: [https://a.example/1]}
  - {code: serial, category: bags, brand: chanel, name: {en: Serial}, photo_limit: 3}
  - {code: overall, category: bags, brand: chanel, model: flap, name: {ja: フラップ全体},
     photo_limit: 5, example_urls: []}
  - {code: overall, brand: chanel, photo_limit: 3, required: false}
  - {code: overall, category: bags, brand: chanel, photo_limit: 4}
  - {code: overall, category: shoes, name: {en: Pair}}
  - {code: clasp, category: bags, name: {en: Clasp, ja: 留め具}}
  - {code: serial, category: bags, brand: chanel, model: boy, excluded: true}
  - {code: clasp, category: bags, brand: dior, excluded: true}
  - {code: receipt, name: {en: Receipt}}
  - {code: receipt, category: shoes, excluded: true}
  - {code: receipt, category: shoes, brand: chanel, excluded: false}
`

func TestPhotoIndexes(t *testing.T) {
	s := NewSnapshot(parse(t, indexes), 1, nil, nil)
	tests := []struct {
		name    string
		context Context
		want    string // code:limit, with ! for required
	}{
		{"CategoryOnly", Context{"bags", "", ""}, "clasp:1 overall:2! receipt:1"},
		{"Brand", Context{"bags", "chanel", ""}, "clasp:1 overall:4 serial:3 receipt:1"},
		{"Model", Context{"bags", "chanel", "flap"}, "clasp:1! overall:5 serial:3 receipt:1"},
		{"ModelThatExcludes", Context{"bags", "chanel", "boy"}, "clasp:1 overall:4 receipt:1"},
		{"BrandThatExcludes", Context{"bags", "dior", ""}, "overall:2! receipt:1"},
		{"BrandRuleInAnotherCategory", Context{"shoes", "chanel", ""}, "overall:3 receipt:1"},
		{"CategoryThatExcludes", Context{"shoes", "", ""}, "overall:1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, index := range s.PhotoIndexes(test.context) {
				got = append(got, fmt.Sprintf("%s:%d%s", index.Code, index.PhotoLimit, mark("!", index.Required)))
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("got %v, want %s", got, test.want)
			}
		})
	}

	t.Run("OverridesOnlyWhatItStates", func(t *testing.T) {
		got := s.PhotoIndexes(Context{"bags", "chanel", "flap"})[1]
		want := &PhotoIndex{
			Code: "overall", Name: text.Text{EN: "Overall", JA: "フラップ全体"}, PhotoLimit: 5,
			IconURL: new("https://a.example/i"), ExampleURLs: []string{},
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
	t.Run("NamesByLanguage", func(t *testing.T) {
		if got := s.PhotoIndexes(Context{"bags", "chanel", "flap"})[0].Name; got != (text.Text{
			EN: "Turn lock", JA: "留め具",
		}) {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("NothingStated", func(t *testing.T) {
		got := s.PhotoIndexes(Context{"shoes", "", ""})[0]
		want := &PhotoIndex{Code: "overall", Name: text.Text{EN: "Pair"}, PhotoLimit: 1, ExampleURLs: []string{}}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
}

// TestPhotoIndexesExample checks the example of the format's documentation.
// TestPhotoIndexes_ModelAlone checks that a rule for a model need not name the model's brand.
func TestPhotoIndexes_ModelAlone(t *testing.T) {
	alone := strings.ReplaceAll(indexes, "brand: chanel, model:", "model:")
	if alone == indexes || !parse(t, alone).Equal(parse(t, indexes)) {
		t.Error("a rule for a model without its brand is another one")
	}
	_, err := Parse([]byte(indexes + "  - {code: clasp, category: bags, model: flap, required: false}\n"))
	if err == nil || !strings.Contains(err.Error(), "is there twice") {
		t.Errorf("the same rule with and without the brand: %v", err)
	}
}

func TestPhotoIndexesExample(t *testing.T) {
	s := NewSnapshot(parse(t, example(t)), 1, nil, nil)
	got := s.PhotoIndexes(Context{"bags", "chanel", "chanel-classic-flap"})[1]
	want := &PhotoIndex{
		Code: "serial-number", Name: text.Text{EN: "Serial number", JA: "シリアル番号"}, Required: true, PhotoLimit: 3,
		ExampleURLs: []string{"https://cdn.example/examples/serial.jpg"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := s.PhotoIndexes(Context{"shoes", "chanel", ""}); len(got) != 0 || got == nil {
		t.Errorf("shoes have %v", got)
	}
}
