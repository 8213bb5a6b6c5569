package photo

import "iter"

// metadataItem is an item of a HEIF file that holds metadata.
type metadataItem struct {
	id   uint32
	kind string // Exif, or mime for XMP
}

// metadataItems returns the items that hold metadata.
func (m *itemBoxes) metadataItems(h *header) (items []metadataItem) {
	for id, kind := range m.kinds(h) {
		if kind == "Exif" || kind == "mime" {
			items = append(items, metadataItem{id, kind})
		}
	}
	return items
}

// kinds are the types of the items, as far as the file says them.
func (m *itemBoxes) kinds(h *header) iter.Seq2[uint32, string] {
	return func(yield func(uint32, string) bool) {
		entries := m.iinf.start + 6
		if version, _ := h.uint8(m.iinf.start); version > 0 {
			entries += 2
		}
		for b := range h.boxes(entries, m.iinf.end) {
			version, _ := h.uint8(b.start)
			id, size, ok := h.itemID(b.start+4, version > 2)
			if !ok || b.kind != "infe" || version < 2 {
				continue
			}
			if kind, ok := h.bytes(b.start+4+size+2, 4); ok && !yield(id, string(kind)) {
				return
			}
		}
	}
}

// place is where a piece of an item is.
type place struct{ at, length int64 }

// extentsOf returns where the data of an item is: in the file, or in the idat box.
func (m *itemBoxes) extentsOf(h *header, item uint32) (places []place) {
	version, _ := h.uint8(m.iloc.start)
	sizes, _ := h.uint16(m.iloc.start + 4)
	offsetSize, lengthSize, baseSize := int64(sizes>>12), int64(sizes>>8&15), int64(sizes>>4&15)
	indexSize := int64(0)
	if version > 0 {
		indexSize = int64(sizes & 15)
	}
	off := m.iloc.start + 6
	count, size, _ := h.itemID(off, version == 2)
	off += size
	for range min(count, 1<<16) {
		id, _, ok := h.itemID(off, version == 2)
		if !ok || off > m.iloc.end {
			return places
		}
		off += size
		method := uint16(0)
		if version > 0 {
			method, _ = h.uint16(off)
			off += 2
		}
		off += 2 // data reference
		base := h.number(off, baseSize)
		off += baseSize
		extents, _ := h.uint16(off)
		off += 2
		for range extents {
			off += indexSize
			at, length := h.number(off, offsetSize), h.number(off+offsetSize, lengthSize)
			off += offsetSize + lengthSize
			if id != item || method&15 > 1 {
				continue
			}
			if at += base; method&15 == 1 {
				at += m.idat.start
			}
			if at >= 0 && length > 0 && length <= h.size-at {
				places = append(places, place{at, length})
			}
		}
	}
	return places
}

// number reads a number of 0, 4 or 8 bytes.
func (h *header) number(off, size int64) int64 {
	switch size {
	case 4:
		return h.int64(off)
	case 8:
		return h.int64(off)&0x7fffffff<<32 | h.int64(off+4)
	}
	return 0
}
