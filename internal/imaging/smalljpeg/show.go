package smalljpeg

import (
	"image/color"
	"math"
)

// basis is, for blocks of n × n samples, what the coefficient u adds to sample x, in units of 1/4096: the inverse
// transform of that size over the lowest n frequencies, scaled so that brightness does not change.
var basis = func() (all [9][]int) {
	for _, n := range []int{1, 2, 4, 8} {
		all[n] = make([]int, n*n)
		for u := range n {
			for x := range n {
				f := math.Cos(float64((2*x+1)*u) * math.Pi / float64(2*n))
				if u == 0 {
					f = math.Sqrt2 / 2
				}
				all[n][u*n+x] = int(math.Round(f / 2 * (1 << basisBits)))
			}
		}
	}
	return all
}()

const basisBits = 12

// transform turns the kept coefficients of a block into n × n samples.
func transform(n int, kept []int16, quant []int32, out []byte, stride int) {
	const bits, half = 2 * basisBits, 1 << (2*basisBits - 1)
	table := basis[n]
	flat := true
	for _, v := range kept[1:] {
		if v != 0 {
			flat = false
			break
		}
	}
	if flat {
		v := clamp((int(kept[0])*int(quant[0])*table[0]*table[0]+half)>>bits + 128)
		for y := range n {
			row := out[y*stride:][:n]
			for x := range row {
				row[x] = v
			}
		}
		return
	}
	var between [64]int
	for v := range n {
		for u := range n {
			k := kept[v*n+u]
			if k == 0 {
				continue
			}
			value := int(k) * int(quant[v*n+u])
			for x := range n {
				between[v*n+x] += value * table[u*n+x]
			}
		}
	}
	for y := range n {
		row := out[y*stride:][:n]
		for x := range n {
			sum := half
			for v := range n {
				sum += between[v*n+x] * table[v*n+y]
			}
			row[x] = clamp(sum>>bits + 128)
		}
	}
}

func clamp(v int) byte { return byte(min(max(v, 0), 255)) } //nolint:gosec // it is bounded

// finish converts the coefficients that were kept until the end.
func (d *decoder) finish() error {
	if d.scans == 0 {
		return broken("no picture")
	}
	if d.shown {
		return nil
	}
	for y := range d.unitsDown {
		d.show(y, y)
	}
	return nil
}

// show passes on one row of units, whose coefficients are in the row at.
func (d *decoder) show(unit, at int) {
	d.shown = true
	for i := range d.components {
		c := &d.components[i]
		if c.quant == nil { // no scan has it
			for j := range c.plane {
				c.plane[j] = 128
			}
			continue
		}
		stride := c.across * c.n
		for row := range c.v {
			for x := range c.across {
				block := (at*c.v+row)*c.across + x
				transform(c.n, c.coefs[block*c.n*c.n:][:c.n*c.n], c.quant, c.plane[row*c.n*stride+x*c.n:], stride)
			}
		}
	}
	scale := 8 / d.n
	width, height := upTo(d.width, scale), upTo(d.height, scale)
	if d.line == nil {
		d.line = make([]byte, 3*width)
	}
	rows := d.vMax * d.n
	for y := range min(rows, height-unit*rows) {
		var samples [maxComponents][]byte
		for i := range d.components {
			samples[i] = d.samples(i, y, width)
		}
		d.color(samples)
		d.row(unit*rows+y, d.line)
	}
}

// samples returns a row of one component, as wide as the image.
func (d *decoder) samples(i, y, width int) []byte {
	c := &d.components[i]
	stride := c.across * c.n
	row := c.plane[y*c.tall/d.vMax*stride:][:stride]
	if c.fine == d.hMax {
		return row[:width]
	}
	if d.scratch[i] == nil {
		d.scratch[i] = make([]byte, width)
	}
	wide := d.scratch[i]
	if 2*c.fine == d.hMax {
		for x := range wide {
			wide[x] = row[x>>1]
		}
		return wide
	}
	for x := range wide {
		wide[x] = row[x*c.fine/d.hMax]
	}
	return wide
}

// color converts the samples of the components to a line of RGB.
func (d *decoder) color(samples [maxComponents][]byte) {
	line, a := d.line, samples[0]
	if len(d.components) == 1 {
		for x, v := range a {
			line[3*x], line[3*x+1], line[3*x+2] = v, v, v
		}
		return
	}
	b, c := samples[1][:len(a)], samples[2][:len(a)]
	if d.isRGB() {
		for x := range a {
			line[3*x], line[3*x+1], line[3*x+2] = a[x], b[x], c[x]
		}
	} else {
		for x := range a {
			line[3*x], line[3*x+1], line[3*x+2] = color.YCbCrToRGB(a[x], b[x], c[x])
		}
	}
	if len(d.components) < 4 {
		return
	}
	// CMYK. With an Adobe segment, which nearly all have, the values are inverted, those of the three colors only where
	// they are not transformed; without one they are amounts of ink.
	inkColours, inkBlack := d.adobe != 0, d.adobe < 0
	for x, k := range samples[3][:len(a)] {
		if inkBlack {
			k = 255 - k
		}
		for i := range 3 {
			v := line[3*x+i]
			if inkColours {
				v = 255 - v
			}
			line[3*x+i] = byte(int(v) * int(k) / 255) //nolint:gosec // a product of shares
		}
	}
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
