package catalog

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

type lines = []string

// refusal is an edit of the example document and the problems that Parse must report for it.
type refusal struct {
	name string
	edit []string // pairs of old and new text
	want []string
}

func checkRefusals(t *testing.T, tests []refusal) {
	t.Helper()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse([]byte(edited(t, test.edit...)))
			wantProblems(t, err, test.want...)
		})
	}
}

func TestParseRefuses(t *testing.T) {
	checkRefusals(t, []refusal{
		// Properties.
		{"UnknownSection", lines{"requirements:\n", "requirments:\n"}, lines{
			"70 requirments: unknown property; known here are locales, categories, brands, models, photo_indexes, " +
				"answer_times, " +
				"answer_time_rules, account_prices, reasons, conditions, requirements",
		}},
		{"UnknownProperty", lines{"    image_url:", "    icon_url:"}, lines{
			"17 models[0].icon_url: unknown property; known here are code, brand, category, name, image_url",
		}},
		{
			"UnknownLanguage",
			lines{"ja: 靴", "fr: Chaussures"},
			lines{"7 categories[1].name.fr: unknown property; known here are en, ja"},
		},
		{"UnknownPropertyOfWindow", lines{"{timezone:", "{holidays: [], timezone:"}, lines{
			"43 answer_times[0].open.holidays: unknown property; known here are timezone, days, from, to",
		}},
		{"ModelInAnswerTimeRule", lines{"    price: 20", "    model: chanel-classic-flap"}, lines{
			"53 answer_time_rules[0].model: unknown property",
		}},
		{"StatedTwice", lines{"    photo_limit: 2\n", "    photo_limit: 2\n    required: true\n"}, lines{
			"24 photo_indexes[0].required: is stated twice; the first is at line 22",
		}},
		{"MergeKey", lines{"    price: 20", "    <<: {price: 20}"}, lines{
			"53 answer_time_rules[0].<<: merge keys are not supported; write the properties out",
		}},

		// Types.
		{
			"SectionNotAList", lines{
				"reasons:\n  - code: logo-misaligned\n    outcome", "reasons:\n    code: logo-misaligned\n    outcome",
			}, lines{
				"61 reasons: must be a list, not a mapping",
			},
		},
		{"EntryNotAMapping", lines{"brands:\n", "brands:\n  - dior\n"}, lines{
			`9 brands[0]: must be a mapping with the properties code, name, categories, not the text "dior"`,
		}},
		{"EmptyEntry", lines{"brands:\n", "brands:\n  -\n"}, lines{"9 brands[0]: is empty; remove it or give it a value"}},
		{"NameNotAMapping", lines{"name: {en: Classic Flap}", "name: Classic Flap"}, lines{
			`16 models[0].name: must be a mapping of languages such as {en: …, ja: …}, not the text "Classic Flap"`,
		}},
		{"NameANumber", lines{"{en: Classic Flap}", "{en: 2.55}"}, lines{
			`16 models[0].name.en: must be text, not the number "2.55"; put it in quotes`,
		}},
		{"NameADate", lines{"{en: Classic Flap}", "{en: 2021-05-01}"}, lines{
			`16 models[0].name.en: must be text, not "2021-05-01" of type "!!timestamp"; put it in quotes`,
		}},
		{
			"NameAList",
			lines{"{en: Classic Flap}", "{en: [Classic Flap]}"},
			lines{"16 models[0].name.en: must be text, not a list"},
		},
		{"TruthAsText", lines{"required: true\n    photo_limit: 2", "required: \"true\"\n    photo_limit: 2"}, lines{
			`22 photo_indexes[0].required: must be true or false, not the text "true"`,
		}},
		{"YesIsNotTrue", lines{"    default: true", "    default: yes"}, lines{
			`48 answer_times[1].default: must be true or false, not the text "yes"`,
		}},
		{
			"OwnTag",
			lines{"{en: Classic Flap}", "!name {en: Classic Flap}"},
			lines{"16 models[0].name: must be a mapping with the properties en, ja"},
		},

		// Codes.
		{"CodeUpperCase", lines{"- code: missing", "- code: Missing"}, lines{
			`66 conditions[0].code: "Missing" is not a code; codes are 1 to 64 of a-z, 0-9 and -`,
		}},
		{"CodeEmpty", lines{"- code: missing", `- code: ""`}, lines{`66 conditions[0].code: "" is not a code`}},
		{
			"CodeTooLong",
			lines{"- code: missing", "- code: " + strings.Repeat("a", 65)},
			lines{"66 conditions[0].code: is not a code"},
		},
		{
			"CodeUnderscore",
			lines{"- code: sharp-focus", "- code: sharp_focus"},
			lines{"71 requirements[0].code: is not a code"},
		},
		{
			"CodeLineBreak",
			lines{"- code: sharp-focus", `- code: "sharp-focus\n"`},
			lines{"71 requirements[0].code: is not a code"},
		},
		{"CodeMissing", lines{"- code: sharp-focus\n    text", "- text"}, lines{"71 requirements[0].code: is required"}},
		{"CodeNull", lines{"- code: sharp-focus", "- code:"}, lines{"71 requirements[0].code: is required"}},
		{
			"CodeWrongAtDefinitionOnly",
			lines{"- code: shoes", "- code: Shoes", "[bags, shoes]", "[bags, Shoes]", "category: shoes", "category: Shoes"},
			lines{
				`6 categories[1].code: "Shoes" is not a code`,
			},
		},

		// Texts.
		{"NameMissing", lines{"    name: {en: Chanel, ja: シャネル}\n", ""}, lines{"9 brands[0].name: is required"}},
		{
			"EnglishMissing",
			lines{"{en: Shoes, ja: 靴}", "{ja: 靴}"},
			lines{"7 categories[1].name.en: is required: every text needs English"},
		},
		{
			"EnglishEmpty",
			lines{"{en: Shoes, ja: 靴}", `{en: "", ja: 靴}`},
			lines{"7 categories[1].name.en: must not be empty"},
		},
		{"JapaneseBlank", lines{"ja: 靴", `ja: " "`}, lines{"7 categories[1].name.ja: must not be empty"}},
		{
			"TextWithNUL",
			lines{"ja: 靴", `ja: "a\0b"`},
			lines{"7 categories[1].name.ja: must not contain control characters such as U+0000"},
		},
		{
			"ReasonTextMissing",
			lines{"    text: {en: Sharp focus, ja: ピントを合わせてください}\n", ""},
			lines{"71 requirements[0].text: is required"},
		},

		// URLs.
		{"URLRelative", lines{"https://cdn.example/icons/bags.png", "/icons/bags.png"}, lines{
			`5 categories[0].icon_url: "/icons/bags.png" is not an absolute http or https URL`,
		}},
		{"URLOtherScheme", lines{"https://cdn.example/models/classic-flap.jpg", "ftp://cdn.example/a"}, lines{
			"17 models[0].image_url: is not an absolute http or https URL",
		}},
		{"URLWithoutHost", lines{"https://cdn.example/models/classic-flap.jpg", "https:///a"}, lines{
			"17 models[0].image_url: is not an absolute http or https URL",
		}},
		{
			"URLEmpty",
			lines{"https://cdn.example/icons/bags.png", `""`},
			lines{"5 categories[0].icon_url: is not an absolute"},
		},
		{
			"URLWithSpace",
			lines{"https://cdn.example/icons/bags.png", `"https://cdn.example/a b"`},
			lines{"5 categories[0].icon_url: is not an absolute"},
		},
		{
			"URLTooLong",
			lines{"https://cdn.example/icons/bags.png", "https://cdn.example/" + strings.Repeat("a", 2048)},
			lines{
				"5 categories[0].icon_url: must not be longer than 2048 characters",
			},
		},
		{"ExampleURL", lines{"[https://cdn.example/examples/serial.jpg]", "[https://cdn.example/a, b.jpg]"}, lines{
			`36 photo_indexes[2].example_urls[1]: "b.jpg" is not an absolute http or https URL`,
		}},

		// Numbers.
		{"PriceNegative", lines{"price: 4\n", "price: -1\n"}, lines{"47 answer_times[1].price: must be at least 0, not -1"}},
		{
			"PriceFraction",
			lines{"price: 4\n", "price: 4.5\n"},
			lines{`47 answer_times[1].price: must be a whole number, not the number "4.5"`},
		},
		{
			"PriceText",
			lines{"price: 4\n", "price: \"4\"\n"},
			lines{"47 answer_times[1].price: must be a whole number, not text; remove the quotes"},
		},
		{
			"PriceWord",
			lines{"price: 4\n", "price: free\n"},
			lines{`47 answer_times[1].price: must be a whole number, not the text "free"`},
		},
		{
			"PriceHexadecimal",
			lines{"price: 4\n", "price: 0x10\n"},
			lines{`47 answer_times[1].price: must be a whole number, not the number "0x10"`},
		},
		{
			"PriceTooLarge",
			lines{"price: 4\n", "price: 99999999999999999999\n"},
			lines{"47 answer_times[1].price: must be at most 9007199254740991"},
		},
		{"PriceMissing", lines{"    price: 4\n", ""}, lines{"45 answer_times[1].price: is required"}},
		{"RulePriceNegative", lines{"price: 20", "price: -20"}, lines{"53 answer_time_rules[0].price: must be at least 0"}},
		{
			"AccountPriceMissing",
			lines{"    code: 1440\n    price: 3\n", "    code: 1440\n"},
			lines{"58 account_prices[0].price: is required"},
		},
		{
			"AnswerTimeZero",
			lines{"- code: 1440", "- code: 0", "    code: 1440\n", "    code: 30\n"},
			lines{"45 answer_times[1].code: must be at least 1, not 0"},
		},
		{
			"AnswerTimeTooLong",
			lines{"- code: 1440", "- code: 52560001", "    code: 1440\n", "    code: 30\n"},
			lines{"45 answer_times[1].code: must be at most 52560000, not 52560001"},
		},
		{
			"PhotoLimitZero",
			lines{"photo_limit: 3", "photo_limit: 0"},
			lines{"31 photo_indexes[1].photo_limit: must be at least 1, not 0"},
		},
		{
			"CapacityZero",
			lines{"max_open_orders: 50", "max_open_orders: 0"},
			lines{"44 answer_times[0].max_open_orders: must be at least 1, not 0"},
		},

		// Locales.
		{
			"OtherLocale",
			lines{"[en, ja]", "[en, fr]"},
			lines{"1 locales: must be [en, ja], the languages that the service supports"},
		},
		{"OneLocale", lines{"[en, ja]", "[en]"}, lines{"1 locales: must be [en, ja]"}},

		// Windows.
		{
			"UnknownTimezone",
			lines{"Asia/Tokyo", "Asia/Tokio"},
			lines{`43 answer_times[0].open.timezone: "Asia/Tokio" is not an IANA time zone such as Asia/Tokyo`},
		},
		{
			"LocalTimezone",
			lines{"Asia/Tokyo", "Local"},
			lines{`43 answer_times[0].open.timezone: "Local" is not an IANA time zone`},
		},
		{"EmptyTimezone", lines{"Asia/Tokyo", `""`}, lines{"43 answer_times[0].open.timezone: is not an IANA time zone"}},
		{
			"NoDays",
			lines{"[mon, tue, wed, thu, fri]", "[]"},
			lines{"43 answer_times[0].open.days: must name at least one day"},
		},
		{"DaysMissing", lines{"days: [mon, tue, wed, thu, fri], ", ""}, lines{"43 answer_times[0].open.days: is required"}},
		{
			"UnknownDay",
			lines{"thu, fri", "thu, friday"},
			lines{`43 answer_times[0].open.days[4]: "friday" is not a day; days are mon, tue, wed, thu, fri, sat, sun`},
		},
		{"DayTwice", lines{"thu, fri", "thu, mon"}, lines{"43 answer_times[0].open.days[4]: mon is there twice"}},
		{
			"FromEqualsTo",
			lines{`to: "18:00"`, `to: "09:00"`},
			lines{"43 answer_times[0].open.to: must not be the same as from"},
		},
		{
			"FromIsMidnightAfter",
			lines{`from: "09:00"`, `from: "24:00"`},
			lines{`43 answer_times[0].open.from: must be a time of day from "00:00" to "23:59", not "24:00"`},
		},
		{
			"ToAfterMidnight",
			lines{`to: "18:00"`, `to: "24:01"`},
			lines{`43 answer_times[0].open.to: must be a time of day from "00:00" to "24:00", not "24:01"`},
		},
		{"MinuteOutOfRange", lines{`to: "18:00"`, `to: "17:60"`}, lines{"43 answer_times[0].open.to: must be a time of day"}},
		{
			"OneDigitHour",
			lines{`from: "09:00"`, `from: "9:00"`},
			lines{"43 answer_times[0].open.from: must be a time of day"},
		},
		{"ToMissing", lines{`, to: "18:00"`, ""}, lines{"43 answer_times[0].open.to: is required"}},
		{
			"WindowNotAMapping", lines{
				`open: {timezone: Asia/Tokyo, days: [mon, tue, wed, thu, fri], from: "09:00", to: "18:00"}`, "open: always",
			}, lines{
				`43 answer_times[0].open: must be a mapping with the properties timezone, days, from, to, not the text "always"`,
			},
		},

		// Defaults.
		{"TwoDefaults", lines{"default: false", "default: true"}, lines{
			"48 answer_times[1].default: answer times 30 and 1440 are both the default in category bags, brand chanel; at " +
				"most one may be",
		}},
		{"TwoDefaultsByRule", lines{"    price: 20", "    default: true"}, lines{
			"53 answer_time_rules[0].default: answer times 30 and 1440 are both the default in category bags, brand " +
				"chanel; at most one may be",
		}},
		{
			"TwoDefaultsInOneContextOnly",
			lines{
				"default: false", "default: true", "    price: 20", "    offered: false", "    offered: false\naccount",
				"    offered: true\naccount",
			},
			lines{
				"48 answer_times[1].default: answer times 30 and 1440 are both the default in category shoes, brand chanel; " +
					"at most one may be",
			},
		},

		// Reasons.
		{"UnknownOutcome", lines{"outcome: fake", "outcome: canceled"}, lines{
			`63 reasons[0].outcome: must be one of authentic, fake, unable-to-verify, not "canceled"`,
		}},
		{"OutcomeMissing", lines{"    outcome: fake\n", ""}, lines{"62 reasons[0].outcome: is required"}},
		{
			"UnknownCategoryOfReason",
			lines{"    outcome: fake\n", "    outcome: fake\n    categories: [bags, hats, bags]\n"},
			lines{
				`64 reasons[0].categories[2]: "bags" is there twice`,
				`64 reasons[0].categories[1]: category "hats" is not defined in categories`,
			},
		},

		{"EverythingAtOnce", lines{
			"[en, ja]", "[ja]", "ja: 靴", "jp: 靴", "photo_limit: 3", "photo_limit: 0", "price: 4\n", "price: -4\n",
			"outcome: fake", "outcome: bad",
		}, lines{
			"1 locales: must be [en, ja]", "7 categories[1].name.jp: unknown property",
			"31 photo_indexes[1].photo_limit: must be at least 1", "47 answer_times[1].price: must be at least 0",
			"63 reasons[0].outcome: must be one of",
		}},
	})
}

