package imaging

import (
	"image"
	"image/color"

	"golang.org/x/image/draw"
)

// pixelSink takes the pixels of a photo in pieces of rows, in any order and each of them once.
type pixelSink interface {
	// write takes the pixels from x on in row y, with three bytes for each.
	write(x, y int, rgb []byte)
}

// scaler makes a smaller image of a photo by averaging its pixels as they come, so that the photo is never in memory in
// full size.
type scaler struct {
	from, to image.Point
	columns  []column
	sums     []float32 // three for each pixel of the smaller image
	line     []float32 // one row, before it is known which rows it belongs to
}

// column says which columns of the smaller image a column of the photo belongs to: at, with a share, and the next one
// with the rest.
type column struct {
	at          int32
	share, rest float32
}

// fitted returns the size of a photo when its longest edge is made at most edge.
func fitted(size image.Point, edge int) image.Point {
	long := max(size.X, size.Y)
	if long <= edge {
		return size
	}
	return image.Pt(max(1, size.X*edge/long), max(1, size.Y*edge/long))
}

// newScaler scales a photo down from one size to another, which must not be larger.
func newScaler(from, to image.Point) *scaler {
	s := &scaler{from: from, to: to, columns: make([]column, from.X)}
	s.sums, s.line = make([]float32, 3*to.X*to.Y), make([]float32, 3*to.X)
	for x := range s.columns {
		at, share, rest := overlap(x, from.X, to.X)
		s.columns[x] = column{int32(at), share, rest} //nolint:gosec // sides are small
	}
	return s
}

// overlap says where pixel i of a row of n goes in a row of m, m ≤ n: into the one at, with a share, and into the
// next with the rest. The shares of all pixels that go into one add up to 1.
func overlap(i, n, m int) (at int, share, rest float32) {
	begin := i * m // in units of which n are a pixel of the smaller image
	at = begin / n
	end, border := begin+m, (at+1)*n
	if end > border {
		return at, float32(border-begin) / float32(n), float32(end-border) / float32(n)
	}
	return at, float32(m) / float32(n), 0
}

func (s *scaler) write(x, y int, rgb []byte) {
	count := len(rgb) / 3
	if count == 0 {
		return
	}
	last := s.columns[x+count-1]
	from, to := 3*int(s.columns[x].at), 3*int(last.at)+3
	if last.rest > 0 {
		to += 3
	}
	line := s.line[:to]
	clear(line[from:])
	for i, col := range s.columns[x : x+count] {
		r, g, b := float32(rgb[3*i]), float32(rgb[3*i+1]), float32(rgb[3*i+2])
		at := line[3*col.at:]
		at[0] += r * col.share
		at[1] += g * col.share
		at[2] += b * col.share
		if col.rest > 0 {
			at[3] += r * col.rest
			at[4] += g * col.rest
			at[5] += b * col.rest
		}
	}
	row, share, rest := overlap(y, s.from.Y, s.to.Y)
	s.add(row, from, line, share)
	if rest > 0 {
		s.add(row+1, from, line, rest)
	}
}

func (s *scaler) add(row, from int, line []float32, share float32) {
	sums := s.sums[3*s.to.X*row:][:len(line)]
	for i := from; i < len(line); i++ {
		sums[i] += line[i] * share
	}
}

// image returns the smaller image.
func (s *scaler) image() *image.RGBA {
	img := image.NewRGBA(image.Rectangle{Max: s.to})
	for i, at := 0, 0; i < len(s.sums); i, at = i+3, at+4 {
		sums, pix := s.sums[i:i+3], img.Pix[at:at+4]
		for j, sum := range sums {
			pix[j] = byte(min(sum+0.5, 255))
		}
		pix[3] = 255
	}
	return img
}

// yuvSink keeps a photo in full size as JPEG files do: with colors half as fine as brightness.
type yuvSink struct{ *image.YCbCr }

func newYUVSink(size image.Point) yuvSink {
	return yuvSink{image.NewYCbCr(image.Rectangle{Max: size}, image.YCbCrSubsampleRatio420)}
}

func (s yuvSink) write(x, y int, rgb []byte) {
	for i := 0; i+2 < len(rgb); i += 3 {
		luma, blue, red := color.RGBToYCbCr(rgb[i], rgb[i+1], rgb[i+2])
		s.Y[y*s.YStride+x] = luma
		if (x|y)&1 == 0 {
			at := y/2*s.CStride + x/2
			s.Cb[at], s.Cr[at] = blue, red
		}
		x++
	}
}

// writeImage writes a decoded image to a sink row by row, with its upper left corner at a point and on white where it
// is transparent.
func writeImage(sink pixelSink, at image.Point, img image.Image) {
	b := img.Bounds()
	rgb := make([]byte, 3*b.Dx())
	row := image.NewRGBA(image.Rect(0, 0, b.Dx(), 1))
	opaque := isOpaque(img)
	for y := range b.Dy() {
		drawOnWhite(row, img, image.Pt(b.Min.X, b.Min.Y+y), opaque)
		for x := range b.Dx() {
			copy(rgb[3*x:3*x+3], row.Pix[4*x:])
		}
		sink.write(at.X, at.Y+y, rgb)
	}
}

// onWhite returns the upper left part of an image on white.
func onWhite(img image.Image, size image.Point) *image.RGBA {
	out := image.NewRGBA(image.Rectangle{Max: size})
	drawOnWhite(out, img, img.Bounds().Min, isOpaque(img))
	return out
}

func drawOnWhite(dst *image.RGBA, img image.Image, from image.Point, opaque bool) {
	if opaque {
		draw.Draw(dst, dst.Rect, img, from, draw.Src)
		return
	}
	draw.Draw(dst, dst.Rect, image.White, image.Point{}, draw.Src)
	draw.Draw(dst, dst.Rect, img, from, draw.Over)
}

func isOpaque(img image.Image) bool {
	switch i := img.(type) {
	case *image.YCbCr, *image.Gray, *image.Gray16, *image.CMYK:
		return true
	case interface{ Opaque() bool }:
		return i.Opaque()
	}
	return false
}
