package smalljpeg

import (
	"encoding/binary"
	"errors"
	"image"
	"math"
	mathbits "math/bits"
)

// Encode returns a baseline JPEG of an image whose colors are half as fine as its brightness, with the tables of annex
// K of the standard, scaled by the quality from 1 to 100 as libjpeg and image/jpeg do.
func Encode(img *image.YCbCr, quality int) ([]byte, error) {
	size := img.Rect.Size()
	if img.SubsampleRatio != image.YCbCrSubsampleRatio420 || img.Rect.Min != (image.Point{}) || size.X < 1 ||
		size.Y < 1 || size.X > math.MaxUint16 || size.Y > math.MaxUint16 {
		return nil, errors.New("smalljpeg: not an image that can be encoded")
	}
	e := &encoder{out: make([]byte, 0, size.X*size.Y/4+4096)}
	e.header(size, quality)
	colors := image.Pt((size.X+1)/2, (size.Y+1)/2)
	luma := channel{pix: img.Y, stride: img.YStride, size: size, shares: &e.shares[0], tables: &lumaCodes}
	blue := channel{pix: img.Cb, stride: img.CStride, size: colors, shares: &e.shares[1], tables: &colorCodes}
	red := channel{pix: img.Cr, stride: img.CStride, size: colors, shares: &e.shares[1], tables: &colorCodes}
	for y := 0; y < colors.Y; y += 8 {
		for x := 0; x < colors.X; x += 8 {
			for i := range 4 {
				e.write(&luma, 2*x+i&1*8, 2*y+i>>1*8)
			}
			e.write(&blue, x, y)
			e.write(&red, x, y)
		}
	}
	e.put(0x7f, 7)
	e.flush()
	return append(e.out, 0xff, markEOI), nil
}

// channel is one of the components that are encoded.
type channel struct {
	pix    []byte
	stride int
	size   image.Point
	dc     int // of the block before
	shares *[64]int64
	tables *channelCodes
}

type encoder struct {
	out    []byte
	acc    uint64 // bits that are not written yet, the last of them lowest
	n      uint   // how many
	shares [2][64]int64
	block  [64]int
}

// A coefficient is multiplied by its share instead of divided by its quantization: one share is 1 << shareBits.
const shareBits = 30

// header writes all that comes before the pixels.
func (e *encoder) header(size image.Point, quality int) {
	scale := 200 - 2*quality
	if quality < 50 {
		scale = 5000 / quality
	}
	e.out = append(e.out, 0xff, markSOI, 0xff, markDQT, 0, 2+2*65)
	for i, table := range quantization {
		e.out = append(e.out, byte(i))
		for k, v := range table {
			q := min(max((int(v)*scale+50)/100, 1), 255)
			e.out = append(e.out, byte(q))                                       //nolint:gosec // at most 255
			e.shares[i][k] = int64(math.Round((1 << shareBits) / float64(64*q))) // of what forward leaves
		}
	}
	e.out = append(e.out, 0xff, markSOF0, 0, 17, 8)
	e.out = binary.BigEndian.AppendUint16(e.out, uint16(size.Y)) //nolint:gosec // checked by Encode
	e.out = binary.BigEndian.AppendUint16(e.out, uint16(size.X)) //nolint:gosec // checked by Encode
	e.out = append(e.out, 3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1)
	for i, spec := range []*spec{&lumaDC, &lumaAC, &colorDC, &colorAC} {
		e.out = append(e.out, 0xff, markDHT)
		e.out = binary.BigEndian.AppendUint16(e.out, uint16(2+17+len(spec.values))) //nolint:gosec // a short one
		e.out = append(e.out, byte(i&1<<4|i>>1))                                    //nolint:gosec // below 32
		e.out = append(append(e.out, spec.counts[:]...), spec.values...)
	}
	e.out = append(e.out, 0xff, markSOS, 0, 12, 3, 1, 0, 2, 0x11, 3, 0x11, 0, 63, 0)
}

// put appends up to 32 bits.
func (e *encoder) put(bits uint32, n uint) {
	e.acc = e.acc<<n | uint64(bits)
	e.n += n
	if e.n >= 32 {
		e.flush()
	}
}

