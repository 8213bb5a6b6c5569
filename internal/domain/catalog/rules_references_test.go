package catalog

import "testing"

// TestParseRefusesReferences covers the rules between entries: duplicates, unknown codes and missing names.
func TestParseRefusesReferences(t *testing.T) {
	checkRefusals(t, []refusal{
		// Duplicates.
		{"CategoryTwice", lines{"brands:\n", "  - {code: bags, name: {en: B}}\nbrands:\n"}, lines{
			`8 categories[2].code: "bags" is there twice; the first is categories[0].code at line 3`,
		}},
		{
			"BrandTwice",
			lines{"models:\n", "  - {code: chanel, name: {en: B}, categories: []}\nmodels:\n"},
			lines{`12 brands[1].code: "chanel" is there twice`},
		},
		{"CategoryOfBrandTwice", lines{"[bags, shoes]", "[bags, shoes, bags]"}, lines{
			`11 brands[0].categories[2]: "bags" is there twice; the first is brands[0].categories[0] at line 11`,
		}},
		{
			"ModelTwice", lines{
				"models:\n", "models:\n  - {code: chanel-classic-flap, brand: chanel, category: shoes, name: {en: C}}\n",
				"category: bags\n    brand: chanel\n    model", "category: shoes\n    brand: chanel\n    model",
			}, lines{
				`14 models[1].code: "chanel-classic-flap" is there twice`,
				`33 photo_indexes[2].name: is required: no more general rule gives photo index "serial-number" an English ` +
					`name in category shoes, brand chanel, model chanel-classic-flap`,
			},
		},
		{
			"IndexRuleTwice",
			lines{"answer_times:\n", "  - {code: overall-picture, category: bags}\nanswer_times:\n"},
			lines{
				`38 photo_indexes[3].code: "overall-picture" in category bags is there twice; the first is ` +
					`photo_indexes[0].code at line 19`,
			},
		},
		{
			"AnswerTimeTwice",
			lines{"answer_time_rules:", "  - {code: 30, name: {en: A}, price: 1}\nanswer_time_rules:"},
			lines{
				"49 answer_times[2].code: answer time 30 is there twice; the first is answer_times[0].code at line 39",
			},
		},
		{"AnswerTimeRuleTwice", lines{"account_prices:", "  - {code: 30, category: shoes}\naccount_prices:"}, lines{
			"57 answer_time_rules[2].code: answer time 30 in category shoes is there twice; the first is " +
				"answer_time_rules[1].code at line 54",
		}},
		{"AccountPriceTwice", lines{"reasons:\n", "  - {account: Acme, code: 1440, price: 1}\nreasons:\n"}, lines{
			`61 account_prices[1].account: a price of answer time 1440 for "Acme" is there twice; the first is ` +
				`account_prices[0].account at line 58`,
		}},
		{
			"ReasonTwice", lines{
				"conditions:\n", "  - {code: logo-misaligned, outcome: authentic, text: {en: A}}\nconditions:\n",
			}, lines{`65 reasons[1].code: "logo-misaligned" is there twice`},
		},
		{
			"ConditionTwice",
			lines{"- code: unclear", "- code: missing"},
			lines{`68 conditions[1].code: "missing" is there twice; the first is conditions[0].code at line 66`},
		},

		// References.
		{"BrandOfUnknownCategory", lines{"[bags, shoes]", "[bags, shoes, hats]"}, lines{
			`11 brands[0].categories[2]: category "hats" is not defined in categories`,
		}},
		{"BrandWithoutCategories", lines{"    categories: [bags, shoes]\n", ""}, lines{
			"9 brands[0].categories: is required", `14 models[0].category: brand "chanel" does not serve category "bags"`,
			`26 photo_indexes[1].category: brand "chanel" does not serve category "bags"`,
			`32 photo_indexes[2].category: brand "chanel" does not serve category "bags"`,
			`50 answer_time_rules[0].category: brand "chanel" does not serve category "bags"`,
		}},
		{
			"ModelOfUnknownBrand", lines{
				"    brand: chanel\n    category: bags\n    name: {en: Classic",
				"    brand: dior\n    category: bags\n    name: {en: Classic",
			}, lines{
				`14 models[0].brand: brand "dior" is not defined in brands`,
				`35 photo_indexes[2].model: model "chanel-classic-flap" is of brand "dior", not of "chanel"`,
			},
		},
		{
			"ModelOfUnknownCategory", lines{
				"    category: bags\n    name: {en: Classic", "    category: hats\n    name: {en: Classic",
			}, lines{
				`15 models[0].category: category "hats" is not defined in categories`,
				`35 photo_indexes[2].model: model "chanel-classic-flap" is of category "hats", not of "bags"`,
			},
		},
		{"ModelOfCategoryThatItsBrandDoesNotServe", lines{"[bags, shoes]", "[shoes]"}, lines{
			`15 models[0].category: brand "chanel" does not serve category "bags"`,
			`27 photo_indexes[1].category: brand "chanel" does not serve category "bags"`,
			`33 photo_indexes[2].category: brand "chanel" does not serve category "bags"`,
			`51 answer_time_rules[0].category: brand "chanel" does not serve category "bags"`,
		}},
		{
			"ModelWithoutBrand", lines{
				"    brand: chanel\n    category: bags\n    name: {en: Classic", "    category: bags\n    name: {en: Classic",
			}, lines{"13 models[0].brand: is required"},
		},
		{
			"IndexRuleOfUnknownCategory",
			lines{"- code: overall-picture\n    category: bags", "- code: overall-picture\n    category: hats"},
			lines{
				`20 photo_indexes[0].category: category "hats" is not defined in categories`,
			},
		},
		{
			"IndexRuleOfUnknownModel",
			lines{"    model: chanel-classic-flap", "    model: boy"},
			lines{`35 photo_indexes[2].model: model "boy" is not defined in models`},
		},
		{
			"IndexRuleEmptyCategory", lines{
				"- code: overall-picture\n    category: bags", "- code: overall-picture\n    category: \"\"",
			}, lines{
				"20 photo_indexes[0].category: must not be empty",
			},
		},
		{
			"AnswerTimeRuleOfUnknownTime",
			lines{"- code: 30\n    category: shoes", "- code: 60\n    category: shoes"},
			lines{
				"54 answer_time_rules[1].code: answer time 60 is not defined in answer_times",
			},
		},
		{
			"AnswerTimeRuleOfUnknownBrand",
			lines{"    brand: chanel\n    price: 20", "    brand: dior\n    price: 20"},
			lines{
				`52 answer_time_rules[0].brand: brand "dior" is not defined in brands`,
			},
		},
		{
			"AccountPriceOfUnknownTime",
			lines{"    code: 1440\n", "    code: 60\n"},
			lines{"59 account_prices[0].code: answer time 60 is not defined in answer_times"},
		},
		{"NoCascadeFromUnreadableSection", lines{
			"categories:\n  - code: bags\n    name: {en: Bags, ja: バッグ}\n    icon_url: " +
				"https://cdn.example/icons/bags.png\n  - code: shoes\n    name: {en: Shoes, ja: 靴}\n",
			"categories: bags\n",
		}, lines{`2 categories: must be a list, not the text "bags"`}},

		// Names of photo indexes.
		{"IndexWithoutName", lines{"    name: {en: Overall picture, ja: 全体写真}\n", ""}, lines{
			`19 photo_indexes[0].name: is required: no more general rule gives photo index "overall-picture" an English ` +
				`name in category bags`,
		}},
		{"IndexWithoutEnglish", lines{"{en: Serial number, ja: シリアル番号}", "{ja: シリアル番号}"}, lines{
			`29 photo_indexes[1].name.en: is required: no more general rule gives photo index "serial-number" an English ` +
				`name in category bags, brand chanel`,
		}},
		{"IndexNameEmptyMapping", lines{"{en: Serial number, ja: シリアル番号}", "{}"}, lines{
			"29 photo_indexes[1].name: must state at least one language, en or ja",
		}},
		{
			"IndexIncludedAgainWithoutName",
			lines{"    name: {en: Serial number, ja: シリアル番号}\n", "    excluded: true\n"},
			lines{
				`32 photo_indexes[2].name: is required: no more general rule gives photo index "serial-number" an English ` +
					`name in category bags, brand chanel, model chanel-classic-flap`,
			},
		},
		{
			"BrandRuleWhereCategoryHasNoBase",
			lines{"answer_times:\n", "  - {code: overall-picture, brand: chanel, photo_limit: 4}\nanswer_times:\n"},
			lines{
				`38 photo_indexes[3].name: is required: no more general rule gives photo index "overall-picture" an English ` +
					`name in category shoes, brand chanel`,
			},
		},
	})
}
