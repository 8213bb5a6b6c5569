package demo_test

import (
	"bytes"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/demo"
	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/domain/text"
)

// maxRequired keeps a first order by hand short.
const maxRequired = 4

func parse(t *testing.T) *catalog.Document {
	t.Helper()
	doc, err := catalog.Parse(demo.Catalog)
	if err != nil {
		t.Fatalf("the demonstration catalog is refused:\n%v", err)
	}
	return doc
}

// contexts yields every context that an integrator can ask for: each category alone, with each of its brands, and with
// each of their models.
func contexts(doc *catalog.Document) iter.Seq[catalog.Context] {
	return func(yield func(catalog.Context) bool) {
		for _, c := range doc.Categories {
			if !yield(catalog.Context{Category: c.Code}) {
				return
			}
		}
		for _, b := range doc.Brands {
			for _, c := range b.Categories {
				if !yield(catalog.Context{Category: c, Brand: b.Code}) {
					return
				}
			}
		}
		for _, m := range doc.Models {
			if !yield(catalog.Context{Category: m.Category, Brand: m.Brand, Model: m.Code}) {
				return
			}
		}
	}
}

func required(indexes []*catalog.PhotoIndex) []string {
	var codes []string
	for _, x := range indexes {
		if x.Required {
			codes = append(codes, x.Code)
		}
	}
	return codes
}

func TestCatalogBreadth(t *testing.T) {
	doc := parse(t)
	reasons := make(map[string]int)
	for _, r := range doc.Reasons {
		reasons[r.Outcome]++
	}
	tests := []struct {
		name      string
		got, want int
	}{
		{"Categories", len(doc.Categories), 8},
		{"Brands", len(doc.Brands), 48},
		{"Models", len(doc.Models), 180},
		{"AnswerTimes", len(doc.AnswerTimes), 6},
		{"ReasonsForFake", reasons["fake"], 12},
		{"ReasonsForAuthentic", reasons["authentic"], 8},
		{"ReasonsForUnableToVerify", reasons["unable-to-verify"], 5},
		{"Conditions", len(doc.Conditions), 6},
		{"Requirements", len(doc.Requirements), 10},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.got < test.want {
				t.Errorf("there are %d, want at least %d", test.got, test.want)
			}
		})
	}
}

// A picker that was led to a brand and a category must find a model there.
func TestEveryBrandHasModelsInItsCategories(t *testing.T) {
	doc := parse(t)
	snapshot := catalog.NewSnapshot(doc, 1, nil, nil)
	for _, b := range doc.Brands {
		for _, c := range b.Categories {
			models, err := snapshot.Models(catalog.Context{Category: c, Brand: b.Code}, "")
			if err != nil || len(models) == 0 {
				t.Errorf("brand %s has %d models in %s, error %v", b.Code, len(models), c, err)
			}
		}
	}
	for _, m := range doc.Models {
		if !strings.HasPrefix(m.Code, m.Brand+"-") {
			t.Errorf("model %s does not start with its brand %s", m.Code, m.Brand)
		}
	}
}

func TestEveryTextIsInBothLanguages(t *testing.T) {
	doc := parse(t)
	check := func(t *testing.T, what string, name text.Text) {
		t.Helper()
		if name.EN == "" || name.JA == "" {
			t.Errorf("%s is not in both languages: en %q, ja %q", what, name.EN, name.JA)
		}
	}
	for _, c := range doc.Categories {
		check(t, "category "+c.Code, c.Name)
	}
	for _, b := range doc.Brands {
		check(t, "brand "+b.Code, b.Name)
	}
	for _, m := range doc.Models {
		check(t, "model "+m.Code, m.Name)
	}
	for _, x := range doc.PhotoIndexes {
		if x.Name != (text.Text{}) {
			check(t, "photo index "+x.Code+" of "+x.Context.String(), x.Name)
		}
	}
	for _, a := range doc.AnswerTimes {
		check(t, "answer time "+a.Name.EN, a.Name)
	}
	for _, r := range doc.Reasons {
		check(t, "reason "+r.Code, r.Text)
	}
	for _, p := range slices.Concat(doc.Conditions, doc.Requirements) {
		check(t, "phrase "+p.Code, p.Text)
	}
}

