package store

import (
	"encoding/binary"
	"time"

	"github.com/google/uuid"

	"github.com/assayhq/assay/internal/store/uuid7"
)

// NewID returns a fresh id.
func NewID() string { return uuid7.New() }

// NewIDAt returns a fresh id for something that happened at the time.
func NewIDAt(t time.Time) string { return uuid7.NewAt(t) }

// ParseID returns the stored form of an id.
func ParseID(s string) (string, bool) { return uuid7.Parse(s) }

// FirstID returns an id that sorts before every id of the time or later.
func FirstID(t time.Time) string { return uuid7.First(t) }

// RowID returns the rowid that the order with an id gets in SQLite: the bits of the id's time and counter, and three
// more. An order is read by it without a descent of the index of ids, as long as it has it: see ShownOrder.
func RowID(id string) int64 {
	u, err := uuid.Parse(id)
	if err != nil {
		return 0 // which no row has
	}
	made, random := binary.BigEndian.Uint64(u[:8]), binary.BigEndian.Uint64(u[8:])
	return int64(made>>16<<15 | made&0xfff<<3 | random>>59&7) //nolint:gosec // 63 bits
}
