package main

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/draw"
	"image/jpeg"
	"image/png"
	"io"
	"runtime"
	"time"

	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/imaging"
	"github.com/assayhq/assay/internal/testkit/pictures"
	"github.com/gen2brain/heic"
	"golang.org/x/sys/unix"
)

const imagesName = "images: thumbnail and screen"

// pixels is the size of a photo.
type pixels struct{ width, height int }

// megapixels12 is that of a phone, megapixels3 what a quick run has of a format whose decoder takes seconds.
var megapixels12, megapixels3 = pixels{4000, 3000}, pixels{2000, 1500}

// pictureKind is a format with the library's decoder.
type pictureKind struct {
	name   string
	format photo.Format
	make   func(context.Context, pixels) ([]byte, error)
	decode func(io.Reader) (image.Image, error)
	goal   goal
	slow   bool
}

var pictureKinds = []pictureKind{
	{"baseline JPEG", photo.JPEG, baselineJPEG, jpeg.Decode, atMost(0.8), false},
	{"progressive JPEG", photo.JPEG, func(_ context.Context, of pixels) ([]byte, error) {
		p := pictures.JPEG{
			Width: of.width, Height: of.height, Planes: pictures.PlanesOf(pictures.Photo(of.width, of.height)),
			Progressive: true, Adobe: -1,
		}
		return p.Encode(), nil
	}, jpeg.Decode, atMost(1.2), false},
	{"PNG", photo.PNG, func(_ context.Context, of pixels) ([]byte, error) {
		img := pictures.Photo(of.width, of.height)
		flat := image.NewRGBA(img.Rect)
		draw.Draw(flat, flat.Rect, img, image.Point{}, draw.Src)
		var file bytes.Buffer
		err := png.Encode(&file, flat)
		return file.Bytes(), err
	}, png.Decode, atMost(1.3), false},
	{"HEIC", photo.HEIC, func(ctx context.Context, of pixels) ([]byte, error) {
		tile, err := pictures.ReadSample(ctx, "github.com/gen2brain/heic", "test8.heic")
		if err != nil {
			return nil, err
		}
		return pictures.Grid(tile, of.width, of.height, 1), nil
	}, heic.Decode, atMost(1.2), true},
}

// baselineJPEG returns a photo as phones make them.
func baselineJPEG(_ context.Context, of pixels) ([]byte, error) {
	var file bytes.Buffer
	err := jpeg.Encode(&file, pictures.Photo(of.width, of.height), &jpeg.Options{Quality: 90})
	return file.Bytes(), err
}

// images compares the images that pages show with one full decoding by the library, in CPU time.
func images(ctx context.Context, s *suite) error {
	for _, kind := range pictureKinds {
		size := megapixels12
		if s.quick && kind.slow {
			size = megapixels3
		}
		name := fmt.Sprintf("%s of a %d MP %s", imagesName, size.width*size.height/1e6, kind.name)
		if !s.wanted(name) {
			continue
		}
		file, err := kind.make(ctx, size)
		if err != nil {
			return err
		}
		a := processorSide(name, func() error {
			_, err := imaging.Derive(ctx, bytes.NewReader(file), kind.format, imaging.Sizes)
			return err
		})
		b := processorSide("one full decoding by the library, CPU", func() error {
			_, err := kind.decode(bytes.NewReader(file))
			return err
		})
		if err := s.interleave(ctx, a, b); err != nil {
			return err
		}
		s.costs(name, "per CPU s", kind.goal, a, b)
	}
	return nil
}

// processorSide repeats work in this process and measures its CPU time: the rate is that of one CPU.
func processorSide(name string, work func() error) *side {
	return &side{name: name, round: func(ctx context.Context, d time.Duration) (sample, error) {
		runtime.GC() // the garbage of the other side is not this one's
		began, err := ownProcessorTime()
		if err != nil {
			return sample{}, err
		}
		turns := 0
		for end := time.Now().Add(d / 2); turns == 0 || time.Now().Before(end); turns++ {
			if err := work(); err != nil {
				return sample{}, err
			}
		}
		ended, err := ownProcessorTime()
		cost := (ended - began) / time.Duration(turns)
		if err == nil {
			err = ctx.Err()
		}
		return sample{rate: 1 / cost.Seconds(), work: cost}, err
	}}
}

func ownProcessorTime() (time.Duration, error) {
	var usage unix.Rusage
	err := unix.Getrusage(unix.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), err
}
