package catalog

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func TestCompare(t *testing.T) {
	tests := []struct {
		name string
		edit []string
		want []string
	}{
		{"Nothing", nil, nil},
		{"Layout", []string{"categories: [bags, shoes]", "categories:\n    - bags\n    - shoes"}, nil},
		{"Name", []string{"ja: シャネル", "ja: CHANEL"}, []string{"changed brand chanel: name.ja: シャネル → CHANEL"}},
		{
			"NameAdded",
			[]string{"{en: Classic Flap}", "{en: Classic Flap, ja: フラップ}"},
			[]string{"changed model chanel-classic-flap: name.ja: (none) → フラップ"},
		},
		{
			"PropertyRemoved",
			[]string{"    max_open_orders: 50 ", "    "},
			[]string{"changed answer-time 30: max_open_orders: 50 → (none)"},
		},
		{"SeveralProperties", []string{"price: 4\n    default: true", "price: 5\n    default: false"}, []string{
			"changed answer-time 1440: price: 4 → 5", "changed answer-time 1440: default: true → false",
		}},
		{"Window", []string{`to: "18:00"`, `to: "24:00"`}, []string{"changed answer-time 30: open.to: 18:00 → 24:00"}},
		{
			"List",
			[]string{"[bags, shoes]", "[shoes, bags]"},
			[]string{"changed brand chanel: categories: [bags, shoes] → [shoes, bags]"},
		},
		{
			"Added", []string{
				"models:\n", "  - {code: dior, name: {en: Dior, ja: ディオール}, categories: [bags]}\nmodels:\n",
			}, []string{
				"added brand dior: name.en: Dior, name.ja: ディオール, categories: [bags]",
			},
		},
		{
			"Removed",
			[]string{"  - code: unclear\n    text: {en: Unclear, ja: 不鮮明です}\n", ""},
			[]string{"removed condition unclear"},
		},
		{"Renamed", []string{"- code: unclear", "- code: blurred"}, []string{
			"removed condition unclear", "added condition blurred: text.en: Unclear, text.ja: 不鮮明です",
		}},
		{"IndexRule", []string{"photo_limit: 3", "photo_limit: 4"}, []string{
			"changed photo-index serial-number (category bags, brand chanel): photo_limit: 3 → 4",
		}},
		{
			"IndexRuleContext", []string{
				"    model: chanel-classic-flap\n", "", "    brand: chanel\n    name: {en: Serial number, ja: シリアル番号}",
				"    name: {en: Serial number, ja: シリアル番号}",
			}, []string{
				"removed photo-index serial-number (category bags, brand chanel, model chanel-classic-flap)",
				"added photo-index serial-number (category bags): name.en: Serial number, name.ja: シリアル番号, " +
					"required: true, photo_limit: 3",
				"changed photo-index serial-number (category bags, brand chanel): example_urls: (none) → " +
					"[https://cdn.example/examples/serial.jpg]",
				"changed photo-index serial-number (category bags, brand chanel): excluded: (none) → false",
				"changed photo-index serial-number (category bags, brand chanel): name.en: Serial number → (none)",
				"changed photo-index serial-number (category bags, brand chanel): name.ja: シリアル番号 → (none)",
				"changed photo-index serial-number (category bags, brand chanel): required: true → (none)",
				"changed photo-index serial-number (category bags, brand chanel): photo_limit: 3 → (none)",
			},
		},
		{"AnswerTimeRule", []string{"    price: 20", "    price: 21"}, []string{
			"changed answer-time-rule 30 (category bags, brand chanel): price: 20 → 21",
		}},
		{
			"AccountPrice",
			[]string{"price: 3\n", "price: 2\n"},
			[]string{"changed account-price 1440 (account Acme): price: 3 → 2"},
		},
		{"Moved", []string{
			"  - code: missing\n    text: {en: Missing, ja: 不足しています}\n", "",
			"requirements:\n", "  - code: missing\n    text: {en: Missing, ja: 不足しています}\nrequirements:\n",
		}, []string{"changed condition unclear: moved to the first place"}},
		{"MovedLast", []string{
			"  - code: missing\n    text: {en: Missing, ja: 不足しています}\n", "",
			"requirements:\n", "  - {code: dark, text: {en: Dark}}\n  - code: missing\n    text: {en: Missing, ja: " +
				"不足しています}\nrequirements:\n",
		}, []string{"changed condition unclear: moved to the first place", "added condition dark: text.en: Dark"}},
		{"RuleMovedWithoutEffect", []string{
			"  - code: 30\n    category: shoes\n    offered: false\n", "",
			"answer_time_rules:                 # optional price and offer by context; the most specific wins\n",
			"answer_time_rules:\n  - code: 30\n    category: shoes\n    offered: false\n",
		}, nil},
		{
			"LineBreak",
			[]string{"{en: Sharp focus,", `{en: "Sharp\nfocus",`},
			[]string{`changed requirement sharp-focus: text.en: Sharp focus → "Sharp\nfocus"`},
		},
	}
	before := parse(t, example(t))
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, change := range Compare(before, parse(t, edited(t, test.edit...))) {
				got = append(got, change.String())
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}

	t.Run("FromNothing", func(t *testing.T) {
		changes := Compare(nil, before)
		if len(changes) != 16 || slices.ContainsFunc(changes, func(c Change) bool { return c.Kind != Added }) {
			t.Errorf("%d changes: %v", len(changes), changes)
		}
	})
	t.Run("JSON", func(t *testing.T) {
		data, err := json.Marshal(Compare(before, parse(t, edited(t, "price: 3\n", "price: 2\n"))))
		want := `[{"kind":"changed","entity":"account-price","code":"1440","context":"account Acme","detail":"price: 3 ` +
			`→ 2"}]`
		if err != nil || string(data) != want {
			t.Errorf("got %s, %v", data, err)
		}
		if data, err := json.Marshal(Compare(before, before)); err != nil || string(data) != "[]" {
			t.Errorf("no change is %s, %v", data, err)
		}
	})
}

func TestDisplaced(t *testing.T) {
	tests := []struct {
		order []int
		want  []int
	}{
		{nil, nil},
		{[]int{0, 1, 2}, nil},
		{[]int{0, 2, 5}, nil},
		{[]int{1, 2, 3, 0}, []int{0}},
		{[]int{3, 0, 1, 2}, []int{3}},
		{[]int{0, 3, 2, 1, 4}, []int{2, 3}},
	}
	for _, test := range tests {
		moves := moved(test.order)
		var got []int
		for place := range 10 {
			if moves[place] {
				got = append(got, place)
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%v: got %v, want %v", test.order, got, test.want)
		}
	}
}
