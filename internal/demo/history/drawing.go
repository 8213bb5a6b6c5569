package history

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"math"
	"math/rand/v2"
	"strconv"

	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// Shapes are drawn on a sheet of 960 x 720; the photo is smaller, so that a demo is made quickly.
const (
	sheetWidth  = 960
	sheetHeight = 720
	scale       = 0.7
	photoWidth  = sheetWidth * 7 / 10
	photoHeight = sheetHeight * 7 / 10
)

// flaw is what is wrong with a photo.
type flaw int

const (
	sharp flaw = iota
	blurred
	tooDark
	wrongPart // the whole item in place of a part
)

// picture is a photo in the making: an item of one color on a table. What draws is given the image in it, on which it
// knows how to draw quickly.
type picture struct {
	*image.RGBA
	random *rand.Rand
	item   color.RGBA
	metal  color.RGBA
}

// leathers are colors that items have.
var leathers = []color.RGBA{
	rgb(0x2b, 0x2a, 0x2e), rgb(0x7b, 0x4a, 0x2b), rgb(0xb8, 0x2e, 0x3a), rgb(0xd9, 0xc3, 0xa5),
	rgb(0x2f, 0x4b, 0x6e), rgb(0x4d, 0x5b, 0x3c), rgb(0xc9, 0x8b, 0x9b), rgb(0x8a, 0x8d, 0x91),
}

var black, white = rgb(0, 0, 0), rgb(0xff, 0xff, 0xff)

func rgb(red, green, blue uint8) color.RGBA { return color.RGBA{red, green, blue, 0xff} }

// drawPhoto draws the view of an item that a photo index asks for, as a JPEG. The seed decides the item: photos of one
// order have the same.
func drawPhoto(category, index string, seed uint64, f flaw) []byte {
	p := &picture{RGBA: image.NewRGBA(image.Rect(0, 0, photoWidth, photoHeight))}
	item := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a picture, not a secret
	p.item = leathers[item.IntN(len(leathers))]
	p.metal = rgb(0xd4, 0xaf, 0x5a)
	if item.IntN(2) == 0 {
		p.metal = rgb(0xbf, 0xc4, 0xc9)
	}
	p.random = rand.New(rand.NewPCG(seed, uint64(len(index))*7919+uint64(index[0]))) //nolint:gosec // as above
	if f == wrongPart {
		index = "overall-picture"
	}
	if view, ok := views[index]; ok {
		p.closeUp()
		view(p)
	} else {
		p.table()
		silhouette(p, category)
	}
	p.write(index, 24, 36, 2, white)
	if f == blurred {
		p.blur(6)
	}
	p.light(f)
	var out bytes.Buffer
	_ = jpeg.Encode(&out, p.RGBA, &jpeg.Options{Quality: 82}) // memory does not fail
	return out.Bytes()
}

// views draw the close-ups of indexes.
var views = map[string]func(*picture){
	"logo": (*picture).logo, "wings-logo": (*picture).logo, "jumpman-logo": (*picture).logo,
	"brand-stamp": (*picture).stamp, "serial-number": (*picture).label, "size-tag": (*picture).label,
	"box-label": (*picture).label, "authenticity-card": (*picture).label, "hardware-engraving": (*picture).plate,
	"clasp": (*picture).plate, "padlock-and-keys": (*picture).plate, "caseback": (*picture).caseback,
	"dial": (*picture).dial, "hands-and-markers": (*picture).markers, "rehaut": (*picture).rehaut,
	"crown": (*picture).dial, "movement": (*picture).dial, "zipper": (*picture).zipper, "side-profile": (*picture).profile,
	"stitching": (*picture).stitches, "edge-finish": (*picture).stitches, "quilting": (*picture).quilting,
	"canvas-pattern": (*picture).quilting, "woven-leather": (*picture).quilting, "cannage": (*picture).quilting,
	"lining": (*picture).stitches, "insole": (*picture).stamp, "insole-underside": (*picture).stitches,
	"sole": (*picture).sole, "heel": (*picture).sole, "tongue": (*picture).stamp, "toe-box": (*picture).stitches,
}

