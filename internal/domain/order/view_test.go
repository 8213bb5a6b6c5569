package order_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/text"
)

// properties returns the names in the JSON form of a value, sorted.
func properties(t *testing.T, v any) []string {
	t.Helper()
	encoded, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(encoded, &fields); err != nil {
		t.Fatal(err)
	}
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// TestView_Presence holds which properties a detail has in which state.
func TestView_Presence(t *testing.T) {
	always := []string{"id", "status", "outcome", "outcome_locale", "delayed", "classification", "due_date", "updated_at"}
	reasons := []string{"certificate_url", "outcome_reasons", "outcome_reasons_locale"}
	for _, state := range []struct {
		name    string
		status  order.Status
		outcome order.Outcome
		more    []string
	}{
		{name: "Queued", status: order.Queued},
		{name: "Processing", status: order.Processing},
		{name: "UpdatePhotos", status: order.UpdatePhotos, more: []string{"photos_to_resubmit"}},
		{name: "Error", status: order.Failed},
		{name: "Authentic", status: order.Completed, outcome: order.Authentic, more: reasons},
		{name: "Fake", status: order.Completed, outcome: order.Fake, more: append([]string{"outcome_indexes"}, reasons...)},
		{name: "UnableToVerify", status: order.Completed, outcome: order.UnableToVerify, more: []string{"certificate_url"}},
		{name: "Canceled", status: order.Completed, outcome: order.Canceled, more: []string{"certificate_url"}},
	} {
		t.Run(state.name, func(t *testing.T) {
			o := &order.Order{Status: state.status, Outcome: state.outcome}
			o.Requested = []order.PhotoRequest{{IndexCode: "overall", MaxPhotos: 1}} // what is left over must not show
			o.Reasons = []order.CodedText{{Code: "a", Text: text.Text{EN: "A"}}}
			o.OutcomeIndexes = []string{"overall"}
			want := append(slices.Clone(always), state.more...)
			slices.Sort(want)
			if got := properties(t, o.View(text.English, noon, nil)); !slices.Equal(got, want) {
				t.Errorf("the properties are %q, not %q", got, want)
			}
		})
	}
	t.Run("EmptyListsStay", func(t *testing.T) {
		o := &order.Order{Status: order.Completed, Outcome: order.Fake}
		encoded, err := json.Marshal(o.View(text.English, noon, nil))
		if err != nil {
			t.Fatal(err)
		}
		var d struct {
			Reasons *[]string `json:"outcome_reasons"`
			Indexes *[]string `json:"outcome_indexes"`
		}
		if err := json.Unmarshal(encoded, &d); err != nil || d.Reasons == nil || d.Indexes == nil {
			t.Errorf("lists of the outcome are missing: %s (%v)", encoded, err)
		}
	})
	t.Run("Certificate", func(t *testing.T) {
		o := &order.Order{Status: order.Completed, Outcome: order.Authentic, CertificateID: "abc"}
		d := o.View(text.English, noon, func(id string) string { return "https://x/" + id })
		if url := d.CertificateURL.Value; url == nil || *url != "https://x/abc" {
			t.Errorf("the certificate is %v", d.CertificateURL)
		}
	})
}
