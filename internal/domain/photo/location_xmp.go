package photo

import "bytes"

// gpsName is in the names of the properties of XMP that tell a position: a prefix, this, and more.
var gpsName = []byte(":GPS")

// stripXMP blanks the positions in XMP data, which are attributes or elements. It passes over the data once.
func stripXMP(b []byte) bool {
	x := xmp{
		b: b, tagEnd: finder{next: nextByte('>')}, closing: finder{next: nextClosing},
		double: finder{next: nextByte('"')}, single: finder{next: nextByte('\'')},
	}
	for off := 0; ; {
		i := bytes.Index(b[off:], gpsName)
		if i < 0 {
			break
		}
		off = x.property(off, off+i)
	}
	return !bytes.Contains(b, []byte(":GPSL")) // latitude and longitude, in a form that is not known
}

// xmp is XMP data that is walked from its beginning to its end.
type xmp struct {
	b                               []byte
	tagEnd, closing, double, single finder
}

// property blanks the property whose name has its colon there, and returns where to go on. What is before from has been
// dealt with.
func (x *xmp) property(from, colon int) int {
	begin, end := colon, wordEnd(x.b, colon+len(gpsName))
	for begin > from && (isWordByte(x.b[begin-1]) || x.b[begin-1] == '-') {
		begin--
	}
	if begin == colon || end == colon+len(gpsName) {
		return end
	}
	stop, ok := x.attribute(end)
	if !ok && begin > from && x.b[begin-1] == '<' {
		begin--
		stop, ok = x.element(end)
	}
	if !ok {
		return end
	}
	blank(x.b[begin:stop])
	return stop
}

// attribute returns where the attribute ends whose name ends at off.
func (x *xmp) attribute(off int) (end int, ok bool) {
	off = spaceEnd(x.b, off)
	if off == len(x.b) || x.b[off] != '=' {
		return 0, false
	}
	off = spaceEnd(x.b, off+1)
	if off == len(x.b) {
		return 0, false
	}
	switch x.b[off] {
	case '"':
		return x.double.from(x.b, off+1)
	case '\'':
		return x.single.from(x.b, off+1)
	}
	return 0, false
}

// element returns where the element ends whose name, in the tag that opens it, ends at off: with that tag, or with the
// next that closes a position.
func (x *xmp) element(off int) (end int, ok bool) {
	end, ok = x.tagEnd.from(x.b, off)
	if !ok || x.b[end-2] == '/' {
		return end, ok
	}
	return x.closing.from(x.b, end)
}

// finder finds the next of something. It is asked for places in ascending order, and looks at each byte once.
type finder struct {
	next       func(b []byte, off int) (begin, end int) // len(b) where there is none
	begin, end int
	asked      bool
}

// from returns the end of the first that begins at off or later.
func (f *finder) from(b []byte, off int) (end int, ok bool) {
	if !f.asked || f.begin < off {
		f.begin, f.end = f.next(b, off)
		f.asked = true
	}
	return f.end, f.begin < len(b)
}

func nextByte(c byte) func(b []byte, off int) (begin, end int) {
	return func(b []byte, off int) (begin, end int) {
		if i := bytes.IndexByte(b[off:], c); i >= 0 {
			return off + i, off + i + 1
		}
		return len(b), len(b)
	}
}

// nextClosing finds a tag that closes a position, such as </exif:GPSLatitude>.
func nextClosing(b []byte, off int) (begin, end int) {
	for {
		i := bytes.Index(b[off:], []byte("</"))
		if i < 0 {
			return len(b), len(b)
		}
		begin, off = off+i, off+i+2
		name := off
		for off < len(b) && (isWordByte(b[off]) || b[off] == '-') {
			off++
		}
		if off == name || !bytes.HasPrefix(b[off:], gpsName) {
			continue
		}
		name = off + len(gpsName)
		if off = wordEnd(b, name); off == name {
			continue
		}
		if off = spaceEnd(b, off); off < len(b) && b[off] == '>' {
			return begin, off + 1
		}
	}
}

func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

// wordEnd returns where letters and digits end that begin at off.
func wordEnd(b []byte, off int) int {
	for off < len(b) && isWordByte(b[off]) {
		off++
	}
	return off
}

// spaceEnd returns where white space ends that begins at off.
func spaceEnd(b []byte, off int) int {
	for off < len(b) && bytes.IndexByte([]byte(" \t\r\n\f"), b[off]) >= 0 {
		off++
	}
	return off
}
