package order_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/text"
)

// words is a catalog in which every code is its own text.
var words = catalog.NewSnapshot(&catalog.Document{
	Reasons:      []catalog.Reason{reason("authentic:a"), reason("authentic:b"), reason("fake:a")},
	Conditions:   []catalog.Phrase{{Code: "unclear", Text: text.Text{EN: "unclear"}}},
	Requirements: []catalog.Phrase{{Code: "sharp", Text: text.Text{EN: "sharp"}}},
}, 1, nil, nil)

func reason(code string) catalog.Reason {
	outcome, _, _ := strings.Cut(code, ":")
	return catalog.Reason{Code: code, Outcome: outcome, Text: text.Text{EN: code}}
}

var (
	now    = time.Date(2025, 11, 15, 2, 0, 0, 0, time.UTC)
	photos = []order.Photo{
		{Name: "a.jpg", IndexCode: "front"},
		{Name: "b.jpg", IndexCode: "retired"},
		{IndexCode: "unprovided", Round: 1},
	}
)

func processing() *order.Order {
	due := now.Add(time.Hour)
	return &order.Order{Environment: access.Live, Status: order.Processing, AssigneeID: "mika", DueAt: &due}
}

// fields returns the fields that a validation error names.
func fields(t *testing.T, err error) []string {
	t.Helper()
	if err != nil && fault.CodeOf(err) != fault.CodeValidation {
		t.Fatalf("got %v, want a validation error", err)
	}
	var names []string
	for _, p := range fault.ProblemsOf(err) {
		names = append(names, p.Field)
	}
	return names
}