func TestPhotoIndexes(t *testing.T) {
	doc := parse(t)
	snapshot := catalog.NewSnapshot(doc, 1, nil, nil)

	t.Run("EnoughInEveryContext", func(t *testing.T) {
		for c := range contexts(doc) {
			if n := len(snapshot.PhotoIndexes(c)); n < 6 {
				t.Errorf("%s has %d photo indexes, want at least 6", c, n)
			}
			if c.Brand == "" {
				if n := len(snapshot.PhotoIndexes(c)); n < 8 || n > 14 {
					t.Errorf("%s has %d photo indexes, want 8 to 14", c, n)
				}
			}
		}
	})
	t.Run("OrdersStayShort", func(t *testing.T) {
		for c := range contexts(doc) {
			codes := required(snapshot.PhotoIndexes(c))
			if !slices.Contains(codes, "overall-picture") || len(codes) > maxRequired {
				t.Errorf("%s requires %v, want overall-picture and at most %d in all", c, codes, maxRequired)
			}
		}
	})
	t.Run("OrdinaryBagNeedsOnePhoto", func(t *testing.T) {
		special := []string{"chanel", "louis-vuitton", "hermes", "gucci"}
		for c := range contexts(doc) {
			if c.Category != "bags" {
				continue
			}
			codes := required(snapshot.PhotoIndexes(c))
			if slices.Contains(special, c.Brand) {
				if !slices.Contains(codes, "serial-number") {
					t.Errorf("%s requires %v, want serial-number too", c, codes)
				}
				continue
			}
			if !slices.Equal(codes, []string{"overall-picture"}) {
				t.Errorf("%s requires %v, want overall-picture alone", c, codes)
			}
		}
	})
}

func TestAnswerTimes(t *testing.T) {
	doc := parse(t)
	snapshot := catalog.NewSnapshot(doc, 1, nil, nil)

	// offered returns the answer times of a brand in a category by code.
	offered := func(c catalog.Context) map[int]*catalog.AnswerTime {
		times := make(map[int]*catalog.AnswerTime)
		for _, a := range snapshot.AnswerTimes(c, "") {
			times[a.Code] = a
		}
		return times
	}

	t.Run("SomeAreOpenAtEveryHour", func(t *testing.T) {
		for c := range contexts(doc) {
			if c.Brand == "" || c.Model != "" {
				continue
			}
			times := offered(c)
			for _, code := range []int{60, 720, 1440} {
				if a := times[code]; a == nil || a.Open != nil || a.MaxOpenOrders != 0 {
					t.Errorf("answer time %d is not always available for %s", code, c)
				}
			}
			if a := times[1440]; a != nil && !a.Default {
				t.Errorf("answer time 1440 is not the default for %s", c)
			}
		}
	})
	t.Run("ExpressHasHoursAndCapacity", func(t *testing.T) {
		a := offered(catalog.Context{Category: "bags", Brand: "prada"})[30]
		if a == nil || a.Open == nil || a.Open.Timezone != "Asia/Tokyo" || a.MaxOpenOrders == 0 {
			t.Errorf("answer time 30 is %+v, want hours in Asia/Tokyo and a capacity", a)
		}
	})
	t.Run("WatchesCostMore", func(t *testing.T) {
		bag := offered(catalog.Context{Category: "bags", Brand: "prada"})
		for code, a := range offered(catalog.Context{Category: "watches", Brand: "rolex"}) {
			if a.Price <= bag[code].Price {
				t.Errorf("answer time %d costs %d for a watch and %d for a bag", code, a.Price, bag[code].Price)
			}
		}
	})
	t.Run("NoExpressForJewelry", func(t *testing.T) {
		for c := range contexts(doc) {
			if c.Category == "jewelry" && c.Brand != "" && c.Model == "" && offered(c)[30] != nil {
				t.Errorf("answer time 30 is offered for %s", c)
			}
		}
	})
}

// A fresh server has no accounts, and a page of it must not load anything from elsewhere.
func TestCatalogStandsAlone(t *testing.T) {
	if names := parse(t).AccountPrices; len(names) > 0 {
		t.Errorf("the document names accounts: %v", names)
	}
	for _, address := range []string{"http:", "https:", "_url"} {
		if bytes.Contains(demo.Catalog, []byte(address)) {
			t.Errorf("the document contains %q", address)
		}
	}
}
