package catalog

import (
	"fmt"
	"testing"
	"time"
)

func window(t testing.TB, timezone, days, from, to string) *Window {
	t.Helper()
	doc := parse(t, fmt.Sprintf(
		"answer_times: [{code: 1, name: {en: A}, price: 1, open: {timezone: %s, days: [%s], from: %q, to: %q}}]", timezone,
		days, from, to))
	return doc.AnswerTimes[0].Open
}

func at(t testing.TB, s string) time.Time {
	t.Helper()
	moment, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return moment
}

const everyDay = "mon, tue, wed, thu, fri, sat, sun"

func TestWindow(t *testing.T) {
	berlin := func(days, from, to string) *Window { return window(t, "Europe/Berlin", days, from, to) }
	cairo := func(days, from, to string) *Window { return window(t, "Africa/Cairo", days, from, to) }
	office := window(t, "Asia/Tokyo", "mon, tue, wed, thu, fri", "09:00", "18:00")
	night := window(t, "Asia/Tokyo", "fri", "22:00", "06:00")
	untilMidnight := window(t, "UTC", "mon", "18:00", "24:00")
	untilMidnightOtherForm := window(t, "UTC", "mon", "18:00", "00:00")
	always := window(t, "UTC", everyDay, "00:00", "24:00")
	sundays := window(t, "UTC", "sun", "00:00", "24:00")

	tests := []struct {
		name   string
		window *Window
		now    string // 2026-01-05 is a Monday
		next   string // the same as now: open
	}{
		{"FirstMoment", office, "2026-01-05T09:00:00+09:00", "2026-01-05T09:00:00+09:00"},
		{"BeforeFirstMoment", office, "2026-01-05T08:59:59+09:00", "2026-01-05T09:00:00+09:00"},
		{"LastMoment", office, "2026-01-05T17:59:59+09:00", "2026-01-05T17:59:59+09:00"},
		{"End", office, "2026-01-05T18:00:00+09:00", "2026-01-06T09:00:00+09:00"},
		{"OtherZoneOfCaller", office, "2026-01-05T00:30:00Z", "2026-01-05T00:30:00Z"},
		{"OverTheWeekend", office, "2026-01-09T18:00:00+09:00", "2026-01-12T09:00:00+09:00"},
		{"NightBeforeStart", night, "2026-01-09T21:59:00+09:00", "2026-01-09T22:00:00+09:00"},
		{"NightAfterStart", night, "2026-01-09T23:00:00+09:00", "2026-01-09T23:00:00+09:00"},
		{"NightAfterMidnight", night, "2026-01-10T05:59:59+09:00", "2026-01-10T05:59:59+09:00"},
		{"NightEnd", night, "2026-01-10T06:00:00+09:00", "2026-01-16T22:00:00+09:00"},
		{"NightBelongsToItsFirstDay", night, "2026-01-09T05:00:00+09:00", "2026-01-09T22:00:00+09:00"},
		{"NightNotOnNextDay", night, "2026-01-10T22:00:00+09:00", "2026-01-16T22:00:00+09:00"},
		{"UntilMidnight", untilMidnight, "2026-01-05T23:59:59Z", "2026-01-05T23:59:59Z"},
		{"AtMidnight", untilMidnight, "2026-01-06T00:00:00Z", "2026-01-12T18:00:00Z"},
		{"UntilMidnightOtherForm", untilMidnightOtherForm, "2026-01-05T23:59:59Z", "2026-01-05T23:59:59Z"},
		{"AtMidnightOtherForm", untilMidnightOtherForm, "2026-01-06T00:00:00Z", "2026-01-12T18:00:00Z"},
		{"Always", always, "2026-01-06T00:00:00Z", "2026-01-06T00:00:00Z"},
		{"WholeSunday", sundays, "2026-01-05T00:00:00Z", "2026-01-11T00:00:00Z"},

		// Berlin, 2026-03-29: 02:00 becomes 03:00. 2026-10-25: 03:00 becomes 02:00. Both are Sundays.
		{"StartIsSkipped", berlin("sun", "02:30", "04:00"), "2026-03-29T00:59:59Z", "2026-03-29T01:00:00Z"},
		{"StartIsSkippedThenOpen", berlin("sun", "02:30", "04:00"), "2026-03-29T01:59:59Z", "2026-03-29T01:59:59Z"},
		{"EndIsSkipped", berlin("sun", "01:00", "02:30"), "2026-03-29T01:00:00Z", "2026-04-04T23:00:00Z"},
		{"WindowIsSkipped", berlin("sun", "02:00", "02:45"), "2026-03-28T12:00:00Z", "2026-04-05T00:00:00Z"},
		{"NightOfTheChange", berlin("sat", "22:00", "06:00"), "2026-03-29T03:59:59Z", "2026-03-29T03:59:59Z"},
		{"NightOfTheChangeEnds", berlin("sat", "22:00", "06:00"), "2026-03-29T04:00:00Z", "2026-04-04T20:00:00Z"},
		{"StartOccursTwice", berlin("sun", "02:30", "03:30"), "2026-10-25T00:00:00Z", "2026-10-25T00:30:00Z"},
		{"OpenThroughTheRepeatedHour", berlin("sun", "02:30", "03:30"), "2026-10-25T01:15:00Z", "2026-10-25T01:15:00Z"},
		{"EndAfterTheRepeatedHour", berlin("sun", "02:30", "03:30"), "2026-10-25T02:30:00Z", "2026-11-01T01:30:00Z"},
		{"EndOccursTwice", berlin("sun", "01:30", "02:30"), "2026-10-25T00:30:00Z", "2026-11-01T00:30:00Z"},
		// Cairo, 2026-04-24, a Friday: 00:00 becomes 01:00.
		{"MidnightIsSkipped", cairo("fri", "00:00", "24:00"), "2026-04-23T21:00:00Z", "2026-04-23T22:00:00Z"},
		{"EndAtSkippedMidnight", cairo("thu", "00:00", "24:00"), "2026-04-23T22:00:00Z", "2026-04-29T21:00:00Z"},
		// Apia had no 2011-12-30, a Friday.
		{"DayIsSkipped", window(t, "Pacific/Apia", "fri", "09:00", "17:00"), "2011-12-30T08:00:00Z", "2012-01-05T19:00:00Z"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			now, next := at(t, test.now), at(t, test.next)
			if got, want := test.window.OpenAt(now), now.Equal(next); got != want {
				t.Errorf("open at %s: %t", test.now, got)
			}
			if got := test.window.NextOpening(now); !got.Equal(next) || got.Location() != time.UTC {
				t.Errorf("next opening is %s, want %s", got, next.UTC())
			}
		})
	}
}

