package catalog

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/text"
)

func TestParse(t *testing.T) {
	t.Run("Example", func(t *testing.T) {
		doc := withoutPositions(parse(t, example(t)))
		want := &Document{
			Locales: []text.Locale{text.English, text.Japanese},
			Categories: []Category{
				{Code: "bags", Name: text.Text{EN: "Bags", JA: "バッグ"}, IconURL: new("https://cdn.example/icons/bags.png")},
				{Code: "shoes", Name: text.Text{EN: "Shoes", JA: "靴"}},
			},
			Brands: []BrandEntry{
				{Code: "chanel", Name: text.Text{EN: "Chanel", JA: "シャネル"}, Categories: []string{"bags", "shoes"}},
			},
			Models: []Model{{
				Code: "chanel-classic-flap", Brand: "chanel", Category: "bags", Name: text.Text{EN: "Classic Flap"},
				ImageURL: new("https://cdn.example/models/classic-flap.jpg"),
			}},
			PhotoIndexes: []IndexRule{
				{
					Code: "overall-picture", Context: Context{Category: "bags"},
					Name: text.Text{EN: "Overall picture", JA: "全体写真"}, Required: new(true), PhotoLimit: new(2),
					IconURL: new("https://cdn.example/icons/overall.png"), ExampleURLs: []string{},
				},
				{
					Code: "serial-number", Context: Context{Category: "bags", Brand: "chanel"},
					Name: text.Text{EN: "Serial number", JA: "シリアル番号"}, Required: new(true), PhotoLimit: new(3),
				},
				{
					Code: "serial-number", Context: Context{Category: "bags", Brand: "chanel", Model: "chanel-classic-flap"},
					ExampleURLs: []string{"https://cdn.example/examples/serial.jpg"}, Excluded: new(false),
				},
			},
			AnswerTimes: []AnswerTime{
				{
					Code: 30, Name: text.Text{EN: "30 minutes", JA: "30分"}, Price: 12, MaxOpenOrders: 50,
					Open: &Window{
						Timezone: "Asia/Tokyo", From: 9 * 60, To: 18 * 60,
						Days: []time.Weekday{time.Monday, time.Tuesday, time.Wednesday, time.Thursday, time.Friday},
					},
				},
				{Code: 1440, Name: text.Text{EN: "24 hours", JA: "24時間"}, Price: 4, Default: true},
			},
			AnswerTimeRules: []AnswerTimeRule{
				{Code: 30, Context: Context{Category: "bags", Brand: "chanel"}, Price: new(int64(20))},
				{Code: 30, Context: Context{Category: "shoes"}, Offered: new(false)},
			},
			AccountPrices: []AccountPrice{{Account: "Acme", Code: 1440, Price: 3}},
			Reasons: []Reason{{
				Code: "logo-misaligned", Outcome: "fake",
				Text: text.Text{EN: "Logo stamping is misaligned", JA: "ロゴの刻印がずれています"},
			}},
			Conditions: []Phrase{
				{Code: "missing", Text: text.Text{EN: "Missing", JA: "不足しています"}},
				{Code: "unclear", Text: text.Text{EN: "Unclear", JA: "不鮮明です"}},
			},
			Requirements: []Phrase{
				{Code: "sharp-focus", Text: text.Text{EN: "Sharp focus", JA: "ピントを合わせてください"}},
			},
		}
		if !reflect.DeepEqual(doc, want) {
			t.Errorf("got %+v\nwant %+v", doc, want)
		}
	})

	accepted := map[string]string{
		"EmptyCatalog":   "{}",
		"LocalesLeftOut": "categories: []\n",
		"NullIsAbsent": "categories:\nbrands: null\nmodels: ~\nreasons: [{code: a, outcome: fake, text: {en: A, " +
			"ja: null}}]\n",
		"EllipsisURL":  "categories: [{code: a, name: {en: A}, icon_url: https://…}]",
		"LongestCode":  "categories: [{code: " + strings.Repeat("a", 64) + ", name: {en: A}}]",
		"CodeOfDigits": `categories: [{code: "501", name: {en: A}}]`,
		"PriceZero":    "answer_times: [{code: 1, name: {en: A}, price: 0}]",
		"WholeDay": `answer_times: [{code: 1, name: {en: A}, price: 0, open: {timezone: UTC, days: [sun], ` +
			`from: "00:00", to: "24:00"}}]`,
		"OverMidnight": `answer_times: [{code: 1, name: {en: A}, price: 0, open: {timezone: UTC, days: [sun], ` +
			`from: "22:00", to: "00:00"}}]`,
		"TimesWithoutQuotes": `answer_times: [{code: 1, name: {en: A}, price: 0, open: {timezone: UTC, days: [sun], ` +
			`from: 09:00, to: 18:00}}]`,
		"Anchors":           "categories: [{code: a, name: &n {en: A}}, {code: b, name: *n}]",
		"StartAndEndMarks":  "---\ncategories: []\n...\n",
		"WindowsLineBreaks": "categories:\r\n  - code: a\r\n    name: {en: A}\r\n",
		"ByteOrderMark":     "\ufeffcategories: []\n",
		"JSONByteOrderMark": "\ufeff{\"categories\": []}",
		"JSONWithTabs":      "\n\t{\n\t\"categories\":\t[]\n}\n",
		"YAMLInBraces":      "{\"categories\": [], # not JSON\n brands: [],}",
		"BrandRule": `{categories: [{code: a, name: {en: A}}], brands: [{code: x, name: {en: X}, categories: [a]}],
			photo_indexes: [{code: i, category: a, name: {en: I}}, {code: i, brand: x, photo_limit: 2}]}`,
		"RuleForEveryContext": `{categories: [{code: a, name: {en: A}}], photo_indexes: [{code: i, photo_limit: 2}, ` +
			`{code: i, category: a, name: {en: I}}]}`,
		"ExcludedNeedsNoName": "{categories: [{code: a, name: {en: A}}], photo_indexes: [{code: i, category: a, " +
			"excluded: true}]}",
		"DefaultsThatNeverMeet": `{categories: [{code: a, name: {en: A}}, {code: b, name: {en: B}}],
			answer_times: [{code: 1, name: {en: A}, price: 0, default: true}, {code: 2, name: {en: B}, price: 0, default: true}],
			answer_time_rules: [{code: 1, category: a, offered: false}, {code: 2, category: b, default: false}]}`,
	}
	for name, data := range accepted {
		t.Run(name, func(t *testing.T) { parse(t, data) })
	}
}

