package imaging

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"math"
	"testing"

	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/testkit/pictures"
)

// alike is how similar a derived image has to be to the reference, by SSIM.
const alike = 0.98

// floats is one channel of an image.
type floats struct {
	w, h int
	v    []float64
}

func newFloats(w, h int) *floats { return &floats{w, h, make([]float64, w*h)} }

// channels returns brightness and colors of an image.
func channels(img image.Image) (all [3]*floats) {
	w, h := img.Bounds().Dx(), img.Bounds().Dy()
	for i := range all {
		all[i] = newFloats(w, h)
	}
	if p, ok := img.(*image.YCbCr); ok { // RGB may not have all of its colors
		for i := range w * h {
			luma, at := p.YOffset(i%w, i/w), p.COffset(i%w, i/w)
			all[0].v[i], all[1].v[i], all[2].v[i] = float64(p.Y[luma]), float64(p.Cb[at]), float64(p.Cr[at])
		}
		return all
	}
	rgba := drawn(img)
	for i := range w * h {
		p := rgba.Pix[4*i:]
		y, cb, cr := color.RGBToYCbCr(p[0], p[1], p[2])
		all[0].v[i], all[1].v[i], all[2].v[i] = float64(y), float64(cb), float64(cr)
	}
	return all
}

// transposed swaps rows and columns.
func (f *floats) transposed() *floats {
	out := newFloats(f.h, f.w)
	for y := range f.h {
		for x := range f.w {
			out.v[x*f.h+y] = f.v[y*f.w+x]
		}
	}
	return out
}

// narrowed resizes the rows by a filter of so many lobes.
func (f *floats) narrowed(w int, lobes float64, filter func(x float64) float64) *floats {
	if w == f.w {
		return f
	}
	scale := float64(f.w) / float64(w)
	type taps struct {
		first   int
		weights []float64
	}
	all := make([]taps, w)
	for x := range all {
		center := (float64(x)+0.5)*scale - 0.5
		first, last := int(math.Ceil(center-lobes*scale-1)), int(math.Floor(center+lobes*scale+1))
		all[x].first = first
		sum := 0.0
		for i := first; i <= last; i++ {
			weight := filter((float64(i) - center) / scale)
			all[x].weights = append(all[x].weights, weight)
			sum += weight
		}
		for i := range all[x].weights {
			all[x].weights[i] /= sum
		}
	}
	out := newFloats(w, f.h)
	for y := range f.h {
		row := f.v[y*f.w:][:f.w]
		for x, t := range all {
			value := 0.0
			for i, weight := range t.weights {
				value += weight * row[min(max(t.first+i, 0), f.w-1)]
			}
			out.v[y*w+x] = min(max(value, 0), 255)
		}
	}
	return out
}

func lanczos(x float64) float64 {
	if x == 0 {
		return 1
	}
	if math.Abs(x) >= 3 {
		return 0
	}
	return 3 * math.Sin(math.Pi*x) * math.Sin(math.Pi*x/3) / (math.Pi * math.Pi * x * x)
}

// byLanczos makes the image fit by a Lanczos filter.
func (f *floats) byLanczos(edge int) *floats {
	to := fitted(image.Pt(f.w, f.h), edge)
	return f.narrowed(to.X, 3, lanczos).transposed().narrowed(to.Y, 3, lanczos).transposed()
}

// byArea makes the image fit by averages.
func (f *floats) byArea(edge int) *floats {
	to := fitted(image.Pt(f.w, f.h), edge)
	covered := func(scale float64) func(float64) float64 { // by a pixel at a distance, both in pixels of the result
		return func(x float64) float64 {
			return max(0, min(0.5, x+0.5/scale)-max(-0.5, x-0.5/scale))
		}
	}
	across, down := covered(float64(f.w)/float64(to.X)), covered(float64(f.h)/float64(to.Y))
	return f.narrowed(to.X, 0.5, across).transposed().narrowed(to.Y, 0.5, down).transposed()
}

// upright is the image rotated and mirrored by its orientation.
func (f *floats) upright(orientation int) *floats {
	out := f
	if orientation >= 5 {
		out = f.transposed()
	}
	mirrored := orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7
	flipped := orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8
	result := newFloats(out.w, out.h)
	for y := range out.h {
		for x := range out.w {
			fromX, fromY := x, y
			if mirrored {
				fromX = out.w - 1 - x
			}
			if flipped {
				fromY = out.h - 1 - y
			}
			result.v[y*out.w+x] = out.v[fromY*out.w+fromX]
		}
	}
	return result
}

