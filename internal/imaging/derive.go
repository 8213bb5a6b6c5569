// Package imaging makes the images that pages show from the photos that customers upload: upright, small enough for a
// screen, and without anything that the file says about its maker. The photo itself is never changed.
package imaging

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"

	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/gen2brain/avif"
	"github.com/gen2brain/heic"
	animated "github.com/gen2brain/webp"
	"golang.org/x/image/draw"
	"golang.org/x/image/webp"
)

// Size is how large a derived image is.
type Size string

// The sizes: one for lists, one for a screen.
const (
	Thumb  Size = "thumb"
	Screen Size = "screen"
)

// Sizes lists the sizes.
var Sizes = []Size{Thumb, Screen}

// Edge returns the longest edge of images of the size, in pixels. Photos that are smaller stay as large as they are.
func (s Size) Edge() int {
	if s == Thumb {
		return 320
	}
	return 1600
}

func (s Size) quality() int {
	if s == Thumb {
		return 78
	}
	return 86
}

// ErrUndecodable tells that the file is not an image that can be shown, although its header says so.
var ErrUndecodable = errors.New("imaging: the photo cannot be decoded")

// decode reads the whole image. A decoder that panics has met a broken file.
func decode(r io.ReadSeeker, f photo.Format) (img image.Image, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: the decoder panicked: %v", ErrUndecodable, v)
		}
	}()
	if err := checkSize(r, f); err != nil {
		return nil, err
	}
	switch f {
	case photo.JPEG:
		img, err = jpeg.Decode(r)
	case photo.PNG:
		img, err = png.Decode(r)
	case photo.WebP:
		img, err = decodeWebP(r)
	case photo.HEIC:
		img, err = heic.Decode(r) // turns the image upright itself
	case photo.AVIF:
		img, err = avif.Decode(r, avif.Options{AutoRotate: true})
	case photo.HEIF:
		img, err = decodeHEIF(r)
	default:
		err = fmt.Errorf("unknown format %q", f)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUndecodable, err)
	}
	if b := img.Bounds(); b.Empty() {
		return nil, fmt.Errorf("%w: it has no pixels", ErrUndecodable)
	}
	return img, nil
}

// checkSize holds a decoder to the size that photos may have, by the header that the decoder itself will read.
func checkSize(r io.ReadSeeker, f photo.Format) error {
	read := map[photo.Format]func(io.Reader) (image.Config, error){photo.JPEG: jpeg.DecodeConfig, photo.PNG: png.DecodeConfig, photo.WebP: webp.DecodeConfig}[f]
	if read == nil {
		return nil
	}
	c, err := read(r)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUndecodable, err)
	}
	if c.Width > photo.MaxSide || c.Height > photo.MaxSide || c.Width*c.Height > photo.MaxPixels {
		return fmt.Errorf("%w: it has %d × %d pixels", ErrUndecodable, c.Width, c.Height)
	}
	_, err = r.Seek(0, io.SeekStart)
	return err
}

// decodeWebP takes the first picture of an animation, which the smaller decoder does not know.
func decodeWebP(r io.ReadSeeker) (image.Image, error) {
	img, err := webp.Decode(r)
	if err == nil {
		return img, nil
	}
	if _, seekErr := r.Seek(0, io.SeekStart); seekErr != nil {
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
	if _, seekErr := r.Seek(0, io.SeekStart); seekErr != nil {
		return nil, seekErr
	}
	return avif.Decode(r, avif.Options{AutoRotate: true})
}

// Derive decodes a photo once and returns a JPEG of every size: upright, in the photo's own colours, and without the rest
// of what the file says about itself.
func Derive(r io.ReadSeeker, f photo.Format) (map[Size][]byte, error) {
	m, err := readMetadata(r, f)
	if err != nil {
		return nil, err
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return nil, err
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
	derived[Thumb], err = encode(fit(screen, Thumb.Edge()), Thumb.quality(), m.icc)
	return derived, err
}

// decodeToFit lets go of the full image before it returns.
func decodeToFit(r io.ReadSeeker, f photo.Format, edge int) (*image.RGBA, error) {
	img, err := decode(r, f)
	if err != nil {
		return nil, err
	}
	return fit(img, edge), nil
}

// encode writes a JPEG with a colour profile, which may be nil.
func encode(img image.Image, quality int, profile []byte) ([]byte, error) {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: quality}); err != nil {
		return nil, err
	}
	return withProfile(b.Bytes(), profile), nil
}

// fit returns the image on white with its longest edge at most edge. It first averages whole blocks of pixels, which
// needs memory for one row of blocks only, and then goes the rest of the way smoothly.
func fit(img image.Image, edge int) *image.RGBA {
	b := img.Bounds()
	long := max(b.Dx(), b.Dy())
	out := shrink(img, max(1, long/edge))
	if long = max(out.Rect.Dx(), out.Rect.Dy()); long <= edge {
		return out
	}
	w, h := max(1, out.Rect.Dx()*edge/long), max(1, out.Rect.Dy()*edge/long)
	fitted := image.NewRGBA(image.Rect(0, 0, w, h))
	draw.BiLinear.Scale(fitted, fitted.Rect, out, out.Rect, draw.Src, nil)
	return fitted
}

// shrink averages blocks of n × n pixels. Rows and columns that do not fill a block are averaged as they are.
func shrink(img image.Image, n int) *image.RGBA {
	b := img.Bounds()
	w, h := (b.Dx()+n-1)/n, (b.Dy()+n-1)/n
	out := image.NewRGBA(image.Rect(0, 0, w, h))
	band := image.NewRGBA(image.Rect(0, 0, b.Dx(), n))
	white := image.NewUniform(color.White)
	opaque := isOpaque(img)
	sums := make([][4]uint32, w) // red, green, blue, pixels
	for y := range h {
		rows := min(n, b.Dy()-y*n)
		area := image.Rect(0, 0, b.Dx(), rows)
		at := image.Pt(b.Min.X, b.Min.Y+y*n)
		if opaque {
			draw.Draw(band, area, img, at, draw.Src)
		} else {
			draw.Draw(band, area, white, image.Point{}, draw.Src)
			draw.Draw(band, area, img, at, draw.Over)
		}
		clear(sums)
		for row := range rows {
			line := band.Pix[row*band.Stride : row*band.Stride+4*b.Dx()]
			for x := 0; x < w; x++ {
				block := line[4*x*n : min(4*(x+1)*n, len(line))]
				s := &sums[x]
				for i := 0; i+3 < len(block); i += 4 {
					s[0] += uint32(block[i])
					s[1] += uint32(block[i+1])
					s[2] += uint32(block[i+2])
				}
				s[3] += uint32(len(block) / 4) //nolint:gosec // a block is small
			}
		}
		line := out.Pix[y*out.Stride:]
		for x, s := range sums {
			half := s[3] / 2
			line[4*x], line[4*x+1], line[4*x+2], line[4*x+3] = byte((s[0]+half)/s[3]), byte((s[1]+half)/s[3]), byte((s[2]+half)/s[3]), 255 //nolint:gosec // an average of bytes
		}
	}
	return out
}

func isOpaque(img image.Image) bool {
	switch i := img.(type) {
	case *image.YCbCr, *image.Gray, *image.Gray16, *image.CMYK:
		return true
	case interface{ Opaque() bool }:
		return i.Opaque()
	}
	return false
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
