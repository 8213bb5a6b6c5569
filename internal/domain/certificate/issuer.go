package certificate

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg" // logos
	_ "image/png"
)

// Issuer is who issues certificates, as people know them: a firm, its address, its logo. What is signed is the public
// address of the service, Certificate.Issuer.
type Issuer struct {
	Name    string
	Address string // one line
	Logo    *Logo  // nil: none
}

// Logo is a picture file.
type Logo struct {
	Content       []byte
	Format        string // "png" or "jpeg"
	Width, Height int
}

// Bounds of a logo.
const (
	MaxLogoBytes = 1 << 20
	maxLogoSide  = 4096
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
	if c.Width < 1 || c.Height < 1 || c.Width > maxLogoSide || c.Height > maxLogoSide {
		return nil, fmt.Errorf("the picture has %d×%d pixels; at most %d each way", c.Width, c.Height, maxLogoSide)
	}
	return &Logo{Content: content, Format: format, Width: c.Width, Height: c.Height}, nil
}
