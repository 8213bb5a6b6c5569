package catalog

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Clock is a time of day in minutes after midnight.
type Clock int

// endOfDay is 24:00, the midnight after the day.
const endOfDay Clock = 24 * 60

// String returns the form used in documents, such as 09:00.
func (c Clock) String() string { return fmt.Sprintf("%02d:%02d", int(c)/60, int(c)%60) }

// MarshalText returns the same.
func (c Clock) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// dayNames are the days as documents write them, indexed by time.Weekday.
var dayNames = [...]string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// Window is the weekly opening time of an answer time. It belongs to the day on which it starts: a window from
// 22:00 to 06:00 on Friday lasts into Saturday.
//
// Times are local wall-clock times. Where a daylight saving change skips From or To, the instant of the change is
// used; where a time occurs twice, the first occurrence counts.
type Window struct {
	Timezone string
	Days     []time.Weekday
	From     Clock
	To       Clock // before From: on the next day

	location *time.Location
}

// OpenAt reports whether t is in the window, including its start and excluding its end.
func (w *Window) OpenAt(t time.Time) bool {
	local := t.In(w.location)
	for back := range 2 { // a window of yesterday may last into today
		start, end, ok := w.on(local.Year(), local.Month(), local.Day()-back)
		if ok && !t.Before(start) && t.Before(end) {
			return true
		}
	}
	return false
}

// NextOpening returns the first instant at or after t at which the window is open, in UTC.
func (w *Window) NextOpening(t time.Time) time.Time {
	if w.OpenAt(t) {
		return t.UTC()
	}
	// A window recurs every week. A clock change may skip one occurrence, but never three in a row.
	local := t.In(w.location)
	for ahead := range 3 * 7 {
		start, end, ok := w.on(local.Year(), local.Month(), local.Day()+ahead)
		if ok && start.After(t) && start.Before(end) {
			return start.UTC()
		}
	}
	return time.Time{}
}

// on returns the window that starts on a day, if any. The day may exceed the month, as for time.Date.
func (w *Window) on(year int, month time.Month, day int) (start, end time.Time, ok bool) {
	date := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	if !slices.Contains(w.Days, date.Weekday()) {
		return time.Time{}, time.Time{}, false
	}
	start = firstInstant(date.Add(time.Duration(w.From)*time.Minute), w.location)
	if w.To < w.From {
		date = date.AddDate(0, 0, 1)
	}
	end = firstInstant(date.Add(time.Duration(w.To)*time.Minute), w.location)
	return start, end, true
}

// firstInstant returns the first instant at which clocks of the location show at least the given reading, which is
// represented in UTC. Where clocks skip the reading, that is the instant of the change.
func firstInstant(reading time.Time, location *time.Location) time.Time {
	shown := func(t time.Time) time.Time {
		_, offset := t.Zone()
		return t.UTC().Add(time.Duration(offset) * time.Second)
	}
	t := time.Date(reading.Year(), reading.Month(), reading.Day(), reading.Hour(), reading.Minute(), 0, 0, location)
	since, until := t.ZoneBounds()
	switch {
	case shown(t).Before(reading): // skipped; t was computed with the offset before the change
		return until
	case shown(t).After(reading): // skipped; t was computed with the offset after the change
		return since
	case since.IsZero():
		return t
	}
	// The offset before the last change may have shown the same reading already.
	_, offset := since.Add(-time.Nanosecond).Zone()
	if earlier := reading.Add(-time.Duration(offset) * time.Second); earlier.Before(since) {
		return earlier.In(location)
	}
	return t
}

// String describes the window, for example "mon tue 09:00-18:00 Asia/Tokyo".
func (w *Window) String() string {
	days := make([]string, len(w.Days))
	for i, day := range w.Days {
		days[i] = dayNames[day]
	}
	return fmt.Sprintf("%s %s-%s %s", strings.Join(days, " "), w.From, w.To, w.Timezone)
}
