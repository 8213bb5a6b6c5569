package imaging

import (
	"image"
	"io"
	"math"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/photo"
)

// What decoders take, measured.
const (
	perScreenPixel   = 20 // the scaler, its image, the same upright, and the JPEGs
	perFullPixel     = 3  // the yuvSink and the JPEG
	perLossyPixel    = 2  // of a WebP
	perLosslessPixel = 5  // of a WebP that is coded without loss
	unknown          = math.MaxInt64
)

// memoryFor tells what it takes to derive images of the sizes, as far as the file's header tells. Files whose decoders
// cannot be held to anything take unknown.
func memoryFor(file io.ReaderAt, size int64, f photo.Format, sizes []Size) (int64, error) {
	info, err := photo.Inspect(file, size)
	if err != nil {
		if fault.CodeOf(err) != "" { // it was taken once, so it can be read; the decoder will tell
			return budget, nil
		}
		return 0, err
	}
	extent := image.Pt(info.Width, info.Height)
	pixels := int64(extent.X) * int64(extent.Y)
	small := fitted(extent, sizes[len(sizes)-1].Edge())
	need := int64(small.X) * int64(small.Y)
	if sizes[0] == Full {
		need *= perFullPixel
	} else {
		need *= perScreenPixel
	}
	switch f {
	case photo.JPEG:
		if progressive(file) {
			need += jpegCoefficients(extent)
		}
	case photo.PNG:
		need += pngImage(file, pixels)
	case photo.WebP:
		switch webpKind(file) {
		case webpLossy:
			need += pixels * perLossyPixel
		case webpLossless:
			need += pixels * perLosslessPixel
		default:
			return unknown, nil
		}
	case photo.HEIC, photo.HEIF, photo.AVIF: // the size of a frame is inside the coded data, and need not be the header's
		return unknown, nil
	}
	return need, nil
}

// pngImage is what a decoded PNG takes, as its header tells. Only those with a palette have one byte for each pixel:
// gray ones with a transparent color become RGBA.
func pngImage(file io.ReaderAt, pixels int64) int64 {
	head := make([]byte, 29) // as far as the end of the header
	if n, _ := file.ReadAt(head, 0); n < len(head) {
		return budget
	}
	depth, color, interlaced := head[24], head[25], head[28] != 0
	size := 4 * pixels
	if color == 3 {
		size = pixels
	}
	if depth == 16 {
		size *= 2
	}
	if interlaced { // each pass is an image of its own first
		size *= 2
	}
	return size
}

// jpegCoefficients is what a progressive JPEG of three full components keeps until its end: a mark for each coefficient
// of a block, and those of them that are seen.
func jpegCoefficients(extent image.Point) int64 {
	side := 8 / jpegScale(extent.X, extent.Y, Screen.Edge())
	blocks := int64((extent.X+15)/8) * int64((extent.Y+15)/8)
	return 3 * blocks * int64(8+2*side*side)
}

// jpegScale is how much smaller a JPEG can be read so that an edge of at least edge stays.
func jpegScale(w, h, edge int) int {
	scale := 8
	for scale > 1 && max(w, h)/scale < edge {
		scale /= 2
	}
	return scale
}

// progressive reports whether a JPEG is not stored from top to bottom: it has a frame of that kind, or none that can be found.
func progressive(file io.ReaderAt) bool {
	head := make([]byte, 4)
	at := int64(2)
	for range maxParts {
		if n, _ := file.ReadAt(head, at); n < 4 || head[0] != 0xff {
			return true
		}
		switch head[1] {
		case 0xc0, 0xc1:
			return false
		case 0xc2, 0xda:
			return true
		}
		at += 2 + int64(head[2])<<8 + int64(head[3])
	}
	return true
}

type webpCoding int

const (
	webpOther webpCoding = iota // an animation, one with transparency, or nothing that is known
	webpLossy
	webpLossless
)

// webpKind looks for the first chunk that holds pixels.
func webpKind(file io.ReaderAt) webpCoding {
	head := make([]byte, 8)
	at := int64(12)
	for range maxParts {
		if n, _ := file.ReadAt(head, at); n < len(head) {
			return webpOther
		}
		switch string(head[:4]) {
		case "VP8 ":
			return webpLossy
		case "VP8L":
			return webpLossless
		case "ANIM", "ANMF", "ALPH":
			return webpOther
		case "VP8X":
			const transparent = 0x10
			if n, _ := file.ReadAt(head[:1], at+8); n < 1 || head[0]&transparent != 0 {
				return webpOther
			}
		}
		size := int64(head[4]) | int64(head[5])<<8 | int64(head[6])<<16 | int64(head[7])<<24
		at += 8 + size + size&1
	}
	return webpOther
}