func TestJudge(t *testing.T) {
	tests := map[string]struct {
		verdict order.Verdict
		fields  []string
	}{
		"Authentic": {order.Verdict{Outcome: order.Authentic}, nil},
		"AuthenticReasons": {
			order.Verdict{Outcome: order.Authentic, ReasonCodes: []string{"authentic:a", "authentic:b"}}, nil,
		},
		"Fake": {order.Verdict{
			Outcome: order.Fake, ReasonCodes: []string{"fake:a"}, IndexCodes: []string{"front", "retired"},
		}, nil},
		"UnableToVerify":    {order.Verdict{Outcome: order.UnableToVerify}, nil},
		"Canceled":          {order.Verdict{Outcome: order.Canceled}, []string{"outcome"}},
		"NoOutcome":         {order.Verdict{}, []string{"outcome"}},
		"FakeWithoutReason": {order.Verdict{Outcome: order.Fake}, []string{"reason_codes"}},
		"UnknownReason":     {order.Verdict{Outcome: order.Fake, ReasonCodes: []string{"nope"}}, []string{"reason_codes[0]"}},
		"ReasonOfOther": {
			order.Verdict{Outcome: order.Authentic, ReasonCodes: []string{"fake:a"}}, []string{"reason_codes[0]"},
		},
		"ReasonTwice": {
			order.Verdict{Outcome: order.Fake, ReasonCodes: []string{"fake:a", "fake:a"}}, []string{"reason_codes[1]"},
		},
		"UnknownIndex": {order.Verdict{
			Outcome: order.Fake, ReasonCodes: []string{"fake:a"}, IndexCodes: []string{"nope"},
		}, []string{"index_codes[0]"}},
		"IndexNotProvided": {order.Verdict{
			Outcome: order.Fake, ReasonCodes: []string{"fake:a"}, IndexCodes: []string{"unprovided"},
		}, []string{"index_codes[0]"}},
		"IndexTwice": {order.Verdict{
			Outcome: order.Fake, ReasonCodes: []string{"fake:a"}, IndexCodes: []string{"front", "front"},
		}, []string{"index_codes[1]"}},
		"IndexesOfAuthentic": {
			order.Verdict{Outcome: order.Authentic, IndexCodes: []string{"front"}}, []string{"index_codes"},
		},
		"OwnWords": {order.Verdict{Outcome: order.Authentic, ReasonText: text.Text{EN: strings.Repeat("真",
			order.MaxReasonText)}}, nil},
		"OwnWordsOfFake": {order.Verdict{
			Outcome: order.Fake, ReasonCodes: []string{"fake:a"}, ReasonText: text.Text{EN: "Odd.", JA: "変"},
		}, nil},
		"OwnWordsAlone": {order.Verdict{Outcome: order.Fake, ReasonText: text.Text{EN: "Odd."}}, []string{"reason_codes"}},
		"OwnWordsOfUnable": {
			order.Verdict{Outcome: order.UnableToVerify, ReasonText: text.Text{EN: "Odd."}}, []string{"reason_text"},
		},
		"JapaneseAlone": {
			order.Verdict{Outcome: order.Authentic, ReasonText: text.Text{JA: "真正"}}, []string{"reason_text.en"},
		},
		"BlankWords": {
			order.Verdict{Outcome: order.Authentic, ReasonText: text.Text{EN: " \n", JA: "\u3000"}},
			[]string{"reason_text.en", "reason_text.ja"},
		},
		"TooManyWords": {
			order.Verdict{Outcome: order.Authentic, ReasonText: text.Text{
				EN: strings.Repeat("x", order.MaxReasonText+1), JA: strings.Repeat("真", order.MaxReasonText+1),
			}},
			[]string{"reason_text.en", "reason_text.ja"},
		},
		"AllAtOnce": {
			order.Verdict{
				Outcome: order.Fake, ReasonCodes: []string{"nope", "authentic:a"}, ReasonText: text.Text{JA: "変"},
				IndexCodes: []string{"nope"},
			},
			[]string{"reason_codes[0]", "reason_codes[1]", "reason_text.en", "index_codes[0]"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o := processing()
			err := o.Judge(&tt.verdict, words, photos, now)
			if got := fields(t, err); !slices.Equal(got, tt.fields) {
				t.Fatalf("problems of %v, want %v", got, tt.fields)
			}
			if err != nil {
				if o.Status != order.Processing || o.Outcome != "" || o.EndedAt != nil {
					t.Errorf("a refused verdict has changed the order: %+v", o)
				}
				return
			}
			reasons := len(tt.verdict.ReasonCodes)
			if own := tt.verdict.ReasonText; own.EN != "" {
				if reasons++; o.Reasons[len(o.Reasons)-1] != (order.CodedText{Text: own}) {
					t.Errorf("the last of the reasons %v is not %v", o.Reasons, own)
				}
			}
			if o.Status != order.Completed || o.Outcome != tt.verdict.Outcome || len(o.Reasons) != reasons ||
				!slices.Equal(o.OutcomeIndexes, tt.verdict.IndexCodes) || !o.EndedAt.Equal(now) {
				t.Errorf("order %+v", o)
			}
			if (o.CertificateID != "") != (o.Outcome == order.Authentic) {
				t.Errorf("certificate %q of an order that is %s", o.CertificateID, o.Outcome)
			}
		})
	}
	t.Run("WrongState", func(t *testing.T) {
		o := &order.Order{Status: order.Queued}
		if err := o.Judge(&order.Verdict{Outcome: order.Authentic}, words, photos,
			now); fault.CodeOf(err) != "invalid-transition" {
			t.Errorf("got %v, want invalid-transition", err)
		}
	})
}

