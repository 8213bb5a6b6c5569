package imaging

import (
	"bytes"
	"context"
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
// does not have in its EXIF data. All its errors are ErrUndecodable. A JPEG is decoded no further when ctx ends.
func decode(ctx context.Context, r io.ReadSeeker, f photo.Format, edge int) (p *pixels, err error) {
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
		return decodeJPEG(ctx, r, edge)
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

func decodeJPEG(ctx context.Context, r io.Reader, edge int) (*pixels, error) {
	p := &pixels{orientation: 1}
	var err error
	p.Image, err = smalljpeg.Decode(ctx, r, func(w, h int) (int, error) {
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
		return decodeWebP(r)
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

// decodeWebP leaves what it can to the decoder that takes less memory. The other one is for files whose memory is not
// known, which are decoded in another process: where it is, only the first decoder keeps to it.
func decodeWebP(r io.ReadSeeker) (image.Image, error) {
	known := webpPixel(readerAt{r}) > 0
	if err := rewind(r); err != nil {
		return nil, err
	}
	if known {
		return webp.Decode(r)
	}
	return firstOf(r, webp.Decode, decodeAnimatedWebP)
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

const maxTiles = 1024 // of a photo; phones make some fifty

// decodeGrid decodes a HEIC photo tile by tile, where the decoder would put the photo together several times in memory.
// It returns nil when the photo is not a grid.
func decodeGrid(r io.ReadSeeker) (*pixels, error) {
	size, err := r.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	g, ok := photo.ReadGrid(readerAt{r}, size)
	if !ok {
		return nil, nil
	}
	if len(g.Tiles) > maxTiles {
		return nil, fmt.Errorf("it has %d tiles", len(g.Tiles))
	}
	if err := checkSize(image.Pt(g.Width, g.Height)); err != nil {
		return nil, err
	}
	file := make([]byte, size)
	if _, err := (readerAt{r}).ReadAt(file, 0); err != nil {
		return nil, err
	}
	tileSize := image.Pt(g.TileWidth, g.TileHeight)
	whole := newPlanes(image.Pt(g.Width, g.Height))
	columns := (g.Width + g.TileWidth - 1) / g.TileWidth
	for i := range g.Tiles {
		tile, err := heic.Decode(bytes.NewReader(g.TileFile(file, i)))
		if err != nil {
			return nil, err
		}
		if tile.Bounds().Size() != tileSize {
			return nil, fmt.Errorf("tile %d is of %v, not %v", i, tile.Bounds().Size(), tileSize)
		}
		corner := image.Pt(i%columns*tileSize.X, i/columns*tileSize.Y)
		part := image.Rectangle{Min: corner, Max: corner.Add(tileSize)}.Intersect(whole.Rect)
		p := painter{to: whole, at: part.Min, size: part.Size()}
		in, buf := rowsOf(tile), make([]byte, 4*tileSize.X)
		for y := range part.Dy() {
			p.paint(y, in(y, buf)[:4*part.Dx()])
		}
	}
	p := wholly(whole)
	p.orientation = [4]int{1, 8, 3, 6}[g.Turns]
	return p, nil
}

// Built without the tag nodynamic, the decoders below look for a library of the system and hand photos to it: code in C
// that nothing here bounds, with files that anybody can send. That of HEIC can be told not to.
func init() { heic.ForceWasmMode = true }

// systemLibraries tells of decoders that would use a library of the system; nil is for one that has found it.
var systemLibraries = map[string]func() error{"libavif": avif.Dynamic, "libwebp": animated.Dynamic}

// withoutSystem returns an error where a decoder would hand a photo to a library of the system.
func withoutSystem(library string) error {
	if systemLibraries[library]() == nil {
		return fmt.Errorf("the program was built without the tag nodynamic, and would use %s of the system", library)
	}
	return nil
}
