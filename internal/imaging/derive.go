// Package imaging makes the images that pages show from the photos that customers upload: upright, small enough for a
// screen, and without anything that the file says about its maker. The photo itself is never changed.
package imaging

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"io"
	"slices"

	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/imaging/smalljpeg"
	"github.com/gen2brain/avif"
	"github.com/gen2brain/heic"
	animated "github.com/gen2brain/webp"
	"golang.org/x/image/webp"
)

// Size is how large a derived image is.
type Size string

// The sizes: one for lists, one for a screen, and for deep zoom the full one of photos that browsers do not show themselves.
const (
	Thumb  Size = "thumb"
	Screen Size = "screen"
	Full   Size = "full"
)

// Sizes are those that pages show; they are made together.
var Sizes = []Size{Thumb, Screen}

// Known reports whether there is such a size.
func (s Size) Known() bool { return s == Thumb || s == Screen || s == Full }

// together returns the sizes that are made in one go with this one.
func (s Size) together() []Size {
	if s == Full {
		return []Size{Full}
	}
	return Sizes
}

// Edge returns the longest edge of images of the size, in pixels. Photos that are smaller stay as large as they are.
func (s Size) Edge() int {
	switch s {
	case Thumb:
		return 320
	case Screen:
		return 1600
	case Full:
	}
	return photo.MaxSide
}

func (s Size) quality() int {
	switch s {
	case Thumb:
		return 78
	case Screen:
		return 86
	case Full:
	}
	return 92
}

// HasFull reports whether photos of a format have an image in full size: those of formats that browsers may not show.
func HasFull(f photo.Format) bool { return f == photo.HEIC || f == photo.HEIF || f == photo.AVIF }

// ErrUndecodable tells that the file is not an image that can be shown, although its header says so.
var ErrUndecodable = errors.New("imaging: the photo cannot be decoded")

// Derive decodes a photo once and returns a JPEG of each of the sizes: upright, in the photo's own colours, and without
// the rest of what the file says about itself. The sizes are those that are made together: Thumb and Screen, or Full.
func Derive(r io.ReadSeeker, f photo.Format, sizes []Size) (map[Size][]byte, error) {
	m, err := readMetadata(r, f)
	if err != nil {
		return nil, err
	}
	if err := rewind(r); err != nil {
		return nil, err
	}
	if slices.Contains(sizes, Full) {
		full, err := decodeFull(r, f)
		if err != nil {
			return nil, err
		}
		b, err := encode(full, Full.quality(), m.icc)
		return map[Size][]byte{Full: b}, err
	}
	screen, err := decodeToFit(r, f, Screen.Edge())
	if err != nil {
		return nil, err
	}
	screen = upright(screen, m.orientation(f))
	derived := make(map[Size][]byte, 2)
	if derived[Screen], err = encode(screen, Screen.quality(), m.icc); err != nil {
		return nil, err
	}
	thumb := newCanvas(screen.Rect.Size(), fitted(screen.Rect.Size(), Thumb.Edge()))
	paintImage(thumb, image.Point{}, screen)
	derived[Thumb], err = encode(thumb.picture(), Thumb.quality(), m.icc)
	return derived, err
}

func decodeFull(r io.ReadSeeker, f photo.Format) (image.Image, error) {
	var full plate
	err := paintPhoto(r, f, photo.MaxSide, func(size image.Point) surface {
		full = newPlate(size)
		return full
	})
	return full.YCbCr, err
}

// decodeToFit lets go of all but the smaller picture before it returns.
func decodeToFit(r io.ReadSeeker, f photo.Format, edge int) (*image.RGBA, error) {
	var c *canvas
	err := paintPhoto(r, f, edge, func(size image.Point) surface {
		c = newCanvas(size, fitted(size, edge))
		return c
	})
	if err != nil {
		return nil, err
	}
	return c.picture(), nil
}