// silhouette draws the whole item.
func silhouette(p *picture, category string) {
	switch category {
	case "sneakers", "shoes":
		p.shoe(0)
		p.shoe(130)
	case "watches", "jewelry":
		p.fill(p.item, rect(430, 40, 100, 640))
		p.dial()
	case "wallets":
		p.wallet()
	default:
		p.bag()
	}
}

func (p *picture) table() {
	top, bottom := rgb(0xe9, 0xe6, 0xe1), rgb(0xc9, 0xc2, 0xb8)
	for y := range photoHeight {
		line := image.Rect(0, y, photoWidth, y+1)
		draw.Draw(p.RGBA, line, image.NewUniform(mix(top, bottom, float64(y)/photoHeight)), image.Point{}, draw.Src)
	}
}

// closeUp fills the picture with leather.
func (p *picture) closeUp() {
	draw.Draw(p.RGBA, p.Bounds(), image.NewUniform(p.item), image.Point{}, draw.Src)
	grain := image.NewUniform(mix(p.item, black, 0.15))
	for range 1500 {
		x, y := p.random.IntN(photoWidth), p.random.IntN(photoHeight)
		draw.Draw(p.RGBA, image.Rect(x, y, x+5, y+3), grain, image.Point{}, draw.Src)
	}
}

func (p *picture) bag() {
	p.fill(mix(p.item, black, 0.3), ring(480, 300, 170, 24))
	p.fill(p.item, polygon(230, 290, 730, 290, 780, 620, 180, 620))
	p.fill(mix(p.item, white, 0.12), polygon(230, 290, 730, 290, 700, 430, 260, 430))
	p.fill(p.metal, rect(445, 405, 70, 50))
}

func (p *picture) wallet() {
	thread := mix(p.item, rgb(0xff, 0xf4, 0xd8), 0.7)
	p.fill(p.item, rect(200, 230, 560, 330))
	p.fill(mix(p.item, black, 0.3), rect(200, 385, 560, 8))
	for i := range 17 {
		p.fill(thread, rect(216+float32(i)*32, 246, 20, 4))
		p.fill(thread, rect(216+float32(i)*32, 540, 20, 4))
	}
	p.fill(p.metal, circle(480, 470, 26))
}

// profile is one shoe from the side.
func (p *picture) profile() {
	p.table()
	p.shoe(40)
}

func (p *picture) shoe(dy float32) {
	p.fill(rgb(0xf4, 0xf2, 0xee), polygon(150, 470+dy, 820, 470+dy, 800, 520+dy, 170, 520+dy))
	p.fill(p.item, polygon(180, 470+dy, 200, 300+dy, 360, 300+dy, 520, 390+dy, 780, 420+dy, 810, 470+dy))
	for i := range 5 {
		p.fill(p.metal, rect(360+float32(i)*34, 320+float32(i)*18+dy, 60, 8))
	}
}

func (p *picture) logo() {
	p.fill(p.metal, ring(400, 360, 140, 34))
	p.fill(p.metal, ring(560, 360, 140, 34))
}

func (p *picture) stamp() {
	p.fill(mix(p.item, black, 0.25), rect(240, 250, 480, 220))
	p.write("MAISON", 300, 320, 8, p.metal)
	p.write("MADE IN FRANCE", 290, 420, 4, p.metal)
}

func (p *picture) label() {
	paper, ink := rgb(0xf2, 0xee, 0xe4), rgb(0x25, 0x22, 0x20)
	p.fill(paper, rect(190, 210, 580, 300))
	number := ""
	for range 8 {
		number += strconv.Itoa(p.random.IntN(10))
	}
	p.write("No. "+number, 230, 300, 6, ink)
	for x := float32(230); x < 720; {
		w := 3 + p.random.Float32()*9
		p.fill(ink, rect(x, 380, w, 90))
		x += w + 3 + p.random.Float32()*7
	}
}

func (p *picture) plate() {
	p.fill(p.metal, rect(260, 240, 440, 240))
	dark := mix(p.metal, black, 0.45)
	p.fill(dark, circle(300, 280, 16))
	p.fill(dark, circle(660, 280, 16))
	p.write("MAISON", 330, 330, 7, dark)
	p.write("PARIS", 400, 420, 5, dark)
}

