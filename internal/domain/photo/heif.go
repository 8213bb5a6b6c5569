package photo

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"iter"
)

const (
	maxBrands = 256 // compatible brands that are looked at; real files list fewer than ten
	maxMetas  = 16  // meta boxes that are looked into; real files have one or two
)

// formatOfBrand returns the image format that a brand stands for. HEIF is the general one: mif1 and msf1 name the
// container and leave the codec open.
func formatOfBrand(brand string) (Format, bool) {
	switch brand {
	case "heic", "heix", "hevc", "hevx", "heim", "heis":
		return HEIC, true
	case "avif", "avis":
		return AVIF, true
	case "mif1", "msf1":
		return HEIF, true
	}
	return "", false
}

// formatOfBrands reads the file type box at the start. The first brand that names a codec decides, the major brand
// before the compatible ones; the general brands count where there is none.
func formatOfBrands(h *header) (Format, bool) {
	ftyp, ok := h.box(0, h.size)
	if !ok || ftyp.kind != "ftyp" {
		return "", false
	}
	var general bool
	for i := range int64(maxBrands) {
		off := ftyp.start + 4*i
		if i > 0 {
			off += 4 // the minor version
		}
		b, ok := h.bytes(off, 4)
		if !ok || off+4 > ftyp.end {
			break
		}
		switch f, known := formatOfBrand(string(b)); {
		case known && f != HEIF:
			return f, true
		case known:
			general = true
		}
	}
	return HEIF, general
}

// itemBoxes are the parts of a meta box that describe its items: the first box of each kind, in whatever order they
// are stored.
type itemBoxes struct {
	pitm, iinf, iloc, iref, iprp box
	idat                         box   // data of small items
	ipco                         box   // in iprp
	end                          int64 // of the meta box
}

func readItemBoxes(h *header, meta box) itemBoxes {
	m := itemBoxes{end: meta.end}
	h.firstBoxes(meta.start+4, meta.end, map[string]*box{ // after version and flags
		"pitm": &m.pitm, "iinf": &m.iinf, "iloc": &m.iloc, "iref": &m.iref, "iprp": &m.iprp,
		"idat": &m.idat,
	})
	h.firstBoxes(m.iprp.start, m.iprp.end, map[string]*box{"ipco": &m.ipco})
	return m
}

// firstBoxes sets the first box of each kind between two offsets.
func (h *header) firstBoxes(from, to int64, wanted map[string]*box) {
	for b := range h.boxes(from, to) {
		if found := wanted[b.kind]; found != nil {
			*found = b
			delete(wanted, b.kind)
		}
	}
}

// readHEIF finds the meta box that tells the size of the primary item, which is that of the whole picture, also where
// it is a grid of tiles. A file that does not say which item is the primary one counts as large as its largest item.
func readHEIF(h *header) (itemBoxes, extent) {
	metas := 0
	for b := range h.boxes(0, h.size) {
		if b.kind != "meta" {
			continue
		}
		if metas++; metas > maxMetas {
			break
		}
		m := readItemBoxes(h, b)
		var ofPrimary propertySet
		if primary, ok := readPrimaryItem(h, m.pitm); ok {
			ofPrimary = m.propertiesOf(h, primary)
		}
		if e := measureProperties(h, m.ipco, &ofPrimary); e.pixels() != 0 {
			return m, e
		}
	}
	return itemBoxes{}, extent{}
}

// itemID reads the ID of an item, which takes 16 bits or, in later versions of a box, 32.
func (h *header) itemID(off int64, wide bool) (id uint32, size int64, ok bool) {
	if wide {
		id, ok = h.uint32(off)
		return id, 4, ok
	}
	short, ok := h.uint16(off)
	return uint32(short), 2, ok
}

// readPrimaryItem reads the ID of the primary item.
func readPrimaryItem(h *header, pitm box) (uint32, bool) {
	version, _ := h.uint8(pitm.start)
	id, size, ok := h.itemID(pitm.start+4, version > 0)
	return id, ok && pitm.start+4+size <= pitm.end
}

// measureProperties returns the largest spatial extent among the properties of the primary item, or among all where it
// has none.
func measureProperties(h *header, ipco box, ofPrimary *propertySet) extent {
	var primary, largest extent
	var described bool
	index := 0
	for b := range h.boxes(ipco.start, ipco.end) {
		index++ // properties count from 1
		if b.kind != "ispe" || b.end-b.start < 12 {
			continue
		}
		e := h.extent32(b.start + 4)
		largest = largest.or(e)
		if ofPrimary.has(index) {
			described = true
			primary = primary.or(e)
		}
	}
	if described {
		return primary
	}
	return largest
}

// propertySet is a set of property indexes. An index has at most 15 bits, so the set is of fixed size however many
// associations a file lists.
type propertySet [1 << 15 / 64]uint64

func (s *propertySet) add(index int)      { s[index>>6] |= 1 << (index & 63) }
func (s *propertySet) has(index int) bool { return index < 1<<15 && s[index>>6]&(1<<(index&63)) != 0 }

// propertiesOf returns the properties that the ipma boxes give to an item.
func (m *itemBoxes) propertiesOf(h *header, item uint32) (s propertySet) {
	for b := range h.boxes(m.iprp.start, m.iprp.end) {
		if b.kind == "ipma" {
			s.addAssociations(h, b, item)
		}
	}
	return s
}

