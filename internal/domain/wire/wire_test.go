package wire_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/wire"
)

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
			if got, err := json.Marshal(wire.Timestamp(at.time)); err != nil || string(got) != at.want {
				t.Errorf("the timestamp is %s (%v), not %s", got, err, at.want)
			}
			if got := at.time.UTC().Format(`"` + wire.TimeFormat + `"`); got != at.want {
				t.Errorf("in the format it is %s, not %s", got, at.want)
			}
		})
	}
	t.Run("Absent", func(t *testing.T) {
		if wire.OptionalTimestamp(nil) != nil {
			t.Error("a time that is not there has a timestamp")
		}
	})
}

// FuzzAppendString compares strings with what the encoder of answers writes.
func FuzzAppendString(f *testing.F) {
	for _, s := range []string{
		"", "shop-1", "a b", `"quoted\\"`, "<b>&amp;", "日本\u2028\x7f", "日本\u2029", "日本 \x7f", "tab\t", "\x00", "\xff",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(s); err != nil {
			t.Fatal(err)
		}
		if got := append(wire.AppendString([]byte("before "), s), '\n'); string(got) != "before "+want.String() {
			t.Errorf("got %q, want %q", got, &want)
		}
	})
}
