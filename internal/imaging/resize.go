package imaging

import (
	"encoding/binary"
	"image"
	"math"
)

// fitted returns the size of a photo when its longest edge is made at most edge.
func fitted(size image.Point, edge int) image.Point {
	long := max(size.X, size.Y)
	if long <= edge {
		return size
	}
	return image.Pt(max(1, size.X*edge/long), max(1, size.Y*edge/long))
}

// axis says what the pixels of a resized row or column are made of: each of as many neighbors, with weights.
type axis struct {
	taps    int
	first   []int    // neighbor of each pixel
	weights []uint64 // taps for each pixel, which add up to one; negative ones are two's complements
}

const (
	one    = 1 << 7
	eighth = 8 // parts of a pixel in which extents are measured
)

// newAxis makes the pixels of an image of those of another. Both extents are in eighths of a pixel: the last pixel may
// be only partly in the image.
func newAxis(extent, toExtent int) *axis {
	from, to := whole(extent), whole(toExtent)
	a := &axis{first: make([]int, to)}
	ratio := float64(extent) / float64(toExtent)
	if ratio > 1 && ratio < 1.15 && from >= 4 {
		a.interpolate(from, ratio)
		return a
	}
	unit, step, end := eighth*toExtent, eighth*extent, extent*toExtent // a pixel, one that is made, and the image
	for i := range to {
		a.first[i] = i * step / unit
		a.taps = max(a.taps, (min((i+1)*step, end)-1)/unit-a.first[i]+1)
	}
	if a.taps == 2 && from > 2 { // for three there is a fast way
		a.taps = 3
	}
	for i, first := range a.first {
		first = min(first, from-a.taps)
		begin := i * step
		size := min(begin+step, end) - begin
		covered := 0 // by the neighbors so far
		for tap := range a.taps {
			before := covered
			covered = (min(max((first+tap+1)*unit-begin, 0), size)*one + size/2) / size
			a.weights = append(a.weights, uint64(covered-before)) //nolint:gosec // it grows
		}
		a.first[i] = first
	}
	return a
}

// whole returns how many pixels an extent needs.
func whole(extent int) int { return (extent + eighth - 1) / eighth }

// interpolate makes the pixels by cubic interpolation (Catmull-Rom): averages of so few pixels would blur.
func (a *axis) interpolate(from int, ratio float64) {
	a.taps = 4
	for i := range a.first {
		center := (float64(i)+0.5)*ratio - 0.5
		first := int(math.Floor(center)) - 1
		x := center - float64(first+1)
		shares := [4]float64{
			((-x+2)*x - 1) * x / 2, ((3*x-5)*x*x + 2) / 2, ((-3*x+4)*x + 1) * x / 2, (x - 1) * x * x / 2,
		}
		a.first[i] = min(max(first, 0), from-4)
		var weights [4]int
		rest := one
		for tap, share := range shares { // those outside of the image are for its edge
			weight := int(math.Round(share * one))
			weights[min(max(first+tap-a.first[i], 0), 3)] += weight
			rest -= weight
		}
		weights[min(max(first+1-a.first[i], 0), 3)] += rest
		for _, w := range weights {
			a.weights = append(a.weights, uint64(w)) //nolint:gosec // see weights
		}
	}
}

// at returns the first neighbor of a pixel and the weights.
func (a *axis) at(i int) (first int, weights []uint64) {
	return a.first[i], a.weights[i*a.taps:][:a.taps]
}

// rows returns row y of an image, either its own or written to buf, which has that length.
type rows func(y int, buf []byte) []byte

// resize makes an image of another size, and calls emit for each of its rows. The sizes are in eighths of a pixel. The
// pixels have one byte or four.
func resize(in rows, from, to image.Point, channels int, emit func(y int, line []byte)) {
	across, down := newAxis(from.X, to.X), newAxis(from.Y, to.Y)
	width := whole(from.X) * channels
	bufs, have := make([][]byte, down.taps), make([][]byte, down.taps)
	for i := range bufs {
		bufs[i] = make([]byte, width)
	}
	blended, line := make([]byte, width), make([]byte, len(across.first)*channels)
	next := 0 // row to read
	for y := range down.first {
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
		case across.taps == 1 && len(row) == len(line):
			emit(y, row)
			continue
		case channels == 4:
			across.shrinkPixels(line, row)
		case across.taps == 3:
			across.shrink3(line, row)
		default:
			across.shrink(line, row)
		}
		emit(y, line)
	}
}

// Four bytes are handled at a time, each in 16 bits of a word, the lane. Sums have a bias, so that none is negative.
const (
	each  = 0x0001000100010001
	lanes = 0xff * each
	bias  = 64
	begin = bias*one + one/2 // of a sum: the half is for rounding
)

