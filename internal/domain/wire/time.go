// Package wire is the form that times and strings have in the JSON that the program sends and logs.
package wire

import "time"

// TimeFormat is the layout of every timestamp on the wire: RFC 3339 with milliseconds. The time has to be in UTC.
const TimeFormat = "2006-01-02T15:04:05.000Z"

// Timestamp is a time that encodes itself as TimeFormat says.
type Timestamp time.Time

// OptionalTimestamp returns the timestamp of a time that may be absent: nil, which is null in JSON.
func OptionalTimestamp(t *time.Time) *Timestamp {
	if t == nil {
		return nil
	}
	return new(Timestamp(*t))
}

// MarshalJSON implements json.Marshaler.
func (t Timestamp) MarshalJSON() ([]byte, error) {
	return AppendTime(make([]byte, 0, len(TimeFormat)+len(`""`)), time.Time(t)), nil
}

// AppendTime appends a time in quotes as TimeFormat says, whatever its zone; time.AppendFormat reads the layout anew
// each time.
func AppendTime(b []byte, t time.Time) []byte {
	t = t.UTC()
	year, month, day := t.Date()
	if year < 0 || year > 9999 {
		return t.AppendFormat(b, `"`+TimeFormat+`"`)
	}
	hour, minute, second := t.Clock()
	b = appendDigits(append(b, '"'), year/100, year%100)
	b = appendDigits(append(b, '-'), int(month))
	b = appendDigits(append(b, '-'), day)
	b = appendDigits(append(b, 'T'), hour)
	b = appendDigits(append(b, ':'), minute)
	b = appendDigits(append(b, ':'), second)
	ms := t.Nanosecond() / int(time.Millisecond)
	b = append(b, '.', digits[ms/100])
	return append(appendDigits(b, ms%100), 'Z', '"')
}

const digits = "0123456789"

// appendDigits appends numbers below 100 with two digits each.
func appendDigits(b []byte, numbers ...int) []byte {
	for _, n := range numbers {
		b = append(b, digits[n/10], digits[n%10])
	}
	return b
}
