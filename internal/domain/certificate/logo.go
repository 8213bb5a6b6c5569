package certificate

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	_ "image/jpeg" // logos
	"image/png"
)

// Logo is a picture file, and the same picture in a form that can be printed.
type Logo struct {
	Picture
	Paper         Picture
	Width, Height int
}

// Picture is the content of a file.
type Picture struct {
	Content []byte
	Format  string // "png" or "jpeg"
}

// Bounds of a logo.
const (
	MaxLogoBytes  = 1 << 20
	maxLogoSide   = 4096
	maxLogoPixels = 1 << 22
)

// NewLogo checks that a file can be shown on pages and on paper.
func NewLogo(content []byte) (*Logo, error) {
	if len(content) > MaxLogoBytes {
		return nil, fmt.Errorf("the file is larger than %d bytes", MaxLogoBytes)
	}
	c, format, err := image.DecodeConfig(bytes.NewReader(content))
	if err != nil || format != "png" && format != "jpeg" {
		return nil, errors.New("the file is no PNG or JPEG")
	}
	if c.Width < 1 || c.Height < 1 || max(c.Width, c.Height) > maxLogoSide || c.Width*c.Height > maxLogoPixels {
		return nil, fmt.Errorf("the picture has %d×%d pixels; at most %d each way and %d in all", c.Width, c.Height,
			maxLogoSide, maxLogoPixels)
	}
	l := &Logo{Picture: Picture{content, format}, Width: c.Width, Height: c.Height}
	if l.Paper, err = forPaper(l.Picture); err != nil {
		return nil, fmt.Errorf("the file is damaged: %w", err)
	}
	return l, nil
}

// forPaper returns a picture as a PDF can have it: the usual JPEGs as they are, and anything else as a plain PNG. Those
// in passes (interlaced), with 16 bits or with degrees of transparency in a palette are not printed, or wrongly, and
// neither are JPEGs in other colours.
func forPaper(p Picture) (Picture, error) {
	img, _, err := image.Decode(bytes.NewReader(p.Content))
	if err != nil {
		return p, err
	}
	if m := img.ColorModel(); p.Format == "jpeg" && (m == color.YCbCrModel || m == color.GrayModel) {
		return p, nil
	}
	plain := image.NewNRGBA(image.Rectangle{Max: img.Bounds().Size()})
	draw.Draw(plain, plain.Rect, img, img.Bounds().Min, draw.Src)
	var b bytes.Buffer
	if err := png.Encode(&b, plain); err != nil {
		return p, err
	}
	return Picture{b.Bytes(), "png"}, nil
}
