package portal

import (
	"bytes"
	"hash/fnv"
	"image"
	"image/color"
	"image/png"
	"math"
)

// samplePhoto draws a small picture for a photo index: the same index gets the same colours, and the number tells apart
// the photos of one index. It stands for a photo where somebody tries the service without one.
func samplePhoto(index string, number int) []byte {
	const width, height = 480, 360
	h := fnv.New32a()
	_, _ = h.Write([]byte(index))
	seed := h.Sum32()
	hue := float64(seed%360) / 360
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	centre := float64(width)/2 + float64(number*40)
	for y := range height {
		for x := range width {
			light := 0.82 - 0.25*float64(y)/height
			dx, dy := (float64(x)-centre)/150, (float64(y)-190)/105
			if d := math.Pow(math.Abs(dx), 3) + math.Pow(math.Abs(dy), 3); d < 1 { // the item: a rounded box with a highlight
				light = 0.55 - 0.2*dy - 0.08*dx
				// its handle
			} else if dx*dx/0.36+(dy+1.05)*(dy+1.05)/0.3 < 1 && dx*dx/0.2+(dy+1.05)*(dy+1.05)/0.16 > 1 && dy < -0.9 {
				light = 0.4
			}
			img.SetRGBA(x, y, shade(hue, light))
		}
	}
	for i := range number + 1 { // dots count the photo
		for y := range 12 {
			for x := range 12 {
				img.SetRGBA(16+i*18+x, 16+y, color.RGBA{R: 255, G: 255, B: 255, A: 255})
			}
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil { // writing to memory does not fail
		panic(err)
	}
	return b.Bytes()
}

// shade is a muted colour of a hue with a lightness from 0 to 1.
func shade(hue, light float64) color.RGBA {
	light = min(1, max(0, light))
	channel := func(offset float64) uint8 {
		v := 0.5 + 0.5*math.Cos(2*math.Pi*(hue-offset))
		return uint8(255 * light * (0.72 + 0.28*v))
	}
	return color.RGBA{R: channel(0), G: channel(1.0 / 3), B: channel(2.0 / 3), A: 255}
}
