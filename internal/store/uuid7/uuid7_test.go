package uuid7_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assayhq/assay/internal/store/uuid7"
)

// TestFirst_LongAgo: every id sorts after a time for which none could be made.
func TestFirst_LongAgo(t *testing.T) {
	for _, at := range []time.Time{{}, time.Date(1960, 1, 1, 0, 0, 0, 0, time.UTC), time.Unix(0, -1)} {
		if first := uuid7.First(at); first > uuid7.New() || first != uuid7.First(time.Unix(0, 0)) {
			t.Errorf("the first id of %s is %s", at, first)
		}
	}
}

// TestNewAt checks that ids carry the time they are made for, also a past one, and keep the order of one time.
func TestNewAt(t *testing.T) {
	now := time.Date(2026, 9, 1, 8, 30, 0, 123_456_000, time.UTC)
	for _, at := range []time.Time{now, now.AddDate(0, -2, 0), now.Add(time.Hour), now.Add(time.Hour).Add(-time.Minute)} {
		ids := make([]string, 1000)
		for i := range ids {
			ids[i] = uuid7.NewAt(at)
		}
		if !slices.IsSorted(ids) || len(slices.Compact(ids)) != len(ids) {
			t.Errorf("ids of %s are not in the order they were made", at)
		}
		first := uuid.MustParse(ids[0])
		sec, nsec := first.Time().UnixTime()
		if got := time.Unix(sec, nsec); got.Sub(at).Abs() > 10*time.Millisecond {
			t.Errorf("an id made for %s is of %s", at, got.UTC())
		}
		if first.Version() != 7 || first.Variant() != uuid.RFC4122 {
			t.Errorf("id %s has version %d and variant %s", first, first.Version(), first.Variant())
		}
		if ids[0] < uuid7.First(at) || ids[999] >= uuid7.First(at.Add(20*time.Millisecond)) {
			t.Errorf("ids of %s are outside the range of their time: %s to %s", at, ids[0], ids[999])
		}
	}
}