// paintPhoto paints a photo on the surface that begin returns for its size, or for a smaller one that has an edge of at
// least edge. A decoder that panics has met a broken file.
func paintPhoto(r io.ReadSeeker, f photo.Format, edge int, begin func(image.Point) surface) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the decoder panicked: %v", v)
		}
		if err != nil {
			err = fmt.Errorf("%w: %w", ErrUndecodable, err)
		}
	}()
	checked := func(size image.Point) (surface, error) {
		if tooLarge(size) {
			return nil, fmt.Errorf("it has %d × %d pixels", size.X, size.Y)
		}
		return begin(size), nil
	}
	switch f {
	case photo.JPEG:
		return smalljpeg.Decode(r, func(w, h int) (int, smalljpeg.Row, error) {
			if tooLarge(image.Pt(w, h)) {
				return 0, nil, fmt.Errorf("it has %d × %d pixels", w, h)
			}
			scale := jpegScale(w, h, edge)
			s := begin(image.Pt((w+scale-1)/scale, (h+scale-1)/scale))
			return scale, func(y int, rgb []byte) { s.paint(0, y, 1, rgb) }, nil
		})
	case photo.PNG:
		return paintPNG(r, checked)
	case photo.WebP, photo.HEIC, photo.HEIF, photo.AVIF:
	}
	if f != photo.WebP {
		if g, ok := gridOf(r); ok {
			if len(g.items) > maxTiles {
				return fmt.Errorf("it has %d tiles", len(g.items))
			}
			return g.paint(begin(g.uprightSize()))
		}
	}
	img, err := decodeWhole(r, f)
	if err != nil {
		return err
	}
	s, err := checked(img.Bounds().Size())
	if err != nil {
		return err
	}
	paintImage(s, image.Point{}, img)
	return nil
}

// gridOf returns the grid of tiles that a HEIF file is.
func gridOf(r io.ReadSeeker) (*grid, bool) {
	size, err := r.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, false
	}
	return gridIn(readerAt{r}, size)
}

func gridIn(r io.ReaderAt, size int64) (*grid, bool) {
	file, err := readHEIF(r, size)
	if err != nil {
		return nil, false
	}
	return file.grid()
}

// decodeWhole reads formats whose decoders hold the whole image.
func decodeWhole(r io.ReadSeeker, f photo.Format) (image.Image, error) {
	if err := rewind(r); err != nil {
		return nil, err
	}
	switch f {
	case photo.WebP:
		return decodeWebP(r)
	case photo.HEIC:
		return heic.Decode(r) // turns the image upright itself
	case photo.AVIF:
		return avif.Decode(r, avif.Options{AutoRotate: true})
	case photo.HEIF:
		return decodeHEIF(r)
	case photo.JPEG, photo.PNG:
	}
	return nil, fmt.Errorf("unknown format %q", f)
}

// decodeWebP takes the first picture of an animation, which the smaller decoder does not know.
func decodeWebP(r io.ReadSeeker) (image.Image, error) {
	c, err := webp.DecodeConfig(r)
	if err != nil {
		return nil, err
	}
	if tooLarge(image.Pt(c.Width, c.Height)) {
		return nil, fmt.Errorf("it has %d × %d pixels", c.Width, c.Height)
	}
	if err := rewind(r); err != nil {
		return nil, err
	}
	img, err := webp.Decode(r)
	if err == nil {
		return img, nil
	}
	if seekErr := rewind(r); seekErr != nil {
		return nil, seekErr
	}
	if img, second := animated.Decode(r); second == nil {
		return img, nil
	}
	return nil, err
}

// decodeHEIF tries the codecs that the container may hold.
func decodeHEIF(r io.ReadSeeker) (image.Image, error) {
	img, err := heic.Decode(r)
	if err == nil {
		return img, nil
	}
	if seekErr := rewind(r); seekErr != nil {
		return nil, seekErr
	}
	return avif.Decode(r, avif.Options{AutoRotate: true})
}

// encode writes a JPEG with a colour profile, which may be nil.
func encode(img image.Image, quality int, profile []byte) ([]byte, error) {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: quality}); err != nil {
		return nil, err
	}
	return withProfile(b.Bytes(), profile), nil
}

// upright turns an image as its EXIF orientation asks: 1 is upright, 2 to 8 are the mirrored and turned ones.
func upright(img *image.RGBA, orientation int) *image.RGBA {
	if orientation < 2 || orientation > 8 {
		return img
	}
	w, h := img.Rect.Dx(), img.Rect.Dy()
	size := image.Rect(0, 0, w, h)
	if orientation >= 5 {
		size = image.Rect(0, 0, h, w)
	}
	out := image.NewRGBA(size)
	for y := range size.Dy() {
		for x := range size.Dx() {
			sx, sy := x, y
			switch orientation {
			case 2:
				sx = w - 1 - x
			case 3:
				sx, sy = w-1-x, h-1-y
			case 4:
				sy = h - 1 - y
			case 5:
				sx, sy = y, x
			case 6:
				sx, sy = y, h-1-x
			case 7:
				sx, sy = w-1-y, h-1-x
			case 8:
				sx, sy = w-1-y, x
			}
			copy(out.Pix[out.PixOffset(x, y):][:4], img.Pix[img.PixOffset(sx, sy):][:4])
		}
	}
	return out
}
