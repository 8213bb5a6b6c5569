package photo

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
)

// Edit replaces bytes of a file by as many others.
type Edit struct {
	At    int64
	Bytes []byte
}

const (
	maxMetadata = 4 << 20 // bytes of a part with metadata that is looked into; larger ones are blanked as a whole
	maxEdits    = 1024    // of a file; photos need a few, and those with the longest XMP data some hundred
)

// StripLocation returns the edits that remove from a file where it was taken: the GPS part of its EXIF data and the
// positions in its XMP data, in all the places where the formats have them, and in a film behind the photo. Every other
// byte stays as it is, the picture above all, and so does the length. What cannot be understood is blanked as a whole.
// A file that would need more than maxEdits is refused with InvalidFileType. Any other error is that of the reader.
func StripLocation(r io.ReaderAt, size int64, f Format) ([]Edit, error) {
	s := &stripper{r: r, size: size, format: f}
	w := &walk{reader: reader{r: r, size: size, buf: make([]byte, 64<<10)}}
	switch f {
	case JPEG:
		s.jpeg(w)
	case PNG:
		s.png(w)
	case WebP:
		s.webp(w)
	case HEIC, HEIF, AVIF:
		s.heif(r, size)
	}
	if f != PNG && f != WebP {
		s.films(w)
	}
	if s.failure == nil {
		s.failure = w.failure
	}
	if s.failure != nil {
		return nil, s.failure
	}
	return s.edits, nil
}

type stripper struct {
	r       io.ReaderAt
	size    int64
	format  Format
	edits   []Edit
	failure error // after which nothing is looked into anymore
}

// edit notes an edit. One too many refuses the file.
func (s *stripper) edit(at int64, b []byte) {
	if len(s.edits) == maxEdits {
		s.refuse()
		return
	}
	s.edits = append(s.edits, Edit{at, b})
}

func (s *stripper) refuse() {
	if s.failure == nil {
		s.failure = damaged(s.format, scattered)
	}
}

// part returns a copy of a part of the file, nil when it is too large to be looked into.
func (s *stripper) part(at, length int64) []byte {
	if length <= 0 || length > maxMetadata || s.failure != nil {
		return nil
	}
	b := make([]byte, length)
	if n, err := s.r.ReadAt(b, at); n < len(b) {
		if err != nil && !errors.Is(err, io.EOF) {
			s.failure = err
		}
		return nil
	}
	return b
}

// strip edits a part with metadata in place and reports whether it changed. change returns false for what it does not
// understand.
func (s *stripper) strip(at, length int64, change func(b []byte) bool) (changed []byte) {
	length = min(length, s.size-at) // a file may be shorter than it says
	before := s.part(at, length)
	if before == nil {
		if length > maxMetadata {
			s.edit(at, make([]byte, length))
		}
		return nil
	}
	after := bytes.Clone(before)
	if !change(after) {
		clear(after)
	}
	if bytes.Equal(before, after) {
		return nil
	}
	s.edit(at, after)
	return after
}

// Beginnings of metadata in the segments of a JPEG.
const (
	exifPrefix        = "Exif\x00\x00"
	xmpPrefix         = "http://ns.adobe.com/xap/1.0/\x00"
	extendedXMPPrefix = "http://ns.adobe.com/xmp/extension/\x00"
)

// jpeg looks at the APP1 segments of the photo, and of the pictures behind it.
func (s *stripper) jpeg(w *walk) {
	for off := int64(0); off >= 0 && s.failure == nil; {
		off = s.segments(w, off)
	}
}

// segments looks at one picture and returns where the next begins, -1 where there is none.
func (s *stripper) segments(w *walk, off int64) int64 {
	off += 2
	for {
		b := w.at(off, 4)
		if b == nil || s.failure != nil {
			return -1
		}
		marker, length := b[1], int64(binary.BigEndian.Uint16(b[2:]))
		switch {
		case b[0] != 0xff, marker == 0xff:
			off++
		case marker == jpegEOI:
			if next := w.padding(off + 2); isJPEG(w.at(next, 3)) {
				return next
			}
			return -1
		case marker == 0, marker == jpegTEM, marker >= jpegRST && marker <= jpegSOI:
			off += 2
		default:
			if marker == 0xe1 {
				s.segment(w, off+4, length-2)
			}
			if off += 2 + length; marker == jpegSOS {
				off = w.scan(off)
			}
		}
	}
}

