package imaging

import (
	"image"
	"image/color"

	"golang.org/x/image/draw"
)

// surface takes the pixels of a photo, in whatever order they come; each of them once.
type surface interface {
	// paint sets the pixels at x, x+step, x+2·step, … of a row. rgb has three bytes for each.
	paint(x, y, step int, rgb []byte)
}

// canvas makes a smaller picture of a photo while its pixels come in: each adds to the pixels of the picture what it covers
// of them. So the photo never is in memory as a whole.
type canvas struct {
	from, to image.Point
	columns  []column
	sums     []float32 // three for each pixel of the picture
	line     []float32 // one row, before it is known which rows it belongs to
}

// column tells which columns of the picture a column of the photo is in: at, with a share, and the next one with the rest.
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

// newCanvas returns a canvas for a photo of a size. The picture must not be larger.
func newCanvas(from, to image.Point) *canvas {
	c := &canvas{from: from, to: to, columns: make([]column, from.X), sums: make([]float32, 3*to.X*to.Y), line: make([]float32, 3*to.X)}
	for x := range c.columns {
		at, share, rest := part(x, from.X, to.X)
		c.columns[x] = column{int32(at), share, rest} //nolint:gosec // sides are small
	}
	return c
}

// part tells where a pixel of a row of n goes in a row of m, m ≤ n: into one at, with a share of its whole, and into the
// next with the rest. The shares of all pixels in one add up to 1.
func part(i, n, m int) (at int, share, rest float32) {
	begin := i * m // in units of which n are a pixel of the picture
	at = begin / n
	end, border := begin+m, (at+1)*n
	if end > border {
		return at, float32(border-begin) / float32(n), float32(end-border) / float32(n)
	}
	return at, float32(m) / float32(n), 0
}

func (c *canvas) paint(x, y, step int, rgb []byte) {
	count := len(rgb) / 3
	if count == 0 {
		return
	}
	last := c.columns[x+(count-1)*step]
	from, to := 3*int(c.columns[x].at), 3*int(last.at)+3
	if last.rest > 0 {
		to += 3
	}
	line := c.line[:to]
	clear(line[from:])
	for i := 0; i+2 < len(rgb); i += 3 {
		col := &c.columns[x]
		x += step
		r, g, b := float32(rgb[i]), float32(rgb[i+1]), float32(rgb[i+2])
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
	row, share, rest := part(y, c.from.Y, c.to.Y)
	c.add(row, from, line, share)
	if rest > 0 {
		c.add(row+1, from, line, rest)
	}
}

func (c *canvas) add(row, from int, line []float32, share float32) {
	sums := c.sums[3*c.to.X*row:][:len(line)]
	for i := from; i < len(line); i++ {
		sums[i] += line[i] * share
	}
}

// picture returns what was painted.
func (c *canvas) picture() *image.RGBA {
	img := image.NewRGBA(image.Rectangle{Max: c.to})
	for i, at := 0, 0; i < len(c.sums); i, at = i+3, at+4 {
		pix := img.Pix[at : at+4]
		pix[0], pix[1], pix[2], pix[3] = byte(min(c.sums[i]+0.5, 255)), byte(min(c.sums[i+1]+0.5, 255)), byte(min(c.sums[i+2]+0.5, 255)), 255
	}
	return img
}

// plate takes a photo in its full size, as JPEG files hold it: with colours half as fine as brightness.
type plate struct{ *image.YCbCr }

func newPlate(size image.Point) plate {
	return plate{image.NewYCbCr(image.Rectangle{Max: size}, image.YCbCrSubsampleRatio420)}
}

func (p plate) paint(x, y, step int, rgb []byte) {
	for i := 0; i+2 < len(rgb); i += 3 {
		luma, blue, red := color.RGBToYCbCr(rgb[i], rgb[i+1], rgb[i+2])
		p.Y[y*p.YStride+x] = luma
		if (x|y)&1 == 0 {
			at := y/2*p.CStride + x/2
			p.Cb[at], p.Cr[at] = blue, red
		}
		x += step
	}
}

// paintImage paints a decoded image at a place, on white where it is transparent. It needs memory for one row.
func paintImage(s surface, at image.Point, img image.Image) {
	b := img.Bounds()
	row := image.NewRGBA(image.Rect(0, 0, b.Dx(), 1))
	rgb := make([]byte, 3*b.Dx())
	white := image.NewUniform(color.White)
	opaque := isOpaque(img)
	for y := range b.Dy() {
		from := image.Pt(b.Min.X, b.Min.Y+y)
		if opaque {
			draw.Draw(row, row.Rect, img, from, draw.Src)
		} else {
			draw.Draw(row, row.Rect, white, image.Point{}, draw.Src)
			draw.Draw(row, row.Rect, img, from, draw.Over)
		}
		for x := range b.Dx() {
			copy(rgb[3*x:3*x+3], row.Pix[4*x:])
		}
		s.paint(at.X, at.Y+y, 1, rgb)
	}
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