func TestParseRefusesDefaultsWithoutCategories(t *testing.T) {
	_, err := Parse([]byte(`answer_times:
  - {code: 1, name: {en: A}, price: 0, default: true}
  - {code: 2, name: {en: B}, price: 0, default: true}
  - {code: 3, name: {en: C}, price: 0, default: true}
`))
	wantProblems(t, err, "3 answer_times[1].default: answer times 1 and 2 are both the default in every context; at "+
		"most one may be")
}

func TestParseRefusesTooManyAnswerTimes(t *testing.T) {
	var b strings.Builder
	b.WriteString("answer_times:\n")
	for i := range maxAnswerTimes + 1 {
		fmt.Fprintf(&b, "  - {code: %d, name: {en: A}, price: 0}\n", i+1)
	}
	_, err := Parse([]byte(b.String()))
	wantProblems(t, err, "1 answer_times: must not have more than 1000 answer times, not 1001")
}

func TestDocumentError(t *testing.T) {
	_, err := Parse([]byte("brands: 1\ncategories: 2\n"))
	want := `the catalog document has 2 problems:
  line 1: brands: must be a list, not the number "1"
  line 2: categories: must be a list, not the number "2"`
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

func TestParseFor(t *testing.T) {
	document := []byte(edited(t, "reasons:\n",
		"  - account: Initech\n    code: 30\n    price: 1\n  - account: Acme\n    code: 30\n    price: 1\nreasons:\n"))
	if _, err := ParseFor(document, map[string]string{"Acme": "1", "Initech": "2"}); err != nil {
		t.Errorf("all accounts exist: %v", err)
	}
	_, err := ParseFor(bytes.Replace(document, []byte("outcome: fake"), []byte("outcome: bad"), 1), nil)
	wantProblems(t, err,
		`58 account_prices[0].account: there is no account named "Acme"`,
		`61 account_prices[1].account: there is no account named "Initech"`,
		`64 account_prices[2].account: there is no account named "Acme"`,
		`69 reasons[0].outcome: must be one of authentic, fake, unable-to-verify, not "bad"`)
}
