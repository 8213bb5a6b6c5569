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

// String is the form of the document, such as 09:00.
func (c Clock) String() string { return fmt.Sprintf("%02d:%02d", int(c)/60, int(c)%60) }

// dayNames are the days as documents write them, at the place of their time.Weekday.
var dayNames = [...]string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// Window is the weekly time in which an answer time can be ordered. It belongs to the day it starts on: a window from
// 22:00 to 06:00 on Friday lasts into Saturday.
//
// Clocks are read as people on the spot read them. Where a clock is set forward over From or To, the moment of the
// change takes its place; where it is set back, the first of the two moments counts.
type Window struct {
	Timezone string
	Days     []time.Weekday
	From     Clock
	To       Clock // before From: on the next day

	location *time.Location
}

// OpenAt reports whether t is in the window: from its first moment on, up to its end and without it.
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

// NextOpening returns the first moment from t on at which the window is open, in UTC: t itself when it is open then.
func (w *Window) NextOpening(t time.Time) time.Time {
	if w.OpenAt(t) {
		return t.UTC()
	}
	// A window comes round within a week. A change of the clock may swallow one whole, never those of three weeks.
	local := t.In(w.location)
	for ahead := range 3 * 7 {
		start, end, ok := w.on(local.Year(), local.Month(), local.Day()+ahead)
		if ok && start.After(t) && start.Before(end) {
			return start.UTC()
		}
	}
	return time.Time{}
}

// on returns the window that starts on a day, if there is one. The day may be out of its month's range, as for
// time.Date.
func (w *Window) on(year int, month time.Month, day int) (start, end time.Time, ok bool) {
	date := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	if !slices.Contains(w.Days, date.Weekday()) {
		return time.Time{}, time.Time{}, false
	}
	start = firstMoment(date.Add(time.Duration(w.From)*time.Minute), w.location)
	if w.To < w.From {
		date = date.AddDate(0, 0, 1)
	}
	end = firstMoment(date.Add(time.Duration(w.To)*time.Minute), w.location)
	return start, end, true
}

// firstMoment returns the first moment at which clocks of the location show at least the given reading, which is
// held as if it were UTC. Where clocks skip the reading, that is the moment of the change.
func firstMoment(reading time.Time, location *time.Location) time.Time {
	shown := func(t time.Time) time.Time {
		_, offset := t.Zone()
		return t.UTC().Add(time.Duration(offset) * time.Second)
	}
	t := time.Date(reading.Year(), reading.Month(), reading.Day(), reading.Hour(), reading.Minute(), 0, 0, location)
	since, until := t.ZoneBounds()
	switch {
	case shown(t).Before(reading): // skipped, and t is taken by the clocks before the change
		return until
	case shown(t).After(reading): // skipped, and t is taken by the clocks after the change
		return since
	case since.IsZero():
		return t
	}
	// The clocks before the last change may have shown the same reading already.
	_, offset := since.Add(-time.Nanosecond).Zone()
	if earlier := reading.Add(-time.Duration(offset) * time.Second); earlier.Before(since) {
		return earlier.In(location)
	}
	return t
}

// String describes the window for people, such as "mon tue 09:00-18:00 Asia/Tokyo".
func (w *Window) String() string {
	days := make([]string, len(w.Days))
	for i, day := range w.Days {
		days[i] = dayNames[day]
	}
	return fmt.Sprintf("%s %s-%s %s", strings.Join(days, " "), w.From, w.To, w.Timezone)
}
