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

// header reads the describing bytes of a file through one small window. Reading past the end or over the bound is not
// an error but plainly "not there": a file cut short describes less. A reader that fails sets failure, after which
// nothing is there anymore.
type header struct {
	r       io.ReaderAt
	size    int64
	failure error

	reads  int
	start  int64 // offset of window in the file
	window []byte
	buf    [windowBytes]byte
}

// bytes returns the n bytes at off, n at most windowBytes. They are valid until the next call.
func (h *header) bytes(off int64, n int) ([]byte, bool) {
	if off < 0 || off > h.size-int64(n) {
		return nil, false
	}
	if off < h.start || off+int64(n) > h.start+int64(len(h.window)) {
		h.fill(off)
	}
	if i := int(off - h.start); i+n <= len(h.window) {
		return h.window[i : i+n], true
	}
	return nil, false
}

// fill moves the window to off.
func (h *header) fill(off int64) {
	h.start, h.window = off, nil
	if h.failure != nil || h.reads == maxReads {
		return
	}
	h.reads++
	want := min(windowBytes, h.size-off)
	n, err := h.r.ReadAt(h.buf[:want], off)
	h.window = h.buf[:n]
	if int64(n) < want && err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		h.failure, h.window = err, nil
	}
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
