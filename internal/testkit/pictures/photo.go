package pictures

import (
	"image"
	"math"
	"math/rand/v2"
)

// Photo draws what a camera might see, with colors half as fine as brightness: soft gradients, sharp edges, fine lines
// like those of print, woven texture, and the noise of a sensor. As a JPEG of quality 90 it has about two bits for each
// pixel, as the photos of phones have.
func Photo(width, height int) *image.YCbCr {
	random := rand.New(rand.NewPCG(11, uint64(width*height)))
	img := image.NewYCbCr(image.Rect(0, 0, width, height), image.YCbCrSubsampleRatio420)
	unit := float64(max(width, height)) / 40
	before := make([]float64, width) // noise of the row above: that of neighbors is alike, as in cameras
	for y := range height {
		left := 0.0
		for x := range width {
			u, v := float64(x)/unit, float64(y)/unit
			value := 120 + 50*math.Sin(u/5)*math.Cos(v/6) + 15*math.Sin(u*v/40)
			switch {
			case (u-20)*(u-20)+(v-15)*(v-15) < 40: // a disc with a weave
				value += 30 + 12*math.Sin(u*25)*math.Sin(v*25)
			case int(v)%7 == 3 && int(u*6)*int(v+9)%5 < 2: // print
				value -= 70
			case int(u/4+v/9)%5 == 0: // stripes
				value += 35
			}
			noise := random.NormFloat64() * 8
			left = (noise + left + before[x]) / 2
			before[x] = left / 2
			img.Y[y*img.YStride+x] = byte(min(max(value+left, 0), 255))
		}
	}
	for y := range (height + 1) / 2 {
		for x := range (width + 1) / 2 {
			u, v := 2*float64(x)/unit, 2*float64(y)/unit
			at := y*img.CStride + x
			img.Cb[at] = byte(128 + 30*math.Sin(u/4+v/9) + 2*random.NormFloat64())
			img.Cr[at] = byte(128 + 30*math.Cos(v/5) + 2*random.NormFloat64())
			if (u-20)*(u-20)+(v-15)*(v-15) < 40 {
				img.Cr[at] += 40
			}
		}
	}
	return img
}
