package photo

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"sync"
)

// A file of at most smallFile bytes may be a header alone, as tests of integrators have them. One whose picture has at
// most tinyPicture pixels may have any fault behind its header: nobody photographs an item with it, and the smallest
// pictures that people copy into their tests are rarely right.
const (
	smallFile   = 16 << 10
	tinyPicture = 64 * 64
)

// CheckWhole walks a file that Inspect has recognised to the end of its picture: the segments and scans of a JPEG, the
// chunks of a PNG or WebP, the boxes of a HEIF file. It refuses with InvalidFileType, and says why, what begins like a
// picture and goes on as something else, and a picture that is cut off. Nothing is decoded; the file is read once at
// most, in bounded memory. What follows a picture passes: cameras add films, further pictures and data of their own.
func CheckWhole(r io.ReaderAt, size int64, info Info) error {
	buf, _ := walkBuffers.Get().(*walkBuffer) // the pool has no other type
	defer walkBuffers.Put(buf)
	w := &walk{reader: reader{r: r, size: size, buf: buf[:]}}
	var at int64
	var problem string
	switch info.Format {
	case JPEG:
		at, problem = w.jpeg()
	case PNG:
		at, problem = w.png()
	case WebP:
		problem = w.webp()
	case HEIC, HEIF, AVIF:
		at, problem = w.boxes()
	}
	tiny := size <= smallFile && info.Width*info.Height <= tinyPicture
	passes := problem == "" || tiny || w.isHeader(problem, at)
	switch {
	case w.failure != nil:
		return fmt.Errorf("read a photo: %w", w.failure)
	case passes:
		return nil
	}
	return damaged(info.Format, problem)
}

// isHeader reports whether a file is the header of a picture and nothing more, or padding.
func (w *walk) isHeader(problem string, at int64) bool {
	switch {
	case w.pixels:
		return false
	case problem == brokenAt:
		return w.padding(at) >= w.size
	}
	return w.size <= smallFile
}

// What is wrong with a file.
const (
	cutOff   = "its end is missing"
	noImage  = "it has no picture data"
	brokenAt = "it goes on as something else"

	scattered = "its metadata is in more pieces than cameras write"
)

type walkBuffer [64 << 10]byte

var walkBuffers = sync.Pool{New: func() any { return new(walkBuffer) }}

// walk reads a file from its beginning to its end.
type walk struct {
	reader
	pixels bool // coded pixels have begun
}

// padding returns where something else than zeros and 0xff begins. A picture or film may begin with some of them.
func (w *walk) padding(from int64) int64 {
	off := from
	for off < w.size && w.at(off, 1) != nil {
		window := w.window[off-w.start:]
		i := 0
		for i < len(window) && (window[i] == 0 || window[i] == 0xff) {
			i++
		}
		if off += int64(i); i < len(window) {
			break
		}
	}
	for before := max(from, off-3); before < off; before++ {
		if isJPEG(w.at(before, 3)) || string(w.at(before+4, 4)) == "ftyp" {
			return before
		}
	}
	return off
}

func isJPEG(b []byte) bool { return len(b) >= 3 && string(b[:3]) == "\xff\xd8\xff" }

// jpeg walks a JPEG. Where it goes on as something else, that begins at at.
func (w *walk) jpeg() (at int64, problem string) {
	off := int64(2)
	junk, scans := 0, 0
	for {
		b := w.at(off, 2)
		switch {
		case b == nil && junk > 0 && scans == 0:
			return at, brokenAt
		case b == nil:
			return 0, cutOff
		case b[0] != 0xff:
			if junk++; junk == 1 {
				at = off
			}
			if off++; junk > maxJPEGJunk {
				return at, brokenAt
			}
		case b[1] == 0xff: // fill byte
			off++
		case b[1] == jpegEOI:
			if scans == 0 {
				return 0, noImage
			}
			return 0, ""
		case b[1] == 0, b[1] == jpegTEM, b[1] >= jpegRST && b[1] <= jpegSOI: // without a body
			off += 2
		case b[1] < 0xc0, b[1] >= 0xf0 && b[1] < 0xfe: // reserved
			return off, brokenAt
		default:
			marker := b[1]
			length := w.at(off+2, 2)
			if length == nil {
				return 0, cutOff
			}
			if off += 2 + int64(binary.BigEndian.Uint16(length)); marker == jpegSOS {
				scans++
				w.pixels = true
				off = w.scan(off)
			}
		}
	}
}

