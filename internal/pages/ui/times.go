package ui

import (
	"fmt"
	"html"
	"html/template"
	"strconv"
	"time"

	"github.com/assayhq/assay/internal/domain/text"
)

// Times are written by the server in UTC and say so; a script, static/time.js, turns them into the visitor's time zone
// where it runs, in the same style.
var (
	timeLayouts    = map[text.Locale]string{text.English: "2 Jan 2006, 15:04 UTC", text.Japanese: "2006/1/2 15:04 UTC"}
	instantLayouts = map[text.Locale]string{
		text.English: "2 Jan 2006, 15:04:05 UTC", text.Japanese: "2006/1/2 15:04:05 UTC",
	}
	dateLayouts     = map[text.Locale]string{text.English: "2 Jan 2006", text.Japanese: "2006/1/2"}
	documentLayouts = map[text.Locale]string{text.English: "2 January 2006", text.Japanese: "2006年1月2日"}
)

// FormatDate writes a day, in UTC, as documents do: in full.
func FormatDate(l text.Locale, t time.Time) string { return t.UTC().Format(documentLayouts[l]) }

// FormatTime writes a moment, in UTC.
func FormatTime(l text.Locale, t time.Time) string { return t.UTC().Format(timeLayouts[l]) }

// moment accepts what templates have: a time or a pointer to one; ok is false for none.
func moment(v any) (time.Time, bool, error) {
	switch t := v.(type) {
	case time.Time:
		return t, !t.IsZero(), nil
	case *time.Time:
		if t == nil {
			return time.Time{}, false, nil
		}
		return *t, true, nil
	}
	return time.Time{}, false, fmt.Errorf("%T is not a time", v)
}

func (f *functions) timeElement(v any, kind, shown string, more ...string) (template.HTML, error) {
	t, ok, err := moment(v)
	if err != nil || !ok {
		return dash, err
	}
	if shown == "" {
		shown = FormatTime(f.locale, t)
	}
	attrs := ""
	for i := 0; i+1 < len(more); i += 2 {
		attrs += " " + more[i] + `="` + html.EscapeString(more[i+1]) + `"`
	}
	element := `<time datetime="` + t.UTC().Format(time.RFC3339) + `" data-time="` + kind + `"` + attrs + `>` +
		html.EscapeString(shown) + `</time>`
	return template.HTML(element), nil //nolint:gosec // escaped here
}

// time is a moment.
func (f *functions) time(v any) (template.HTML, error) { return f.timeElement(v, "local", "") }

// instant is a moment to the second with its time zone: for logs, where seconds decide.
func (f *functions) instant(v any) (template.HTML, error) {
	t, _, err := moment(v)
	if err != nil {
		return "", err
	}
	return f.timeElement(v, "instant", t.UTC().Format(instantLayouts[f.locale]))
}

// date is a day in UTC, the same for everyone.
func (f *functions) date(v any) (template.HTML, error) { return f.day(v, dateLayouts) }

// fulldate is a day as a document writes it: a certificate.
func (f *functions) fulldate(v any) (template.HTML, error) { return f.day(v, documentLayouts) }

func (f *functions) day(v any, layouts map[text.Locale]string) (template.HTML, error) {
	t, ok, err := moment(v)
	if err != nil || !ok {
		return dash, err
	}
	t = t.UTC()
	day := `<time datetime="` + t.Format(time.DateOnly) + `">` + t.Format(layouts[f.locale]) + `</time>`
	return template.HTML(day), nil //nolint:gosec // made here
}

// ago is a moment in the past that scripts tell as the time since then.
func (f *functions) ago(v any) (template.HTML, error) { return f.timeElement(v, "ago", "") }

// Shares of the time for an answer at which a clock turns amber and red.
const (
	clockSoon   = 4
	clockUrgent = 10

	clockFloor = 5 * time.Minute // the last minutes are urgent, however short the whole time is
)

// clock counts down to a due time: {{clock .DueAt .AnswerTime}}, where the second is the whole time in minutes. Once
// that is over it says by how much. Without scripts it is the due time itself, with the tone it has when the page is
// made.
func (f *functions) clock(v any, minutes int) (template.HTML, error) {
	due, ok, err := moment(v)
	if err != nil || !ok {
		return dash, err
	}
	whole := time.Duration(minutes) * time.Minute
	soon, urgent := due.Add(-max(whole/clockSoon, 2*clockFloor)), due.Add(-max(whole/clockUrgent, clockFloor))
	class, shown, now := "clock tone-good", "", f.site.Now()
	switch {
	case !now.Before(due):
		class = "clock tone-bad overdue"
		by, err := f.duration(now.Sub(due))
		if err != nil {
			return "", err
		}
		if shown, err = f.t("ui.clock.overdue", "time", by); err != nil {
			return "", err
		}
	case !now.Before(urgent):
		class = "clock tone-bad"
	case !now.Before(soon):
		class = "clock tone-warn"
	}
	overdue, err := f.t("ui.clock.overdue", "time", "{time}") // the script puts it in
	if err != nil {
		return "", err
	}
	return f.timeElement(due, "clock", shown, "class", class, "data-overdue", overdue, "data-soon",
		strconv.FormatInt(soon.UnixMilli(), 10),
		"data-urgent", strconv.FormatInt(urgent.UnixMilli(), 10))
}

// duration writes a length of time in its two largest units.
func (f *functions) duration(d time.Duration) (string, error) {
	switch {
	case d < 0:
		s, err := f.duration(-d)
		return "−" + s, err
	case d < time.Minute:
		return f.t("ui.duration.seconds", "n", int(d/time.Second))
	case d < time.Hour:
		return f.t("ui.duration.minutes", "n", int(d/time.Minute))
	case d < 24*time.Hour:
		return f.t("ui.duration.hours", "n", int(d/time.Hour), "minutes", int(d%time.Hour/time.Minute))
	}
	return f.t("ui.duration.days", "n", int(d/(24*time.Hour)), "hours", int(d%(24*time.Hour)/time.Hour))
}
