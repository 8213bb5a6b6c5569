package photo

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"

	"github.com/assayhq/assay/internal/domain/fault"
)

func whole(file []byte) error {
	info, err := Inspect(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return err
	}
	return CheckWhole(bytes.NewReader(file), int64(len(file)), info)
}

// large is of a picture that is not tiny.
func large(f Format) Info { return Info{Format: f, Width: 800, Height: 600} }

// noise is bytes of no format.
func noise(n int) []byte {
	random := rand.New(rand.NewPCG(7, 7))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(random.Uint32())
	}
	return b
}

// samsungTrailer is what Samsung's phones put behind a photo, with a film of n bytes.
func samsungTrailer(n int) []byte {
	data := join([]byte{0, 0, 0x30, 0x0a, 16, 0, 0, 0}, []byte("MotionPhoto_Data"), ftyp("mp42"), noise(n))
	directory := join([]byte("SEFH"), binary.LittleEndian.AppendUint32(nil, 106), binary.LittleEndian.AppendUint32(nil, 1),
		[]byte{0, 0, 0x30, 0x0a}, binary.LittleEndian.AppendUint32(nil, uint32(len(data))),
		binary.LittleEndian.AppendUint32(nil, uint32(len(data))))
	return join(data, directory, binary.LittleEndian.AppendUint32(nil, uint32(len(directory))), []byte("SEFT"))
}

// riffOf is a WebP file with more in its container.
func riffOf(file, more []byte) []byte {
	file = join(file, more)
	binary.LittleEndian.PutUint32(file[4:], uint32(len(file)-8))
	return file
}

func pngChunk(kind string, body []byte) []byte {
	return join(u32(uint32(len(body))), []byte(kind), body, u32(0))
}

