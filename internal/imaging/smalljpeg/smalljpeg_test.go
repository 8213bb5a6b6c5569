package smalljpeg_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"os"
	"path/filepath"
	"reflect"
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

// by is a scale.
func by(scale int) smalljpeg.Scale { return func(int, int) (int, error) { return scale, nil } }

// decode returns the picture at its size.
func decode(file []byte) (*image.RGBA, error) {
	img, err := smalljpeg.Decode(context.Background(), bytes.NewReader(file), by(1))
	if err != nil {
		return nil, err
	}
	out := image.NewRGBA(img.Bounds())
	draw.Draw(out, out.Rect, img, image.Point{}, draw.Src)
	return out, nil
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
func difference(a, b []byte) (mean float64, most int) {
	sum := 0
	for i := range a {
		d := int(a[i]) - int(b[i])
		d = max(d, -d)
		sum, most = sum+d, max(most, d)
	}
	return float64(sum) / float64(len(a)), most
}

// TestDecode checks every kind of file and every scale against the standard library.
func TestDecode(t *testing.T) {
	for name, file := range samples(t) {
		want, err := jpeg.Decode(bytes.NewReader(file))
		if err != nil {
			if strings.Contains(name, "truncated") { // shown as far as it goes
				if _, err := decode(file); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				continue
			}
			t.Fatalf("%s: %v", name, err)
		}
		for scale, limit := range map[int]float64{1: 0.8, 2: 4, 4: 4, 8: 4} {
			got, err := smalljpeg.Decode(t.Context(), bytes.NewReader(file), by(scale))
			if err != nil {
				t.Errorf("%s 1/%d: %v", name, scale, err)
				continue
			}
			if strings.Contains(name, "411") { // its colors are four times as coarse, in one direction
				limit *= 1.5
			}
			checkPlanes(t, fmt.Sprintf("%s 1/%d", name, scale), got, want, scale, limit)
		}
	}
}

// checkPlanes compares brightness and colors with a picture in full size. The colors may be coarser.
func checkPlanes(t *testing.T, name string, img, full image.Image, scale int, limit float64) {
	t.Helper()
	want, whole := reduce(full, scale), scale == 1
	standard, _ := full.(*image.YCbCr)
	if img.Bounds() != want.Rect {
		t.Errorf("%s: %v, want %v", name, img.Bounds(), want.Rect)
		return
	}
	p, ok := img.(*image.YCbCr)
	if !ok {
		got := image.NewRGBA(want.Rect)
		draw.Draw(got, got.Rect, img, image.Point{}, draw.Src)
		if mean, most := difference(got.Pix, want.Pix); mean > limit || whole && most > 4 {
			t.Errorf("%s: differs by %.2f, at most %d", name, mean, most)
		}
		return
	}
	var got, reference [3][]byte
	sum, count := make(map[int][2]int), make(map[int]int) // of the reference's colors, by the sample that they share
	for y := range want.Rect.Dy() {
		for x := range want.Rect.Dx() {
			c := want.RGBAAt(x, y)
			luma, blue, red := color.RGBToYCbCr(c.R, c.G, c.B)
			if whole && standard != nil { // as the file has it: colors that RGB does not have change brightness
				luma = standard.Y[standard.YOffset(x, y)]
			}
			got[0], reference[0] = append(got[0], p.Y[p.YOffset(x, y)]), append(reference[0], luma)
			at := p.COffset(x, y)
			sum[at] = [2]int{sum[at][0] + int(blue), sum[at][1] + int(red)}
			count[at]++
		}
	}
	for at, n := range count {
		got[1], got[2] = append(got[1], p.Cb[at]), append(got[2], p.Cr[at])
		reference[1] = append(reference[1], byte(sum[at][0]/n))
		reference[2] = append(reference[2], byte(sum[at][1]/n))
	}
	for i := range got {
		if mean, most := difference(got[i], reference[i]); mean > limit || whole && i == 0 && most > 4 {
			t.Errorf("%s: plane %d differs by %.2f, at most %d", name, i, mean, most)
		}
	}
}

func TestDecode_SlowReader(t *testing.T) {
	file := samples(t)["video-001"]
	slow, err := smalljpeg.Decode(t.Context(), iotest.OneByteReader(bytes.NewReader(file)), by(2))
	fast, fastErr := smalljpeg.Decode(t.Context(), bytes.NewReader(file), by(2))
	if err != nil || fastErr != nil || !reflect.DeepEqual(slow, fast) {
		t.Errorf("read byte by byte it is another picture: %v, %v", err, fastErr)
	}
	failure := errors.New("the disk is gone")
	_, err = smalljpeg.Decode(t.Context(), iotest.TimeoutReader(bytes.NewReader(file[:len(file)/2])), by(8))
	if err != nil && !errors.Is(err, iotest.ErrTimeout) {
		t.Error(err)
	}
	if _, err := smalljpeg.Decode(t.Context(), iotest.ErrReader(failure), by(8)); !errors.Is(err, failure) {
		t.Errorf("%v", err)
	}
}

// TestDecode_Stopped checks that decoding stops when nobody wants the picture anymore, also where all of it was read.
func TestDecode_Stopped(t *testing.T) {
	for name, file := range samples(t) {
		ctx, stop := context.WithCancel(t.Context())
		file := iotest.DataErrReader(bytes.NewReader(file))
		_, err := smalljpeg.Decode(ctx, file, func(int, int) (int, error) {
			stop()
			return 1, nil
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDecode_Refused(t *testing.T) {
	file := samples(t)["video-001"]
	refusal := errors.New("too large")
	refuse := func(int, int) (int, error) { return 0, refusal }
	if _, err := smalljpeg.Decode(t.Context(), bytes.NewReader(file), refuse); !errors.Is(err, refusal) {
		t.Error(err)
	}
	for _, n := range []int{0, 1, 2, 20, 200, bytes.Index(file, []byte{0xff, 0xda}) + 10} { // as far as the headers go
		if _, err := decode(file[:n]); !errors.Is(err, smalljpeg.ErrFormat) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	if _, err := decode([]byte("\x89PNG\r\n\x1a\n")); !errors.Is(err, smalljpeg.ErrFormat) {
		t.Error(err)
	}
}

// TestDecode_CutOff shows the upper part of a file that ends early.
func TestDecode_CutOff(t *testing.T) {
	file := samples(t)["video-001"]
	whole, err := decode(file)
	if err != nil {
		t.Fatal(err)
	}
	part, err := decode(file[:len(file)/2])
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
	for _, file := range empties(1000) {
		f.Add(file, byte(2))
	}
	f.Fuzz(func(t *testing.T, file []byte, scale byte) {
		img, err := smalljpeg.Decode(t.Context(), bytes.NewReader(file), func(w, h int) (int, error) {
			if w*h > 1<<20 {
				return 0, errors.New("too large")
			}
			return 1 << (scale % 4), nil
		})
		if err == nil {
			img.At(img.Bounds().Dx()-1, img.Bounds().Dy()-1) // is within what is allocated
		}
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
			for b.Loop() {
				if _, err := smalljpeg.Decode(b.Context(), bytes.NewReader(file.Bytes()), by(scale)); err != nil {
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
