package store

import (
	"time"

	"github.com/google/uuid"
)

// NewID returns a fresh UUID of version 7: ids made by one process sort in the order they were made.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// ParseID returns the stored form of a UUID in its canonical 36-character form, in either case.
func ParseID(s string) (string, bool) {
	if len(s) != 36 {
		return "", false
	}
	id, err := uuid.Parse(s)
	return id.String(), err == nil
}

// FirstID returns an id that sorts before every id of NewID from the time on, and after those of earlier milliseconds.
func FirstID(t time.Time) string {
	var id uuid.UUID
	ms := t.UnixMilli()
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i)) //nolint:gosec // the six bytes of the time, one by one
	}
	id[6] = 0x70
	id[8] = 0x80
	return id.String()
}
