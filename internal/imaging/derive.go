// Package imaging makes the images that pages show from uploaded photos: upright, small enough for a screen, and
// without metadata but the color profile. The photo itself is never changed.
package imaging

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/imaging/smalljpeg"
)

// Size is how large a derived image is.
type Size string

// The sizes: one for lists, one for a screen, and the full one to zoom into photos that browsers cannot show.
const (
	Thumb  Size = "thumb"
	Screen Size = "screen"
	Full   Size = "full"
)

// Sizes are those that pages show; they are made together.
var Sizes = []Size{Thumb, Screen}

// Known reports whether there is such a size.
func (s Size) Known() bool { return s == Thumb || s == Screen || s == Full }

// together returns this size and those that are made with it.
func (s Size) together() []Size {
	if s == Full {
		return []Size{Full}
	}
	return Sizes
}

// Edge returns the longest edge of images of the size, in pixels. Photos that are smaller stay as large as they are.
func (s Size) Edge() int {
	return map[Size]int{Thumb: 320, Screen: 1600, Full: photo.MaxSide}[s]
}

// quality is that of the JPEG.
func (s Size) quality() int {
	return map[Size]int{Thumb: 78, Screen: 86, Full: 92}[s]
}

// HasFull reports whether photos of a format have an image in full size: those of formats that browsers may not show.
func HasFull(f photo.Format) bool { return f == photo.HEIC || f == photo.HEIF || f == photo.AVIF }

// ErrUndecodable means that the file cannot be decoded, although its header is that of a photo.
var ErrUndecodable = errors.New("imaging: the photo cannot be decoded")

// Derive decodes a photo once and returns a JPEG of each of the sizes: upright, in the photo's own colors, and without
// the rest of its metadata. The sizes are those that are made together, from the smallest to the largest. A JPEG is
// decoded no further when ctx ends.
func Derive(
	ctx context.Context, r io.ReadSeeker, f photo.Format, sizes []Size,
) (_ map[Size][]byte, err error) {
	defer undecodableOnPanic(&err)
	m, err := readMetadata(r, f)
	if err != nil {
		return nil, err
	}
	largest := sizes[len(sizes)-1]
	p, err := decode(ctx, r, f, largest.Edge())
	if err != nil {
		return nil, err
	}
	orientation := p.orientation
	if orientation == 1 {
		orientation = m.orientation(f)
	}
	small := upright(p.fit(largest.Edge()), orientation)
	p = nil // what was decoded can be freed
	derived := make(map[Size][]byte, len(sizes))
	for _, size := range slices.Backward(sizes) { // each is made from the next larger one
		if size != largest {
			small = wholly(small).fit(size.Edge())
		}
		encoded, err := smalljpeg.Encode(small, size.quality())
		if err != nil {
			return nil, err
		}
		derived[size] = withProfile(encoded, m.icc)
	}
	return derived, nil
}

// undecodableOnPanic is deferred by what reads the bytes of a photo: where a parser or decoder panics, the file is
// broken, and only that photo is affected.
func undecodableOnPanic(err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("%w: panic: %v", ErrUndecodable, v)
	}
}
