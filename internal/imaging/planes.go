package imaging

import (
	"image"
	"image/color"
	"slices"

	"golang.org/x/image/draw"
)

// newPlanes returns an image as it is encoded: with colors half as fine as brightness.
func newPlanes(size image.Point) *image.YCbCr {
	return image.NewYCbCr(image.Rectangle{Max: size}, image.YCbCrSubsampleRatio420)
}

// pixels is a decoded photo, or a smaller one of it.
type pixels struct {
	image.Image
	size        image.Point // of the photo
	scale       int         // by what it is smaller, rounded up: 1, 2, 4 or 8
	orientation int         // of the pixels, as EXIF numbers it
}

// fit returns a photo as planes whose longest edge is at most edge, on white where it is transparent.
func (p *pixels) fit(edge int) *image.YCbCr {
	size := fitted(p.size, edge)
	if i, ok := p.Image.(*image.YCbCr); ok && i.SubsampleRatio == image.YCbCrSubsampleRatio420 &&
		i.Rect == (image.Rectangle{Max: size}) {
		return i
	}
	out := newPlanes(size)
	from, to := p.size.Mul(eighth).Div(p.scale), size.Mul(eighth)
	switch i := p.Image.(type) {
	case *image.YCbCr:
		corner, shared := i.Rect.Min, sharing[i.SubsampleRatio]
		resizePlane(i.Y[i.YOffset(corner.X, corner.Y):], i.YStride, from, out.Y, out.YStride, to)
		at := i.COffset(corner.X, corner.Y)
		colors, small := image.Pt(from.X/shared.X, from.Y/shared.Y), to.Div(2)
		resizePlane(i.Cb[at:], i.CStride, colors, out.Cb, out.CStride, small)
		resizePlane(i.Cr[at:], i.CStride, colors, out.Cr, out.CStride, small)
	case *image.Gray:
		resizePlane(i.Pix[i.PixOffset(i.Rect.Min.X, i.Rect.Min.Y):], i.Stride, from, out.Y, out.YStride, to)
		for at := range out.Cb {
			out.Cb[at], out.Cr[at] = 128, 128
		}
	default:
		painter := painter{to: out, size: size}
		resize(rowsOf(p.Image), from, to, 4, painter.paint)
	}
	return out
}

// sharing is how many pixels share a sample of color.
var sharing = [...]image.Point{
	image.YCbCrSubsampleRatio444: {1, 1}, image.YCbCrSubsampleRatio422: {2, 1}, image.YCbCrSubsampleRatio420: {2, 2},
	image.YCbCrSubsampleRatio440: {1, 2}, image.YCbCrSubsampleRatio411: {4, 1}, image.YCbCrSubsampleRatio410: {4, 2},
}

func resizePlane(pix []byte, stride int, from image.Point, out []byte, outStride int, to image.Point) {
	in := func(y int, _ []byte) []byte { return pix[y*stride:] }
	resize(in, from, to, 1, func(y int, line []byte) { copy(out[y*outStride:], line) })
}

// painter converts pixels to planes row by row.
type painter struct {
	to    *image.YCbCr
	at    image.Point // of the upper left corner, which is even
	size  image.Point
	above []byte // the row before
}

// paint takes a row of RGBA, which may be transparent.
func (p *painter) paint(y int, line []byte) {
	luma := p.to.Y[p.to.YOffset(p.at.X, p.at.Y+y):][:p.size.X]
	onWhite(line[:4*p.size.X])
	for x, rest := 0, line; x < len(luma) && len(rest) >= 4; x, rest = x+1, rest[4:] {
		c := rest[:4:4]
		// Of the JFIF standard, in units of 1/65536.
		bright := 19595*uint32(c[0]) + 38470*uint32(c[1]) + 7471*uint32(c[2]) + 1<<15
		luma[x] = byte(bright >> 16) //nolint:gosec // an average
	}
	if y&1 == 0 && y+1 < p.size.Y {
		p.above = append(p.above[:0], line...)
		return
	}
	if y&1 == 0 {
		p.above = line
	}
	at := p.to.COffset(p.at.X, p.at.Y+y)
	for x := 0; x < p.size.X; x += 2 {
		left, right := 4*x, 4*min(x+1, p.size.X-1)
		sum := spread(p.above[left:]) + spread(p.above[right:]) + spread(line[left:]) + spread(line[right:])
		sum += 0x0002000200020002
		r, g, b := byte(sum>>2), byte(sum>>18), byte(sum>>34) //nolint:gosec // averages
		_, p.to.Cb[at], p.to.Cr[at] = color.RGBToYCbCr(r, g, b)
		at++
	}
}