// bytesOf returns sums as bytes, each in its lane.
func bytesOf(sums uint64) uint64 {
	const top = 0x8000 * each
	v := sums >> 7 & (0x1ff * each)
	above, below := v+top-(bias+256)*each, v+top-bias*each // by their highest bits: above if set, below if not
	if above&top == 0 && below&top == top {                // all are from 0 to 255
		return v - bias*each
	}
	for i := 0; i < 64; i += 16 {
		lane := int(v>>i&0x1ff) - bias
		v = v&^(0xffff<<i) | uint64(min(max(lane, 0), 255))<<i
	}
	return v
}

// byteOf returns a single sum as a byte.
func byteOf(sum uint64) byte {
	v := int(sum>>7) - bias
	if uint(v) > 255 {
		return byte(min(max(v, 0), 255))
	}
	return byte(v)
}

// blend makes a row of rows, the first of which is rows[first%len(rows)].
func blend(out []byte, rows [][]byte, first int, weights []uint64) {
	if len(rows) == 3 { // most photos of phones
		blend3(out, rows[first%3], rows[(first+1)%3], rows[(first+2)%3], weights)
		return
	}
	full := len(out) &^ 7
	for x := 0; x < full; x += 8 {
		even, odd := uint64(begin*each), uint64(begin*each)
		at := first % len(rows)
		for _, w := range weights {
			v := binary.LittleEndian.Uint64(rows[at][x:])
			even += v & lanes * w
			odd += v >> 8 & lanes * w
			if at++; at == len(rows) {
				at = 0
			}
		}
		binary.LittleEndian.PutUint64(out[x:], bytesOf(even)|bytesOf(odd)<<8)
	}
	for x := full; x < len(out); x++ {
		sum := uint64(begin)
		for tap, w := range weights {
			sum += uint64(rows[(first+tap)%len(rows)][x]) * w
		}
		out[x] = byteOf(sum)
	}
}

// blend3 is blend for three rows, whose weights are not negative.
func blend3(out, a, b, c []byte, weights []uint64) {
	p, q, r := weights[0], weights[1], weights[2]
	a, b, c = a[:len(out)], b[:len(out)], c[:len(out)]
	const half = one / 2
	for len(out) >= 8 && len(a) >= 8 && len(b) >= 8 && len(c) >= 8 {
		u, v, w := binary.LittleEndian.Uint64(a), binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(c)
		even := u&lanes*p + v&lanes*q + w&lanes*r + half*each
		odd := u>>8&lanes*p + v>>8&lanes*q + w>>8&lanes*r + half*each
		binary.LittleEndian.PutUint64(out, even>>7&lanes|odd<<1&^lanes)
		out, a, b, c = out[8:], a[8:], b[8:], c[8:]
	}
	for x := range out {
		out[x] = byte((uint64(a[x])*p + uint64(b[x])*q + uint64(c[x])*r + half) >> 7) //nolint:gosec // an average
	}
}

// shrink makes a row of neighbors in a row of single bytes.
func (a *axis) shrink(out, row []byte) {
	for i := range out {
		first, weights := a.at(i)
		sum := uint64(begin)
		for tap, v := range row[first:][:len(weights)] {
			sum += uint64(v) * weights[tap]
		}
		out[i] = byteOf(sum)
	}
}

// shrink3 is shrink for three neighbors, whose weights are not negative.
func (a *axis) shrink3(out, row []byte) {
	weights := a.weights
	for i, first := range a.first[:len(out)] {
		v, w := row[first:first+3:first+3], weights[3*i:3*i+3:3*i+3]
		out[i] = byte((uint64(v[0])*w[0] + uint64(v[1])*w[1] + uint64(v[2])*w[2] + one/2) >> 7) //nolint:gosec // an average
	}
}

// shrinkPixels makes a row of neighbors in a row of pixels of four bytes.
func (a *axis) shrinkPixels(out, row []byte) {
	for i := range a.first {
		first, weights := a.at(i)
		pixels := row[4*first:][:4*len(weights)]
		sum := uint64(begin * each)
		for _, w := range weights {
			sum += spread(pixels) * w
			pixels = pixels[4:]
		}
		sum = bytesOf(sum)
		sum = (sum | sum>>8) & 0x0000ffff0000ffff
		binary.LittleEndian.PutUint32(out[4*i:], uint32(sum|sum>>16)) //nolint:gosec // its lower half
	}
}

// spread returns four bytes, each in its lane.
func spread(pixel []byte) uint64 {
	v := uint64(binary.LittleEndian.Uint32(pixel))
	v = (v | v<<16) & 0x0000ffff0000ffff
	return (v | v<<8) & lanes
}
