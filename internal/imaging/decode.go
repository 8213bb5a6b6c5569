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

// decodeFull returns a photo in full size.
func decodeFull(r io.ReadSeeker, f photo.Format) (image.Image, error) {
	var full yuvSink
	err := decodeInto(r, f, photo.MaxSide, func(size image.Point) pixelSink {
		full = newYUVSink(size)
		return full
	})
	return full.YCbCr, err
}

// decodeToFit returns a photo whose longest edge is at most edge.
func decodeToFit(r io.ReadSeeker, f photo.Format, edge int) (*image.RGBA, error) {
	var s *scaler
	err := decodeInto(r, f, edge, func(size image.Point) pixelSink {
		s = newScaler(size, fitted(size, edge))
		return s
	})
	if err != nil {
		return nil, err
	}
	return s.image(), nil
}

// decodeInto writes a photo to the sink that newSink returns for its size, or for a smaller one whose longest edge is
// still at least edge. All its errors are ErrUndecodable.
func decodeInto(r io.ReadSeeker, f photo.Format, edge int, newSink func(image.Point) pixelSink) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w: %w", ErrUndecodable, err)
		}
	}()
	begin := func(size image.Point) (pixelSink, error) {
		if err := checkSize(size); err != nil {
			return nil, err
		}
		return newSink(size), nil
	}
	if f == photo.HEIC || f == photo.HEIF {
		if ok, err := decodeGrid(r, begin); ok || err != nil {
			return err
		}
	}
	if err := rewind(r); err != nil {
		return err
	}
	if f == photo.JPEG {
		return decodeJPEG(r, edge, newSink)
	}
	img, err := decodeWhole(r, f)
	if err != nil {
		return err
	}
	sink, err := begin(img.Bounds().Size())
	if err != nil {
		return err
	}
	writeImage(sink, image.Point{}, img)
	return nil
}

func checkSize(size image.Point) error {
	if size.X < 1 || size.Y < 1 || size.X > photo.MaxSide || size.Y > photo.MaxSide || size.X*size.Y > photo.MaxPixels {
		return fmt.Errorf("it has %d × %d pixels", size.X, size.Y)
	}
	return nil
}

func decodeJPEG(r io.Reader, edge int, newSink func(image.Point) pixelSink) error {
	return smalljpeg.Decode(r, func(w, h int) (int, smalljpeg.Row, error) {
		if err := checkSize(image.Pt(w, h)); err != nil {
			return 0, nil, err
		}
		scale := jpegScale(w, h, edge)
		sink := newSink(image.Pt((w+scale-1)/scale, (h+scale-1)/scale))
		return scale, func(y int, rgb []byte) { sink.write(0, y, rgb) }, nil
	})
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
func decodeAnimatedWebP(r io.Reader) (image.Image, error) { return animated.Decode(r) }

func decodeAVIF(r io.Reader) (image.Image, error) {
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