// TestCheckWhole_Passes checks that what cameras and editors make is taken.
func TestCheckWhole_Passes(t *testing.T) {
	jpg, png := encodeJPEG(t, 300, 200), encodePNG(t, 30, 20)
	film := join(ftyp("mp42"), isoBox("moov", noise(500)), isoBox("mdat", noise(100_000)))
	lossless := webpOf("VP8L", join(vp8l(4, 4), noise(40_001)))
	for name, file := range map[string][]byte{
		"JPEG":                     jpg,
		"JPEG/Motion":              join(jpg, film),
		"JPEG/MotionWithTrailer":   join(jpg, film, []byte("LIVE_36999000")),
		"JPEG/Samsung":             join(jpg, samsungTrailer(200_000)),
		"JPEG/MPF":                 join(jpg, make([]byte, 3000), jpg, jpg),
		"JPEG/GainMap":             join(jpg, encodeJPEG(t, 900, 700)),
		"JPEG/PaddedToABlock":      join(jpg, make([]byte, 300_000)),
		"JPEG/PaddedWithOnes":      join(jpg, bytes.Repeat([]byte{0xff}, 300_000)),
		"JPEG/Trailer":             join(jpg, noise(300_000)),
		"JPEG/BrokenFurther":       join(jpg, []byte{0xff, 0xd8, 0xff}, noise(90_000)),
		"JPEG/LargeComments":       afterSOI(jpg, segment(0xfe, noise(60_000)), segment(0xed, noise(60_000))),
		"JPEG/BytesBetween":        afterSOI(jpg, segment(0xfe, nil), make([]byte, 100)),
		"JPEG/HeaderOnly":          jpegOf(frame(0xc0, 5, 5)),
		"JPEG/HeaderAndEnd":        jpegOf(frame(0xc0, 5, 5), []byte{0xff, jpegEOI}),
		"PNG":                      png,
		"PNG/ExtraChunks":          join(png[:33], pngChunk("eXIf", noise(90_000)), pngChunk("prVt", noise(9)), png[33:]),
		"PNG/Trailer":              join(png, noise(300_000)),
		"PNG/Samsung":              join(png, samsungTrailer(100_000)),
		"PNG/HeaderOnly":           join(pngHeader(8000, 6250), u32(0)),
		"JPEG/HeaderAndPadding":    join(jpegOf(frame(0xc0, 800, 600)), make([]byte, 300_000)),
		"PNG/HeaderAndPadding":     join(pngHeader(800, 600), u32(0), make([]byte, 300_000)),
		"PNG/HeaderAndEnd":         join(pngHeader(8000, 6250), u32(0), pngChunk("IDAT", nil), pngChunk("IEND", nil)),
		"WebP":                     lossless,
		"WebP/WithoutPad":          lossless[:len(lossless)-len(lossless)&1],
		"WebP/HeaderOnly":          webpOf("VP8 ", vp8(4, 4)),
		"WebP/CanvasOnly":          webpOf("VP8X", vp8x(4, 4)),
		"HEIC":                     heicOf(4, 4),
		"HEIC/ExtraBoxes":          join(heicOf(4, 4), isoBox("free", noise(90_000)), isoBox("mpvd", film)),
		"HEIC/OpenBox":             join(heicOf(4, 4)[:len(heicOf(4, 4))-72], openBox("mdat", noise(90_000))),
		"HEIC/WideBox":             join(heicOf(4, 4), wideBox("mdat", noise(90_000))),
		"HEIC/Copyright":           join(heicOf(4, 4), isoBox("\xa9xyz", noise(20_000))),
		"HEIC/Uuid":                join(heicOf(4, 4), isoBox("uuid", noise(20_000))),
		"HEIC/Samsung":             join(heicOf(4, 4), samsungTrailer(100_000)),
		"JPEG/FilmThatIsCutOff":    join(jpg, film[:len(film)-50_000]),
		"JPEG/PaddingThenTrailer":  join(jpg, make([]byte, 90_000), noise(100)),
		"JPEG/PictureAndThenAFilm": join(jpg, jpg, make([]byte, 7), film),
	} {
		if err := whole(file); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCheckWhole_Refused checks that a header of a picture does not make a picture of what follows it.
func TestCheckWhole_Refused(t *testing.T) {
	jpg, png := encodeJPEG(t, 300, 200), encodePNG(t, 30, 20)
	text := bytes.Repeat([]byte("all work and no play "), 5000)
	scan := bytes.Index(jpg, []byte{0xff, jpegSOS})
	for name, file := range map[string][]byte{
		"JPEG/NoiseAfterTheHeader": join(jpegOf(frame(0xc0, 65, 64)), noise(100)),
		"JPEG/TextAfterTheHeader":  join(jpegOf(frame(0xc0, 5, 5)), text),
		"JPEG/NoiseAsScan":         join(jpg[:scan+14], noise(100_000)),
		"JPEG/LittleNoiseAsScan":   join(jpg[:scan+14], noise(2000), []byte{0xff, jpegEOI}),
		"JPEG/TextAsScan":          join(jpg[:scan+14], text),
		"JPEG/NoScan":              jpegOf(frame(0xc0, 5, 5), segment(0xfe, noise(smallFile)), []byte{0xff, jpegEOI}),
		"PNG/NoiseAfterTheHeader":  join(pngHeader(65, 64), u32(0), noise(100)),
		"PNG/NoiseAsPixels":        join(pngHeader(5, 5), u32(0), pngChunk("IDAT", noise(100_000)), pngChunk("IEND", nil)),
		"PNG/NoPixels":             join(pngHeader(5, 5), u32(0), pngChunk("tEXt", text), pngChunk("IEND", nil)),
		"PNG/CutOff":               join(png[:33], pngChunk("IDAT", join([]byte{0x78, 0x9c}, noise(100_000)))),
		"WebP/CutOff":              webpOf("VP8L", join(vp8l(4, 4), noise(100_000)))[:90_000],
		"WebP/NoiseAsChunks":       riffOf(webpOf("VP8L", join(vp8l(65, 64), []byte{0})), noise(100)),
		"WebP/NoPixels":            riffOf(webpOf("VP8X", vp8x(4, 4)), join([]byte("EXIF\x00@\x00\x00"), noise(smallFile))),
		"HEIC/NothingButNoise":     join(heicOf(4, 4)[:len(heicOf(4, 4))-72], noise(100_000)),
		"HEIC/CutOff":              join(heicOf(4, 4), isoBox("mdat", noise(100_000)))[:90_000],
		"HEIC/TooSmallABox":        join(heicOf(65, 64), claiming(4, isoBox("free", noise(100)))),
	} {
		if err := whole(file); fault.CodeOf(err) != CodeInvalidFileType {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCheckWhole_CutOff checks that a picture is refused wherever its pixels are cut off, however small its file is.
func TestCheckWhole_CutOff(t *testing.T) {
	jpg, png := encodeJPEG(t, 90, 60), encodePNG(t, 90, 60)
	heic := join(heicOf(65, 64), isoBox("mdat", noise(300)))
	lossless := webpOf("VP8L", join(vp8l(65, 64), noise(300)))
	for name, from := range map[string]struct {
		file  []byte
		begin int // of the pixels
	}{
		"JPEG": {jpg, bytes.Index(jpg, []byte{0xff, jpegSOS}) + 14},
		"PNG":  {png, bytes.Index(png, []byte("IDAT")) + 6},
		"WebP": {lossless, len(lossless) - 250},
		"HEIC": {heic, len(heic) - 290},
	} {
		if len(from.file) > smallFile {
			t.Fatalf("%s has %d bytes", name, len(from.file))
		}
		if err := whole(from.file); err != nil {
			t.Errorf("%s as a whole: %v", name, err)
		}
		for n := from.begin; n < len(from.file)-1; n++ { // of WebP the last byte may be padding
			if err := whole(from.file[:n]); fault.CodeOf(err) != CodeInvalidFileType {
				t.Errorf("%d of the %d bytes of a %s: %v", n, len(from.file), name, err)
			}
		}
	}
}

// TestCheckWhole_Reader checks that a file is read once, and that a reader that fails is not taken for a broken file.
func TestCheckWhole_Reader(t *testing.T) {
	file := join(encodeJPEG(t, 2000, 1000), noise(smallFile))
	c := &countingReader{r: bytes.NewReader(file)}
	if err := CheckWhole(c, int64(len(file)), large(JPEG)); err != nil || c.bytes > 2*len(file)+3<<16 {
		t.Errorf("%d bytes of %d were read: %v", c.bytes, len(file), err)
	}
	broken := struct{ io.ReaderAt }{failing{}}
	if err := CheckWhole(broken, 1<<20, large(PNG)); err == nil || fault.CodeOf(err) != "" {
		t.Errorf("%v", err)
	}
}

// TestCheckWhole_ManyParts checks that a file is read once however many parts it has.
func TestCheckWhole_ManyParts(t *testing.T) {
	jpg := encodeJPEG(t, 300, 200)
	for name, file := range map[string][]byte{
		"Segments":   afterSOI(jpg, bytes.Repeat(segment(0xe1, nil), 1<<18)),
		"SmallScans": join(jpg[:len(jpg)-2], bytes.Repeat(segment(jpegSOS, nil), 1<<18), jpg[len(jpg)-2:]),
		"Boxes":      join(heicOf(400, 300), bytes.Repeat(isoBox("free"), 1<<17)),
		"Pictures":   bytes.Repeat(jpg, 1<<20/len(jpg)),
		"Padding":    join(jpegOf(frame(0xc0, 800, 600)), make([]byte, 1<<20)),
	} {
		info, err := inspect(file)
		if err != nil {
			t.Fatal(name, err)
		}
		r := &countingReader{r: bytes.NewReader(file)}
		if err := CheckWhole(r, int64(len(file)), info); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if r.bytes > 2*len(file)+3<<16 {
			t.Errorf("%s: %d bytes were read of a file of %d", name, r.bytes, len(file))
		}
	}
}

// TestCheckWhole_Tiny checks that the smallest pictures pass with any fault behind their header, and larger ones or
// files do not.
func TestCheckWhole_Tiny(t *testing.T) {
	for name, damage := range map[string]func(width, height uint32) []byte{
		"PNG/LengthOfIDATIsWrong": func(width, height uint32) []byte {
			return join(pngHeader(width, height), u32(0), u32(11), []byte("IDATx\x9ccd`\xf8_\x0f\x00\x02\x87\x01\x80"), u32(0),
				pngChunk("IEND", nil))
		},
		"PNG/NotOfZlib": func(width, height uint32) []byte {
			return join(pngHeader(width, height), u32(0), pngChunk("IDAT", noise(9)), pngChunk("IEND", nil))
		},
		"PNG/Noise": func(width, height uint32) []byte { return join(pngHeader(width, height), u32(0), noise(100)) },
		"JPEG/WithoutEnd": func(width, height uint32) []byte {
			return jpegOf(frame(0xc0, uint16(width), uint16(height)), segment(jpegSOS, make([]byte, 10)), []byte{1, 2})
		},
		"WebP/NoiseAsChunks": func(width, height uint32) []byte {
			return riffOf(webpOf("VP8L", join(vp8l(width, height), []byte{0})), noise(100))
		},
		"HEIC/TooSmallABox": func(width, height uint32) []byte {
			return join(heicOf(width, height), claiming(4, isoBox("free", noise(100))))
		},
	} {
		if err := whole(damage(64, 64)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := whole(damage(64, 65)); fault.CodeOf(err) != CodeInvalidFileType {
			t.Errorf("%s with more pixels: %v", name, err)
		}
	}
	if err := whole(join(pngHeader(1, 1), u32(0), noise(smallFile))); fault.CodeOf(err) != CodeInvalidFileType {
		t.Errorf("a large file with one pixel: %v", err)
	}
}

type failing struct{}

func (failing) ReadAt([]byte, int64) (int, error) { return 0, iotest.ErrTimeout }

func FuzzCheckWhole(f *testing.F) {
	for _, seed := range [][]byte{encodeJPEG(f, 9, 9), encodePNG(f, 9, 9), heicOf(4, 4), webpOf("VP8L", vp8l(4, 4))} {
		f.Add(seed, []byte("x"), uint16(9))
	}
	f.Fuzz(func(t *testing.T, file, junk []byte, times uint16) {
		file = join(file, bytes.Repeat(junk, int(times)))
		for _, format := range Formats {
			err := CheckWhole(bytes.NewReader(file), int64(len(file)), large(format))
			if _, refused := errors.AsType[*fault.Error](err); err != nil && !refused {
				t.Fatal(err)
			}
		}
	})
}

func BenchmarkCheckWhole(b *testing.B) {
	file := encodeJPEG(b, 300, 200)
	scan := bytes.Index(file, []byte{0xff, jpegSOS}) + 14
	data := bytes.ReplaceAll(noise(8<<20), []byte{0xff}, []byte{0xff, 0})
	file = join(file[:scan], data, []byte{0xff, jpegEOI})
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		if err := whole(file); err != nil {
			b.Fatal(err)
		}
	}
}