// segmentKinds are the kinds of APP1 segments that may hold a position.
var segmentKinds = []struct {
	prefix string
	change func([]byte) bool
}{{exifPrefix, stripTIFF}, {xmpPrefix, stripXMP}, {extendedXMPPrefix, stripXMP}}

func (s *stripper) segment(w *walk, at, length int64) {
	for _, k := range segmentKinds {
		if n := len(k.prefix); length > int64(n) && string(w.at(at, n)) == k.prefix {
			s.strip(at+int64(n), length-int64(n), k.change)
		}
	}
}

// png looks at the chunks that hold metadata, and mends their checksums.
func (s *stripper) png(w *walk) {
	for off := int64(len(pngSignature)); ; {
		head := w.at(off, 8)
		if head == nil || s.failure != nil {
			return
		}
		length, kind := int64(binary.BigEndian.Uint32(head)), string(head[4:])
		var change func([]byte) bool
		switch kind {
		case "eXIf":
			change = stripTIFF
		case "iTXt", "tEXt", "zTXt":
			change = stripPNGText
		case "IEND":
			return
		}
		if change != nil {
			if after := s.strip(off+8, length, change); after != nil && off+12+length <= s.size {
				sum := crc32.Update(crc32.ChecksumIEEE([]byte(kind)), crc32.IEEETable, after)
				s.edit(off+8+length, binary.BigEndian.AppendUint32(nil, sum))
			}
		}
		off += 12 + length
	}
}

// stripPNGText edits a text of a PNG: its keyword, a zero, and more. Where it holds metadata in a coding of its own,
// all of it goes but the keyword.
func stripPNGText(b []byte) bool {
	end := bytes.IndexByte(b, 0)
	if end < 0 {
		return true
	}
	keyword := string(b[:end])
	switch {
	case keyword == "XML:com.adobe.xmp" && len(b) > end+2 && b[end+1] == 0: // not compressed
		return stripXMP(b[end+1:])
	case keyword == "XML:com.adobe.xmp", bytes.HasPrefix(b, []byte("Raw profile type ")):
		blank(b[min(len(b), end+3):])
	}
	return true
}

func (s *stripper) webp(w *walk) {
	for off := int64(webpChunk); ; {
		head := w.at(off, 8)
		if head == nil || s.failure != nil {
			return
		}
		length := int64(binary.LittleEndian.Uint32(head[4:]))
		switch string(head[:4]) {
		case "EXIF":
			s.strip(off+8, length, stripEXIF)
		case "XMP ":
			s.strip(off+8, length, stripXMP)
		}
		off += 8 + length + length&1
	}
}

// heif looks at the items that hold metadata.
func (s *stripper) heif(r io.ReaderAt, size int64) {
	h := newHeader(r, size)
	m, _ := readHEIF(h)
	pieces, ok := m.metadata(h)
	if !ok {
		s.refuse()
	}
	for _, p := range pieces {
		if p.kind == "Exif" {
			s.strip(p.at, p.length, stripExifItem)
		} else {
			s.strip(p.at, p.length, stripXMP)
		}
	}
	if s.failure == nil {
		s.failure = h.failure
	}
}

// stripExifItem edits EXIF data of a HEIF file.
func stripExifItem(b []byte) bool {
	return stripTIFF(exifOfItem(b))
}

// stripEXIF edits EXIF data with or without the prefix that it has in a JPEG.
func stripEXIF(b []byte) bool {
	return stripTIFF(bytes.TrimPrefix(b, []byte(exifPrefix)))
}

