package catalog

import (
	"errors"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/domain/fault"
)

const shop = `
categories: [{code: bags, name: {en: Bags}}, {code: shoes, name: {en: Shoes}}, {code: hats, name: {en: Hats}}]
brands:
  - {code: chanel, name: {en: Chanel, ja: シャネル}, categories: [shoes, bags]}
  - {code: hermes, name: {en: Hermès, ja: エルメス}, categories: [bags]}
  - {code: odysseus, name: {en: ΟΔΥΣΣΕΥΣ}, categories: []}
models:
  - {code: flap, brand: chanel, category: bags, name: {en: Classic Flap, ja: クラシック}}
  - {code: boy, brand: chanel, category: bags, name: {en: Boy}}
  - {code: pump, brand: chanel, category: shoes, name: {en: Pump}}
  - {code: kelly, brand: hermes, category: bags, name: {en: Kelly}}
reasons:
  - {code: r1, outcome: fake, text: {en: R1}}
  - {code: r2, outcome: authentic, text: {en: R2}}
  - {code: r3, outcome: fake, text: {en: R3}}
conditions: [{code: c2, text: {en: C2}}, {code: c1, text: {en: C1}}]
requirements: [{code: q2, text: {en: Q2}}, {code: q1, text: {en: Q1}}]
`

func TestSnapshotLists(t *testing.T) {
	s := NewSnapshot(parse(t, shop), 7, nil, nil)
	if s.Version() != 7 {
		t.Errorf("version %d", s.Version())
	}
	categories := func(brand string) func() ([]string, error) {
		return func() ([]string, error) {
			list, err := s.Categories(brand)
			return codesOf(list, func(c *Category) string { return c.Code }), err
		}
	}
	brands := func(category, search string) func() ([]string, error) {
		return func() ([]string, error) {
			list, err := s.Brands(category, search)
			return codesOf(list, func(b *Brand) string { return b.Code }), err
		}
	}
	models := func(brand, category, search string) func() ([]string, error) {
		return func() ([]string, error) {
			list, err := s.Models(Context{Category: category, Brand: brand}, search)
			return codesOf(list, func(m *Model) string { return m.Code }), err
		}
	}
	tests := []struct {
		name string
		list func() ([]string, error)
		want string
	}{
		{"Categories", categories(""), "bags shoes hats"},
		{"CategoriesOfBrand", categories("chanel"), "shoes bags"},
		{"CategoriesOfBrandWithout", categories("odysseus"), ""},
		{"CategoriesOfUnknownBrand", categories("dior"), "not-found"},
		{"Brands", brands("", ""), "chanel hermes odysseus"},
		{"BrandsOfCategory", brands("shoes", ""), "chanel"},
		{"BrandsOfEmptyCategory", brands("hats", ""), ""},
		{"BrandsOfUnknownCategory", brands("coats", ""), "not-found"},
		{"BrandsBySearch", brands("", "ha"), "chanel"},
		{"BrandsBySearchInAnyCase", brands("", "HERMÈS"), "hermes"},
		{"BrandsBySearchJapanese", brands("", "ルメ"), "hermes"},
		{"BrandsBySearchFinalSigma", brands("", "οδυσσευς"), "odysseus"},
		{"BrandsBySearchNone", brands("", "zz"), ""},
		{"BrandsBySearchIsNoPattern", brands("", ".*"), ""},
		{"BrandsBySearchInCategory", brands("shoes", "e"), "chanel"},
		{"Models", models("chanel", "bags", ""), "flap boy"},
		{"ModelsBySearch", models("chanel", "bags", "FLAP"), "flap"},
		{"ModelsBySearchJapanese", models("chanel", "bags", "シック"), "flap"},
		{"ModelsOfUnknownBrand", models("dior", "bags", ""), "not-found"},
		{"ModelsOfUnknownCategory", models("chanel", "coats", ""), "not-found"},
		{"ModelsOfOtherCategory", models("hermes", "shoes", ""), "bad-request"},
		{"ModelsOfEmptyPlace", models("hermes", "bags", "boy"), ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			list, err := test.list()
			got := strings.Join(list, " ")
			if err != nil {
				got = fault.CodeOf(err)
			}
			if got != test.want {
				t.Errorf("got %q (%v), want %q", got, err, test.want)
			}
		})
	}
	t.Run("BrandHasItsCategories", func(t *testing.T) {
		list, err := s.Brands("", "chanel")
		if err != nil || len(list) != 1 ||
			strings.Join(codesOf(list[0].Categories, func(c *Category) string { return c.Name.EN }), " ") != "Shoes Bags" {
			t.Errorf("got %+v, %v", list, err)
		}
	})
}

