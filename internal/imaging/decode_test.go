package imaging

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/draw"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/testkit/pictures"
	animated "github.com/gen2brain/webp"
)

// decoded returns a photo in full size, upright and on white.
func decoded(t *testing.T, file []byte, f photo.Format) (*image.RGBA, error) {
	t.Helper()
	p, err := decode(t.Context(), bytes.NewReader(file), f, photo.MaxSide)
	if err != nil {
		return nil, err
	}
	img := p.Image
	if planes, ok := img.(*image.YCbCr); ok {
		return drawn(upright(planes, p.orientation)), nil
	}
	in, out := rowsOf(img), image.NewRGBA(image.Rectangle{Max: img.Bounds().Size()})
	for y := range out.Rect.Dy() {
		line := out.Pix[y*out.Stride:][:out.Stride]
		copy(line, in(y, make([]byte, out.Stride)))
		onWhite(line)
	}
	return out, nil
}

// rotated is upright for pixels, written plainly.
func rotated(img *image.RGBA, orientation int) *image.RGBA {
	w, h := img.Rect.Dx(), img.Rect.Dy()
	out := image.NewRGBA(image.Rectangle{Max: turned(image.Pt(w, h), orientation)})
	for y := range h {
		for x := range w {
			to := map[int]image.Point{
				1: {x, y}, 2: {w - 1 - x, y}, 3: {w - 1 - x, h - 1 - y}, 4: {x, h - 1 - y},
				5: {y, x}, 6: {h - 1 - y, x}, 7: {h - 1 - y, w - 1 - x}, 8: {y, w - 1 - x},
			}[orientation]
			out.SetRGBA(to.X, to.Y, img.RGBAAt(x, y))
		}
	}
	return out
}

// drawn is what an image looks like on white.
func drawn(img image.Image) *image.RGBA {
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
	got, err := decoded(t, file, photo.PNG)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	if reference := drawn(want); got.Rect != reference.Rect {
		t.Errorf("%s: %v, want %v", name, got.Rect, reference.Rect)
	} else if _, most := differ(got, reference); most > 2 {
		t.Errorf("%s: differs by %d", name, most)
	}
}

// TestPNG checks every kind of file against the standard library.
func TestPNG(t *testing.T) {
	root := runtime.GOROOT() //nolint:staticcheck // the tests run where they are built
	files, err := filepath.Glob(filepath.Join(root, "src/image/png/testdata/pngsuite/*.png"))
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
	for n := range whole {
		if _, err := decoded(t, whole[:n], photo.PNG); !errors.Is(err, ErrUndecodable) {
			t.Fatalf("%d bytes of %d: %v", n, len(whole), err)
		}
	}
}

func FuzzPNG(f *testing.F) {
	f.Add(pictures.DeepPNG(20, 10, false))
	f.Add(pictures.DeepPNG(20, 10, true))
	f.Fuzz(func(t *testing.T, file []byte) {
		if c, err := png.DecodeConfig(bytes.NewReader(file)); err == nil && c.Width*c.Height > 1<<16 {
			return
		}
		if _, err := decoded(t, file, photo.PNG); err != nil && !errors.Is(err, ErrUndecodable) {
			t.Error(err)
		}
	})
}

// TestGrid checks photos of tiles against the decoder of the whole photo: cropped at the edges and turned in every way.
func TestGrid(t *testing.T) {
	hevc := pictures.Sample(t, "github.com/gen2brain/heic", "test8.heic")
	for name, file := range map[string][]byte{
		"Phone":   pictures.Sample(t, "github.com/gen2brain/heic", "exif.heic"),
		"Upright": pictures.Grid(hevc, 1300, 700, 0),
		"Left":    pictures.Grid(hevc, 1300, 700, 1),
		"Over":    pictures.Grid(hevc, 1301, 701, 2),
		"Right":   pictures.Grid(hevc, 1300, 700, 3),
	} {
		t.Run(name, func(t *testing.T) {
			if _, ok := photo.ReadGrid(bytes.NewReader(file), int64(len(file))); !ok {
				t.Fatal("not a grid")
			}
			got, err := decoded(t, file, photo.HEIC)
			if err != nil {
				t.Fatal(err)
			}
			whole, err := decodeWhole(bytes.NewReader(file), photo.HEIC)
			if err != nil {
				t.Fatal(err)
			}
			want := drawn(whole)
			if got.Rect != want.Rect {
				t.Fatalf("%v, the decoder says %v", got.Rect, want.Rect)
			}
			// The decoder halves the colors of odd sizes at other pixels.
			if mean, most := differ(got, want); mean > 1 {
				t.Errorf("differs by %.2f, at most %d", mean, most)
			}
		})
	}
}

