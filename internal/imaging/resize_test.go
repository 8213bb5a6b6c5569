package imaging

import (
	"bytes"
	"image"
	"math/rand/v2"
	"testing"
)

// resized resizes an image of single bytes or pixels, given by its rows.
func resized(pix []byte, extent, to image.Point, channels int) []byte {
	width := whole(extent.X) * channels
	in := func(y int, _ []byte) []byte { return pix[y*width:] }
	var out []byte
	resize(in, extent, to, channels, func(_ int, line []byte) { out = append(out, line...) })
	return out
}

// TestResize_Even checks that what is even stays so, whatever the sizes: no pixel is lost or counted twice.
func TestResize_Even(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		from := image.Pt(1+random.IntN(60), 1+random.IntN(60))
		to := image.Pt(1+random.IntN(from.X+3), 1+random.IntN(from.Y+3)) // also a little larger
		extent := from.Mul(eighth).Sub(image.Pt(random.IntN(eighth), random.IntN(eighth)))
		toExtent := to.Mul(eighth).Sub(image.Pt(random.IntN(eighth), random.IntN(eighth)))
		for _, pixel := range [][]byte{{byte(random.Uint32())}, {0}, {255}, {1, 0, 255, 77}} {
			got := resized(bytes.Repeat(pixel, from.X*from.Y), extent, toExtent, len(pixel))
			if !bytes.Equal(got, bytes.Repeat(pixel, to.X*to.Y)) {
				t.Fatalf("%v to %v: %v became %v", extent, to, pixel, got)
			}
		}
	}
}

// TestResize checks averages against those of numbers with a fraction.
func TestResize(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for range 100 {
		from := image.Pt(20+random.IntN(200), 20+random.IntN(60))
		edge := max(5, int(float64(max(from.X, from.Y))/(1.2+4*random.Float64())))
		to := fitted(from, edge)
		plane, pixels := newFloats(from.X, from.Y), make([]byte, 4*from.X*from.Y)
		pix := make([]byte, from.X*from.Y)
		for i := range pix {
			pix[i] = byte(random.Uint32())
			plane.v[i] = float64(pix[i])
			copy(pixels[4*i:], []byte{255, pix[i], 0, pix[i]})
		}
		want := plane.byArea(edge)
		single := resized(pix, from.Mul(eighth), to.Mul(eighth), 1)
		four := resized(pixels, from.Mul(eighth), to.Mul(eighth), 4)
		for i, v := range want.v {
			p := four[4*i : 4*i+4]
			if d := float64(single[i]) - v; d < -4 || d > 4 || p[1] != single[i] || p[3] != single[i] ||
				p[0] != 255 || p[2] != 0 {
				t.Fatalf("%v to %v: sample %d is %d and %v, want %.1f", from, to, i, single[i], p, v)
			}
		}
	}
}

// TestResize_Little checks that an image that is made a little smaller has no bright spots beside black, where
// interpolation is below zero, and no dark ones beside white.
func TestResize_Little(t *testing.T) {
	const side, small = 40, 36
	for _, channels := range []int{1, 4} {
		var pix []byte
		for y := range side {
			pix = append(pix, make([]byte, side/2*channels)...)
			pix = append(pix, bytes.Repeat([]byte{255}, side/2*channels)...)
			if y >= side/2 {
				clear(pix[y*side*channels:])
			}
		}
		got := resized(pix, image.Pt(side, side).Mul(eighth), image.Pt(small, small).Mul(eighth), channels)
		for i, v := range got {
			x, y := i/channels%small, i/channels/small
			if white := x >= small/2 && y < small/2; white && v < 128 || !white && v > 127 {
				t.Fatalf("%d channels: %d at %d, %d", channels, v, x, y)
			}
		}
	}
}

// TestUpright checks every orientation against pixels that are moved one by one.
func TestUpright(t *testing.T) {
	img := newPlanes(image.Pt(6, 4))
	for i := range img.Y {
		img.Y[i] = byte(10 * i)
	}
	for i := range img.Cb {
		img.Cb[i], img.Cr[i] = byte(100+10*i), byte(200-10*i)
	}
	for orientation := range 10 {
		want := drawn(img)
		if orientation >= 1 && orientation <= 8 {
			want = rotated(want, orientation)
		}
		if got := drawn(upright(img, orientation)); got.Rect != want.Rect || !bytes.Equal(got.Pix, want.Pix) {
			t.Errorf("orientation %d: %v", orientation, got.Pix)
		}
	}
}
