package integration_test

import (
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/testkit/integrationtest"
)

// TestSimulation follows Test orders: each begins in the state that its mock outcome names, with a complete result.
func TestSimulation(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		c := w.Test(t)
		due := "2026-03-03T01:00:00.000Z"
		t.Run("Authentic", func(t *testing.T) {
			r := c.Create(t, obj{"mock_outcome": "authentic"}).Is(t, "status", "completed").Is(t, "due_date", due)
			id := r.Text(t, "id")
			d := c.Get(t, "/orders/"+id+"?locale=ja")
			certificate := d.Text(t, "certificate_url")
			if !strings.HasPrefix(certificate, integrationtest.PublicURL+"/certificates/") {
				t.Errorf("the certificate is at %s", certificate)
			}
			d.Is(t, "", obj{
				"id": id, "status": "completed", "outcome": "authentic", "outcome_locale": "真正品", "delayed": false,
				"classification": obj{
					"brand_code": "chanel", "category_code": "bags", "model_code": nil, "model_name": nil, "model_name_locale": nil,
				},
				"due_date": due, "updated_at": "2026-03-02T01:00:00.000Z", "certificate_url": certificate,
				"outcome_reasons":        []any{"Stitching is consistent", "Hardware is genuine"},
				"outcome_reasons_locale": []any{"縫製が一貫しています", "Hardware is genuine"},
			})
		})
		t.Run("Fake", func(t *testing.T) {
			id := c.Create(t, obj{"mock_outcome": "fake"}).Is(t, "status", "completed").Text(t, "id")
			c.Get(t, "/orders/"+id+"?locale=ja").Is(t, "outcome", "fake").Is(t, "outcome_locale", "偽造品").
				Is(t, "certificate_url", nil).
				Is(t, "outcome_reasons", []any{"Logo stamping is misaligned", "The font is wrong"}).
				Is(t, "outcome_reasons_locale", []any{"ロゴの刻印がずれています", "The font is wrong"}).
				Is(t, "outcome_indexes", []any{"overall", "serial"}).Lacks(t, "photos_to_resubmit")
			c.Get(t, "/orders/"+id).Is(t, "outcome_locale", "Fake").
				Is(t, "outcome_reasons_locale", []any{"Logo stamping is misaligned", "The font is wrong"})
		})
		t.Run("FakeIndexesAreUnique", func(t *testing.T) {
			urls := c.Photos(t, 3)
			id := c.CreateID(t, obj{"mock_outcome": "fake", "photos": []any{
				obj{"url": urls[0], "index_code": "overall"},
				obj{"url": urls[1], "index_code": "overall"},
				obj{"url": urls[2], "index_code": "serial"},
			}})
			c.Get(t, "/orders/"+id).Is(t, "outcome_indexes", []any{"overall", "serial"})
		})
		t.Run("UnableToVerify", func(t *testing.T) {
			id := c.Create(t, obj{"mock_outcome": "unable-to-verify"}).Is(t, "status", "completed").Text(t, "id")
			c.Get(t, "/orders/"+id+"?locale=ja").Is(t, "outcome", "unable-to-verify").Is(t, "outcome_locale", "判定不能").
				Is(t, "certificate_url", nil).
				Lacks(t, "outcome_reasons", "outcome_reasons_locale", "outcome_indexes", "photos_to_resubmit")
		})
		t.Run("UpdatePhotos", func(t *testing.T) {
			id := c.Create(t, obj{"mock_outcome": "update-photos"}).Is(t, "status", "update-photos").Is(t, "due_date", nil).
				Text(t, "id")
			d := c.Get(t, "/orders/"+id+"?locale=ja").Is(t, "status", "update-photos").Is(t, "outcome", nil).
				Is(t, "due_date", nil).Lacks(t, "certificate_url")
			d.Is(t, "photos_to_resubmit.0.index_code", "overall").Is(t, "photos_to_resubmit.0.condition", "unclear").
				Is(t, "photos_to_resubmit.0.condition_locale", "不鮮明です").
				Is(t, "photos_to_resubmit.0.requirements", []any{"sharp-focus", "no-glare"}).
				Is(t, "photos_to_resubmit.0.requirements_locale", []any{"ピントを合わせてください", "No glare"}).
				Is(t, "photos_to_resubmit.0.max_photos", 2)
			d.Is(t, "photos_to_resubmit.1.index_code", "interior").Is(t, "photos_to_resubmit.1.condition", "missing").
				Is(t, "photos_to_resubmit.1.condition_locale", "不足しています").Is(t, "photos_to_resubmit.1.name_locale", "Interior").
				Is(t, "photos_to_resubmit.1.requirements", []any{"sharp-focus", "no-glare"}).
				Lacks(t, "photos_to_resubmit.2")
		})
		t.Run("ChargedLikeLive", func(t *testing.T) {
			before := c.Account.Balance(t, "test")
			c.Create(t, obj{"answer_time": 30})
			if got := c.Account.Balance(t, "test"); got != before-20 {
				t.Errorf("the balance went from %d to %d", before, got)
			}
		})
		t.Run("WithoutTextsInTheCatalog", func(t *testing.T) { // built-in ones, in both languages
			bare, _, _ := strings.Cut(string(integrationtest.Catalog), "reasons:\n")
			w.ImportCatalog(t, []byte(bare))
			defer w.ImportCatalog(t, integrationtest.Catalog)
			for _, outcome := range []string{"authentic", "fake"} {
				d := c.Get(t, "/orders/"+c.CreateID(t, obj{"mock_outcome": outcome})+"?locale=ja")
				if en, ja := d.Text(t, "outcome_reasons.0"), d.Text(t, "outcome_reasons_locale.0"); en == "" || ja == "" ||
					en == ja {
					t.Errorf("the reasons of %s are %q and %q", outcome, en, ja)
				}
			}
			d := c.Get(t, "/orders/"+c.CreateID(t, obj{"mock_outcome": "update-photos"})+"?locale=ja")
			d.Is(t, "photos_to_resubmit.0.condition", "unclear").Is(t, "photos_to_resubmit.0.condition_locale", "不鮮明です").
				Is(t, "photos_to_resubmit.0.requirements", []any{"sharp-focus"})
		})
	})
}

