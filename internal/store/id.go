package store

import "github.com/google/uuid"

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
