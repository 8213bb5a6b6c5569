package photo

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"testing"
)

// Builders of small files, real ones with the standard encoders and headers by hand where there is no encoder.

func encodePNG(t testing.TB, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func encodeJPEG(t testing.TB, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	img := image.NewYCbCr(image.Rect(0, 0, width, height), image.YCbCrSubsampleRatio420)
	if err := jpeg.Encode(&b, img, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// pngHeader is a PNG up to its IHDR chunk.
func pngHeader(width, height uint32) []byte {
	b := []byte(pngSignature + "\x00\x00\x00\x0dIHDR")
	b = binary.BigEndian.AppendUint32(b, width)
	b = binary.BigEndian.AppendUint32(b, height)
	return append(b, 8, 2, 0, 0, 0)
}

// segment is one JPEG segment.
func segment(marker byte, body []byte) []byte {
	b := []byte{0xff, marker}
	b = binary.BigEndian.AppendUint16(b, uint16(2+len(body)))
	return append(b, body...)
}

// frame is a JPEG frame header for three components.
func frame(marker byte, width, height uint16) []byte {
	body := []byte{8}
	body = binary.BigEndian.AppendUint16(body, height)
	body = binary.BigEndian.AppendUint16(body, width)
	return segment(marker, append(body, 3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1))
}

// jpegOf is a JPEG made of the given parts after its start.
func jpegOf(parts ...[]byte) []byte { return join([]byte{0xff, 0xd8}, join(parts...)) }

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// afterSOI puts parts between the start of a JPEG and the rest.
func afterSOI(file []byte, parts ...[]byte) []byte { return join(file[:2], join(parts...), file[2:]) }

// exif is an APP1 segment whose only entry is the orientation.
func exif(orientation byte) []byte {
	return segment(0xe1, join([]byte("Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00"),
		[]byte{orientation, 0, 0, 0, 0, 0, 0}))
}

// webpOf is a WebP file with one chunk.
func webpOf(kind string, body []byte) []byte {
	b := []byte("RIFF")
	b = binary.LittleEndian.AppendUint32(b, uint32(12+len(body)))
	b = append(b, "WEBP"+kind...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(body)))
	return append(b, body...)
}

func vp8(width, height uint16) []byte {
	b := []byte{0x10, 0x02, 0x00, 0x9d, 0x01, 0x2a}
	b = binary.LittleEndian.AppendUint16(b, width)
	return binary.LittleEndian.AppendUint16(b, height)
}

func vp8l(width, height uint32) []byte {
	return binary.LittleEndian.AppendUint32([]byte{0x2f}, (width-1)|(height-1)<<14)
}

func vp8x(width, height uint32) []byte {
	b := []byte{0x10, 0, 0, 0}
	for _, v := range []uint32{width - 1, height - 1} {
		b = append(b, byte(v), byte(v>>8), byte(v>>16))
	}
	return b
}

// isoBox is a box with a size of 32 bits.
func isoBox(kind string, parts ...[]byte) []byte {
	body := join(parts...)
	b := binary.BigEndian.AppendUint32(nil, uint32(8+len(body)))
	return append(append(b, kind...), body...)
}

// wideBox is a box with a size of 64 bits.
func wideBox(kind string, parts ...[]byte) []byte {
	body := join(parts...)
	b := append([]byte{0, 0, 0, 1}, kind...)
	b = binary.BigEndian.AppendUint64(b, uint64(16+len(body)))
	return append(b, body...)
}

// openBox is a box that reaches to the end of its container.
func openBox(kind string, parts ...[]byte) []byte {
	return join([]byte{0, 0, 0, 0}, []byte(kind), join(parts...))
}

// claiming gives a box another size than it has.
func claiming(size uint32, b []byte) []byte {
	return join(binary.BigEndian.AppendUint32(nil, size), b[4:])
}

// fullBox is a box with version and flags.
func fullBox(kind string, version byte, flags uint32, parts ...[]byte) []byte {
	return isoBox(kind, u32(uint32(version)<<24|flags), join(parts...))
}

func u16(v uint16) []byte { return binary.BigEndian.AppendUint16(nil, v) }
func u32(v uint32) []byte { return binary.BigEndian.AppendUint32(nil, v) }

func ftyp(major string, compatible ...string) []byte {
	b := append([]byte(major), 0, 0, 0, 0)
	for _, c := range compatible {
		b = append(b, c...)
	}
	return isoBox("ftyp", b)
}

func ispe(width, height uint32) []byte { return fullBox("ispe", 0, 0, u32(width), u32(height)) }
func pitm(id uint16) []byte            { return fullBox("pitm", 0, 0, u16(id)) }
func hvcC() []byte                     { return isoBox("hvcC", make([]byte, 30)) }

// assoc is one entry of an ipma box with narrow ids and indexes.
func assoc(id uint16, indexes ...byte) []byte {
	return join(u16(id), []byte{byte(len(indexes))}, indexes)
}

func ipma(entries ...[]byte) []byte {
	return fullBox("ipma", 0, 0, u32(uint32(len(entries))), join(entries...))
}

func ipco(properties ...[]byte) []byte { return isoBox("ipco", properties...) }
func iprp(parts ...[]byte) []byte      { return isoBox("iprp", parts...) }
func meta(parts ...[]byte) []byte      { return fullBox("meta", 0, 0, parts...) }

// heicOf is a one-item HEIC picture.
func heicOf(width, height uint32) []byte {
	return join(ftyp("heic", "mif1", "heic"),
		meta(pitm(1), iprp(ipco(hvcC(), ispe(width, height)), ipma(assoc(1, 0x81, 2)))),
		isoBox("mdat", make([]byte, 64)))
}

// countingReader counts what is read through it.
type countingReader struct {
	r            io.ReaderAt
	calls, bytes int
}

func (c *countingReader) ReadAt(p []byte, off int64) (int, error) {
	c.calls++
	c.bytes += len(p)
	return c.r.ReadAt(p, off)
}