func (p *picture) dial() {
	p.fill(p.metal, circle(480, 360, 250))
	p.fill(rgb(0x1d, 0x20, 0x26), circle(480, 360, 215))
	for i := range 12 {
		a := float64(i) * math.Pi / 6
		p.fill(rgb(0xf0, 0xee, 0xe8), circle(480+float32(185*math.Sin(a)), 360-float32(185*math.Cos(a)), 12))
	}
	p.fill(p.metal, polygon(472, 370, 488, 370, 484, 230, 476, 230))
	p.fill(p.metal, polygon(470, 352, 480, 372, 610, 300, 604, 288))
}

// markers is a part of a dial with its hands.
func (p *picture) markers() {
	light := rgb(0xf0, 0xee, 0xe8)
	p.fill(rgb(0x1d, 0x20, 0x26), rect(0, 0, sheetWidth, sheetHeight))
	for i := range 4 {
		p.fill(light, rect(150+float32(i)*200, 60, 44, 120))
	}
	p.fill(p.metal, circle(200, 600, 60))
	p.fill(p.metal, polygon(180, 560, 230, 620, 780, 250, 760, 220))
	p.fill(p.metal, polygon(150, 590, 240, 590, 330, 170, 300, 160))
}

// rehaut is the inner ring of a watch with its engraving.
func (p *picture) rehaut() {
	dark := mix(p.metal, black, 0.5)
	p.fill(p.metal, circle(480, 360, 350))
	p.fill(rgb(0x1d, 0x20, 0x26), circle(480, 360, 250))
	p.write("MAISON", 396, 62, 4, dark)
	p.write("MAISON", 396, 660, 4, dark)
	p.write("8841", 154, 360, 3, dark)
	p.write("MAISON", 742, 360, 2, dark)
}

func (p *picture) caseback() {
	dark := mix(p.metal, black, 0.45)
	p.fill(p.metal, circle(480, 360, 290))
	p.fill(dark, ring(480, 360, 250, 8))
	for i := range 6 {
		sin, cos := math.Sincos(float64(i) * math.Pi / 3)
		p.fill(dark, circle(480+float32(272*sin), 360-float32(272*cos), 14))
	}
	p.write("MAISON", 354, 330, 6, dark)
	p.write("WATER RESISTANT", 322, 430, 3, dark)
}

func (p *picture) zipper() {
	p.fill(mix(p.item, black, 0.4), rect(0, 300, sheetWidth, 120))
	for i := range 30 {
		p.fill(p.metal, rect(float32(i)*32, 330+float32(i%2)*26, 22, 34))
	}
	p.fill(mix(p.metal, white, 0.3), rect(430, 290, 110, 140))
	p.fill(p.metal, rect(465, 430, 40, 150))
}

func (p *picture) stitches() {
	thread := mix(p.item, rgb(0xff, 0xf4, 0xd8), 0.7)
	for row := range 3 {
		y := float32(200 + row*160)
		p.fill(mix(p.item, black, 0.3), rect(0, y+26, sheetWidth, 8))
		for i := range 16 {
			x := float32(i)*62 + 10
			p.fill(thread, polygon(x, y+6, x+44, y-6, x+44, y+5, x, y+17))
		}
	}
}

func (p *picture) quilting() {
	seam := mix(p.item, black, 0.4)
	for i := -8; i < 16; i++ {
		x := float32(i) * 110
		p.fill(seam, polygon(x, 0, x+10, 0, x+730, 720, x+720, 720))
		p.fill(seam, polygon(x+720, 0, x+730, 0, x+10, 720, x, 720))
	}
}

func (p *picture) sole() {
	rubber := mix(p.item, white, 0.25)
	p.fill(rubber, polygon(300, 60, 620, 60, 680, 360, 600, 670, 340, 670, 260, 360))
	for row := range 9 {
		for column := range 4 {
			p.fill(p.item, circle(360+float32(column)*80, 120+float32(row)*62, 22))
		}
	}
}

// path is a shape: its outlines, each a list of coordinates.
type path [][]float32

func polygon(points ...float32) path { return path{points} }

func rect(x, y, w, h float32) path { return polygon(x, y, x+w, y, x+w, y+h, x, y+h) }

func circle(x, y, radius float32) path { return path{arc(x, y, radius, 1)} }

