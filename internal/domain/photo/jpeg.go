package photo

import "encoding/binary"

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
