package photo

import (
	"encoding/binary"
	"errors"
	"io"
)

// Bounds of the work spent on one file. Together they let every well-formed file of 10 MiB through, even one that is
// all segments just longer than the window, and end the walk through anything made to keep it busy.
const (
	windowBytes = 1024
	maxReads    = 16384
)

// reader reads a file through one window. Reading past the end or over the limit is not an error but plainly "not
// there": a file cut short describes less. A reader that fails sets failure, after which nothing is there anymore.
type reader struct {
	r       io.ReaderAt
	size    int64
	limit   int // reads that are allowed; 0: any number
	reads   int // so far
	buf     []byte
	start   int64 // offset of window in the file
	window  []byte
	failure error
}

// fill moves the window to off.
func (w *reader) fill(off int64) {
	w.start, w.window = off, nil
	if w.failure != nil || off >= w.size || w.limit > 0 && w.reads == w.limit {
		return
	}
	w.reads++
	want := min(int64(len(w.buf)), w.size-off)
	n, err := w.r.ReadAt(w.buf[:want], off)
	if int64(n) < want && err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		w.failure = err
		return
	}
	w.window = w.buf[:n]
}

// at returns n bytes at off, nil where there are fewer. They are valid until the next call.
func (w *reader) at(off int64, n int) []byte {
	if off < 0 || off > w.size-int64(n) {
		return nil
	}
	if off < w.start || off+int64(n) > w.start+int64(len(w.window)) {
		w.fill(off)
	}
	if i := int(off - w.start); i+n <= len(w.window) {
		return w.window[i : i+n]
	}
	return nil
}

// header reads the describing bytes of a file through a small window, a bounded number of times.
type header struct {
	reader
	room [windowBytes]byte
}

func newHeader(r io.ReaderAt, size int64) *header {
	h := &header{reader: reader{r: r, size: size, limit: maxReads}}
	h.buf = h.room[:]
	return h
}

// bytes returns the n bytes at off, n at most windowBytes. They are valid until the next call.
func (h *header) bytes(off int64, n int) ([]byte, bool) {
	b := h.at(off, n)
	return b, b != nil
}

func (h *header) has(off int64, want string) bool {
	b, ok := h.bytes(off, len(want))
	return ok && string(b) == want
}

func (h *header) uint8(off int64) (uint8, bool) {
	b, ok := h.bytes(off, 1)
	if !ok {
		return 0, false
	}
	return b[0], true
}

func (h *header) uint16(off int64) (uint16, bool) {
	b, ok := h.bytes(off, 2)
	if !ok {
		return 0, false
	}
	return binary.BigEndian.Uint16(b), true
}

func (h *header) uint32(off int64) (uint32, bool) {
	b, ok := h.bytes(off, 4)
	if !ok {
		return 0, false
	}
	return binary.BigEndian.Uint32(b), true
}
