package smalljpeg

import (
	"image"
	"image/color"
)

// ratios are the samplings of color that an image.YCbCr can have, by how many pixels share a sample.
var ratios = map[image.Point]image.YCbCrSubsampleRatio{
	{X: 1, Y: 1}: image.YCbCrSubsampleRatio444, {X: 2, Y: 1}: image.YCbCrSubsampleRatio422,
	{X: 2, Y: 2}: image.YCbCrSubsampleRatio420, {X: 1, Y: 2}: image.YCbCrSubsampleRatio440,
	{X: 4, Y: 1}: image.YCbCrSubsampleRatio411, {X: 4, Y: 2}: image.YCbCrSubsampleRatio410,
}

// sampling returns how many pixels share a sample of color. It reports false for files whose components are not those
// of an image.YCbCr.
func (d *decoder) sampling() (image.Point, bool) {
	c := d.components
	if len(c) != 3 || d.isRGB() || c[0].h != d.hMax || c[0].v != d.vMax || c[1].h != c[2].h || c[1].v != c[2].v ||
		d.hMax%c[1].h != 0 || d.vMax%c[1].v != 0 {
		return image.Point{}, false
	}
	shared := image.Pt(d.hMax/c[1].h, d.vMax/c[1].v)
	_, ok := ratios[shared]
	return shared, ok
}

// layOut allocates the samples of all components, gray until blocks are read. It is called at the first scan, when the
// metadata that tells about colors has been read.
func (d *decoder) layOut() {
	shared, plain := d.sampling()
	for i := range d.components {
		c := &d.components[i]
		c.n = d.n
		switch {
		case plain && i > 0 && shared == image.Pt(1, 1) && d.n > 1: // nothing is shown with finer colors
			c.n /= 2
		case !plain || shared == image.Pt(4, 2): // coarse ones can be made at a larger scale than the others
			for c.n < 8 && 2*c.n*c.h <= d.n*d.hMax && 2*c.n*c.v <= d.n*d.vMax {
				c.n *= 2
			}
		}
		c.keep = &keeps[c.n]
		c.across = d.unitsAcross * c.h
		c.stride = c.across * c.n
		c.plane = make([]byte, c.stride*d.unitsDown*c.v*c.n)
		c.plane[0] = 128
		for filled := 1; filled < len(c.plane); filled *= 2 {
			copy(c.plane[filled:], c.plane[:filled])
		}
	}
}

// image returns the picture when all has been read.
func (d *decoder) image() (image.Image, error) {
	if d.scans == 0 {
		return nil, broken("no picture")
	}
	for i := range d.components {
		if c := &d.components[i]; c.coefs != nil && c.quant != nil {
			c.showAll(&d.block)
		}
	}
	scale := 8 / d.n
	size := image.Rect(0, 0, upTo(d.width, scale), upTo(d.height, scale))
	c := d.components
	if len(c) == 1 {
		return &image.Gray{Pix: c[0].plane, Stride: c[0].stride, Rect: size}, nil
	}
	shared, plain := d.sampling()
	if !plain {
		return d.convert(size), nil
	}
	shared = shared.Mul(c[0].n).Div(c[1].n)
	return &image.YCbCr{
		Y: c[0].plane, Cb: c[1].plane, Cr: c[2].plane, YStride: c[0].stride, CStride: c[1].stride,
		SubsampleRatio: ratios[shared], Rect: size,
	}, nil
}

// showAll converts the coefficients of all blocks.
func (c *component) showAll(b *block) {
	var quant [64]int32 // by the index at which a coefficient is kept
	for k, at := range c.keep {
		if at < unkept {
			quant[at] = c.quant[k]
		}
	}
	size := c.n * c.n
	for i := range len(c.coefs) / size {
		b.flat = true
		for j, v := range c.coefs[i*size:][:size] {
			b.values[j] = int32(v) * quant[j]
			b.flat = b.flat && (v == 0 || j == 0)
		}
		c.show(b, i%c.across, i/c.across)
	}
	c.coefs, c.nonzero = nil, nil
}

// convert returns pictures of other colors than YCbCr, or with other samplings.
func (d *decoder) convert(size image.Rectangle) *image.RGBA {
	img := image.NewRGBA(size)
	rgb, four := d.isRGB(), len(d.components) == 4
	// CMYK. With an Adobe segment, which nearly all have, the values are inverted, those of the three colors only where
	// they are not transformed; without one they are amounts of ink.
	inkColors, inkBlack := d.adobe != 0, d.adobe < 0
	for y := range size.Max.Y {
		line := img.Pix[y*img.Stride:][:4*size.Max.X]
		for x := range size.Max.X {
			var v [maxComponents]byte
			for i := range d.components {
				c := &d.components[i]
				v[i] = c.plane[y*c.v*c.n/(d.vMax*d.n)*c.stride+x*c.h*c.n/(d.hMax*d.n)]
			}
			if !rgb {
				v[0], v[1], v[2] = color.YCbCrToRGB(v[0], v[1], v[2])
			}
			if four {
				black := int(v[3])
				if inkBlack {
					black = 255 - black
				}
				for i := range 3 {
					if inkColors {
						v[i] = 255 - v[i]
					}
					v[i] = byte(int(v[i]) * black / 255) //nolint:gosec // a product of shares
				}
			}
			v[3] = 255
			copy(line[4*x:4*x+4], v[:])
		}
	}
	return img
}

// isRGB reports whether the first three components are RGB, not YCbCr.
func (d *decoder) isRGB() bool {
	if len(d.components) == 4 {
		return d.adobe <= 0
	}
	if d.jfif {
		return false
	}
	c := d.components
	return d.adobe == 0 || d.adobe < 0 && c[0].id == 'R' && c[1].id == 'G' && c[2].id == 'B'
}