// TestWindowAroundChanges walks over daylight saving changes in steps of five minutes and checks that NextOpening
// is the first step at which the window is open.
func TestWindowAroundChanges(t *testing.T) {
	spans := []struct{ timezone, from string }{
		{"Europe/Berlin", "2026-03-27T12:00:00Z"},
		{"Europe/Berlin", "2026-10-23T12:00:00Z"},
		{"Africa/Cairo", "2026-04-22T12:00:00Z"},
		{"Africa/Cairo", "2026-10-28T12:00:00Z"},
		{"Australia/Lord_Howe", "2026-04-03T12:00:00Z"},
		{"America/St_Johns", "2026-03-06T12:00:00Z"},
		{"Pacific/Apia", "2011-12-28T12:00:00Z"},
	}
	hours := [][2]string{
		{"00:00", "24:00"},
		{"00:00", "00:30"},
		{"02:15", "02:45"},
		{"23:30", "02:30"},
		{"01:45", "01:15"},
		{"09:00", "17:00"},
	}
	for _, span := range spans {
		for _, h := range hours {
			t.Run(fmt.Sprintf("%s/%s/%s-%s", span.timezone, span.from[:10], h[0], h[1]), func(t *testing.T) {
				w := window(t, span.timezone, everyDay, h[0], h[1])
				var next time.Time
				for minute := 4 * 24 * 60; minute >= 0; minute -= 5 {
					now := at(t, span.from).Add(time.Duration(minute) * time.Minute)
					if w.OpenAt(now) {
						next = now
					}
					if !next.IsZero() && !w.NextOpening(now).Equal(next) {
						t.Fatalf("next opening at %s is %s, want %s", now, w.NextOpening(now), next)
					}
				}
			})
		}
	}
}

func TestWindowString(t *testing.T) {
	if got := window(t, "Asia/Tokyo", "sat, mon", "22:00", "24:00").String(); got != "sat mon 22:00-24:00 Asia/Tokyo" {
		t.Errorf("got %s", got)
	}
}
