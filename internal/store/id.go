package store

import (
	"crypto/rand"
	"encoding/binary"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// NewID returns a fresh UUID of version 7: ids made by one process sort in the order they were made.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// lastStamp is the time of the newest id of NewIDAt, in 1/4096 of a millisecond.
var lastStamp atomic.Int64

// stampStep is how far NewIDAt goes ahead of a clock that stands still: ten milliseconds.
const stampStep = 10 << 12

// NewIDAt returns a fresh UUID of version 7 for something that happened at the time, so that ids are in the order of
// what they stand for, also where a clock is injected. Ids of one time sort in the order they were made.
func NewIDAt(t time.Time) string {
	us := t.UnixMicro()
	want := us/1000<<12 | us%1000*4096/1000
	stamp := want
	for {
		last := lastStamp.Load()
		if last >= want && last-want < stampStep {
			stamp = last + 1
		} else {
			stamp = want
		}
		if lastStamp.CompareAndSwap(last, stamp) {
			break
		}
	}
	var id uuid.UUID
	_, _ = rand.Read(id[8:]) // never fails
	setTime(&id, stamp>>12)
	id[6], id[7] = 0x70|byte(stamp>>8&0x0f), byte(stamp) //nolint:gosec // twelve bits, in two parts
	id[8] = 0x80 | id[8]&0x3f
	return id.String()
}

// ParseID returns the stored form of a UUID in its canonical 36-character form, in either case.
func ParseID(s string) (string, bool) {
	if len(s) != 36 {
		return "", false
	}
	id, err := uuid.Parse(s)
	return id.String(), err == nil
}

// FirstID returns an id that sorts before every id of the time or later, and after those of earlier milliseconds.
func FirstID(t time.Time) string {
	var id uuid.UUID
	setTime(&id, t.UnixMilli())
	id[6] = 0x70
	id[8] = 0x80
	return id.String()
}

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

// setTime writes the milliseconds into the first six bytes.
func setTime(id *uuid.UUID, ms int64) {
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i)) //nolint:gosec // the six bytes of the time, one by one
	}
}
