package photo

import (
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
		return Info{}, EmptyFile()
	}
	h := &header{r: r, size: size}
	format, known := recognise(h)
	var e extent
	if known {
		e = measure(h, format)
	}
	switch {
	case h.failure != nil:
		return Info{}, fmt.Errorf("read the header of a photo: %w", h.failure)
	case !known:
		return Info{}, InvalidFileType()
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