// scan passes over the coded data of a JPEG, up to the marker that ends it.
func (w *walk) scan(off int64) int64 {
	for w.at(off, 2) != nil {
		data := w.window[off-w.start:]
		i := 0
		for i+1 < len(data) {
			found := bytes.IndexByte(data[i:len(data)-1], 0xff)
			if found < 0 {
				i = len(data) - 1
				break
			}
			i += found
			switch next := data[i+1]; {
			case next == 0xff:
				i++
			case next == 0, next >= jpegRST && next < jpegSOI:
				i += 2
			default:
				return off + int64(i)
			}
		}
		off += int64(i)
	}
	return off
}

// png walks the chunks up to IEND. Where something else follows, that begins at at.
func (w *walk) png() (at int64, problem string) {
	for off := int64(len(pngSignature)); ; {
		head := w.at(off, 8)
		if head == nil {
			return 0, cutOff
		}
		length, kind := int64(binary.BigEndian.Uint32(head)), string(head[4:])
		if length >= 1<<31 || !isWord(kind, false) {
			return off, brokenAt
		}
		if kind == "IDAT" && !w.pixels && length >= 2 {
			z := w.at(off+8, 2)
			if z != nil && (z[0]&15 != 8 || (int(z[0])<<8|int(z[1]))%31 != 0) {
				return off, brokenAt // not what zlib writes
			}
			w.pixels = true
		}
		off += 12 + length
		switch {
		case off > w.size:
			return 0, cutOff
		case kind == "IEND" && !w.pixels:
			return 0, noImage
		case kind == "IEND":
			return 0, ""
		}
	}
}

// webp walks the chunks of the RIFF container.
func (w *walk) webp() (problem string) {
	head := w.at(4, 4)
	if head == nil {
		return cutOff
	}
	end := 8 + int64(binary.LittleEndian.Uint32(head))
	short := end > w.size+1 // some leave out the byte that pads the last chunk
	end = min(end, w.size)
	has := false
	for off := int64(webpChunk); off < end; {
		head := w.at(off, 8)
		switch {
		case head == nil && short:
			return cutOff
		case head == nil, !isWord(string(head[:4]), true):
			return brokenAt
		}
		switch string(head[:4]) {
		case "VP8 ", "VP8L", "ANMF":
			has = true
			w.pixels = w.pixels || w.size > off+8+webpFrame
		}
		length := int64(binary.LittleEndian.Uint32(head[4:]))
		switch off += 8 + length + length&1; {
		case off > end+1 && short:
			return cutOff
		case off > end+1:
			return brokenAt
		}
	}
	switch {
	case short:
		return cutOff
	case !has:
		return noImage
	}
	return ""
}

// webpFrame is how many bytes before its pixels the data of a WebP picture has at most.
const webpFrame = 16

// boxes walks the boxes of an ISO base media file up to its end, or what is no box of it. Where something else follows
// before the pixels, that begins at at.
func (w *walk) boxes() (at int64, problem string) {
	off, data := int64(0), false
	for off < w.size {
		head := w.at(off, 8)
		if head == nil || !isWord(string(head[4:]), true) {
			break
		}
		length, kind := int64(binary.BigEndian.Uint32(head)), string(head[4:])
		if kind == "ftyp" && off > 0 { // another file
			break
		}
		data = data || kind == "mdat" || kind == "meta" // which may hold the data itself
		w.pixels = w.pixels || kind == "mdat" && off+8 < w.size
		switch length {
		case 0:
			length = w.size - off
		case 1:
			wide := w.at(off+8, 8)
			if wide == nil || binary.BigEndian.Uint64(wide) > 1<<62 {
				return off, brokenAt
			}
			length = int64(binary.BigEndian.Uint64(wide)) //nolint:gosec // checked above
		}
		if length < 8 {
			return off, brokenAt
		}
		if off += length; off > w.size {
			return 0, cutOff
		}
	}
	switch {
	case !data:
		return 0, noImage
	case off < w.size && !w.pixels:
		return off, brokenAt
	}
	return 0, ""
}

// isWord reports whether four bytes can be the name of a part: letters, and where others are used too, what can be
// printed.
func isWord(kind string, others bool) bool {
	for i := range len(kind) {
		letter := kind[i]|0x20 >= 'a' && kind[i]|0x20 <= 'z'
		if !letter && (!others || kind[i] < 0x20 || kind[i] > 0x7e && kind[i] != 0xa9) {
			return false
		}
	}
	return len(kind) == 4
}
