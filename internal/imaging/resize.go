package imaging

import (
	"encoding/binary"
	"image"
)

// fitted returns the size of a photo when its longest edge is made at most edge.
func fitted(size image.Point, edge int) image.Point {
	long := max(size.X, size.Y)
	if long <= edge {
		return size
	}
	return image.Pt(max(1, size.X*edge/long), max(1, size.Y*edge/long))
}

// axis says what the pixels of a resized row or column are made of: each of as many neighbors, with the share of each
// that it covers.
type axis struct {
	from, to int
	taps     int
	first    []int    // neighbor of each pixel
	weights  []uint64 // taps for each pixel, which add up to one
}

const one = 1 << 8

func newAxis(from, to int) *axis {
	a := &axis{from: from, to: to, first: make([]int, to)}
	for i := range to {
		last := ((i+1)*from - 1) / to
		a.taps = max(a.taps, last-i*from/to+1)
	}
	a.weights = make([]uint64, 0, to*a.taps)
	for i := range to {
		a.first[i] = min(i*from/to, from-a.taps)
		covered := 0 // by the neighbors so far
		for tap := range a.taps {
			end := min(max((a.first[i]+tap+1)*to-i*from, 0), from)
			before := covered
			covered = (end*one + from/2) / from
			a.weights = append(a.weights, uint64(covered-before)) //nolint:gosec // it grows
		}
	}
	return a
}

// at returns the first neighbor of a pixel and the weights.
func (a *axis) at(i int) (first int, weights []uint64) {
	return a.first[i], a.weights[i*a.taps:][:a.taps]
}

// rows returns row y of an image, either its own or written to buf, which has that length.
type rows func(y int, buf []byte) []byte

// resize averages the pixels of an image to those of another size, and calls emit for each of its rows. The pixels have
// one byte or four.
func resize(in rows, from, to image.Point, channels int, emit func(y int, line []byte)) {
	across, down := newAxis(from.X, to.X), newAxis(from.Y, to.Y)
	width := from.X * channels
	var bufs, have [][]byte
	for range down.taps {
		bufs = append(bufs, make([]byte, width))
	}
	have = make([][]byte, down.taps)
	blended, line := make([]byte, width), make([]byte, to.X*channels)
	next := 0 // row to read
	for y := range to.Y {
		first, weights := down.at(y)
		for ; next < first+down.taps; next++ {
			at := next % down.taps
			have[at] = in(next, bufs[at])[:width]
		}
		row := have[first%down.taps]
		if down.taps > 1 {
			blend(blended, have, first, weights)
			row = blended
		}
		switch {
		case across.taps == 1:
			emit(y, row)
			continue
		case channels == 4:
			across.shrinkPixels(line, row)
		case across.taps == 2:
			across.shrink2(line, row)
		case across.taps == 3:
			across.shrink3(line, row)
		default:
			across.shrink(line, row)
		}
		emit(y, line)
	}
}

// Four bytes are handled at a time, each in 16 bits of a word.
const (
	lanes = 0x00ff00ff00ff00ff
	half  = 0x0080008000800080
)

// blend averages rows, the first of which is rows[first%len(rows)].
func blend(out []byte, rows [][]byte, first int, weights []uint64) {
	if len(rows) == 3 { // most photos of phones
		blend3(out, rows[first%3], rows[(first+1)%3], rows[(first+2)%3], weights)
		return
	}
	full := len(out) &^ 7
	for x := 0; x < full; x += 8 {
		even, odd := uint64(half), uint64(half)
		at := first % len(rows)
		for _, w := range weights {
			v := binary.LittleEndian.Uint64(rows[at][x:])
			even += v & lanes * w
			odd += v >> 8 & lanes * w
			if at++; at == len(rows) {
				at = 0
			}
		}
		binary.LittleEndian.PutUint64(out[x:], even>>8&lanes|odd&^lanes)
	}
	for x := full; x < len(out); x++ {
		sum := uint64(one / 2)
		for tap, w := range weights {
			sum += uint64(rows[(first+tap)%len(rows)][x]) * w
		}
		out[x] = byte(sum >> 8) //nolint:gosec // an average of bytes
	}
}

func blend3(out, a, b, c []byte, weights []uint64) {
	p, q, r := weights[0], weights[1], weights[2]
	a, b, c = a[:len(out)], b[:len(out)], c[:len(out)]
	for len(out) >= 8 && len(a) >= 8 && len(b) >= 8 && len(c) >= 8 {
		u, v, w := binary.LittleEndian.Uint64(a), binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(c)
		even := u&lanes*p + v&lanes*q + w&lanes*r + half
		odd := u>>8&lanes*p + v>>8&lanes*q + w>>8&lanes*r + half
		binary.LittleEndian.PutUint64(out, even>>8&lanes|odd&^lanes)
		out, a, b, c = out[8:], a[8:], b[8:], c[8:]
	}
	for x := range out {
		sum := uint64(a[x])*p + uint64(b[x])*q + uint64(c[x])*r
		out[x] = byte((sum + one/2) >> 8) //nolint:gosec // an average of bytes
	}
}

// shrink averages the neighbors in a row of single bytes. shrink2 and shrink3 do the same for two or three.
func (a *axis) shrink(out, row []byte) {
	for i := range out {
		first, weights := a.at(i)
		sum := uint64(one / 2)
		for tap, v := range row[first:][:len(weights)] {
			sum += uint64(v) * weights[tap]
		}
		out[i] = byte(sum >> 8) //nolint:gosec // an average of bytes
	}
}

func (a *axis) shrink2(out, row []byte) {
	weights := a.weights
	for i, first := range a.first[:len(out)] {
		v, w := row[first:first+2:first+2], weights[2*i:2*i+2:2*i+2]
		out[i] = byte((uint64(v[0])*w[0] + uint64(v[1])*w[1] + one/2) >> 8) //nolint:gosec // an average of bytes
	}
}

func (a *axis) shrink3(out, row []byte) {
	weights := a.weights
	for i, first := range a.first[:len(out)] {
		v, w := row[first:first+3:first+3], weights[3*i:3*i+3:3*i+3]
		sum := uint64(v[0])*w[0] + uint64(v[1])*w[1] + uint64(v[2])*w[2]
		out[i] = byte((sum + one/2) >> 8) //nolint:gosec // an average of bytes
	}
}

// shrinkPixels averages the neighbors in a row of pixels of four bytes.
func (a *axis) shrinkPixels(out, row []byte) {
	for i := range a.first {
		first, weights := a.at(i)
		pixels := row[4*first:][:4*len(weights)]
		sum := uint64(half)
		for _, w := range weights {
			sum += spread(pixels) * w
			pixels = pixels[4:]
		}
		sum = sum >> 8 & lanes
		sum = (sum | sum>>8) & 0x0000ffff0000ffff
		binary.LittleEndian.PutUint32(out[4*i:], uint32(sum|sum>>16)) //nolint:gosec // its lower half
	}
}

// spread returns four bytes, each in 16 bits.
func spread(pixel []byte) uint64 {
	v := uint64(binary.LittleEndian.Uint32(pixel))
	v = (v | v<<16) & 0x0000ffff0000ffff
	return (v | v<<8) & lanes
}