func TestParseJSON(t *testing.T) {
	t.Run("SameAsYAML", func(t *testing.T) {
		doc := parse(t, example(t))
		data, err := doc.JSON()
		if err != nil {
			t.Fatal(err)
		}
		var indented bytes.Buffer
		if err := json.Indent(&indented, data, "", "\t"); err != nil {
			t.Fatal(err)
		}
		if !parse(t, indented.String()).Equal(doc) {
			t.Error("the document differs when it is read from JSON")
		}
	})
	t.Run("Escapes", func(t *testing.T) {
		doc := parse(t, `{"categories": [{"code": "a", "name": {"en": "\ud83d\udc5c a\/b \u30d0"}}]}`)
		if got := doc.Categories[0].Name.EN; got != "👜 a/b バ" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("EscapedBackslash", func(t *testing.T) {
		doc := parse(t, `{"categories": [{"code": "a", "name": {"en": "\\ud83d \ufffd"}}]}`)
		if got := doc.Categories[0].Name.EN; got != "\\ud83d \ufffd" {
			t.Errorf("got %q", got)
		}
	})
	for _, half := range []string{`\ud83d`, `\uDC5C`, `\ud83dn`, `\ud83d\n`, `\ud83d\u0041`, `\udc5c\ud83d`} {
		t.Run("HalfOf"+half, func(t *testing.T) {
			_, err := Parse([]byte("{\"categories\": [\n{\"code\": \"a\", \"name\": {\"en\": \"a" + half + "\"}}]}"))
			wantProblems(t, err, "2: the document is not valid JSON: "+half[:6]+" is half a character")
		})
	}
	t.Run("Lines", func(t *testing.T) {
		_, err := Parse(
			[]byte(
				"\n{\"categories\": [\n  {\"code\": \"A\",\n   \"nmae\": {},\n   \"code\": 1,\n   \"name\": {\"en\": \"A\"}}\n]}",
			),
		)
		wantProblems(t, err,
			`3 categories[0].code: "A" is not a code`,
			"4 categories[0].nmae: unknown property; known here are code, name, icon_url",
			"5 categories[0].code: is stated twice; the first is at line 3")
	})
	t.Run("NumberForText", func(t *testing.T) {
		_, err := Parse([]byte(`{"categories": [{"code": 501, "name": {"en": 2.55}}]}`))
		wantProblems(t, err,
			`1 categories[0].code: must be text, not the number "501"; put it in quotes`,
			`1 categories[0].name.en: must be text, not the number "2.55"; put it in quotes`)
	})
	t.Run("Broken", func(t *testing.T) {
		_, err := Parse([]byte("{\"categories\": [],\n\"brands\": [}\n}"))
		wantProblems(t, err, "2: the document is not valid JSON: invalid character '}'")
	})
	t.Run("CutOff", func(t *testing.T) {
		_, err := Parse([]byte("{\"categories\": [],\n\"brands\": [\n"))
		wantProblems(t, err, "2: the document is not valid JSON: unexpected end of JSON input")
	})
	t.Run("TwoDocuments", func(t *testing.T) {
		_, err := Parse([]byte("{\"categories\": []}\n{\"brands\": []}"))
		wantProblems(t, err, "2: the document is not valid JSON: invalid character '{' after top-level value")
	})
}

// withoutPositions returns the document without what only Parse knows, for comparisons.
func withoutPositions(d *Document) *Document {
	for i := range d.AnswerTimes {
		if d.AnswerTimes[i].Open != nil {
			d.AnswerTimes[i].Open.location = nil
		}
	}
	return d
}