// ring winds its inner edge the other way, which leaves it empty.
func ring(x, y, radius, width float32) path {
	return path{arc(x, y, radius, 1), arc(x, y, radius-width, -1)}
}

func arc(x, y, radius float32, direction float64) []float32 {
	const corners = 48
	points := make([]float32, 0, 2*corners)
	for i := range corners {
		sin, cos := math.Sincos(direction * 2 * math.Pi * float64(i) / corners)
		points = append(points, x+radius*float32(cos), y+radius*float32(sin))
	}
	return points
}

// fill draws a shape with smooth edges, within its bounds only: a rasterizer costs as much as it is large.
func (p *picture) fill(c color.RGBA, shape path) {
	box := shape.bounds().Intersect(p.Bounds())
	if box.Empty() {
		return
	}
	r := vector.NewRasterizer(box.Dx(), box.Dy())
	dx, dy := float32(box.Min.X), float32(box.Min.Y)
	for _, points := range shape {
		r.MoveTo(scale*points[0]-dx, scale*points[1]-dy)
		for i := 2; i < len(points); i += 2 {
			r.LineTo(scale*points[i]-dx, scale*points[i+1]-dy)
		}
		r.ClosePath()
	}
	r.Draw(p.RGBA, box, image.NewUniform(c), image.Point{})
}

func (s path) bounds() image.Rectangle {
	minX, minY, maxX, maxY := s[0][0], s[0][1], s[0][0], s[0][1]
	for _, points := range s {
		for i := 0; i < len(points); i += 2 {
			minX, maxX = min(minX, points[i]), max(maxX, points[i])
			minY, maxY = min(minY, points[i+1]), max(maxY, points[i+1])
		}
	}
	return image.Rect(int(scale*minX), int(scale*minY), int(scale*maxX)+1, int(scale*maxY)+1)
}

// write draws a text, each point of the font as a square.
func (p *picture) write(text string, x, y, size int, c color.RGBA) {
	face := basicfont.Face7x13
	mask := image.NewAlpha(image.Rect(0, 0, face.Advance*len(text), face.Height))
	d := font.Drawer{Dst: mask, Src: image.Opaque, Face: face, Dot: fixed.P(0, face.Ascent)}
	d.DrawString(text)
	at := func(n int) int { return int(scale * float64(n)) }
	y -= face.Ascent * size / 2
	for py := range face.Height {
		for px := range mask.Rect.Dx() {
			if mask.AlphaAt(px, py).A > 0 {
				dot := image.Rect(at(x+px*size), at(y+py*size), at(x+(px+1)*size), at(y+(py+1)*size))
				draw.Draw(p.RGBA, dot, image.NewUniform(c), image.Point{}, draw.Src)
			}
		}
	}
}

// blur averages neighbours in both directions.
func (p *picture) blur(radius int) {
	for _, step := range []int{4, p.Stride} {
		source := bytes.Clone(p.Pix)
		reach := radius * step
		for first := range step { // each channel of a line, or each byte of a row
			sum := 0
			for i := first; i < min(first+2*reach, len(source)); i += step {
				sum += int(source[i])
			}
			for i := first + reach; i+reach < len(source); i += step {
				sum += int(source[i+reach])
				p.Pix[i] = uint8(sum / (2*radius + 1)) //nolint:gosec // an average of bytes is one
				sum -= int(source[i-reach])
			}
		}
	}
}

// light adds the noise of a sensor, and darkness.
func (p *picture) light(f flaw) {
	gain := 256
	if f == tooDark {
		gain = 60
	}
	state := p.random.Uint32() | 1
	for i := 0; i < len(p.Pix); i += 4 {
		state ^= state << 13
		state ^= state >> 17
		state ^= state << 5
		noise := int(state&15) - 8
		for k := range 3 {
			p.Pix[i+k] = uint8(min(255, max(0, (int(p.Pix[i+k])+noise)*gain/256))) //nolint:gosec // within a byte
		}
	}
}

func mix(a, b color.RGBA, share float64) color.RGBA {
	at := func(x, y uint8) uint8 { return uint8(float64(x)*(1-share) + float64(y)*share) }
	return rgb(at(a.R, b.R), at(a.G, b.G), at(a.B, b.B))
}
