package pictures

import (
	"encoding/binary"
	"image"
	"math"
)

// Plane is one component of a JPEG: its samples, and how many of them there are in a unit, across and down.
type Plane struct {
	Pix           []byte
	Stride        int
	Width, Height int
	H, V          int
}

// JPEG is a file in one of the forms that the standard library does not write: progressive, with any sampling of
// colors, with four components, or with restarts.
type JPEG struct {
	Width, Height int
	Planes        []Plane
	Progressive   bool
	Restart       int // units between restart markers; 0: none
	Adobe         int // transform of an Adobe segment; -1: none
}

// PlanesOf returns the components of an image.
func PlanesOf(img *image.YCbCr) []Plane {
	size := img.Rect.Size()
	h, v := 1, 1
	switch img.SubsampleRatio {
	case image.YCbCrSubsampleRatio420:
		h, v = 2, 2
	case image.YCbCrSubsampleRatio422:
		h = 2
	case image.YCbCrSubsampleRatio440:
		v = 2
	case image.YCbCrSubsampleRatio411:
		h = 4
	case image.YCbCrSubsampleRatio410:
		h, v = 4, 2
	case image.YCbCrSubsampleRatio444:
	}
	colors := Plane{Stride: img.CStride, Width: (size.X + h - 1) / h, Height: (size.Y + v - 1) / v, H: 1, V: 1}
	blue, red := colors, colors
	blue.Pix, red.Pix = img.Cb, img.Cr
	return []Plane{{img.Y, img.YStride, size.X, size.Y, h, v}, blue, red}
}

// drawing is a JPEG that is being written.
type drawing struct {
	*JPEG
	bitWriter
	dc, ac   [256]code
	across   []int         // blocks of each component, those that fill up units included
	coefs    [][][64]int32 // of each, in the order of the file
	hMax     int
	vMax     int
	last     []int32 // first coefficient of the block before
	restarts int
	units    int
}

// Encode returns the file.
func (j *JPEG) Encode() []byte {
	d := &drawing{JPEG: j, dc: codes(dcCounts, dcValues), ac: codes(acCounts, acValues)}
	for _, p := range j.Planes {
		d.hMax, d.vMax = max(d.hMax, p.H), max(d.vMax, p.V)
	}
	d.header()
	for i := range j.Planes {
		d.transform(&j.Planes[i])
	}
	all := make([]int, len(j.Planes))
	for i := range all {
		all[i] = i
	}
	if !j.Progressive {
		d.scan(all, 0, 63, 0, 0)
		return append(d.out, 0xff, 0xd9)
	}
	d.scan(all, 0, 0, 0, 1)
	for i := range all {
		d.scan(all[i:i+1], 1, 63, 0, 1)
	}
	d.scan(all, 0, 0, 1, 0)
	for i := range all {
		d.scan(all[i:i+1], 1, 63, 1, 0)
	}
	return append(d.out, 0xff, 0xd9)
}

func (d *drawing) header() {
	d.out = []byte{0xff, 0xd8}
	if d.Adobe >= 0 {
		d.out = append(append(d.out, "\xff\xee\x00\x0eAdobe\x00\x64\x00\x00\x00\x00"...), byte(d.Adobe))
	}
	d.out = append(d.out, 0xff, 0xdb, 0, 67, 0)
	for k := range 64 {
		d.out = append(d.out, step(k))
	}
	frame := byte(0xc0)
	if d.Progressive {
		frame = 0xc2
	}
	d.out = append(d.out, 0xff, frame, 0, byte(8+3*len(d.Planes)), 8)
	d.out = binary.BigEndian.AppendUint16(d.out, uint16(d.Height))
	d.out = binary.BigEndian.AppendUint16(d.out, uint16(d.Width))
	d.out = append(d.out, byte(len(d.Planes)))
	for i, p := range d.Planes {
		d.out = append(d.out, byte(i+1), byte(p.H<<4|p.V), 0)
	}
	d.out = appendTable(appendTable(d.out, 0, dcCounts, dcValues), 1, acCounts, acValues)
	if d.Restart > 0 {
		d.out = binary.BigEndian.AppendUint16(append(d.out, 0xff, 0xdd, 0, 4), uint16(d.Restart))
	}
}

func appendTable(out []byte, class byte, counts [16]byte, values []byte) []byte {
	out = binary.BigEndian.AppendUint16(append(out, 0xff, 0xc4), uint16(19+len(values)))
	return append(append(append(out, class<<4), counts[:]...), values...)
}

// diagonal has the places of coefficients in a block, by their index in the file.
var diagonal = func() (all [64][2]int) {
	u, v := 0, 0
	for k := range all {
		all[k] = [2]int{u, v}
		switch up := (u+v)%2 == 0; {
		case up && u == 7, !up && v < 7 && u == 0:
			v++
		case up && v == 0, !up && v == 7:
			u++
		case up:
			u, v = u+1, v-1
		default:
			u, v = u-1, v+1
		}
	}
	return all
}()

