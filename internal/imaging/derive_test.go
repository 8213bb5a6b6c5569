package imaging_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/imaging"
	"github.com/assayhq/assay/internal/testkit/pictures"
	"github.com/gen2brain/webp"
)

// scene is wider than high, with a red left half and a blue right half, and a green corner at the top left.
func scene(w, h int) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			c := color.RGBA{R: 230, A: 255}
			if x >= w/2 {
				c = color.RGBA{B: 230, A: 255}
			}
			if x < w/8 && y < h/4 {
				c = color.RGBA{G: 230, A: 255}
			}
			img.SetRGBA(x, y, c)
		}
	}
	return img
}

func jpegOf(t testing.TB, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: 95}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func pngOf(t testing.TB, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// exif returns a TIFF structure with the tags, in big endian: strings and shorts.
func exif(tags map[uint16]any, order ...uint16) []byte {
	b := []byte("MM\x00*\x00\x00\x00\x08")
	b = binary.BigEndian.AppendUint16(b, uint16(len(order)))
	data := 8 + 2 + 12*len(order) + 4
	var values []byte
	for _, tag := range order {
		b = binary.BigEndian.AppendUint16(b, tag)
		switch v := tags[tag].(type) {
		case int:
			b = append(b, 0, 3, 0, 0, 0, 1, byte(v>>8), byte(v), 0, 0)
		case string:
			b = append(b, 0, 2)
			b = binary.BigEndian.AppendUint32(b, uint32(len(v)+1))
			b = binary.BigEndian.AppendUint32(b, uint32(data+len(values)))
			values = append(append(values, v...), 0, 0, 0, 0) // longer than four bytes in all
		}
	}
	return append(append(b, 0, 0, 0, 0), values...)
}

// withSegment puts a segment behind the first marker of a JPEG.
func withSegment(file []byte, marker byte, content []byte) []byte {
	out := append([]byte{0xff, 0xd8, 0xff, marker}, binary.BigEndian.AppendUint16(nil, uint16(2+len(content)))...)
	return append(append(out, content...), file[2:]...)
}

func derive(t *testing.T, file []byte, f photo.Format) map[imaging.Size]image.Image {
	t.Helper()
	derived, err := imaging.Derive(t.Context(), bytes.NewReader(file), f, imaging.Sizes)
	if err != nil {
		t.Fatal(err)
	}
	images := make(map[imaging.Size]image.Image)
	for size, b := range derived {
		if images[size], err = jpeg.Decode(bytes.NewReader(b)); err != nil {
			t.Fatal(err)
		}
		if long := max(images[size].Bounds().Dx(), images[size].Bounds().Dy()); long > size.Edge() {
			t.Errorf("%s has an edge of %d", size, long)
		}
	}
	return images
}

// looks tells the color in the middle of a ninth of the image, by its strongest channel.
func looks(img image.Image, column, row int) string {
	b := img.Bounds()
	r, g, bl, _ := img.At(b.Min.X+(2*column+1)*b.Dx()/16, b.Min.Y+(2*row+1)*b.Dy()/16).RGBA()
	switch max(r, g, bl) {
	case r:
		return "red"
	case g:
		return "green"
	}
	return "blue"
}

func TestDerive(t *testing.T) {
	big := scene(2000, 1000)
	var webpFile bytes.Buffer
	if err := webp.Encode(&webpFile, big); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		format photo.Format
		file   []byte
		screen image.Point
		thumb  image.Point
	}{
		{photo.JPEG, jpegOf(t, big), image.Pt(1600, 800), image.Pt(320, 160)},
		{photo.PNG, pngOf(t, big), image.Pt(1600, 800), image.Pt(320, 160)},
		{photo.WebP, webpFile.Bytes(), image.Pt(1600, 800), image.Pt(320, 160)},
	} {
		t.Run(string(c.format), func(t *testing.T) {
			images := derive(t, c.file, c.format)
			for size, want := range map[imaging.Size]image.Point{imaging.Screen: c.screen, imaging.Thumb: c.thumb} {
				img := images[size]
				if img.Bounds().Size() != want {
					t.Errorf("%s is %v, want %v", size, img.Bounds().Size(), want)
				}
				if looks(img, 0, 0) != "green" || looks(img, 2, 5) != "red" || looks(img, 6, 5) != "blue" {
					t.Errorf("%s looks wrong: %s %s %s", size, looks(img, 0, 0), looks(img, 2, 5), looks(img, 6, 5))
				}
			}
		})
	}
}

func TestDeriveHEIF(t *testing.T) {
	heic := pictures.Sample(t, "github.com/gen2brain/heic", "exif.heic")
	for f, file := range map[photo.Format][]byte{
		photo.HEIC: heic, photo.HEIF: heic, photo.AVIF: pictures.Sample(t, "github.com/gen2brain/avif", "test8.avif"),
	} {
		if size := derive(t, file, f)[imaging.Thumb].Bounds().Size(); max(size.X, size.Y) != 320 {
			t.Errorf("%s: thumbnail of %v", f, size)
		}
	}
	x, err := imaging.ReadExif(bytes.NewReader(heic), photo.HEIC)
	if err != nil || x.Empty() {
		t.Errorf("ReadExif = %+v, %v", x, err)
	}
}

