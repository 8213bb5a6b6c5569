package imaging

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/testkit/pictures"
)

// sheet is a surface that keeps every pixel and counts how often it was painted.
type sheet struct {
	*image.RGBA
	times []int
}

func newSheet(size image.Point) *sheet {
	return &sheet{image.NewRGBA(image.Rectangle{Max: size}), make([]int, size.X*size.Y)}
}

func (s *sheet) paint(x, y, step int, rgb []byte) {
	for i := 0; i+2 < len(rgb); i += 3 {
		s.SetRGBA(x, y, color.RGBA{rgb[i], rgb[i+1], rgb[i+2], 255})
		s.times[y*s.Rect.Dx()+x]++
		x += step
	}
}

func (s *sheet) checkOnce(t *testing.T, name string) {
	t.Helper()
	for i, n := range s.times {
		if n != 1 {
			t.Errorf("%s: pixel %d was painted %d times", name, i, n)
			return
		}
	}
}

// onWhiteSheet is what an image looks like on white.
func onWhiteSheet(img image.Image) *image.RGBA {
	out := image.NewRGBA(image.Rectangle{Max: img.Bounds().Size()})
	draw.Draw(out, out.Rect, image.White, image.Point{}, draw.Src)
	draw.Draw(out, out.Rect, img, img.Bounds().Min, draw.Over)
	return out
}

// differ returns the mean difference of all samples, and the largest.
func differ(a, b *image.RGBA) (mean float64, most int) {
	sum := 0
	for i := range a.Pix {
		d := int(a.Pix[i]) - int(b.Pix[i])
		d = max(d, -d)
		sum, most = sum+d, max(most, d)
	}
	return float64(sum) / float64(len(a.Pix)), most
}

func checkPNG(t *testing.T, name string, file []byte) {
	t.Helper()
	want, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var got *sheet
	if err := paintPNG(bytes.NewReader(file), func(size image.Point) (surface, error) { got = newSheet(size); return got, nil }); err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	got.checkOnce(t, name)
	reference := onWhiteSheet(want)
	if got.Rect != reference.Rect {
		t.Errorf("%s: %v, want %v", name, got.Rect, reference.Rect)
		return
	}
	if _, most := differ(got.RGBA, reference); most > 2 { // transparency is rounded otherwise
		t.Errorf("%s: differs by %d", name, most)
	}
}

// TestPNG holds every kind of file against the standard library.
func TestPNG(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(runtime.GOROOT(), "src/image/png/testdata/pngsuite/*.png")) //nolint:staticcheck // the tests run where they are built
	if err != nil || len(files) < 20 {
		t.Fatalf("%d samples, %v", len(files), err)
	}
	for _, name := range files {
		file, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		checkPNG(t, filepath.Base(name), file)
	}
	checkPNG(t, "deep", pictures.DeepPNG(101, 57, false))
	for w := 1; w <= 9; w++ { // some passes of these have no pixels
		checkPNG(t, "interlaced", pictures.DeepPNG(w, 10-w, true))
	}
	random := rand.New(rand.NewPCG(3, 4))
	img := image.NewNRGBA(image.Rect(0, 0, 60, 40))
	for i := range img.Pix {
		img.Pix[i] = byte(random.Uint32())
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	checkPNG(t, "transparent", b.Bytes())
}

func TestPNG_Broken(t *testing.T) {
	whole := pictures.DeepPNG(40, 30, false)
	for n := range len(whole) - 20 { // the end of the file may be missing: all pixels are there
		if err := paintPNG(bytes.NewReader(whole[:n]), func(size image.Point) (surface, error) { return newSheet(size), nil }); err == nil && n < len(whole)-30 {
			t.Fatalf("%d bytes of %d are taken for a whole file", n, len(whole))
		}
	}
}

func FuzzPNG(f *testing.F) {
	f.Add(pictures.DeepPNG(20, 10, false))
	f.Add(pictures.DeepPNG(20, 10, true))
	f.Fuzz(func(_ *testing.T, file []byte) {
		_ = paintPNG(bytes.NewReader(file), func(size image.Point) (surface, error) {
			if size.X*size.Y > 1<<16 {
				return nil, errPNG
			}
			return newSheet(size), nil
		})
	})
}