// upright rotates and mirrors an image by its EXIF orientation: 1 is upright, 2 to 8 are the others.
func upright(img *image.YCbCr, orientation int) *image.YCbCr {
	if orientation < 2 || orientation > 8 {
		return img
	}
	size := img.Rect.Size()
	colors := size.Add(image.Pt(1, 1)).Div(2) // samples of color
	out := newPlanes(turned(size, orientation))
	turn(img.Y, img.YStride, size, out.Y, out.YStride, orientation)
	turn(img.Cb, img.CStride, colors, out.Cb, out.CStride, orientation)
	turn(img.Cr, img.CStride, colors, out.Cr, out.CStride, orientation)
	return out
}

// turned returns the size of an image when it is upright.
func turned(size image.Point, orientation int) image.Point {
	if orientation >= 5 && orientation <= 8 {
		return image.Pt(size.Y, size.X)
	}
	return size
}

// turn copies the samples of a plane to their places in an upright one.
func turn(pix []byte, stride int, size image.Point, out []byte, outStride, orientation int) {
	across, down := 1, stride // steps in pix for a step in out
	begin := 0
	if slices.Contains([]int{2, 3, 7, 8}, orientation) { // mirrored
		begin, across = size.X-1, -1
	}
	if slices.Contains([]int{3, 4, 6, 7}, orientation) { // upside down
		begin, down = begin+(size.Y-1)*stride, -stride
	}
	if orientation >= 5 {
		across, down = down, across
	}
	size = turned(size, orientation)
	for y := range size.Y {
		from := begin + y*down
		line := out[y*outStride:][:size.X]
		for x := range line {
			line[x] = pix[from]
			from += across
		}
	}
}

// rowsOf returns the rows of an image in RGBA, multiplied by their opacity.
func rowsOf(img image.Image) rows {
	corner := img.Bounds().Min
	switch i := img.(type) {
	case *image.RGBA:
		return func(y int, _ []byte) []byte { return i.Pix[i.PixOffset(corner.X, corner.Y+y):] }
	case *image.NRGBA:
		return func(y int, buf []byte) []byte {
			return multiplied(i.Pix[i.PixOffset(corner.X, corner.Y+y):][:len(buf)], buf)
		}
	case *image.RGBA64:
		return func(y int, buf []byte) []byte {
			return upperBytes(i.Pix[i.PixOffset(corner.X, corner.Y+y):], buf)
		}
	case *image.NRGBA64:
		return func(y int, buf []byte) []byte {
			row := upperBytes(i.Pix[i.PixOffset(corner.X, corner.Y+y):], buf)
			return multiplied(row, row)
		}
	case *image.Paletted:
		var palette [256]color.RGBA
		for at, c := range i.Palette {
			palette[at], _ = color.RGBAModel.Convert(c).(color.RGBA)
		}
		return func(y int, buf []byte) []byte {
			for x, index := range i.Pix[i.PixOffset(corner.X, corner.Y+y):][:len(buf)/4] {
				c := palette[index]
				buf[4*x], buf[4*x+1], buf[4*x+2], buf[4*x+3] = c.R, c.G, c.B, c.A
			}
			return buf
		}
	}
	return func(y int, buf []byte) []byte {
		row := &image.RGBA{Pix: buf, Stride: len(buf), Rect: image.Rect(0, 0, len(buf)/4, 1)}
		draw.Draw(row, row.Rect, img, image.Pt(corner.X, corner.Y+y), draw.Src)
		return buf
	}
}

// multiplied returns a row multiplied by its opacity, in out unless it is opaque.
func multiplied(row, out []byte) []byte {
	opaque := byte(255)
	for x := 3; x < len(row); x += 4 {
		opaque &= row[x]
	}
	if opaque == 255 {
		return row
	}
	for x := 0; x < len(row); x += 4 {
		from, to := row[x:x+4:x+4], out[x:x+4:x+4]
		a := int(from[3])
		for i := range 3 {
			to[i] = byte((int(from[i])*a + 127) / 255) //nolint:gosec // a product of shares
		}
		to[3] = from[3]
	}
	return out
}

// upperBytes returns a row of which each sample has two bytes.
func upperBytes(row, out []byte) []byte {
	for i := range out {
		out[i] = row[2*i]
	}
	return out
}

// onWhite puts a row on white.
func onWhite(row []byte) {
	for x := 0; x < len(row); x += 4 {
		c := row[x : x+4 : x+4]
		if c[3] == 255 {
			continue
		}
		white := 255 - int(c[3])
		for i := range 3 {
			c[i] = byte(min(int(c[i])+white, 255)) //nolint:gosec // at most 255
		}
		c[3] = 255
	}
}
