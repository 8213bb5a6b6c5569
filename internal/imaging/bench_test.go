package imaging_test

import (
	"bytes"
	"image"
	"testing"

	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/imaging"
)

// BenchmarkDerive compares a photo of 12 megapixels with its bare decoding.
func BenchmarkDerive(b *testing.B) {
	file := jpegOf(b, scene(4000, 3000))
	b.Run("derive", func(b *testing.B) {
		for b.Loop() {
			if _, err := imaging.Derive(bytes.NewReader(file), photo.JPEG, imaging.Sizes); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := image.Decode(bytes.NewReader(file)); err != nil {
				b.Fatal(err)
			}
		}
	})
}