func TestRequest(t *testing.T) {
	indexes := []*catalog.PhotoIndex{
		{Code: "front", Name: text.Text{EN: "Front"}, PhotoLimit: 3},
		{Code: "back", Name: text.Text{EN: "Back"}, PhotoLimit: 2},
	}
	tests := map[string]struct {
		drafts []order.RequestDraft
		fields []string
	}{
		"Plain": {[]order.RequestDraft{{IndexCode: "front"}, {IndexCode: "back"}}, nil},
		"Full": {[]order.RequestDraft{{
			IndexCode: "front", Condition: "unclear", Requirements: []string{"sharp"},
			Comment: "c", ReferencePhotoURL: "https://example.com/a.jpg", MaxPhotos: 9,
		}}, nil},
		"OfOwnPhotos": {[]order.RequestDraft{{IndexCode: "retired"}}, nil},
		"None":        {nil, []string{"photos"}},
		"TooMany": {
			slices.Repeat([]order.RequestDraft{{IndexCode: "front"}}, 76),
			append([]string{"photos"}, slices.Repeat([]string{"…"}, 75)...),
		},
		"Unknown":   {[]order.RequestDraft{{IndexCode: "nope"}}, []string{"photos[0].index_code"}},
		"Twice":     {[]order.RequestDraft{{IndexCode: "front"}, {IndexCode: "front"}}, []string{"photos[1].index_code"}},
		"Condition": {[]order.RequestDraft{{IndexCode: "front", Condition: "nope"}}, []string{"photos[0].condition"}},
		"Requirement": {
			[]order.RequestDraft{{IndexCode: "front", Requirements: []string{"sharp", "nope", "sharp"}}},
			[]string{"photos[0].requirements[1]", "photos[0].requirements[2]"},
		},
		"Comment": {
			[]order.RequestDraft{{IndexCode: "front", Comment: strings.Repeat("字", 1001)}}, []string{"photos[0].comment"},
		},
		"Reference": {
			[]order.RequestDraft{{IndexCode: "front", ReferencePhotoURL: "ftp://example.com/a"}},
			[]string{"photos[0].reference_photo_url"},
		},
		"MaxPhotos": {[]order.RequestDraft{{IndexCode: "front", MaxPhotos: -1}}, []string{"photos[0].max_photos"}},
		"TooManyPhotos": {
			[]order.RequestDraft{{IndexCode: "front", MaxPhotos: order.MaxPhotos + 1}}, []string{"photos[0].max_photos"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o := processing()
			err := o.Request(tt.drafts, words, indexes, photos, now)
			got := fields(t, err)
			if len(got) != len(tt.fields) || len(tt.fields) < 10 && !slices.Equal(got, tt.fields) {
				t.Fatalf("problems of %v, want %v", got, tt.fields)
			}
			if err != nil {
				if o.Status != order.Processing || o.Round != 0 || o.DueAt == nil {
					t.Errorf("a refused request has changed the order: %+v", o)
				}
				return
			}
			if o.Status != order.UpdatePhotos || o.Round != 1 || o.DueAt != nil || *o.TimeLeft != time.Hour ||
				len(o.Requested) != len(tt.drafts) {
				t.Errorf("order %+v", o)
			}
		})
	}
	t.Run("Defaults", func(t *testing.T) {
		o := processing()
		if err := o.Request([]order.RequestDraft{
			{IndexCode: "front"},
			{IndexCode: "retired"},
			{IndexCode: "back", MaxPhotos: 7},
		}, words, indexes, photos, now); err != nil {
			t.Fatal(err)
		}
		r := o.Requested
		if r[0].MaxPhotos != 3 || r[0].Name.EN != "Front" || r[1].MaxPhotos != 1 || r[1].Name.EN != "retired" ||
			r[2].MaxPhotos != 7 {
			t.Errorf("requests %+v", r)
		}
	})
}

func TestValidReferenceURL(t *testing.T) {
	tests := map[string]bool{
		"https://example.com/a.jpg":                true,
		"https://example.com:8443/media/a.jpg?w=1": true,
		"https://[2001:db8::1]/a":                  true,
		"http://example.com/a.jpg":                 false,
		"//example.com/a.jpg":                      false,
		"/a.jpg":                                   false,
		"https:///a.jpg":                           false,
		"https:a.jpg":                              false,
		"https://user@example.com/a.jpg":           false,
		"https://example.com/a b.jpg":              false,
		"https://example.com/<a>":                  false,
		"https://example.com/写真":                   false,
		"https://example.com/a\n":                  false,
		"javascript:alert(1)":                      false,
		"":                                         false,
		"https://example.com/" + strings.Repeat("a", 2028): true,
		"https://example.com/" + strings.Repeat("a", 2029): false,
	}
	for raw, want := range tests {
		if got := order.ValidReferenceURL(raw); got != want {
			t.Errorf("ValidReferenceURL(%.60q) = %t, want %t", raw, got, want)
		}
	}
}
