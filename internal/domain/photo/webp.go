package photo

import "encoding/binary"

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
