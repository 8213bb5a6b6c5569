package smalljpeg_test

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/assayhq/assay/internal/imaging/smalljpeg"
)

// samples are the JPEG files that the standard library is tested with: one of every kind.
func samples(t testing.TB) map[string][]byte {
	t.Helper()
	root := runtime.GOROOT() //nolint:staticcheck // the tests run where they are built
	files, err := filepath.Glob(filepath.Join(root, "src/image/testdata/*.jpeg"))
	if err != nil || len(files) < 10 {
		t.Fatalf("%d samples, %v", len(files), err)
	}
	all := make(map[string][]byte)
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(f), ".jpeg")] = b
	}
	return all
}

// decode returns the picture at a scale.
func decode(file []byte, scale int) (*image.RGBA, error) {
	var img *image.RGBA
	next := 0
	err := smalljpeg.Decode(bytes.NewReader(file), func(w, h int) (int, smalljpeg.Row, error) {
		img = image.NewRGBA(image.Rect(0, 0, (w+scale-1)/scale, (h+scale-1)/scale))
		return scale, func(y int, rgb []byte) {
			if y != next || len(rgb) != 3*img.Rect.Dx() {
				panic("rows are not in order")
			}
			next++
			for x := range img.Rect.Dx() {
				img.SetRGBA(x, y, color.RGBA{rgb[3*x], rgb[3*x+1], rgb[3*x+2], 255})
			}
		}, nil
	})
	if err == nil && next != img.Rect.Dy() {
		err = errors.New("rows are missing")
	}
	return img, err
}

// reduce averages blocks of pixels.
func reduce(img image.Image, scale int) *image.RGBA {
	b := img.Bounds()
	out := image.NewRGBA(image.Rect(0, 0, (b.Dx()+scale-1)/scale, (b.Dy()+scale-1)/scale))
	for y := range out.Rect.Dy() {
		for x := range out.Rect.Dx() {
			var sum [3]uint32
			n := uint32(0)
			for sy := y * scale; sy < min((y+1)*scale, b.Dy()); sy++ {
				for sx := x * scale; sx < min((x+1)*scale, b.Dx()); sx++ {
					r, g, bl, _ := img.At(b.Min.X+sx, b.Min.Y+sy).RGBA()
					sum[0], sum[1], sum[2] = sum[0]+r>>8, sum[1]+g>>8, sum[2]+bl>>8
					n++
				}
			}
			out.SetRGBA(x, y, color.RGBA{byte(sum[0] / n), byte(sum[1] / n), byte(sum[2] / n), 255})
		}
	}
	return out
}

// difference is the mean and the largest one of all samples.
func difference(a, b *image.RGBA) (mean float64, most int) {
	sum := 0
	for i := range a.Pix {
		d := int(a.Pix[i]) - int(b.Pix[i])
		d = max(d, -d)
		sum, most = sum+d, max(most, d)
	}
	return float64(sum) / float64(len(a.Pix)), most
}

// TestDecode checks every kind of file and every scale against the standard library.
func TestDecode(t *testing.T) {
	for name, file := range samples(t) {
		want, err := jpeg.Decode(bytes.NewReader(file))
		if err != nil {
			if strings.Contains(name, "truncated") { // shown as far as it goes
				if _, err := decode(file, 1); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				continue
			}
			t.Fatalf("%s: %v", name, err)
		}
		for scale, limit := range map[int]float64{1: 0.8, 2: 4, 4: 4, 8: 4} {
			got, err := decode(file, scale)
			if err != nil {
				t.Errorf("%s 1/%d: %v", name, scale, err)
				continue
			}
			reference := reduce(want, scale)
			if got.Rect != reference.Rect {
				t.Errorf("%s 1/%d: %v, want %v", name, scale, got.Rect, reference.Rect)
				continue
			}
			if strings.Contains(name, "411") { // its colors are four times as coarse, in one direction
				limit *= 1.5
			}
			mean, most := difference(got, reference)
			if mean > limit || scale == 1 && most > 4 {
				t.Errorf("%s 1/%d: differs by %.2f, at most %d", name, scale, mean, most)
			}
		}
	}
}