func codesOf[T any](list []T, code func(T) string) []string {
	var codes []string
	for _, e := range list {
		codes = append(codes, code(e))
	}
	return codes
}

func TestCheck(t *testing.T) {
	s := NewSnapshot(parse(t, shop), 1, nil, nil)
	tests := []struct {
		name                   string
		category, brand, model string
		want                   string // code of the fault and its entity
	}{
		{"Category", "bags", "", "", ""},
		{"Brand", "bags", "chanel", "", ""},
		{"Model", "bags", "chanel", "flap", ""},
		{"UnknownCategory", "coats", "", "", "not-found category coats"},
		{"UnknownBrand", "bags", "dior", "", "not-found brand dior"},
		{"UnknownModel", "bags", "chanel", "birkin", "not-found model birkin"},
		{"CategoryIsCheckedFirst", "coats", "dior", "birkin", "not-found category coats"},
		{"BrandIsCheckedBeforeModel", "bags", "dior", "birkin", "not-found brand dior"},
		{"UnknownBeforeMismatch", "hats", "chanel", "birkin", "not-found model birkin"},
		{"NoCategory", "", "chanel", "", "not-found category "},
		{"CodesAreExact", "Bags", "", "", "not-found category Bags"},
		{"BrandDoesNotServe", "hats", "chanel", "", "bad-request"},
		{"ModelOfAnotherCategory", "shoes", "chanel", "flap", "bad-request"},
		{"ModelOfAnotherBrand", "bags", "hermes", "flap", "bad-request"},
		{"ModelWithoutBrand", "bags", "", "flap", "bad-request"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := s.Check(Context{test.category, test.brand, test.model})
			got := ""
			if err != nil {
				refusal, ok := errors.AsType[*fault.Error](err)
				if !ok {
					t.Fatalf("%T is not a fault", err)
				}
				got = refusal.Code
				if refusal.Code == fault.CodeNotFound {
					got += " " + refusal.Details["entity"].(string) + " " + refusal.Details["code"].(string)
				}
				wantKind := fault.Invalid
				if refusal.Code == fault.CodeNotFound {
					wantKind = fault.NotFound
				}
				if refusal.Kind != wantKind {
					t.Errorf("the kind of %v is %d", err, refusal.Kind)
				}
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestSnapshotPhrases(t *testing.T) {
	s := NewSnapshot(parse(t, shop), 1, nil, nil)
	reasonCode := func(r *Reason) string { return r.Code }
	phraseCode := func(p Phrase) string { return p.Code }
	for _, test := range []struct {
		name string
		got  []string
		want string
	}{
		{"Reasons", codesOf(s.Reasons(""), reasonCode), "r1 r2 r3"},
		{"ReasonsOfOutcome", codesOf(s.Reasons("fake"), reasonCode), "r1 r3"},
		{"Conditions", codesOf(s.Conditions(), phraseCode), "c2 c1"},
		{"Requirements", codesOf(s.Requirements(), phraseCode), "q2 q1"},
	} {
		if got := strings.Join(test.got, " "); got != test.want {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
	}
	if r := s.Reason("r2"); r == nil || r.Text.EN != "R2" {
		t.Errorf("reason r2: %v", r)
	}
	if p := s.Condition("c1"); p == nil || p.Text.EN != "C1" {
		t.Errorf("condition c1: %v", p)
	}
	if p := s.Requirement("q1"); p == nil || p.Text.EN != "Q1" {
		t.Errorf("requirement q1: %v", p)
	}
	if s.Reason("c1") != nil {
		t.Error("c1 is a reason")
	}
	if s.Condition("q1") != nil {
		t.Error("q1 is a condition")
	}
	if s.Requirement("c1") != nil {
		t.Error("c1 is a requirement")
	}
}

func TestSnapshotByCode(t *testing.T) {
	s := NewSnapshot(parse(t, shop), 1, nil, nil)
	if c := s.Category("hats"); c == nil || c.Name.EN != "Hats" {
		t.Errorf("category hats: %v", c)
	}
	if b := s.Brand("chanel"); b == nil || b.Name.JA != "シャネル" {
		t.Errorf("brand chanel: %v", b)
	}
	if m := s.Model("flap"); m == nil || m.Brand != "chanel" {
		t.Errorf("model flap: %v", m)
	}
	if s.Category("x") != nil || s.Brand("x") != nil || s.Model("x") != nil {
		t.Error("unknown codes have entities")
	}
}