// similarity is the mean SSIM of windows of 8 × 8 pixels, every fourth in each direction.
func similarity(a, b *floats) float64 {
	const side, c1, c2 = 8, 0.01 * 255 * 0.01 * 255, 0.03 * 255 * 0.03 * 255
	sum, count := 0.0, 0.0
	for y := 0; y+side <= a.h; y += 4 {
		for x := 0; x+side <= a.w; x += 4 {
			var sa, sb, saa, sbb, sab float64
			for i := range side * side {
				at := (y+i/side)*a.w + x + i%side
				va, vb := a.v[at], b.v[at]
				sa, sb, saa, sbb, sab = sa+va, sb+vb, saa+va*va, sbb+vb*vb, sab+va*vb
			}
			const n = side * side
			ma, mb := sa/n, sb/n
			va, vb, cov := saa/n-ma*ma, sbb/n-mb*mb, sab/n-ma*mb
			sum += (2*ma*mb + c1) * (2*cov + c2) / ((ma*ma + mb*mb + c1) * (va + vb + c2))
			count++
		}
	}
	return sum / count
}

// halved averages four pixels to one, as the colors of derived images are. It leaves out an odd row or column.
func (f *floats) halved() *floats {
	out := newFloats(f.w/2, f.h/2)
	for i := range out.v {
		at := i/out.w*2*f.w + i%out.w*2
		out.v[i] = (f.v[at] + f.v[at+1] + f.v[at+f.w] + f.v[at+f.w+1]) / 4
	}
	return out
}

// apart is the mean difference.
func apart(a, b *floats) float64 {
	sum := 0.0
	for i := range a.v {
		sum += math.Abs(a.v[i] - b.v[i])
	}
	return sum / float64(len(a.v))
}

// encodedAs is what the standard library makes of an image at the quality of a size.
func (f *floats) encodedAs(t *testing.T, size Size) *floats {
	t.Helper()
	img := image.NewGray(image.Rect(0, 0, f.w, f.h))
	for i, v := range f.v {
		img.Pix[i] = byte(v + 0.5)
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: size.quality()}); err != nil {
		t.Fatal(err)
	}
	decoded, err := jpeg.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	return channels(decoded)[0]
}

// checkLook compares the derived images of a file with what the standard library decodes, made smaller by Lanczos or,
// as that has halos at hard edges, by averages: before they are encoded, and after it, where noise is lost, with how
// similar the library's encoder leaves the reference.
func checkLook(t *testing.T, name string, file []byte, f photo.Format, whole image.Image, orientation int) {
	t.Helper()
	derived, err := Derive(t.Context(), bytes.NewReader(file), f, Sizes)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	p, err := decode(t.Context(), bytes.NewReader(file), f, Screen.Edge())
	if err != nil {
		t.Fatal(err)
	}
	planes := upright(p.fit(Screen.Edge()), orientation)
	reference := channels(whole)
	for _, size := range []Size{Screen, Thumb} {
		planes = wholly(planes).fit(size.Edge())
		encoded, err := jpeg.Decode(bytes.NewReader(derived[size]))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		before, after := channels(planes), channels(encoded)
		var want [3]*floats
		for i := range want {
			want[i] = reference[i].byLanczos(size.Edge()).upright(orientation)
		}
		if after[0].w != want[0].w || after[0].h != want[0].h {
			t.Errorf("%s: %s is %d × %d, want %d × %d", name, size, after[0].w, after[0].h, want[0].w, want[0].h)
			continue
		}
		made := similarity(before[0], want[0])
		if made < alike {
			want[0] = reference[0].byArea(size.Edge()).upright(orientation)
			made = similarity(before[0], want[0])
		}
		kept, standard := similarity(after[0], want[0]), similarity(want[0].encodedAs(t, size), want[0])
		t.Logf("%s: %s has an SSIM of %.4f, encoded %.4f (standard %.4f)", name, size, made, kept, standard)
		if made < alike || kept < min(standard-0.01, alike) {
			t.Errorf("%s: %s does not look like the photo", name, size)
		}
		for i := 1; i < 3; i++ {
			if mean := apart(before[i].halved(), want[i].halved()); mean > 2.5 {
				t.Errorf("%s: the colors %d of %s differ by %.2f", name, i, size, mean)
			}
		}
	}
}