func TestDecode_SlowReader(t *testing.T) {
	file := samples(t)["video-001"]
	rows := 0
	begin := func(int, int) (int, smalljpeg.Row, error) { return 8, func(int, []byte) { rows++ }, nil }
	if err := smalljpeg.Decode(iotest.OneByteReader(bytes.NewReader(file)), begin); err != nil || rows == 0 {
		t.Errorf("%d rows, %v", rows, err)
	}
	failure := errors.New("the disk is gone")
	err := smalljpeg.Decode(iotest.TimeoutReader(bytes.NewReader(file[:len(file)/2])), begin)
	if err != nil && !errors.Is(err, iotest.ErrTimeout) {
		t.Error(err)
	}
	if err := smalljpeg.Decode(iotest.ErrReader(failure), begin); !errors.Is(err, failure) {
		t.Errorf("%v", err)
	}
}

func TestDecode_Refused(t *testing.T) {
	file := samples(t)["video-001"]
	refusal := errors.New("too large")
	begin := func(int, int) (int, smalljpeg.Row, error) { return 0, nil, refusal }
	if err := smalljpeg.Decode(bytes.NewReader(file), begin); !errors.Is(err, refusal) {
		t.Error(err)
	}
	for _, n := range []int{0, 1, 2, 20, 200, bytes.Index(file, []byte{0xff, 0xda}) + 10} { // as far as the headers go
		if _, err := decode(file[:n], 1); !errors.Is(err, smalljpeg.ErrFormat) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	if _, err := decode([]byte("\x89PNG\r\n\x1a\n"), 1); !errors.Is(err, smalljpeg.ErrFormat) {
		t.Error(err)
	}
}

// TestDecode_CutOff shows the upper part of a file that ends early.
func TestDecode_CutOff(t *testing.T) {
	file := samples(t)["video-001"]
	whole, err := decode(file, 1)
	if err != nil {
		t.Fatal(err)
	}
	part, err := decode(file[:len(file)/2], 1)
	if err != nil {
		t.Fatal(err)
	}
	upper := image.Rect(0, 0, whole.Rect.Dx(), whole.Rect.Dy()/4)
	for y := range upper.Dy() {
		for x := range upper.Dx() {
			if whole.RGBAAt(x, y) != part.RGBAAt(x, y) {
				t.Fatalf("pixel %d, %d differs", x, y)
			}
		}
	}
}

// FuzzDecode checks that decoding ends for any file.
func FuzzDecode(f *testing.F) {
	for name, file := range samples(f) {
		for _, kind := range []string{"q50.420", "restart", "221212"} {
			if len(file) < 4000 || strings.Contains(name, kind) {
				f.Add(file, byte(1))
				break
			}
		}
	}
	f.Fuzz(func(t *testing.T, file []byte, scale byte) {
		_ = smalljpeg.Decode(bytes.NewReader(file), func(w, h int) (int, smalljpeg.Row, error) {
			if w*h > 1<<20 {
				return 0, nil, errors.New("too large")
			}
			return 1 << (scale % 4), func(int, []byte) {}, nil
		})
	})
}

func BenchmarkDecode(b *testing.B) {
	img := image.NewYCbCr(image.Rect(0, 0, 4000, 3000), image.YCbCrSubsampleRatio420)
	for i := range img.Y {
		img.Y[i] = byte(i>>5) ^ byte(i*i>>7&0x1f)
	}
	var file bytes.Buffer
	if err := jpeg.Encode(&file, img, &jpeg.Options{Quality: 90}); err != nil {
		b.Fatal(err)
	}
	for _, scale := range []int{1, 2, 4} {
		b.Run(map[int]string{1: "whole", 2: "half", 4: "quarter"}[scale], func(b *testing.B) {
			begin := func(int, int) (int, smalljpeg.Row, error) { return scale, func(int, []byte) {}, nil }
			for b.Loop() {
				if err := smalljpeg.Decode(bytes.NewReader(file.Bytes()), begin); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("standard", func(b *testing.B) {
		for b.Loop() {
			if _, err := jpeg.Decode(bytes.NewReader(file.Bytes())); err != nil {
				b.Fatal(err)
			}
		}
	})
}
