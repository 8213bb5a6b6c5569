package imaging

import (
	"bytes"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/testkit/pictures"
	"github.com/gen2brain/heic"
	"golang.org/x/sys/unix"
)

// processor returns how much processor time this process has used.
func processor(b *testing.B) time.Duration {
	b.Helper()
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkDerive compares the thumbnail and the screen image of a photo of 12 megapixels with its bare decoding by the
// library, in processor time. Both run in turns. It reports the median of the ratios of all rounds, the lowest and the
// highest, and which ratio is the most that is allowed:
//
//	go test -tags nodynamic -run '^$' -bench Derive -benchtime 9x ./internal/imaging
func BenchmarkDerive(b *testing.B) {
	const width, height, rounds = 4000, 3000, 5
	img := pictures.Photo(width, height)
	var baseline, lossless bytes.Buffer
	if err := jpeg.Encode(&baseline, img, &jpeg.Options{Quality: 90}); err != nil {
		b.Fatal(err)
	}
	if err := png.Encode(&lossless, drawn(img)); err != nil {
		b.Fatal(err)
	}
	progressive := pictures.JPEG{
		Width: width, Height: height, Planes: pictures.PlanesOf(img), Progressive: true, Adobe: -1,
	}
	heif := pictures.Grid(pictures.Sample(b, "github.com/gen2brain/heic", "test8.heic"), width, height, 1)
	for _, c := range []struct {
		name   string
		format photo.Format
		file   []byte
		decode func(io.Reader) (image.Image, error)
		target float64
	}{
		{"JPEG", photo.JPEG, baseline.Bytes(), jpeg.Decode, 0.8},
		{"ProgressiveJPEG", photo.JPEG, progressive.Encode(), jpeg.Decode, 1.2},
		{"PNG", photo.PNG, lossless.Bytes(), png.Decode, 1.3},
		{"HEIC", photo.HEIC, heif, heic.Decode, 1.2},
	} {
		b.Run(c.name, func(b *testing.B) {
			var ratios, costs []float64
			round := func() {
				runtime.GC()
				began := processor(b)
				if _, err := c.decode(bytes.NewReader(c.file)); err != nil {
					b.Fatal(err)
				}
				decoded := processor(b)
				runtime.GC()
				resumed := processor(b)
				if _, err := Derive(b.Context(), bytes.NewReader(c.file), c.format, Sizes); err != nil {
					b.Fatal(err)
				}
				cost := processor(b) - resumed
				ratios = append(ratios, cost.Seconds()/(decoded-began).Seconds())
				costs = append(costs, 1000*cost.Seconds())
			}
			round() // a warm-up
			ratios, costs = nil, nil
			for b.Loop() {
				round()
			}
			for len(ratios) < rounds {
				round()
			}
			slices.Sort(ratios)
			slices.Sort(costs)
			b.ReportMetric(float64(len(c.file))/1e6, "MB")
			b.ReportMetric(costs[len(costs)/2], "cpu-ms")
			b.ReportMetric(ratios[len(ratios)/2], "ratio")
			b.ReportMetric(ratios[0], "lowest")
			b.ReportMetric(ratios[len(ratios)-1], "highest")
			b.ReportMetric(c.target, "target")
			b.ReportMetric(0, "ns/op") // a round is not one operation
		})
	}
}