// TestCanvas shows that nothing of a picture is lost or counted twice, in whatever order its pixels come.
func TestCanvas(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		from := image.Pt(1+random.IntN(60), 1+random.IntN(60))
		to := image.Pt(1+random.IntN(from.X), 1+random.IntN(from.Y))
		c := newCanvas(from, to)
		v := byte(random.Uint32())
		for _, y := range random.Perm(from.Y) {
			for _, odd := range random.Perm(min(2, from.X)) {
				c.paint(odd, y, 2, bytes.Repeat([]byte{v, 255 - v, 7}, (from.X-odd+1)/2))
			}
		}
		for _, p := range [][]byte{c.picture().Pix[:4], c.picture().Pix[4*(to.X*to.Y-1):]} {
			if !bytes.Equal(p, []byte{v, 255 - v, 7, 255}) {
				t.Fatalf("%v to %v: %d became %v", from, to, v, p)
			}
		}
	}
	c := newCanvas(image.Pt(4, 2), image.Pt(2, 1))
	c.paint(0, 0, 1, []byte{10, 0, 0, 20, 0, 0, 100, 0, 0, 200, 0, 0})
	c.paint(0, 1, 1, []byte{30, 0, 0, 40, 0, 0, 100, 0, 0, 200, 0, 0})
	if p := c.picture().Pix; p[0] != 25 || p[4] != 150 {
		t.Errorf("averages are %v", p)
	}
}

// TestGrid holds photos of tiles against the decoder of the whole photo: cropped at the edges and turned in every way.
func TestGrid(t *testing.T) {
	hevc, av1 := pictures.Sample(t, "github.com/gen2brain/heic", "test8.heic"), pictures.Sample(t, "github.com/gen2brain/avif", "test8.avif")
	for _, c := range []struct {
		name   string
		format photo.Format
		file   []byte
	}{
		{"Phone", photo.HEIC, pictures.Sample(t, "github.com/gen2brain/heic", "exif.heic")},
		{"Upright", photo.HEIC, pictures.Grid(hevc, 1300, 700, 0)},
		{"Left", photo.HEIC, pictures.Grid(hevc, 1300, 700, 1)},
		{"Over", photo.HEIC, pictures.Grid(hevc, 1301, 701, 2)},
		{"Right", photo.HEIC, pictures.Grid(hevc, 1300, 700, 3)},
		{"AVIF", photo.AVIF, pictures.Grid(av1, 1300, 700, 1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, ok := gridIn(bytes.NewReader(c.file), int64(len(c.file)))
			if !ok {
				t.Fatal("it is no grid")
			}
			got := newSheet(g.uprightSize())
			if err := g.paint(got); err != nil {
				t.Fatal(err)
			}
			got.checkOnce(t, c.name)
			whole, err := decodeWhole(bytes.NewReader(c.file), c.format)
			if err != nil {
				t.Fatal(err)
			}
			want := onWhiteSheet(whole)
			if got.Rect != want.Rect {
				t.Fatalf("%v, the decoder says %v", got.Rect, want.Rect)
			}
			if mean, most := differ(got.RGBA, want); mean > 1 { // the decoder halves the colours of odd sizes elsewhere
				t.Errorf("differs by %.2f, at most %d", mean, most)
			}
		})
	}
}

// TestMirrors holds the orientation after several turns against turning the picture several times.
func TestMirrors(t *testing.T) {
	img := image.NewRGBA(image.Rect(0, 0, 3, 2))
	for i := range img.Pix {
		img.Pix[i] = byte(i)
	}
	for o := 1; o <= 8; o++ {
		before := upright(img, o)
		for then, table := range map[int][9]int{8: leftTurn, 2: mirrorX, 4: mirrorY} {
			want, got := upright(before, then), upright(img, table[o])
			if got.Rect != want.Rect || !bytes.Equal(got.Pix, want.Pix) {
				t.Errorf("orientation %d, then %d, is not %d", o, then, table[o])
			}
		}
	}
}

// TestGrid_Broken throws damaged files at it: it ends, whatever they are.
func TestGrid_Broken(t *testing.T) {
	file := pictures.Grid(pictures.Sample(t, "github.com/gen2brain/heic", "test8.heic"), 600, 500, 1)
	random := rand.New(rand.NewPCG(7, 8))
	for range 3000 {
		damaged := bytes.Clone(file)
		for range 1 + random.IntN(4) {
			damaged[random.IntN(900)] = byte(random.Uint32())
		}
		if g, ok := gridIn(bytes.NewReader(damaged), int64(len(damaged))); ok {
			if tooLarge(g.size) || tooLarge(g.tile) {
				t.Fatalf("a grid of %v", g.size)
			}
			for _, item := range g.items {
				_, _ = g.tileFile(item)
			}
		}
	}
}
