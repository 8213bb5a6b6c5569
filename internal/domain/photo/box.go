package photo

import "iter"

// box is one box of an ISO base media file (ISO/IEC 14496-12): its kind and where its body is.
type box struct {
	kind       string // four characters
	start, end int64
}

// boxes walks the boxes between two offsets, one level deep. A box that claims to reach past the end of its container
// ends there, and one that is too small to be a box ends the walk: what comes before it still counts.
func (h *header) boxes(from, to int64) iter.Seq[box] {
	return func(yield func(box) bool) {
		for from < to {
			b, ok := h.box(from, to)
			if !ok || !yield(b) {
				return
			}
			from = b.end
		}
	}
}

// box reads the box at off inside a container that ends at limit: a size of 32 bits and the kind; a size of 1 stands
// for one of 64 bits that follows, a size of 0 for all the rest.
func (h *header) box(off, limit int64) (box, bool) {
	b, ok := h.bytes(off, 8)
	if !ok || limit-off < 8 {
		return box{}, false
	}
	found := box{kind: string(b[4:]), start: off + 8, end: limit}
	size, _ := h.uint32(off)
	total := int64(size)
	switch size {
	case 0:
		return found, true
	case 1:
		high, _ := h.uint32(off + 8)
		low, ok := h.uint32(off + 12)
		if !ok || limit-off < 16 {
			return box{}, false
		}
		found.start = off + 16
		total = int64(high&0x7fffffff)<<32 | int64(low)
		if high>>31 != 0 { // more than any file holds
			total = limit - off
		}
	}
	if total < found.start-off {
		return box{}, false
	}
	if total < limit-off {
		found.end = off + total
	}
	return found, true
}