// addAssociations adds the properties that an ipma box gives to an item. The box is: version and flags, the number of
// entries, then for each an item id (16 bits in version 0, else 32), the number of its properties and their indexes (7
// bits, or 15 with flag 1) below one bit that says whether the property is essential.
func (s *propertySet) addAssociations(h *header, ipma box, item uint32) {
	full, _ := h.uint32(ipma.start)
	count, ok := h.uint32(ipma.start + 4)
	if !ok {
		return
	}
	wideID, indexSize := full>>24 != 0, 1+int64(full&1)
	off := ipma.start + 8
	for range count {
		id, idSize, ok := h.itemID(off, wideID)
		off += idSize
		properties, counted := h.uint8(off)
		off++
		if !ok || !counted || off > ipma.end {
			return
		}
		end := off + int64(properties)*indexSize
		for ; id == item && off < end; off += indexSize {
			b, ok := h.bytes(off, int(indexSize))
			if !ok {
				return
			}
			index := int(b[0] & 0x7f)
			if indexSize == 2 {
				index = index<<8 | int(b[1])
			}
			s.add(index)
		}
		off = end
	}
}

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

// maxPieces bounds the items of a HEIF file that hold metadata, and the pieces in which they are stored. Cameras write
// one or two, in one piece each.
const maxPieces = 1024

// piece is a part of an item that holds metadata.
type piece struct {
	place
	item uint32
	kind string // Exif, or mime for XMP
}

// metadata returns the pieces of the items that hold metadata. It reports false where there are more than maxPieces, or
// more bytes in them than in the file: they then overlap, and could be many times what was uploaded.
func (m *itemBoxes) metadata(h *header) (pieces []piece, ok bool) {
	items := make(map[uint32]string)
	for id, kind := range m.kinds(h) {
		if kind != "Exif" && kind != "mime" {
			continue
		}
		if items[id] = kind; len(items) > maxPieces {
			return nil, false
		}
	}
	if len(items) == 0 {
		return nil, true
	}
	total := int64(0)
	for id, p := range m.places(h) {
		kind := items[id]
		if kind == "" {
			continue
		}
		if total += p.length; total > h.size || len(pieces) == maxPieces {
			return nil, false
		}
		pieces = append(pieces, piece{p, id, kind})
	}
	return pieces, true
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
type place struct {
	at, length  int64
	field, base int64  // at is the sum of base and the number in the field at an offset of the file
	method      uint16 // 0: in the file, 1: in the idat box
	pieces      uint16 // of the item
}

// places yields where the data of the items is, in the file or in the idat box, in the order of the iloc box. That is
// walked once, and no further than it reaches, whatever it claims to list.
func (m *itemBoxes) places(h *header) iter.Seq2[uint32, place] {
	return func(yield func(uint32, place) bool) {
		version, _ := h.uint8(m.iloc.start)
		sizes, _ := h.uint16(m.iloc.start + 4)
		l := locations{
			offset: int64(sizes >> 12), length: int64(sizes >> 8 & 15), base: int64(sizes >> 4 & 15),
			wideID: version == 2, hasMethod: version > 0, end: m.iloc.end, idat: m.idat.start,
		}
		if version > 0 {
			l.index = int64(sizes & 15)
		}
		if l.length == 0 { // no piece has a length
			return
		}
		off := m.iloc.start + 6
		count, size, _ := h.itemID(off, l.wideID)
		off += size
		for range count {
			var more bool
			if off, more = l.item(h, off, yield); !more {
				return
			}
		}
	}
}

// locations is how an iloc box is written.
type locations struct {
	offset, length, base, index int64 // sizes of these fields
	wideID, hasMethod           bool
	end, idat                   int64 // of the box; where the data of the idat box begins
}

// item yields the pieces of the item whose entry is at off. It returns where the next entry begins, and false when
// there is none or no more is wanted.
func (l *locations) item(h *header, off int64, yield func(uint32, place) bool) (next int64, more bool) {
	id, size, ok := h.itemID(off, l.wideID)
	off += size
	method := uint16(0)
	if l.hasMethod {
		method, _ = h.uint16(off)
		off += 2
	}
	off += 2 // data reference
	base := h.number(off, l.base)
	off += l.base
	count, counted := h.uint16(off)
	off += 2
	if !ok || !counted {
		return off, false
	}
	each := l.index + l.offset + l.length
	for range count {
		if off+each > l.end {
			return off, false
		}
		p := place{field: off + l.index, base: base, method: method & 15, pieces: count}
		p.at, p.length = base+h.number(p.field, l.offset), h.number(p.field+l.offset, l.length)
		off += each
		if p.method == 1 {
			p.at += l.idat
		}
		if p.method <= 1 && p.at >= 0 && p.length > 0 && p.length <= h.size-p.at && !yield(id, p) {
			return off, false
		}
	}
	return off, off < l.end
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

// ExifData returns the EXIF data of a HEIF file, a TIFF structure. It is nil when the file has none, or more than
// maxBytes. The error is that of the reader.
func ExifData(r io.ReaderAt, size int64, maxBytes int) ([]byte, error) {
	h := newHeader(r, size)
	m, _ := readHEIF(h)
	pieces, _ := m.metadata(h)
	var data []byte
	item, found := uint32(0), false
	for _, p := range pieces {
		if p.kind != "Exif" || found && p.item != item {
			continue
		}
		item, found = p.item, true
		if p.length > int64(maxBytes-len(data)) {
			return nil, nil
		}
		part := make([]byte, p.length)
		if n, err := r.ReadAt(part, p.at); n < len(part) {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return nil, err
		}
		data = append(data, part...)
	}
	return exifOfItem(data), h.failure
}

// exifOfItem returns what four bytes at the beginning of an item tell the distance of, nil when that is not in it. Some
// write the prefix that it has in a JPEG, and some count that.
func exifOfItem(b []byte) []byte {
	if len(b) < 4 {
		return nil
	}
	skip := int64(binary.BigEndian.Uint32(b)) + 4
	if skip >= int64(len(b)) {
		return nil
	}
	return bytes.TrimPrefix(b[skip:], []byte(exifPrefix))
}
