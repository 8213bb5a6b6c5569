package imaging

import (
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"

	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/imaging/smalljpeg"
	"github.com/gen2brain/avif"
	"github.com/gen2brain/heic"
	animated "github.com/gen2brain/webp"
	"golang.org/x/image/webp"
)

// decode returns a photo, or a smaller one whose longest edge is still at least edge. Its orientation is what the file
// does not have in its EXIF data. All its errors are ErrUndecodable.
func decode(r io.ReadSeeker, f photo.Format, edge int) (p *pixels, err error) {
	defer func() {
		if err != nil {
			p, err = nil, fmt.Errorf("%w: %w", ErrUndecodable, err)
		}
	}()
	if f == photo.HEIC || f == photo.HEIF {
		if p, err := decodeGrid(r); p != nil || err != nil {
			return p, err
		}
	}
	if err := rewind(r); err != nil {
		return nil, err
	}
	if f == photo.JPEG {
		return decodeJPEG(r, edge)
	}
	img, err := decodeWhole(r, f)
	if err != nil {
		return nil, err
	}
	p = wholly(img)
	return p, checkSize(p.size)
}

// wholly returns an image as it is.
func wholly(img image.Image) *pixels {
	return &pixels{Image: img, size: img.Bounds().Size(), scale: 1, orientation: 1}
}

func checkSize(size image.Point) error {
	if size.X < 1 || size.Y < 1 || size.X > photo.MaxSide || size.Y > photo.MaxSide || size.X*size.Y > photo.MaxPixels {
		return fmt.Errorf("it has %d × %d pixels", size.X, size.Y)
	}
	return nil
}

func decodeJPEG(r io.Reader, edge int) (*pixels, error) {
	p := &pixels{orientation: 1}
	var err error
	p.Image, err = smalljpeg.Decode(r, func(w, h int) (int, error) {
		p.size, p.scale = image.Pt(w, h), jpegScale(w, h, edge)
		return p.scale, checkSize(p.size)
	})
	return p, err
}

// decodeWhole decodes formats whose decoders return the photo in full size.
func decodeWhole(r io.ReadSeeker, f photo.Format) (image.Image, error) {
	switch f {
	case photo.PNG:
		if err := checkHeader(r, png.DecodeConfig); err != nil {
			return nil, err
		}
		return png.Decode(r)
	case photo.WebP:
		if err := checkHeader(r, webp.DecodeConfig); err != nil {
			return nil, err
		}
		return firstOf(r, webp.Decode, decodeAnimatedWebP) // the first takes less memory
	case photo.HEIC:
		return heic.Decode(r) // turns the image upright itself
	case photo.AVIF:
		return decodeAVIF(r)
	case photo.HEIF:
		return firstOf(r, heic.Decode, decodeAVIF)
	case photo.JPEG:
	}
	return nil, fmt.Errorf("unknown format %q", f)
}

// decodeAnimatedWebP returns the first image of an animation.
func decodeAnimatedWebP(r io.Reader) (image.Image, error) {
	if err := withoutSystem("libwebp"); err != nil {
		return nil, err
	}
	return animated.Decode(r)
}

func decodeAVIF(r io.Reader) (image.Image, error) {
	if err := withoutSystem("libavif"); err != nil {
		return nil, err
	}
	return avif.Decode(r, avif.Options{AutoRotate: true})
}

// checkHeader checks the size that a file's header declares, for decoders that allocate what it says.
func checkHeader(r io.ReadSeeker, config func(io.Reader) (image.Config, error)) error {
	c, err := config(r)
	if err != nil {
		return err
	}
	if err := checkSize(image.Pt(c.Width, c.Height)); err != nil {
		return err
	}
	return rewind(r)
}

// firstOf returns what the first decoder returns, or the second where that one fails.
func firstOf(r io.ReadSeeker, first, second func(io.Reader) (image.Image, error)) (image.Image, error) {
	img, err := first(r)
	if err == nil {
		return img, nil
	}
	if err := rewind(r); err != nil {
		return nil, err
	}
	img, secondErr := second(r)
	if secondErr != nil {
		return nil, errors.Join(err, secondErr)
	}
	return img, nil
}
