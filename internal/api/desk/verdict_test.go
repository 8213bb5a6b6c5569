package desk_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/testkit/must"
)

func TestComplete(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		t.Run("Authentic", func(t *testing.T) {
			id := w.claimed(t, w.Mika)
			r := w.post(t, w.Mika, "/orders/"+id+"/complete",
				`{"outcome":"authentic","reason_codes":["logo-consistent"],"note":"Clear case."}`).want(t, http.StatusOK, "")
			certificate := r.text("certificate_url")
			if !strings.HasPrefix(certificate, "https://assay.example.com/certificates/") {
				t.Errorf("certificate_url %q", certificate)
			}
			if r.text("outcome") != "authentic" || r.text("outcome_reasons", 0) != "Logo lettering and placement are correct" ||
				r.at("outcome_indexes") != nil {
				t.Errorf("answer %v", r.body)
			}
			details := r.at("timeline", 2, "details").(map[string]any)
			if details["outcome"] != "authentic" || details["note"] != "Clear case." ||
				r.text("timeline", 2, "actor") != "Mika Sato" || r.text("timeline", 2, "event") != "completed" {
				t.Errorf("timeline entry %v", r.at("timeline", 2))
			}
			events := w.deliveries(t, id)
			if len(events) != 1 {
				t.Fatalf("%d events, want 1", len(events))
			}
			e := events[0]
			if e["webhook_event"] != "order-outcome" || e["outcome_locale"] != "真正品" || e["certificate_url"] != certificate ||
				e["id"] != id {
				t.Errorf("event %v", e)
			}
			for _, internal := range []string{"note", "timeline", "assignee", "notes", "photos"} {
				if _, ok := e[internal]; ok {
					t.Errorf("the event shows the customer %s", internal)
				}
			}
			detail, err := w.Service.OrderDetail(t.Context(), w.Customer.Live.Actor(access.Origin{}), id, text.English)
			must.NoError(t, err)
			if url := detail.CertificateURL.Value; url == nil || *url != certificate {
				t.Errorf("the customer sees %+v", detail)
			}
		})
		t.Run("Fake", func(t *testing.T) {
			id := w.claimed(t, w.Mika)
			r := w.post(t, w.Mika, "/orders/"+id+"/complete?locale=ja",
				`{"outcome":"fake","reason_codes":["logo-misaligned","stitching-irregular"],
				"index_codes":["serial-number","overall-picture"]}`).want(t, http.StatusOK, "")
			if r.at("certificate_url") != nil || r.text("outcome_reasons_locale", 0) != "ロゴの刻印がずれています" ||
				len(r.list("outcome_reasons")) != 2 ||
				r.text("outcome_indexes", 0) != "serial-number" || r.text("outcome_indexes", 1) != "overall-picture" {
				t.Errorf("answer %v", r.body)
			}
			if e := w.deliveries(t, id); len(e) != 1 || e[0]["outcome"] != "fake" {
				t.Errorf("events %v", e)
			}
		})
		t.Run("FakeWithoutIndexes", func(t *testing.T) {
			id := w.claimed(t, w.Mika)
			r := w.post(t, w.Mika, "/orders/"+id+"/complete",
				`{"outcome":"fake","reason_codes":["logo-misaligned"],"index_codes":null}`).want(t, http.StatusOK, "")
			if indexes := r.list("outcome_indexes"); indexes == nil || len(indexes) != 0 {
				t.Errorf("outcome_indexes %v, want an empty list", r.at("outcome_indexes"))
			}
		})
		t.Run("UnableToVerify", func(t *testing.T) {
			id := w.claimed(t, w.Mika)
			r := w.post(t, w.Mika, "/orders/"+id+"/complete",
				`{"outcome":"unable-to-verify","reason_codes":["photos-insufficient"],"index_codes":[]}`).want(t, http.StatusOK, "")
			if r.text("outcome") != "unable-to-verify" || r.at("certificate_url") != nil || r.at("outcome_reasons") != nil {
				t.Errorf("answer %v", r.body)
			}
		})
		t.Run("OwnWords", func(t *testing.T) {
			id := w.claimed(t, w.Mika)
			r := w.post(t, w.Mika, "/orders/"+id+"/complete?locale=ja",
				`{"outcome":"fake","reason_codes":["logo-misaligned"],
				"reason_text":{"en":"The \"C\" is\n2 mm off.","ja":"「C」が 2 mm ずれています。"}}`).want(t, http.StatusOK, "")
			english, japanese := []any{"Logo stamping is misaligned", "The \"C\" is\n2 mm off."}, []any{
				"ロゴの刻印がずれています", "「C」が 2 mm ずれています。",
			}
			if !slices.Equal(r.list("outcome_reasons"), english) || !slices.Equal(r.list("outcome_reasons_locale"), japanese) {
				t.Errorf("reasons %v, %v", r.at("outcome_reasons"), r.at("outcome_reasons_locale"))
			}
			if r.text("timeline", 2, "details", "reason_text", "en") != english[1] ||
				r.text("timeline", 2, "details", "reason_text", "ja") != japanese[1] {
				t.Errorf("timeline entry %v", r.at("timeline", 2))
			}
			if e := w.deliveries(t, id); len(e) != 1 || !slices.Equal(e[0]["outcome_reasons"].([]any), english) ||
				!slices.Equal(e[0]["outcome_reasons_locale"].([]any), japanese) {
				t.Errorf("events %v", e)
			}
		})
		t.Run("OwnWordsInEnglish", func(t *testing.T) {
			id := w.claimed(t, w.Mika)
			r := w.post(t, w.Mika, "/orders/"+id+"/complete?locale=ja",
				`{"outcome":"authentic","reason_text":{"en":"`+strings.Repeat("真", 500)+`","ja":null}}`).want(t, http.StatusOK, "")
			own := []any{strings.Repeat("真", 500)}
			// the fallback
			if !slices.Equal(r.list("outcome_reasons"), own) || !slices.Equal(r.list("outcome_reasons_locale"), own) {
				t.Errorf("reasons %v, %v", r.at("outcome_reasons"), r.at("outcome_reasons_locale"))
			}
		})
		t.Run("IndexOfLaterRound", func(t *testing.T) {
			id := w.claimed(t, w.Mika)
			w.post(t, w.Mika, "/orders/"+id+"/complete",
				`{"outcome":"fake","reason_codes":["logo-misaligned"],"index_codes":["quilting"]}`).
				want(t, http.StatusBadRequest, "validation-error")
			w.post(t, w.Mika, "/orders/"+id+"/request_photos", `{"photos":[{"index_code":"quilting"},{"index_code":"clasp"}]}`).
				want(t, http.StatusOK, "")
			must.NoError(t, w.submitEntries(t, id, "", provided("quilting", w.photo()), unable("clasp")))
			w.post(t, w.Mika, "/orders/"+id+"/complete",
				`{"outcome":"fake","reason_codes":["logo-misaligned"],"index_codes":["clasp"]}`).
				want(t, http.StatusBadRequest, "validation-error")
			w.post(t, w.Mika, "/orders/"+id+"/complete",
				`{"outcome":"fake","reason_codes":["logo-misaligned"],"index_codes":["quilting"]}`).want(t, http.StatusOK, "")
		})

		id := w.claimed(t, w.Mika)
		refusals := map[string]struct {
			body   string
			fields []string
		}{
			"NoOutcome":          {`{}`, []string{"outcome"}},
			"NullOutcome":        {`{"outcome":null}`, []string{"outcome"}},
			"UnknownOutcome":     {`{"outcome":"real"}`, []string{"outcome"}},
			"Canceled":           {`{"outcome":"canceled"}`, []string{"outcome"}},
			"OutcomeType":        {`{"outcome":1}`, []string{"outcome"}},
			"FakeWithoutReasons": {`{"outcome":"fake"}`, []string{"reason_codes"}},
			"FakeEmptyReasons":   {`{"outcome":"fake","reason_codes":[]}`, []string{"reason_codes"}},
			"FakeNullReasons":    {`{"outcome":"fake","reason_codes":null}`, []string{"reason_codes"}},
			"UnknownReason":      {`{"outcome":"fake","reason_codes":["logo-misaligned","nope"]}`, []string{"reason_codes[1]"}},
			"ReasonOfOther":      {`{"outcome":"authentic","reason_codes":["logo-misaligned"]}`, []string{"reason_codes[0]"}},
			"ReasonTwice": {
				`{"outcome":"fake","reason_codes":["logo-misaligned","logo-misaligned"]}`, []string{"reason_codes[1]"},
			},
			"EmptyReason": {`{"outcome":"fake","reason_codes":[""]}`, []string{"reason_codes[0]"}},
			"ReasonType":  {`{"outcome":"fake","reason_codes":"logo-misaligned"}`, []string{"reason_codes"}},
			"UnknownIndex": {
				`{"outcome":"fake","reason_codes":["logo-misaligned"],"index_codes":["nope"]}`, []string{"index_codes[0]"},
			},
			"IndexWithoutPhoto": {
				`{"outcome":"fake","reason_codes":["logo-misaligned"],"index_codes":["overall-picture","clasp"]}`,
				[]string{"index_codes[1]"},
			},
			"IndexTwice": {
				`{"outcome":"fake","reason_codes":["logo-misaligned"],"index_codes":["serial-number","serial-number"]}`,
				[]string{"index_codes[1]"},
			},
			"IndexesOfAuthentic":  {`{"outcome":"authentic","index_codes":["serial-number"]}`, []string{"index_codes"}},
			"IndexesOfUnable":     {`{"outcome":"unable-to-verify","index_codes":["serial-number"]}`, []string{"index_codes"}},
			"OwnWordsOfUnable":    {`{"outcome":"unable-to-verify","reason_text":{"en":"Odd."}}`, []string{"reason_text"}},
			"OwnWordsAloneOfFake": {`{"outcome":"fake","reason_text":{"en":"Odd."}}`, []string{"reason_codes"}},
			"OwnWordsType":        {`{"outcome":"authentic","reason_text":"Odd."}`, []string{"reason_text"}},
			"OwnWordsEmpty":       {`{"outcome":"authentic","reason_text":{}}`, []string{"reason_text.en"}},
			"OwnWordsJapanese":    {`{"outcome":"authentic","reason_text":{"ja":"変"}}`, []string{"reason_text.en"}},
			"OwnWordsNoText": {
				`{"outcome":"authentic","reason_text":{"en":"","ja":""}}`, []string{"reason_text.en", "reason_text.ja"},
			},
			"OwnWordsBlank": {`{"outcome":"authentic","reason_text":{"en":" \n"}}`, []string{"reason_text.en"}},
			"OwnWordsTooLong": {
				`{"outcome":"authentic","reason_text":{"en":"` + strings.Repeat("真", 501) + `","ja":"` + strings.Repeat("x", 501) +
					`"}}`, []string{"reason_text.en", "reason_text.ja"},
			},
			"OwnWordsNUL": {`{"outcome":"authentic","reason_text":{"en":"a\u0000b"}}`, []string{"reason_text.en"}},
			"OwnWordsUnknown": {
				`{"outcome":"authentic","reason_text":{"en":"Odd.","fr":"Bizarre."}}`, []string{"reason_text.fr"},
			},
			"NoteTooLong":     {`{"outcome":"authentic","note":"` + strings.Repeat("x", 1001) + `"}`, []string{"note"}},
			"UnknownProperty": {`{"outcome":"authentic","reasons":[]}`, []string{"reasons"}},
			"NotAnObject":     {`"authentic"`, []string{"body"}},
			"CodesAllAtOnce": {
				`{"outcome":"fake","reason_codes":["nope","logo-consistent"],"index_codes":["nope"]}`,
				[]string{"reason_codes[0]", "reason_codes[1]", "index_codes[0]"},
			},
			"ShapesAllAtOnce":     {`{"outcome":"fake","note":1,"extra":1}`, []string{"reason_codes", "note", "extra"}},
			"NULInNote":           {`{"outcome":"authentic","note":"a\u0000b"}`, []string{"note"}},
			"ReasonsAndNoOutcome": {`{"reason_codes":["logo-misaligned"],"index_codes":["serial-number"]}`, []string{"outcome"}},
		}
		for name, tt := range refusals {
			t.Run("Refused/"+name, func(t *testing.T) {
				r := w.post(t, w.Mika, "/orders/"+id+"/complete", tt.body).want(t, http.StatusBadRequest, "validation-error")
				if got := r.fields(); !slices.Equal(got, tt.fields) {
					t.Errorf("fields %v, want %v: %v", got, tt.fields, r.at("details", "errors"))
				}
			})
		}
		for name, body := range map[string]string{"Empty": "", "Broken": "{", "Trailing": `{"outcome":"authentic"} x`} {
			t.Run("Malformed/"+name, func(t *testing.T) {
				w.post(t, w.Mika, "/orders/"+id+"/complete", body).want(t, http.StatusBadRequest, "bad-request")
			})
		}
		if r := w.get(t, w.Mika, "/orders/"+id); r.text("status") != "processing" || len(r.events()) != 2 {
			t.Errorf("refused verdicts have left %v", r.body)
		}
		t.Run("StateBeforeCodes", func(t *testing.T) {
			w.post(t, w.Mika, "/orders/"+w.queued(t)+"/complete", `{"outcome":"fake","reason_codes":["nope"]}`).
				want(t, http.StatusConflict, "invalid-transition")
			w.post(t, w.Ren, "/orders/"+id+"/complete", `{"outcome":"fake","reason_codes":["nope"]}`).
				want(t, http.StatusConflict, "order-claimed")
		})
	})
}

func TestReasons(t *testing.T) {
	w := newWorldOn(t)
	r := w.get(t, w.Mika, "/reasons").want(t, http.StatusOK, "")
	if r.text("reasons", 0, "code") != "logo-misaligned" || r.text("reasons", 0, "outcome") != "fake" ||
		r.text("reasons", 0, "text", "en") != "Logo stamping is misaligned" ||
		r.text("reasons", 0, "text", "ja") != "ロゴの刻印がずれています" {
		t.Errorf("first reason %v", r.at("reasons", 0))
	}
	if r.text("conditions", 0, "code") != "missing" || r.text("conditions", 0, "text", "ja") != "不足しています" ||
		r.text("requirements", 0, "code") != "sharp-focus" {
		t.Errorf("conditions %v, requirements %v", r.at("conditions", 0), r.at("requirements", 0))
	}
	if len(r.list("reasons")) != len(w.Service.Catalog().Reasons("")) {
		t.Errorf("%d reasons", len(r.list("reasons")))
	}
}