// step is the quantization of a coefficient.
func step(k int) byte { return byte(3 + diagonal[k][0] + diagonal[k][1]) }

var cosines = func() (all [8][8]float64) {
	for u := range all {
		for x := range all[u] {
			all[u][x] = math.Cos(float64((2*x+1)*u)*math.Pi/16) / 2
			if u == 0 {
				all[u][x] = math.Sqrt2 / 4
			}
		}
	}
	return all
}()

// transform computes the coefficients of a component.
func (d *drawing) transform(p *Plane) {
	across := (d.Width + 8*d.hMax - 1) / (8 * d.hMax) * p.H
	down := (d.Height + 8*d.vMax - 1) / (8 * d.vMax) * p.V
	coefs := make([][64]int32, across*down)
	for i := range coefs {
		var rows [8][8]float64 // u, y
		for y := range 8 {
			row := p.Pix[min(i/across*8+y, p.Height-1)*p.Stride:][:p.Width]
			for x := range 8 {
				value := float64(row[min(i%across*8+x, p.Width-1)]) - 128
				for u := range 8 {
					rows[u][y] += value * cosines[u][x]
				}
			}
		}
		for k, at := range diagonal {
			sum := 0.0
			for y := range 8 {
				sum += rows[at[0]][y] * cosines[at[1]][y]
			}
			coefs[i][k] = int32(math.Round(sum / float64(step(k))))
		}
	}
	d.across, d.coefs = append(d.across, across), append(d.coefs, coefs)
}

// scan writes coefficients of some components, without the lowest bits, or one more bit where high is not 0.
func (d *drawing) scan(components []int, from, to int, high, low uint) {
	d.out = append(d.out, 0xff, 0xda, 0, byte(6+2*len(components)), byte(len(components)))
	for _, c := range components {
		d.out = append(d.out, byte(c+1), 0)
	}
	d.out = append(d.out, byte(from), byte(to), byte(high<<4|low))
	d.last, d.units, d.restarts = make([]int32, len(d.Planes)), 0, 0
	block := func(c, x, y int) { d.block(c, &d.coefs[c][y*d.across[c]+x], from, to, high, low) }
	if len(components) == 1 {
		c := components[0]
		p := &d.Planes[c]
		width, height := (d.Width*p.H+d.hMax-1)/d.hMax, (d.Height*p.V+d.vMax-1)/d.vMax
		for i := range (width + 7) / 8 * ((height + 7) / 8) {
			d.unit()
			block(c, i%((width+7)/8), i/((width+7)/8))
		}
		d.flush()
		return
	}
	for i := range len(d.coefs[0]) / (d.Planes[0].H * d.Planes[0].V) {
		d.unit()
		for _, c := range components {
			p := &d.Planes[c]
			units := d.across[c] / p.H
			for at := range p.H * p.V {
				block(c, i%units*p.H+at%p.H, i/units*p.V+at/p.H)
			}
		}
	}
	d.flush()
}

// unit begins a unit, with a restart marker where it is due.
func (d *drawing) unit() {
	if d.Restart > 0 && d.units > 0 && d.units%d.Restart == 0 {
		d.flush()
		d.out = append(d.out, 0xff, byte(0xd0+d.restarts%8))
		d.restarts++
		clear(d.last)
	}
	d.units++
}

func (d *drawing) block(component int, coefs *[64]int32, from, to int, high, low uint) {
	if from == 0 {
		if high > 0 {
			d.write(code{uint32(coefs[0]>>low) & 1, 1})
			return
		}
		v := coefs[0] >> low
		a := amplitude(int(v - d.last[component]))
		d.last[component] = v
		d.write(d.dc[a.length])
		d.write(a)
	}
	if to == 0 {
		return
	}
	end := 0 // the last coefficient that is new in this scan
	for k := max(from, 1); k <= to; k++ {
		if v := magnitude(coefs[k]) >> low; v == 1 || v > 0 && high == 0 {
			end = k
		}
	}
	run := 0
	var more []code // bits of coefficients that were there before
	for k := max(from, 1); k <= to; k++ {
		v := magnitude(coefs[k]) >> low
		if v == 0 {
			run++
			continue
		}
		for ; run > 15 && k <= end; run -= 16 {
			d.write(d.ac[0xf0])
			more = d.writeAll(more)
		}
		if v > 1 && high > 0 {
			more = append(more, code{uint32(v) & 1, 1})
			continue
		}
		if coefs[k] < 0 {
			v = -v
		}
		a := amplitude(int(v))
		d.write(d.ac[byte(run<<4)|byte(a.length)])
		d.write(a)
		more = d.writeAll(more)
		run = 0
	}
	if run > 0 || len(more) > 0 {
		d.write(d.ac[0])
		d.writeAll(more)
	}
}

func (d *drawing) writeAll(all []code) []code {
	for _, c := range all {
		d.write(c)
	}
	return all[:0]
}

func magnitude(v int32) int32 { return max(v, -v) }
