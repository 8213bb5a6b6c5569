package certificate_test

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/domain/certificate"
)

func encodePNG(t *testing.T, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestNewLogo checks that the picture for paper is a plain PNG with the same pixels, half transparent ones included.
func TestNewLogo(t *testing.T) {
	half := color.NRGBA{R: 200, G: 100, B: 50, A: 128}
	palette := image.NewPaletted(image.Rect(0, 0, 3, 2), color.Palette{half, color.NRGBA{A: 255}})
	file := encodePNG(t, palette)
	l, err := certificate.NewLogo(file)
	if err != nil {
		t.Fatal(err)
	}
	if l.Width != 3 || l.Height != 2 || l.Format != "png" || !bytes.Equal(l.Content, file) || l.Paper.Format != "png" {
		t.Errorf("%+v", l)
	}
	img, err := png.Decode(bytes.NewReader(l.Paper.Content))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := img.(*image.NRGBA); !ok || img.At(1, 1) != half || img.Bounds().Size() != image.Pt(3, 2) {
		t.Errorf("for paper: %T, %v", img, img.At(1, 1))
	}
}

func TestNewLogo_Refused(t *testing.T) {
	small := encodePNG(t, image.NewGray(image.Rect(0, 0, 300, 300)))
	for name, tt := range map[string]struct {
		file []byte
		want string
	}{
		"Text":      {[]byte("no picture"), "no PNG or JPEG"},
		"Bytes":     {make([]byte, certificate.MaxLogoBytes+1), "larger than"},
		"Truncated": {small[:len(small)/2], "damaged"},
		"Side":      {encodePNG(t, image.NewGray(image.Rect(0, 0, 4097, 1))), "4097×1 pixels"},
		"Pixels":    {encodePNG(t, image.NewGray(image.Rect(0, 0, 4000, 1100))), "4000×1100 pixels"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := certificate.NewLogo(tt.file); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("refused with %v, want %q", err, tt.want)
			}
		})
	}
}