// flush writes all complete bytes.
func (e *encoder) flush() {
	if e.n >= 32 {
		four := uint32(e.acc >> (e.n - 32))          //nolint:gosec // the next 32 bits
		if (^four-0x01010101)&four&0x80808080 == 0 { // none of them is 0xff
			e.out = binary.BigEndian.AppendUint32(e.out, four)
			e.n -= 32
		}
	}
	for ; e.n >= 8; e.n -= 8 {
		b := byte(e.acc >> (e.n - 8)) //nolint:gosec // the next one
		e.out = append(e.out, b)
		if b == 0xff {
			e.out = append(e.out, 0)
		}
	}
}

// write encodes the block whose upper left corner is at x, y. What is outside of the image is like its edge.
func (e *encoder) write(c *channel, x, y int) {
	b := &e.block
	if x+8 <= c.size.X && y+8 <= c.size.Y {
		for i := range 8 {
			row := c.pix[(y+i)*c.stride+x:][:8:8]
			to := b[8*i : 8*i+8 : 8*i+8]
			for j, v := range row {
				to[j] = int(v) - 128
			}
		}
	} else {
		for i := range 8 {
			row := c.pix[min(y+i, c.size.Y-1)*c.stride:][:c.size.X]
			for j := range 8 {
				b[8*i+j] = int(row[min(x+j, c.size.X-1)]) - 128
			}
		}
	}
	forward(b)
	var values [64]int32
	nonzero := uint64(0)
	for k := range 64 {
		v := int64(b[zigzag[k]&63])
		sign := v >> 63
		v = ((v^sign-sign)*c.shares[k] + 1<<(shareBits-1)) >> shareBits
		values[k] = int32(v ^ sign - sign) //nolint:gosec // smaller than before
		nonzero |= uint64(-v) >> 63 << k   //nolint:gosec // its sign
	}
	dc := int(values[0])
	c.tables.dc.put(e, 0, int32(dc-c.dc)) //nolint:gosec // of 12 bits
	c.dc = dc
	last := 0
	for left := nonzero &^ 1; left != 0; left &= left - 1 {
		k := mathbits.TrailingZeros64(left)
		run := k - last - 1
		for ; run > 15; run -= 16 {
			e.put(c.tables.ac[0xf0].bits, c.tables.ac[0xf0].n)
		}
		c.tables.ac.put(e, run, values[k&63])
		last = k
	}
	if last < 63 {
		e.put(c.tables.ac[0].bits, c.tables.ac[0].n)
	}
}

// forward is the transform of a block. It leaves 64 times the coefficients.
func forward(b *[64]int) {
	var line [8]int
	const keep = 3 // bits behind the point, so that rounding twice does not add up
	for i := 0; i < 64; i += 8 {
		row := (*[8]int)(b[i:])
		forwardLine(row, rootBits-keep)
	}
	for i := range 8 {
		for j := range 8 {
			line[j] = b[8*j+i]
		}
		forwardLine(&line, rootBits)
		for j := range 8 {
			b[8*j+i] = line[j]
		}
	}
}

// forwardLine is the transform of eight samples in one direction, times √8 and 1 << (rootBits - shift).
func forwardLine(v *[8]int, shift uint) {
	s0, d0 := v[0]+v[7], v[0]-v[7]
	s1, d1 := v[1]+v[6], v[1]-v[6]
	s2, d2 := v[2]+v[5], v[2]-v[5]
	s3, d3 := v[3]+v[4], v[3]-v[4]
	round := 1 << shift >> 1
	p, q, r, s := s0+s3, s1+s2, s0-s3, s1-s2
	v[0] = ((p+q)<<rootBits + round) >> shift
	v[4] = ((p-q)<<rootBits + round) >> shift
	v[2] = (r*root2 + s*root6 + round) >> shift
	v[6] = (r*root6 - s*root2 + round) >> shift
	v[1] = (d0*root1 + d1*root3 + d2*root5 + d3*root7 + round) >> shift
	v[3] = (d0*root3 - d1*root7 - d2*root1 - d3*root5 + round) >> shift
	v[5] = (d0*root5 - d1*root1 + d2*root7 + d3*root3 + round) >> shift
	v[7] = (d0*root7 - d1*root5 + d2*root3 - d3*root1 + round) >> shift
}
