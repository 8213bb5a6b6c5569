package imaging

import (
	"image"
	"image/color"

	"golang.org/x/image/draw"
)

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