// drawing returns a picture whose colors are as fine as its brightness.
func drawing(kind string, w, h int) *image.YCbCr {
	img := image.NewYCbCr(image.Rect(0, 0, w, h), image.YCbCrSubsampleRatio444)
	base := pictures.Photo(w, h)
	for y := range h {
		for x := range w {
			at := img.YOffset(x, y)
			u, v := float64(x)/float64(w), float64(y)/float64(h)
			luma, blue, red := 255*u, 255*v, 255*(1-u)*(1-v)
			switch kind {
			case "photo":
				luma = float64(base.Y[base.YOffset(x, y)])
				blue, red = float64(base.Cb[base.COffset(x, y)]), float64(base.Cr[base.COffset(x, y)])
			case "text": // strokes three to nine pixels wide, black on white
				luma, blue, red = 250, 128, 128
				if y/40%2 == 0 && (x*(y/80*7+3)/(9+y/80%5)/6)%3 == 0 && y%40 > 6 {
					luma = 5
				}
			case "edges": // squares, and a slanted edge
				luma, blue, red = 20, 90, 150
				if (x/190+y/170)%2 == 0 {
					luma, blue, red = 235, 150, 90
				}
				if 3*x+y > w+h {
					luma = 255 - luma
				}
			}
			img.Y[at], img.Cb[at], img.Cr[at] = byte(luma), byte(blue), byte(red)
		}
	}
	return img
}

// sampled returns a picture with coarser colors.
func sampled(img *image.YCbCr, ratio image.YCbCrSubsampleRatio) *image.YCbCr {
	out := image.NewYCbCr(img.Rect, ratio)
	copy(out.Y, img.Y)
	for y := range img.Rect.Dy() {
		for x := range img.Rect.Dx() {
			at, from := out.COffset(x, y), img.COffset(x, y)
			out.Cb[at], out.Cr[at] = img.Cb[from], img.Cr[from]
		}
	}
	return out
}

func oriented(file []byte, orientation int) []byte {
	tiff := []byte("Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00")
	tiff = append(tiff, byte(orientation), 0, 0, 0, 0, 0, 0)
	return append(append([]byte{0xff, 0xd8, 0xff, 0xe1, 0, byte(2 + len(tiff))}, tiff...), file[2:]...)
}

// TestLook checks that derived images look like the photos: of every kind, sampling, orientation and scale.
func TestLook(t *testing.T) {
	ratios := []image.YCbCrSubsampleRatio{
		image.YCbCrSubsampleRatio444, image.YCbCrSubsampleRatio422, image.YCbCrSubsampleRatio420,
		image.YCbCrSubsampleRatio440, image.YCbCrSubsampleRatio411, image.YCbCrSubsampleRatio410,
	}
	check := func(name string, j *pictures.JPEG, orientation int) {
		file := j.Encode()
		whole, err := jpeg.Decode(bytes.NewReader(file))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		checkLook(t, name, oriented(file, orientation), photo.JPEG, whole, orientation)
	}
	const w, h = 2101, 411
	for i, kind := range []string{"photo", "gradient", "text", "edges"} {
		img := drawing(kind, w, h)
		for j, ratio := range ratios {
			orientation := 1 + (6*i+j)%8
			file := &pictures.JPEG{Width: w, Height: h, Planes: pictures.PlanesOf(sampled(img, ratio)), Adobe: -1}
			if file.Progressive = (i+j)%2 == 0; !file.Progressive {
				file.Restart = 7 * j // in progressive files the standard library expects them elsewhere
			}
			check(fmt.Sprintf("%s %v, progressive %v, orientation %d", kind, ratio, file.Progressive, orientation),
				file, orientation)
		}
		check(kind+" gray", &pictures.JPEG{Width: w, Height: h, Planes: pictures.PlanesOf(img)[:1], Adobe: -1}, 1)
		small := &pictures.JPEG{Width: 1701, Height: 301, Planes: pictures.PlanesOf(drawing(kind, 1701, 301)), Adobe: -1}
		check(kind+", a little larger than a screen", small, 1)
	}
	for i, size := range []image.Point{{3301, 603}, {701, 4000}, {6601, 403}, {700, 501}} {
		planes := pictures.PlanesOf(pictures.Photo(size.X, size.Y))
		check(fmt.Sprint("photo of ", size), &pictures.JPEG{
			Width: size.X, Height: size.Y, Planes: planes, Progressive: i%2 == 1, Adobe: -1,
		}, 5+i)
	}
	small := pictures.PlanesOf(drawing("photo", 1701, 253))
	for transform, name := range map[int]string{0: "CMYK", 2: "YCCK"} {
		black := small[0]
		black.Pix = bytes.Repeat([]byte{200}, len(small[0].Pix))
		check(name, &pictures.JPEG{Width: 1701, Height: 253, Planes: append(small[:3:3], black), Adobe: transform}, 1)
	}
	check("RGB", &pictures.JPEG{Width: 1701, Height: 253, Planes: small, Adobe: 0}, 1)
}
