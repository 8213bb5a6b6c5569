package photo

import (
	"encoding/binary"
	"fmt"
	"io"
)

// The largest image that is taken; both bounds are inclusive.
const (
	MaxSide   = 8_000
	MaxPixels = 50_000_000
)

// Info is what a file's header tells. Width and Height are those of the stored image, before any rotation that its
// metadata asks of a viewer.
type Info struct {
	Format Format
	Width  int
	Height int
}

// extent is a width and height as declared in a file; no format declares more than 32 bits.
type extent struct{ width, height uint32 }

// pixels is zero where either side is missing.
func (e extent) pixels() uint64 { return uint64(e.width) * uint64(e.height) }

// or returns the larger of the two.
func (e extent) or(o extent) extent {
	if o.pixels() > e.pixels() {
		return o
	}
	return e
}

// Inspect recognises a file of size bytes and reads its dimensions from the header. It refuses with EmptyFile,
// InvalidFileType, ResolutionMissing or ResolutionTooLarge. An error of r itself is returned wrapped and is no fault.
//
// The dimensions are what the file declares. Whoever decodes the image must hold the decoder to them.
func Inspect(r io.ReaderAt, size int64) (Info, error) {
	if size <= 0 {
		return Info{}, EmptyFile
	}
	h := newHeader(r, size)
	format, known := recognise(h)
	var e extent
	if known {
		e = measure(h, format)
	}
	switch {
	case h.failure != nil:
		return Info{}, fmt.Errorf("read the header of a photo: %w", h.failure)
	case !known:
		return Info{}, InvalidFileType
	case e.pixels() == 0:
		return Info{}, ResolutionMissing(format)
	case e.width > MaxSide, e.height > MaxSide, e.pixels() > MaxPixels:
		return Info{}, ResolutionTooLarge(int(e.width), int(e.height))
	}
	return Info{Format: format, Width: int(e.width), Height: int(e.height)}, nil
}

const pngSignature = "\x89PNG\r\n\x1a\n"

// recognise tells the format from the first bytes.
func recognise(h *header) (Format, bool) {
	switch {
	case h.has(0, "\xff\xd8\xff"):
		return JPEG, true
	case h.has(0, pngSignature):
		return PNG, true
	case h.has(0, "RIFF") && h.has(8, "WEBP"):
		return WebP, true
	case h.has(4, "ftyp"):
		return formatOfBrands(h)
	}
	return "", false
}

// measure returns the dimensions that the header declares, or an empty extent where it declares none.
func measure(h *header, f Format) extent {
	switch f {
	case JPEG:
		return measureJPEG(h)
	case PNG:
		return measurePNG(h)
	case WebP:
		return measureWebP(h)
	case HEIC, HEIF, AVIF:
		_, e := readHEIF(h)
		return e
	}
	return extent{}
}

// measurePNG reads the IHDR chunk, which must come first.
func measurePNG(h *header) extent {
	ihdr := int64(len(pngSignature))
	if !h.has(ihdr, "\x00\x00\x00\x0dIHDR") {
		return extent{}
	}
	return h.extent32(ihdr + 8)
}

// extent32 reads a width and a height of 32 bits each.
func (h *header) extent32(off int64) extent {
	width, _ := h.uint32(off)
	height, _ := h.uint32(off + 4)
	return extent{width, height}
}

// maxJPEGJunk bounds the bytes between segments that belong to none. Decoders pass over them, so photos that have some
// are around; more than this is not a photo.
const maxJPEGJunk = 64 << 10

// Markers of a JPEG stream, the byte after 0xff.
const (
	jpegTEM = 0x01
	jpegRST = 0xd0 // to 0xd7
	jpegSOI = 0xd8
	jpegEOI = 0xd9
	jpegSOS = 0xda
)

// measureJPEG walks the segments up to the frame header. Embedded thumbnails lie inside segments and are stepped over.
func measureJPEG(h *header) extent {
	junk := 0
	for off := int64(2); junk <= maxJPEGJunk; {
		b, ok := h.bytes(off, 2)
		if !ok {
			return extent{}
		}
		marker := b[1]
		switch {
		case b[0] != 0xff:
			off++
			junk++
		case marker == 0xff: // fill byte
			off++
		case marker == 0x00:
			off += 2
			junk += 2
		case marker == jpegTEM, marker >= jpegRST && marker <= jpegSOI: // without a body
			off += 2
		case marker == jpegSOS, marker == jpegEOI: // pixels or the end before any frame header
			return extent{}
		case isFrameHeader(marker):
			return measureFrame(h, off+2)
		default:
			length, ok := h.uint16(off + 2)
			if !ok || length < 2 {
				return extent{}
			}
			off += 2 + int64(length)
		}
	}
	return extent{}
}

// isFrameHeader tells SOF0 to SOF15 from the three other markers in their range: DHT, JPG and DAC.
func isFrameHeader(marker byte) bool {
	return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc
}

// measureFrame reads a frame header: length, precision, height, width, number of components. The length follows from
// the components; a frame header where it does not is something else that looks like one.
func measureFrame(h *header, off int64) extent {
	b, ok := h.bytes(off, 8)
	if !ok {
		return extent{}
	}
	length, components := int(binary.BigEndian.Uint16(b)), int(b[7])
	if components == 0 || length != 8+3*components {
		return extent{}
	}
	return extent{height: uint32(binary.BigEndian.Uint16(b[3:])), width: uint32(binary.BigEndian.Uint16(b[5:]))}
}

// Layout of a WebP file: the RIFF header, then chunks of a four-letter name, a size and a body. The first chunk is the
// picture itself or, in the extended form, the description of the canvas.
const (
	webpChunk = 12
	webpBody  = webpChunk + 8
)

// measureWebP reads the first chunk.
func measureWebP(h *header) extent {
	switch {
	case h.has(webpChunk, "VP8 "):
		return measureVP8(h)
	case h.has(webpChunk, "VP8L"):
		return measureVP8L(h)
	case h.has(webpChunk, "VP8X"):
		return measureVP8X(h)
	}
	return extent{}
}

// measureVP8 reads a lossy frame: a tag whose lowest bit is 0 for a key frame, a start code, then width and height of
// 14 bits each, below 2 bits of scaling that is for the viewer.
func measureVP8(h *header) extent {
	b, ok := h.bytes(webpBody, 10)
	if !ok || b[0]&1 != 0 || string(b[3:6]) != "\x9d\x01\x2a" {
		return extent{}
	}
	return extent{
		width:  uint32(binary.LittleEndian.Uint16(b[6:])) & 0x3fff,
		height: uint32(binary.LittleEndian.Uint16(b[8:])) & 0x3fff,
	}
}

// measureVP8L reads a lossless picture: a signature byte, then width and height less one, 14 bits each.
func measureVP8L(h *header) extent {
	b, ok := h.bytes(webpBody, 5)
	if !ok || b[0] != 0x2f {
		return extent{}
	}
	bits := binary.LittleEndian.Uint32(b[1:])
	return extent{width: 1 + bits&0x3fff, height: 1 + bits>>14&0x3fff}
}

// measureVP8X reads the canvas of the extended form: flags, three reserved bytes, then width and height less one,
// 24 bits each.
func measureVP8X(h *header) extent {
	b, ok := h.bytes(webpBody, 10)
	if !ok {
		return extent{}
	}
	return extent{width: 1 + uint24(b[4:]), height: 1 + uint24(b[7:])}
}

func uint24(b []byte) uint32 { return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 }
