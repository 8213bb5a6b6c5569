package smalljpeg_test

import (
	"bytes"
	"image"
	"image/jpeg"
	"testing"

	"github.com/assayhq/assay/internal/imaging/smalljpeg"
	"github.com/assayhq/assay/internal/testkit/pictures"
)

// wrong is the sum of the squared errors of a decoded image, in each of its planes.
func wrong(t *testing.T, file []byte, want *image.YCbCr) (sums [3]int) {
	t.Helper()
	decoded, err := jpeg.Decode(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	got, ok := decoded.(*image.YCbCr)
	if !ok || got.Rect != want.Rect || got.SubsampleRatio != want.SubsampleRatio {
		t.Fatalf("a %T of %v, want %v", decoded, decoded.Bounds(), want.Rect)
	}
	square := func(a, b byte) int { return (int(a) - int(b)) * (int(a) - int(b)) }
	for y := range want.Rect.Dy() {
		for x := range want.Rect.Dx() {
			sums[0] += square(got.Y[got.YOffset(x, y)], want.Y[want.YOffset(x, y)])
			a, b := got.COffset(x, y), want.COffset(x, y)
			sums[1] += square(got.Cb[a], want.Cb[b])
			sums[2] += square(got.Cr[a], want.Cr[b])
		}
	}
	return sums
}

// TestEncode checks that a file is as close to the image, and as small, as what the standard library writes.
func TestEncode(t *testing.T) {
	for _, size := range []image.Point{{640, 480}, {1, 1}, {2, 1}, {8, 8}, {15, 17}, {16, 33}, {101, 57}} {
		for _, quality := range []int{1, 30, 78, 86, 92, 100} {
			img := pictures.Photo(size.X, size.Y)
			got, err := smalljpeg.Encode(img, quality)
			if err != nil {
				t.Fatal(err)
			}
			var want bytes.Buffer
			if err := jpeg.Encode(&want, img, &jpeg.Options{Quality: quality}); err != nil {
				t.Fatal(err)
			}
			ours, theirs := wrong(t, got, img), wrong(t, want.Bytes(), img)
			for i := range ours {
				if allowed := 1.01*float64(theirs[i]) + 0.1*float64(size.X*size.Y) + 32; float64(ours[i]) > allowed {
					t.Errorf("%v at %d: plane %d is wrong by %d, the standard library's by %d",
						size, quality, i, ours[i], theirs[i])
				}
			}
			if len(got) > want.Len()+want.Len()/100+16 {
				t.Errorf("%v at %d: %d bytes, the standard library writes %d", size, quality, len(got), want.Len())
			}
		}
	}
	large := image.NewYCbCr(image.Rect(0, 0, 1<<16, 1), image.YCbCrSubsampleRatio420)
	other := image.NewYCbCr(image.Rect(0, 0, 8, 8), image.YCbCrSubsampleRatio444)
	for _, img := range []*image.YCbCr{large, other, {}} {
		if b, err := smalljpeg.Encode(img, 80); err == nil {
			t.Errorf("%v has become %d bytes", img.Rect, len(b))
		}
	}
}