// TestSimulation_AfterSubmission follows Test orders after they got the photos they asked for.
func TestSimulation_AfterSubmission(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		c := w.Test(t)
		submit := func(t *testing.T, note string, provide ...bool) string {
			t.Helper()
			id := c.CreateID(t, obj{"mock_outcome": "update-photos"})
			var entries []any
			for i, index := range []string{"overall", "interior"} {
				if provide[i] {
					entries = append(entries, obj{"index_code": index, "url": c.Photos(t, 1)[0]})
				} else {
					entries = append(entries, obj{"index_code": index, "is_unable_to_provide": true})
				}
			}
			body := obj{"photos": entries}
			if note != "" {
				body["note"] = note
			}
			c.Post(t, "/orders/"+id+"/update_photos", body).Want(t, 202).Is(t, "", obj{"id": id, "status": "accepted"})
			return id
		}
		for _, after := range []struct {
			name, note              string
			first, second           bool
			wantStatus, wantOutcome string
		}{
			{name: "AllProvided", first: true, second: true, wantStatus: "completed", wantOutcome: "authentic"},
			{name: "OneUnavailable", first: true, wantStatus: "completed", wantOutcome: "unable-to-verify"},
			{name: "AllUnavailable", wantStatus: "completed", wantOutcome: "unable-to-verify"},
			{name: "NoteAuthentic", note: "mock_outcome=authentic", wantStatus: "completed", wantOutcome: "authentic"},
			{
				name: "NoteFake", note: "mock_outcome=fake", first: true, second: true, wantStatus: "completed",
				wantOutcome: "fake",
			},
			{
				name: "NoteUnableToVerify", note: "mock_outcome=unable-to-verify", first: true, second: true,
				wantStatus: "completed", wantOutcome: "unable-to-verify",
			},
			{
				name: "NoteUpdatePhotos", note: "mock_outcome=update-photos", first: true, second: true,
				wantStatus: "update-photos",
			},
			{
				name: "NoteNotExact", note: " mock_outcome=fake", first: true, second: true, wantStatus: "completed",
				wantOutcome: "authentic",
			},
			{
				name: "NoteUnknownValue", note: "mock_outcome=canceled", first: true, second: true, wantStatus: "completed",
				wantOutcome: "authentic",
			},
			{
				name: "NoteOfWords", note: "please set mock_outcome=fake", first: true, second: true, wantStatus: "completed",
				wantOutcome: "authentic",
			},
		} {
			t.Run(after.name, func(t *testing.T) {
				id := submit(t, after.note, after.first, after.second)
				d := c.Get(t, "/orders/"+id).Is(t, "status", after.wantStatus)
				if after.wantOutcome != "" {
					d.Is(t, "outcome", after.wantOutcome).Is(t, "due_date", "2026-03-03T01:00:00.000Z").Lacks(t, "photos_to_resubmit")
				}
			})
		}
		t.Run("AFurtherRound", func(t *testing.T) {
			id := submit(t, "mock_outcome=update-photos", true, true)
			d := c.Get(t, "/orders/"+id).Is(t, "due_date", nil)
			var entries []any
			for _, index := range d.List(t, "photos_to_resubmit", "index_code") {
				entries = append(entries, obj{"index_code": index, "url": c.Photos(t, 1)[0]})
			}
			c.Post(t, "/orders/"+id+"/update_photos", obj{"photos": entries}).Want(t, 202)
			c.Get(t, "/orders/"+id).Is(t, "outcome", "authentic")
			if got := rows(t, w, "SELECT DISTINCT round FROM order_photos WHERE order_id = $1", id); len(got) != 2 {
				t.Errorf("the order has photos of %d rounds after its creation", len(got))
			}
		})
		t.Run("FakeIndexesFromSubmittedPhotos", func(t *testing.T) {
			c.Get(t, "/orders/"+submit(t, "mock_outcome=fake", true, true)).Is(t, "outcome_indexes", []any{"overall", "serial"})
		})
	})
}
