package order_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/domain/wire"
)

// answer is what the encoder of answers writes.
func answer(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// TestDetail_Append checks that a detail in every state is what the encoder of answers would write.
func TestDetail_Append(t *testing.T) {
	odd := text.Text{EN: "A \"seal\" <b>&\\\t", JA: "シール\u2028。"}
	plain := text.Text{EN: "Seal 7.", JA: "シール 7。"}
	due := noon.Add(time.Hour)
	texts := []order.CodedText{{Code: "seal", Text: plain}, {Text: odd}}
	for _, o := range []order.Order{
		{},
		{ID: "id", Status: order.Queued, DueAt: &due, UpdatedAt: noon},
		{ID: "id", Status: order.Completed, Outcome: order.Fake, UpdatedAt: noon},
		{
			ID: "id", Status: order.Completed, Outcome: order.Fake, UpdatedAt: noon, MarkedLate: true,
			Recorded: order.Recorded{Reasons: texts, OutcomeIndexes: []string{"overall", "serial"}},
		},
		{
			ID: "id", Status: order.Completed, Outcome: order.Authentic, CertificateID: "abc", UpdatedAt: noon,
			Recorded: order.Recorded{
				Reasons: texts,
				Classification: order.Classification{
					CategoryCode: "bags", BrandCode: "chanel", ModelCode: "flap", ModelName: &odd,
				},
			},
		},
		{ID: "id", Status: order.Completed, Outcome: order.UnableToVerify, UpdatedAt: noon},
		{ID: "id", Status: order.UpdatePhotos, UpdatedAt: noon},
		{ID: "id", Status: order.UpdatePhotos, UpdatedAt: noon, Recorded: order.Recorded{Requested: []order.PhotoRequest{
			{IndexCode: "serial", Name: plain, MaxPhotos: 2},
			{
				IndexCode: "logo", Name: odd, Condition: &texts[1], Requirements: texts, Comment: "<bright>",
				ReferencePhotoURL: "https://x/y?a&b", MaxPhotos: 1,
			},
		}}},
	} {
		for _, l := range []text.Locale{text.English, text.Japanese} {
			d := o.View(l, noon, func(id string) string { return "https://x/" + id })
			if got, want := string(d.Append(nil)), answer(t, &d); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		}
	}
	var empty order.PhotoToResubmit // its lists are null
	d := order.Detail{PhotosToResubmit: []order.PhotoToResubmit{empty}}
	if got, want := string(d.Append(nil)), answer(t, &d); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestAppendItem checks that an item of a list is what the encoder of answers would write.
func TestAppendItem(t *testing.T) {
	at := time.Date(2026, 3, 2, 1, 30, 0, 5e6, time.UTC)
	for _, externalID := range []*string{
		nil, new(""), new("shop-1"), new("a b"), new(`"quoted\\"`), new("<b>&amp;"), new("日本\u2028\x7f"), new("日本\u2029"),
		new("日本 \x7f"), new("tab\t"), new("\xff"),
	} {
		for _, o := range []order.Order{
			{ID: "id", Number: "AS-1", ExternalID: externalID, Status: order.Queued, DueAt: &at, UpdatedAt: at},
			{ID: "id", Number: "AS-1", ExternalID: externalID, Status: order.Completed, Outcome: order.Fake, UpdatedAt: at},
		} {
			item := struct {
				ID          string          `json:"id"`
				ExternalID  *string         `json:"external_id"`
				OrderNumber string          `json:"order_number"`
				Status      order.Status    `json:"status"`
				Outcome     *order.Outcome  `json:"outcome"`
				DueDate     *wire.Timestamp `json:"due_date"`
				UpdatedAt   *wire.Timestamp `json:"updated_at"`
			}{o.ID, o.ExternalID, o.Number, o.Status, nil, wire.OptionalTimestamp(o.DueAt), wire.OptionalTimestamp(&o.UpdatedAt)}
			if o.Outcome != "" {
				item.Outcome = &o.Outcome
			}
			if got, want := string(o.AppendItem(nil)), answer(t, item); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
	}
}

// TestDecodeRecorded checks that what is recorded of an order is read back, in the short way and in the general one.
func TestDecodeRecorded(t *testing.T) {
	model := text.Text{EN: "Flap", JA: "フラップ"}
	item := order.Classification{
		CategoryCode: "bags", CategoryName: text.Text{EN: "Bags", JA: "バッグ"}, BrandCode: "chanel",
		BrandName: text.Text{EN: "Chanel"},
	}
	reasons := []order.CodedText{{Code: "stitching", Text: model}, {Text: text.Text{EN: "In words"}}}
	known, odd := item, item
	known.ModelCode, known.ModelName = "flap", &model
	odd.BrandName.EN = `A "brand" <&> \ of its own`
	for _, want := range []order.Recorded{
		{},
		{Classification: item},
		{Classification: known},
		{Classification: odd},
		{Classification: known, Reasons: []order.CodedText{{Code: "stitching", Text: text.Text{EN: "Stitching"}}}},
		{Classification: item, OutcomeIndexes: []string{"overall"}},
		{Classification: item, Requested: []order.PhotoRequest{{IndexCode: "serial", MaxPhotos: 2}}},
		{Classification: item, Reasons: reasons, OutcomeIndexes: []string{"overall", "serial"}},
		{Classification: item, Requested: []order.PhotoRequest{
			{
				IndexCode: "serial", Name: model, Condition: &reasons[0], Requirements: reasons, Comment: "brighter",
				ReferencePhotoURL: "https://x/y", MaxPhotos: 12,
			},
			{IndexCode: "logo", Name: model, Comment: "line\nbreak", MaxPhotos: -1},
			{IndexCode: "overall", Name: model},
		}},
	} {
		stored, err := json.Marshal(&want)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := order.DecodeRecorded(string(stored)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is read as %+v, %v", stored, got, err)
		}
	}
	for _, bad := range []string{
		"", "{", `{"classification":{"category_code":"x`, `{"classification":{}}x`, `{"classification":{},"reasons":[}`,
		`{"classification":{},"requested":[{"max_photos":1-2}]}`,
	} {
		if got, err := order.DecodeRecorded(bad); err == nil {
			t.Errorf("%q is read as %+v", bad, got)
		}
	}
}
