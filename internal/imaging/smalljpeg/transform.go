package smalljpeg

// block is n × n coefficients, multiplied by their quantization.
type block struct {
	values [unkept + 1]int32 // the last takes those that are not kept
	flat   bool              // all but the first are zero
}

// √2·cos(kπ/16) in units of 1/4096: what the coefficient k of eight adds to a sample, relative to the coefficient 0.
const (
	rootBits            = 12
	root1, root2, root3 = 5681, 5352, 4816
	root5, root6, root7 = 3218, 2217, 1130
)

// show writes the samples of a block to its place in the plane: the inverse transform of n × n samples over the lowest
// frequencies, scaled so that brightness does not change.
func (c *component) show(b *block, column, row int) {
	n := c.n
	out := c.plane[row*n*c.stride+column*n:]
	if b.flat || n == 1 {
		v := clamp((int(b.values[0])+4)>>3 + 128)
		for y := range n {
			line := out[y*c.stride:][:n]
			for x := range line {
				line[x] = v
			}
		}
		return
	}
	switch n {
	case 2:
		b.transform2(out, c.stride)
	case 4:
		b.transform4(out, c.stride)
	default:
		b.transform8(out, c.stride)
	}
}

func clamp(v int) byte {
	if uint(v) > 255 {
		return byte(^(v >> 63)) //nolint:gosec // 0 or 255
	}
	return byte(v) //nolint:gosec // at most 255
}

func (b *block) transform2(out []byte, stride int) {
	v := &b.values
	const half = 4 + 128<<3
	p, q := int(v[0]+v[1])+half, int(v[2]+v[3])
	r, s := int(v[0]-v[1])+half, int(v[2]-v[3])
	below := out[stride:][:2]
	out[0], out[1] = clamp((p+q)>>3), clamp((r+s)>>3)
	below[0], below[1] = clamp((p-q)>>3), clamp((r-s)>>3)
}

func (b *block) transform4(out []byte, stride int) {
	const (
		bits = 2*rootBits + 3
		half = 1<<(bits-1) + 128<<bits
	)
	var rows [16]int
	for i := 0; i < 16; i += 4 {
		v := b.values[i : i+4 : i+4]
		x0, x1, x2, x3 := int(v[0])<<rootBits, int(v[1]), int(v[2])<<rootBits, int(v[3])
		p, q := x0+x2, x0-x2
		r, s := x1*root2+x3*root6, x1*root6-x3*root2
		w := rows[i : i+4 : i+4]
		w[0], w[1], w[2], w[3] = p+r, q+s, q-s, p-r
	}
	line0, line1, line2, line3 := out[:4], out[stride:][:4], out[2*stride:][:4], out[3*stride:][:4]
	for x := range 4 {
		x0, x1, x2, x3 := rows[x]<<rootBits+half, rows[4+x], rows[8+x]<<rootBits, rows[12+x]
		p, q := x0+x2, x0-x2
		r, s := x1*root2+x3*root6, x1*root6-x3*root2
		line0[x], line1[x] = clamp((p+r)>>bits), clamp((q+s)>>bits)
		line2[x], line3[x] = clamp((q-s)>>bits), clamp((p-r)>>bits)
	}
}

func (b *block) transform8(out []byte, stride int) {
	const (
		bits = 2*rootBits + 3
		half = 1<<(bits-1) + 128<<bits
	)
	var rows, column, samples [8]int
	var between [64]int
	for y := range 8 {
		v := b.values[8*y : 8*y+8 : 8*y+8]
		if v[1]|v[2]|v[3]|v[4]|v[5]|v[6]|v[7] == 0 {
			first := int(v[0]) << rootBits
			for x := range 8 {
				between[8*x+y] = first
			}
			continue
		}
		for x := range 8 {
			column[x] = int(v[x])
		}
		transformLine(&column, &rows)
		for x := range 8 {
			between[8*x+y] = rows[x]
		}
	}
	for x := range 8 {
		copy(column[:], between[8*x:])
		transformLine(&column, &samples)
		for y := range 8 {
			out[y*stride+x] = clamp((samples[y] + half) >> bits)
		}
	}
}

// transformLine is the transform of eight coefficients in one direction.
func transformLine(v, out *[8]int) {
	x0, x4 := v[0]<<rootBits, v[4]<<rootBits
	p, q := x0+x4, x0-x4
	r, s := v[2]*root2+v[6]*root6, v[2]*root6-v[6]*root2
	e0, e1, e2, e3 := p+r, q+s, q-s, p-r
	o0 := v[1]*root1 + v[3]*root3 + v[5]*root5 + v[7]*root7
	o1 := v[1]*root3 - v[3]*root7 - v[5]*root1 - v[7]*root5
	o2 := v[1]*root5 - v[3]*root1 + v[5]*root7 + v[7]*root3
	o3 := v[1]*root7 - v[3]*root5 + v[5]*root3 - v[7]*root1
	out[0], out[7] = e0+o0, e0-o0
	out[1], out[6] = e1+o1, e1-o1
	out[2], out[5] = e2+o2, e2-o2
	out[3], out[4] = e3+o3, e3-o3
}
