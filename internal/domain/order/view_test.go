package order_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

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

// TestTimestamp holds the form of times on the wire.
func TestTimestamp(t *testing.T) {
	tokyo := time.FixedZone("JST", 9*3600)
	for _, at := range []struct {
		name string
		time time.Time
		want string
	}{
		{name: "Milliseconds", time: time.Date(2026, 3, 2, 1, 2, 3, 4_999_999, time.UTC), want: `"2026-03-02T01:02:03.004Z"`},
		{name: "WholeSecond", time: time.Date(2026, 3, 2, 1, 2, 3, 0, time.UTC), want: `"2026-03-02T01:02:03.000Z"`},
		{name: "Padded", time: time.Date(826, 11, 30, 23, 59, 59, 90_000_000, time.UTC), want: `"0826-11-30T23:59:59.090Z"`},
		{name: "FarYear", time: time.Date(12026, 1, 1, 0, 0, 0, 0, time.UTC), want: `"12026-01-01T00:00:00.000Z"`},
		{name: "OtherZone", time: time.Date(2026, 3, 2, 10, 2, 3, 0, tokyo), want: `"2026-03-02T01:02:03.000Z"`},
	} {
		t.Run(at.name, func(t *testing.T) {
			if got, err := json.Marshal(order.Timestamp(at.time)); err != nil || string(got) != at.want {
				t.Errorf("the timestamp is %s (%v), not %s", got, err, at.want)
			}
		})
	}
	t.Run("Absent", func(t *testing.T) {
		if order.At(nil) != nil {
			t.Error("a time that is not there has a timestamp")
		}
	})
}