func TestOrientation(t *testing.T) {
	// Where the green corner and the blue half are in the upright image.
	for orientation, corner := range map[int][2]int{
		1: {0, 0}, 2: {7, 0}, 3: {7, 7}, 4: {0, 7}, 5: {0, 0}, 6: {7, 0}, 7: {7, 7}, 8: {0, 7}, 0: {0, 0}, 9: {0, 0},
	} {
		tiff := exif(map[uint16]any{0x0112: orientation}, 0x0112)
		for format, file := range map[photo.Format][]byte{
			photo.JPEG: withSegment(jpegOf(t, scene(800, 400)), 0xe1, append([]byte("Exif\x00\x00"), tiff...)),
			photo.PNG:  withChunk(pngOf(t, scene(800, 400)), "eXIf", tiff),
		} {
			img := derive(t, file, format)[imaging.Thumb]
			wide := img.Bounds().Dx() > img.Bounds().Dy()
			if turned := orientation >= 5 && orientation <= 8; wide == turned {
				t.Errorf("%s %d: size %v", format, orientation, img.Bounds().Size())
			}
			if got := looks(img, corner[0], corner[1]); got != "green" {
				t.Errorf("%s %d: corner is %s", format, orientation, got)
			}
		}
	}
}

// withChunk puts a chunk behind the header of a PNG. Its checksum is left zero: nobody checks it.
func withChunk(file []byte, kind string, content []byte) []byte {
	const header = 8 + 25
	out := append([]byte{}, file[:header]...)
	out = binary.BigEndian.AppendUint32(out, uint32(len(content)))
	out = append(append(out, kind...), content...)
	out = binary.BigEndian.AppendUint32(out, crc(kind, content))
	return append(out, file[header:]...)
}

func TestTransparencyIsWhite(t *testing.T) {
	img := image.NewNRGBA(image.Rect(0, 0, 64, 64))
	thumb := derive(t, pngOf(t, img), photo.PNG)[imaging.Thumb]
	if r, g, b, _ := thumb.At(32, 32).RGBA(); r < 0xf000 || g < 0xf000 || b < 0xf000 {
		t.Errorf("a transparent image is %x %x %x", r, g, b)
	}
}

func TestMetadata(t *testing.T) {
	secret := "SECRET-PLACE"
	saved := "2025:03:01 09:30:00"
	tiff := exif(map[uint16]any{
		0x010f: "Canon", 0x0110: "Canon EOS R5", 0x0131: "Adobe Photoshop 25", 0x0132: saved, 0x010e: secret,
	}, 0x010e, 0x010f, 0x0110, 0x0131, 0x0132)
	profile := make([]byte, 200)
	copy(profile[16:], "RGB ")
	copy(profile[36:], "acsp")
	file := withSegment(jpegOf(t, scene(400, 200)), 0xe1, append([]byte("Exif\x00\x00"), tiff...))
	file = withSegment(file, 0xe2, append([]byte("ICC_PROFILE\x00\x01\x01"), profile...))
	file = withSegment(file, 0xfe, []byte(secret))

	derived, err := imaging.Derive(t.Context(), bytes.NewReader(file), photo.JPEG, imaging.Sizes)
	if err != nil {
		t.Fatal(err)
	}
	for size, b := range derived {
		for _, text := range []string{secret, "Exif", "Canon"} {
			if bytes.Contains(b, []byte(text)) {
				t.Errorf("%s contains %q of the photo", size, text)
			}
		}
		if !bytes.Contains(b, profile) {
			t.Errorf("%s has lost its color profile", size)
		}
	}
	x, err := imaging.ReadExif(bytes.NewReader(file), photo.JPEG)
	if err != nil || x.Camera != "Canon EOS R5" || x.SavedAt != saved || !x.Edited() || x.Located {
		t.Errorf("ReadExif = %+v, %v", x, err)
	}
	copy(profile[16:], "CMYK")
	file = withSegment(jpegOf(t, scene(40, 20)), 0xe2, append([]byte("ICC_PROFILE\x00\x01\x01"), profile...))
	derived, err = imaging.Derive(t.Context(), bytes.NewReader(file), photo.JPEG, imaging.Sizes)
	if err != nil || bytes.Contains(derived[imaging.Thumb], []byte("CMYK")) {
		t.Errorf("a profile of other colors is kept: %v", err)
	}
}

// TestMetadata_EndlessProfile reads a file with a part of a color profile under every number that there is. A byte that
// counts the parts overflows from the last to the first.
func TestMetadata_EndlessProfile(t *testing.T) {
	file := jpegOf(t, scene(40, 20))
	for i := range 256 {
		file = withSegment(file, 0xe2, append([]byte("ICC_PROFILE\x00"), byte(i), 0, 7))
	}
	done := make(chan error)
	go func() {
		_, err := imaging.Derive(t.Context(), bytes.NewReader(file), photo.JPEG, imaging.Sizes)
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the profile has no end")
	}
}

func TestUndecodable(t *testing.T) {
	good := jpegOf(t, scene(400, 200))
	for name, c := range map[string]struct {
		file   []byte
		format photo.Format
	}{
		"empty": {nil, photo.JPEG}, "short": {good[:100], photo.JPEG}, "other": {good, photo.PNG},
		"heic": {good, photo.HEIC}, "avif": {good, photo.AVIF}, "heif": {good, photo.HEIF},
		"webp": {[]byte("RIFF\x04\x00\x00\x00WEBPVP8 "), photo.WebP}, "huge": {pngHeader(9000, 9000), photo.PNG},
	} {
		_, err := imaging.Derive(t.Context(), bytes.NewReader(c.file), c.format, imaging.Sizes)
		if !errors.Is(err, imaging.ErrUndecodable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzReadExif(f *testing.F) {
	f.Add(exif(map[uint16]any{0x0112: 6, 0x010f: "X"}, 0x0112, 0x010f))
	f.Fuzz(func(t *testing.T, tiff []byte) {
		if len(tiff) > 60000 {
			return
		}
		file := withSegment([]byte{0xff, 0xd8, 0xff, 0xd9}, 0xe1, append([]byte("Exif\x00\x00"), tiff...))
		if _, err := imaging.ReadExif(bytes.NewReader(file), photo.JPEG); err != nil {
			t.Error(err)
		}
	})
}
