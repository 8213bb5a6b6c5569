package pictures

import (
	"bytes"
	"image"
	"image/jpeg"
	"image/png"
	"io"
)

// GrayPNG returns a PNG without a subject, as the standard library encodes it.
func GrayPNG(width, height int) []byte {
	return encodeGray(width, height, func(w io.Writer, img image.Image) error { return png.Encode(w, img) })
}

// GrayJPEG is GrayPNG for JPEG.
func GrayJPEG(width, height int) []byte {
	return encodeGray(width, height, func(w io.Writer, img image.Image) error { return jpeg.Encode(w, img, nil) })
}

func encodeGray(width, height int, encode func(io.Writer, image.Image) error) []byte {
	var b bytes.Buffer
	if err := encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		panic(err) // of a size that no image has
	}
	return b.Bytes()
}
