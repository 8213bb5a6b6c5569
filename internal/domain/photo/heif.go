package photo

// maxBrands bounds the compatible brands that are looked at; real files list fewer than ten.
const maxBrands = 256

var (
	boxFtyp = fourCC{'f', 't', 'y', 'p'}
	boxMeta = fourCC{'m', 'e', 't', 'a'}
	boxPitm = fourCC{'p', 'i', 't', 'm'}
	boxIprp = fourCC{'i', 'p', 'r', 'p'}
	boxIpco = fourCC{'i', 'p', 'c', 'o'}
	boxIpma = fourCC{'i', 'p', 'm', 'a'}
	boxIspe = fourCC{'i', 's', 'p', 'e'}
)

// formatOfBrand returns the image format that a brand stands for. HEIF is the general one: mif1 and msf1 name the
// container and leave the codec open.
func formatOfBrand(brand fourCC) (Format, bool) {
	switch string(brand[:]) {
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
	if !ok || ftyp.kind != boxFtyp {
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
		switch f, known := formatOfBrand(fourCC(b)); {
		case known && f != HEIF:
			return f, true
		case known:
			general = true
		}
	}
	return HEIF, general
}

// measureHEIF finds the item properties, wherever in the file they stand, and returns the extent of the primary item:
// that of the whole picture, also where it is a grid of tiles. A file that does not say which one that is counts as
// large as its largest item.
func measureHEIF(h *header) extent {
	for meta := range h.boxes(0, h.size) {
		if meta.kind != boxMeta {
			continue
		}
		if e := measureMeta(h, meta); e.pixels() != 0 {
			return e
		}
	}
	return extent{}
}

// measureMeta takes the first primary item and the first item properties of a meta box, in whatever order they stand.
func measureMeta(h *header, meta box) extent {
	var pitm, iprp box
	for b := range h.boxes(meta.start+4, meta.end) { // after version and flags
		switch {
		case b.kind == boxPitm && pitm == (box{}):
			pitm = b
		case b.kind == boxIprp && iprp == (box{}):
			iprp = b
		}
	}
	var ofPrimary propertySet
	if primary, ok := readPrimaryItem(h, pitm); ok {
		for b := range h.boxes(iprp.start, iprp.end) {
			if b.kind == boxIpma {
				ofPrimary.addAssociations(h, b, primary)
			}
		}
	}
	for b := range h.boxes(iprp.start, iprp.end) {
		if b.kind == boxIpco {
			return measureProperties(h, b, &ofPrimary)
		}
	}
	return extent{}
}

// readPrimaryItem reads the id of the primary item: 16 bits in version 0, else 32.
func readPrimaryItem(h *header, pitm box) (uint32, bool) {
	version, ok := h.uint8(pitm.start)
	if !ok || pitm.end-pitm.start < 6 {
		return 0, false
	}
	if version == 0 {
		id, ok := h.uint16(pitm.start + 4)
		return uint32(id), ok
	}
	if pitm.end-pitm.start < 8 {
		return 0, false
	}
	return h.uint32(pitm.start + 4)
}

// measureProperties returns the largest spatial extent among the properties of the primary item, or among all where it
// has none.
func measureProperties(h *header, ipco box, ofPrimary *propertySet) extent {
	var primary, largest extent
	var described bool
	index := 0
	for b := range h.boxes(ipco.start, ipco.end) {
		index++ // properties count from 1
		if b.kind != boxIspe || b.end-b.start < 12 {
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

// addAssociations adds the properties that an ipma box gives to an item. The box is: version and flags, the number of
// entries, then for each an item id (16 bits in version 0, else 32), the number of its properties and their indexes (7
// bits, or 15 with flag 1) below one bit that says whether the property is essential.
func (s *propertySet) addAssociations(h *header, ipma box, item uint32) {
	full, ok := h.uint32(ipma.start)
	count, counted := h.uint32(ipma.start + 4)
	if !ok || !counted {
		return
	}
	wideID, wideIndex := full>>24 != 0, full&1 != 0
	off := ipma.start + 8
	for range count {
		var id uint32
		if wideID {
			id, ok = h.uint32(off)
			off += 4
		} else {
			var short uint16
			short, ok = h.uint16(off)
			id = uint32(short)
			off += 2
		}
		properties, counted := h.uint8(off)
		off++
		if !ok || !counted || off > ipma.end {
			return
		}
		if id == item {
			s.addIndexes(h, off, int(properties), wideIndex)
		}
		if wideIndex {
			off += 2 * int64(properties)
		} else {
			off += int64(properties)
		}
	}
}

func (s *propertySet) addIndexes(h *header, off int64, n int, wide bool) {
	for i := range int64(n) {
		if wide {
			index, _ := h.uint16(off + 2*i)
			s.add(int(index & 0x7fff))
		} else {
			index, _ := h.uint8(off + i)
			s.add(int(index & 0x7f))
		}
	}
}
