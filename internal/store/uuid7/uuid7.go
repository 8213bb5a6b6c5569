// Package uuid7 makes ids: UUIDs of version 7, which sort in the order of the times they are made for.
package uuid7

import (
	"crypto/rand"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// New returns a fresh UUID of version 7: ids made by one process sort in the order they were made.
func New() string { return uuid.Must(uuid.NewV7()).String() }

// lastStamp is the time of the newest id of NewAt, in 1/4096 of a millisecond.
var lastStamp atomic.Int64

// stampStep is how far NewAt goes ahead of a clock that stands still: ten milliseconds.
const stampStep = 10 << 12

// NewAt returns a fresh UUID of version 7 for something that happened at the time, so that ids are in the order of
// what they stand for, also where a clock is injected. Ids of one time sort in the order they were made.
func NewAt(t time.Time) string {
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

// Parse returns the stored form of a UUID in its canonical 36-character form, in either case.
func Parse(s string) (string, bool) {
	if len(s) != 36 {
		return "", false
	}
	id, err := uuid.Parse(s)
	if err != nil {
		return "", false
	}
	return id.String(), true
}

// First returns an id that sorts before every id of the time or later, and after those of earlier milliseconds.
func First(t time.Time) string {
	var id uuid.UUID
	setTime(&id, max(t.UnixMilli(), 0)) // there are none of before 1970
	id[6] = 0x70
	id[8] = 0x80
	return id.String()
}

// setTime writes the milliseconds into the first six bytes.
func setTime(id *uuid.UUID, ms int64) {
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i)) //nolint:gosec // the six bytes of the time, one by one
	}
}