// stripTIFF removes the GPS directory of TIFF data: its entries, and the values that they name.
func stripTIFF(b []byte) bool {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(b, []byte("II*\x00")):
		order = binary.LittleEndian
	case bytes.HasPrefix(b, []byte("MM\x00*")):
		order = binary.BigEndian
	default:
		return false
	}
	if len(b) < 8 {
		return false
	}
	const gps, maxGPS = 0x8825, 8
	next, found := int64(order.Uint32(b[4:])), 0
	for range 8 { // directories; a file has two
		if next <= 0 || next+2 > int64(len(b)) {
			return next == 0
		}
		count := int64(order.Uint16(b[next:]))
		entries := next + 2
		if entries+12*count > int64(len(b)) {
			return false
		}
		for i := range count {
			entry := b[entries+12*i:][:12]
			if order.Uint16(entry) != gps {
				continue
			}
			if found++; found > maxGPS || !stripDirectory(b, int64(order.Uint32(entry[8:])), order) {
				return false
			}
		}
		if entries+12*count+4 > int64(len(b)) {
			return true
		}
		next = int64(order.Uint32(b[entries+12*count:]))
	}
	return true
}

// typeSizes are the sizes of the types of TIFF.
var typeSizes = []int64{0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8}

// stripDirectory empties a directory. It does not understand one whose values have more bytes than there are.
func stripDirectory(b []byte, at int64, order binary.ByteOrder) bool {
	if at < 8 || at+2 > int64(len(b)) {
		return false
	}
	count := int64(order.Uint16(b[at:]))
	if at+2+12*count > int64(len(b)) {
		return false
	}
	room := int64(len(b))
	for i := range count {
		entry := b[at+2+12*i:][:12]
		kind := int(order.Uint16(entry[2:]))
		if kind >= len(typeSizes) {
			return false
		}
		length := typeSizes[kind] * int64(order.Uint32(entry[4:]))
		if length > 4 {
			value := int64(order.Uint32(entry[8:]))
			if room -= length; room < 0 || value < 8 || value+length > int64(len(b)) {
				return false
			}
			clear(b[value : value+length])
		}
		clear(entry)
	}
	clear(b[at : at+2]) // no entries
	return true
}

func blank(b []byte) {
	for i := range b {
		b[i] = ' '
	}
}

// filmPositions are the boxes in which films have their position.
var filmPositions = [][]byte{[]byte("\xa9xyz"), []byte("loci")}

// maxFilmPosition is the size of the largest box that may be a position.
const maxFilmPosition = 256

// films looks for the position of a film behind or in the photo: small boxes, wherever they are.
func (s *stripper) films(w *walk) {
	for off := int64(0); off < w.size && w.failure == nil && s.failure == nil; {
		w.fill(off)
		last := len(w.window) < len(w.buf)
		for _, kind := range filmPositions {
			s.filmBoxes(w, kind, last)
		}
		if last {
			return
		}
		off += int64(len(w.window)) - maxFilmPosition + 1
	}
}

// filmBoxes blanks the boxes of a kind that begin in the window. Those that may reach over its end are for the next
// one, which has them from their beginning.
func (s *stripper) filmBoxes(w *walk, kind []byte, last bool) {
	const size = 4 // before the kind
	for from := size; from < len(w.window); {
		i := bytes.Index(w.window[from:], kind)
		if i < 0 {
			return
		}
		begin := from + i - size
		if !last && begin > len(w.window)-maxFilmPosition {
			return
		}
		from += i + 1
		body := filmPosition(w.window[begin:])
		if body == nil {
			continue
		}
		if s.edit(w.start+int64(begin+8), make([]byte, len(body))); s.failure != nil {
			return
		}
		from = begin + 8 + len(body) + size
	}
}

// filmPosition returns the body of what may be a box with a position: it is small, and holds digits with a sign or is a
// loci box.
func filmPosition(b []byte) []byte {
	length := int64(binary.BigEndian.Uint32(b))
	if length <= 8 || length > maxFilmPosition || length > int64(len(b)) {
		return nil
	}
	body := b[8:length]
	if string(b[4:8]) == "\xa9xyz" && bytes.IndexByte(body, '+') < 0 && bytes.IndexByte(body, '-') < 0 {
		return nil
	}
	return body
}
