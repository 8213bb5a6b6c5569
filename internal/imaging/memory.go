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
	perPixel     = 4 // of the largest image: its planes, the same upright, and the JPEGs
	perJPEGPixel = 8 // of a JPEG at the scale it is decoded at: up to four components, and their RGBA
	unknown      = math.MaxInt64
)

// memoryFor estimates what it takes to derive images of the sizes from the file's header. It is unknown for formats
// whose decoders may take any amount.
func memoryFor(file io.ReaderAt, size int64, f photo.Format, sizes []Size) (int64, error) {
	info, err := photo.Inspect(file, size)
	if err != nil {
		if fault.CodeOf(err) != "" && fault.KindOf(err) != fault.Unavailable { // the decoder will return the error
			return budget, nil
		}
		return 0, err
	}
	extent := image.Pt(info.Width, info.Height)
	pixels := int64(extent.X) * int64(extent.Y)
	small := fitted(extent, sizes[len(sizes)-1].Edge())
	need := perPixel * int64(small.X) * int64(small.Y)
	switch f {
	case photo.JPEG:
		scale := int64(jpegScale(extent.X, extent.Y, Screen.Edge()))
		need += perJPEGPixel * (pixels/(scale*scale) + 1)
		if inParts(file) {
			need += jpegCoefficients(extent)
		}
	case photo.PNG:
		need += pngImage(file, pixels)
	case photo.WebP:
		perPixel := webpPixel(file)
		if perPixel == 0 {
			return unknown, nil
		}
		need += pixels * perPixel
	case photo.HEIC, photo.HEIF, photo.AVIF: // the coded data may have another size than the header
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

// jpegCoefficients is what a JPEG of three full components keeps until its end where blocks are stored in parts: a bit
// for each coefficient of a block, and those that are used.
func jpegCoefficients(extent image.Point) int64 {
	side := 8 / jpegScale(extent.X, extent.Y, Screen.Edge())
	blocks := int64((extent.X+15)/8) * int64((extent.Y+15)/8)
	return 3 * blocks * int64(8+2*side*side)
}

// jpegScale is by how much a JPEG can be reduced so that its longest edge is still at least edge.
func jpegScale(w, h, edge int) int {
	scale := 8
	for scale > 1 && max(w, h)/scale < edge {
		scale /= 2
	}
	return scale
}

// inParts reports whether the blocks of a JPEG are not stored one after the other: it is progressive, its components
// are stored apart, or neither can be found.
func inParts(file io.ReaderAt) bool {
	const baseline, extended = "\xc0", "\xc1"
	components := -1
	for p, err := range partsOf(file, photo.JPEG) {
		var head [6]byte
		if err != nil {
			return true
		}
		switch p.kind {
		case baseline, extended:
			if _, err := file.ReadAt(head[:], p.at); err != nil {
				return true
			}
			components = int(head[5])
		case jpegSOS:
			_, err := file.ReadAt(head[:1], p.at)
			return err != nil || int(head[0]) != components
		}
	}
	return true
}

// webpPixel is what the decoder takes for a pixel of a WebP, 0 when that is not known: for animations and images with
// transparency.
func webpPixel(file io.ReaderAt) int64 {
	for p, err := range partsOf(file, photo.WebP) {
		if err != nil {
			return 0
		}
		switch p.kind {
		case "VP8 ":
			return 2
		case "VP8L":
			return 5
		case "ANIM", "ANMF", "ALPH":
			return 0
		case "VP8X":
			const transparent = 0x10
			var flags [1]byte
			if n, _ := file.ReadAt(flags[:], p.at); n < 1 || flags[0]&transparent != 0 {
				return 0
			}
		}
	}
	return 0
}