// TestGrid_AVIF checks that grids of AVIF, which are decoded whole, are turned upright.
func TestGrid_AVIF(t *testing.T) {
	file := pictures.Grid(pictures.Sample(t, "github.com/gen2brain/avif", "test8.avif"), 1300, 700, 1)
	got, err := decoded(t, file, photo.AVIF)
	if err != nil || got.Rect.Size() != image.Pt(700, 1300) {
		t.Fatalf("%v, %v", got, err)
	}
	tile, err := decodeWhole(bytes.NewReader(pictures.Sample(t, "github.com/gen2brain/avif", "test8.avif")), photo.AVIF)
	if err != nil {
		t.Fatal(err)
	}
	// The first tile is at the lower left.
	corner := drawn(got.SubImage(image.Rect(0, 1300-512, 512, 1300)))
	if mean, most := differ(corner, rotated(drawn(tile), 8)); mean > 1 {
		t.Errorf("differs by %.2f, at most %d", mean, most)
	}
}

// TestGrid_Broken decodes damaged files: whatever they are, it ends with an image or an error.
func TestGrid_Broken(t *testing.T) {
	file := pictures.Grid(pictures.Sample(t, "github.com/gen2brain/heic", "test8.heic"), 600, 500, 1)
	random := rand.New(rand.NewPCG(7, 8))
	for i := range 3000 {
		damaged := bytes.Clone(file)
		for range 1 + random.IntN(4) {
			damaged[random.IntN(900)] = byte(random.Uint32())
		}
		g, ok := photo.ReadGrid(bytes.NewReader(damaged), int64(len(damaged)))
		if !ok {
			continue
		}
		if g.Width < 1 || g.Height < 1 || g.TileWidth < 1 || g.TileHeight < 1 {
			t.Fatalf("a grid of %+v", g)
		}
		for i := range g.Tiles {
			if tile := g.TileFile(damaged, i); len(tile) > 2*len(damaged)+8 {
				t.Fatalf("a tile of %d bytes", len(tile))
			}
		}
		if i%300 == 0 {
			_, _ = decoded(t, damaged, photo.HEIC)
		}
	}
}

// TestGrid_TooManyTiles refuses a photo of more tiles than any camera makes before it decodes the first.
func TestGrid_TooManyTiles(t *testing.T) {
	square := func(side uint32) []byte {
		return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32([]byte("ispe\x00\x00\x00\x00"), side), side)
	}
	// without destroys the tiles of a file: whoever decodes one of them says so.
	without := func(file []byte) []byte {
		tiles := file[bytes.LastIndex(file, []byte("mdat"))+4:]
		copy(tiles, bytes.Repeat([]byte{0xff}, len(tiles)))
		return file
	}
	sample := pictures.Sample(t, "github.com/gen2brain/heic", "test8.heic")
	if _, err := decoded(t, without(pictures.Grid(sample, 2*512, 2*512, 0)), photo.HEIC); !errors.Is(err, ErrUndecodable) {
		t.Fatalf("tiles that were destroyed are decoded: %v", err)
	}
	file := without(pictures.Grid(sample, 40*512, 40*512, 0))
	file = bytes.Replace(file, square(512), square(64), 1)
	file = bytes.Replace(file, square(40*512), square(40*64), 1)
	if _, err := decoded(t, file, photo.HEIC); !errors.Is(err, ErrUndecodable) ||
		!strings.HasSuffix(err.Error(), "it has 1600 tiles") {
		t.Errorf("%v", err)
	}
}

// TestWebP_Broken checks that a broken WebP whose memory was estimated by its decoder is not handed to the other one,
// which takes several times as much, and that those are whose memory is not known.
func TestWebP_Broken(t *testing.T) {
	asked := 0
	found := systemLibraries["libwebp"]
	systemLibraries["libwebp"] = func() error { // the first thing that the other decoder does
		asked++
		return found()
	}
	defer func() { systemLibraries["libwebp"] = found }()
	opaque := drawn(pictures.Photo(200, 100))
	transparent := image.NewNRGBA(opaque.Rect)
	copy(transparent.Pix, opaque.Pix)
	for i := 3; i < len(transparent.Pix); i += 7 * 4 {
		transparent.Pix[i] = byte(i)
	}
	for name, c := range map[string]struct {
		img     image.Image
		options animated.Options
		want    int
	}{
		"Lossy":       {opaque, animated.Options{Quality: 75}, 0},
		"Lossless":    {opaque, animated.Options{Lossless: true}, 0},
		"Transparent": {transparent, animated.Options{Quality: 75}, 1},
	} {
		var b bytes.Buffer
		if err := animated.Encode(&b, c.img, c.options); err != nil {
			t.Fatal(err)
		}
		if _, err := decoded(t, b.Bytes(), photo.WebP); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		asked = 0
		_, err := decoded(t, b.Bytes()[:b.Len()/2], photo.WebP)
		if !errors.Is(err, ErrUndecodable) || asked != c.want {
			t.Errorf("%s: the other decoder was asked %d times, want %d; %v", name, asked, c.want, err)
		}
	}
}
