package httpx

import "time"

const timeLayout = "2006-01-02T15:04:05.000Z"

// FormatTime returns a time as the interface shows it: RFC 3339, UTC, milliseconds, Z.
func FormatTime(t time.Time) string { return t.UTC().Format(timeLayout) }

// Timestamp is a time in a response. It is marshalled like FormatTime; the zero time is null.
type Timestamp time.Time

// OptTimestamp returns the timestamp of *t, or the one that is marshalled as null when t is nil.
func OptTimestamp(t *time.Time) Timestamp {
	if t == nil {
		return Timestamp{}
	}
	return Timestamp(*t)
}

// MarshalJSON implements json.Marshaler.
func (t Timestamp) MarshalJSON() ([]byte, error) {
	at := time.Time(t)
	if at.IsZero() {
		return []byte("null"), nil
	}
	b := make([]byte, 0, len(timeLayout)+2)
	b = append(b, '"')
	b = at.UTC().AppendFormat(b, timeLayout)
	return append(b, '"'), nil
}
