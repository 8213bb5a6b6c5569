package photo

import (
	"bytes"
	"errors"
	"io"
	"math"
	"reflect"
	"testing"

	"github.com/assayhq/assay/internal/domain/fault"
)

func inspect(b []byte) (Info, error) { return Inspect(bytes.NewReader(b), int64(len(b))) }

func TestInspect(t *testing.T) {
	manyAPPs := func(n, bytes int) []byte {
		var parts [][]byte
		for range n {
			parts = append(parts, segment(0xe2, make([]byte, bytes)))
		}
		return join(parts...)
	}
	for _, c := range []struct {
		name string
		file []byte
		want Info
	}{
		{"PNG", encodePNG(t, 33, 7), Info{PNG, 33, 7}},
		{"PNG/HeaderOnly", pngHeader(640, 480), Info{PNG, 640, 480}},
		{"JPEG", encodeJPEG(t, 33, 7), Info{JPEG, 33, 7}},
		{"JPEG/Progressive", jpegOf(segment(0xe0, nil), frame(0xc2, 300, 200)), Info{JPEG, 300, 200}},
		{"JPEG/Arithmetic", jpegOf(segment(0xe0, nil), frame(0xc9, 300, 200)), Info{JPEG, 300, 200}},
		{
			"JPEG/TablesFirst",
			jpegOf(segment(0xdb, make([]byte, 65)), segment(0xc4, make([]byte, 20)), segment(0xcc, nil),
				frame(0xc0, 5, 6)),
			Info{JPEG, 5, 6},
		},
		{"JPEG/OrientationIgnored", afterSOI(encodeJPEG(t, 40, 30), exif(6)), Info{JPEG, 40, 30}},
		{"JPEG/ThumbnailInEXIF", afterSOI(encodeJPEG(t, 40, 30), segment(0xe1, encodeJPEG(t, 4, 3))), Info{JPEG, 40, 30}},
		{"JPEG/LongSegments", afterSOI(encodeJPEG(t, 40, 30), manyAPPs(160, 65533)), Info{JPEG, 40, 30}},
		{"JPEG/ThousandsOfSegments", afterSOI(encodeJPEG(t, 40, 30), manyAPPs(50_000, 3)), Info{JPEG, 40, 30}},
		{
			"JPEG/ThousandsOverTheWindow", afterSOI(encodeJPEG(t, 40, 30), manyAPPs(10_000, windowBytes+1)),
			Info{JPEG, 40, 30},
		},
		{"JPEG/FillBytes", afterSOI(encodeJPEG(t, 40, 30), bytes.Repeat([]byte{0xff}, 100)), Info{JPEG, 40, 30}},
		{
			"JPEG/MarkersWithoutBody", jpegOf([]byte{0xff, 0x01, 0xff, 0xd0, 0xff, 0xd7}, frame(0xc0, 5, 6)),
			Info{JPEG, 5, 6},
		},
		{
			"JPEG/JunkBetweenSegments", jpegOf(segment(0xe0, nil), []byte{0, 1, 2, 0xff, 0}, frame(0xc0, 5, 6)),
			Info{JPEG, 5, 6},
		},
		{"WebP/Lossy", webpOf("VP8 ", vp8(640, 480)), Info{WebP, 640, 480}},
		{"WebP/LossyWithScaling", webpOf("VP8 ", vp8(640|1<<14, 480|2<<14)), Info{WebP, 640, 480}},
		{"WebP/Lossless", webpOf("VP8L", vp8l(1, 5000)), Info{WebP, 1, 5000}},
		{"WebP/Extended", webpOf("VP8X", vp8x(4000, 3000)), Info{WebP, 4000, 3000}},
		{"Limit/Side", pngHeader(8000, 1), Info{PNG, 8000, 1}},
		{"Limit/OtherSide", webpOf("VP8 ", vp8(1, 8000)), Info{WebP, 1, 8000}},
		{"Limit/Pixels", jpegOf(segment(0xe0, nil), frame(0xc0, 8000, 6250)), Info{JPEG, 8000, 6250}},
		{"Limit/PixelsHEIC", heicOf(6250, 8000), Info{HEIC, 6250, 8000}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := inspect(c.file)
			if err != nil || got != c.want {
				t.Errorf("got %v, %v; want %v", got, err, c.want)
			}
		})
	}
}

func TestInspect_Refusal(t *testing.T) {
	gif := []byte("GIF89a\x01\x00\x01\x00\x00\x00\x00;")
	for _, c := range []struct {
		name string
		file []byte
		code string
	}{
		{"Empty", nil, CodeEmptyFile},
		{"OneByte", []byte{0xff}, CodeInvalidFileType},
		{"Text", []byte("this is a text, not a photo"), CodeInvalidFileType},
		{"GIF", gif, CodeInvalidFileType},
		{"BMP", join([]byte("BM"), make([]byte, 60)), CodeInvalidFileType},
		{"TIFF", []byte("II*\x00\x08\x00\x00\x00\x00\x00\x00\x00"), CodeInvalidFileType},
		{"SVG", []byte(`<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>`), CodeInvalidFileType},
		{"PDF", []byte("%PDF-1.7\n"), CodeInvalidFileType},
		{"WAV", []byte("RIFF\x24\x00\x00\x00WAVEfmt "), CodeInvalidFileType},
		{"RIFFOnly", []byte("RIFF\x24\x00\x00\x00"), CodeInvalidFileType},
		{"LeadingSpace", join([]byte(" "), encodePNG(t, 1, 1)), CodeInvalidFileType},
		{"PNG/CutSignature", encodePNG(t, 1, 1)[:7], CodeInvalidFileType},

		{"PNG/SignatureOnly", []byte(pngSignature), CodeResolutionMissing},
		{"PNG/CutInHeader", pngHeader(10, 10)[:22], CodeResolutionMissing},
		{
			"PNG/OtherChunkFirst", []byte(pngSignature + "\x00\x00\x00\x0dIDAT\x00\x00\x00\x01\x00\x00\x00\x01"),
			CodeResolutionMissing,
		},
		{"PNG/NoWidth", pngHeader(0, 10), CodeResolutionMissing},
		{"PNG/NoHeight", pngHeader(10, 0), CodeResolutionMissing},
		{"JPEG/StartOnly", []byte{0xff, 0xd8, 0xff}, CodeResolutionMissing},
		{"JPEG/CutBeforeFrame", encodeJPEG(t, 9, 9)[:30], CodeResolutionMissing},
		{"JPEG/CutInFrame", jpegOf(frame(0xc0, 5, 6)[:9]), CodeResolutionMissing},
		{"JPEG/SegmentPastEnd", jpegOf(claimingSegment(segment(0xe0, make([]byte, 9)), 60000)), CodeResolutionMissing},
		{"JPEG/SegmentTooShort", jpegOf(claimingSegment(segment(0xe0, nil), 1), frame(0xc0, 5, 6)), CodeResolutionMissing},
		{"JPEG/ScanBeforeFrame", jpegOf(segment(0xda, nil), frame(0xc0, 5, 6)), CodeResolutionMissing},
		{"JPEG/EndBeforeFrame", jpegOf([]byte{0xff, 0xd9}, frame(0xc0, 5, 6)), CodeResolutionMissing},
		{"JPEG/NoHeight", jpegOf(frame(0xc0, 5, 0)), CodeResolutionMissing},
		{"JPEG/FrameOfWrongLength", jpegOf(claimingSegment(frame(0xc0, 5, 6), 16)), CodeResolutionMissing},
		{
			"JPEG/TooMuchJunk", jpegOf(segment(0xe0, nil), make([]byte, maxJPEGJunk+1), frame(0xc0, 5, 6)),
			CodeResolutionMissing,
		},
		{"WebP/HeaderOnly", []byte("RIFF\x04\x00\x00\x00WEBP"), CodeResolutionMissing},
		{"WebP/UnknownChunk", webpOf("EXIF", make([]byte, 20)), CodeResolutionMissing},
		{"WebP/Cut", webpOf("VP8 ", vp8(640, 480))[:27], CodeResolutionMissing},
		{"WebP/NoKeyFrame", webpOf("VP8 ", join([]byte{0x11}, vp8(640, 480)[1:])), CodeResolutionMissing},
		{"WebP/NoStartCode", webpOf("VP8 ", make([]byte, 10)), CodeResolutionMissing},
		{"WebP/NoWidth", webpOf("VP8 ", vp8(0, 480)), CodeResolutionMissing},
		{"WebP/LosslessSignature", webpOf("VP8L", make([]byte, 5)), CodeResolutionMissing},

		{"PNG/TooWide", pngHeader(8001, 1), CodeResolutionTooLarge},
		{"PNG/TooHigh", pngHeader(1, 8001), CodeResolutionTooLarge},
		{"PNG/TooManyPixels", pngHeader(8000, 6251), CodeResolutionTooLarge},
		{"PNG/LargestNumbers", pngHeader(math.MaxUint32, math.MaxUint32), CodeResolutionTooLarge},
		{"JPEG/TooWide", jpegOf(segment(0xe0, nil), frame(0xc0, 8001, 1)), CodeResolutionTooLarge},
		{"WebP/TooWide", webpOf("VP8X", vp8x(1<<24, 1)), CodeResolutionTooLarge},
		{"HEIC/TooManyPixels", heicOf(7072, 7072), CodeResolutionTooLarge},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := inspect(c.file)
			if fault.CodeOf(err) != c.code || got != (Info{}) {
				t.Errorf("got %v, %v; want %s", got, err, c.code)
			}
		})
	}
}

// claimingSegment gives a JPEG segment another length than it has.
func claimingSegment(s []byte, length uint16) []byte { return join(s[:2], u16(length), s[4:]) }

func TestInspect_Details(t *testing.T) {
	for _, c := range []struct {
		name string
		file []byte
		want map[string]any
	}{
		{
			"InvalidFileType", []byte("text"),
			map[string]any{"allowed_formats": []Format{"jpeg", "png", "webp", "heic", "heif", "avif"}},
		},
		{"ResolutionMissing", []byte(pngSignature), map[string]any{"format": PNG}},
		{
			"ResolutionTooLarge", pngHeader(9000, 10),
			map[string]any{"width": 9000, "height": 10, "max_side": 8000, "max_pixels": 50_000_000},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := inspect(c.file)
			var f *fault.Error
			if !errors.As(err, &f) || f.Kind != fault.Invalid || !reflect.DeepEqual(f.Details, c.want) {
				t.Errorf("got %#v, want details %v", f, c.want)
			}
		})
	}
}

func TestInspect_SizeOverstated(t *testing.T) {
	b := encodeJPEG(t, 9, 9)[:20]
	if _, err := Inspect(bytes.NewReader(b), 1<<40); fault.CodeOf(err) != CodeResolutionMissing {
		t.Errorf("got %v, want %s", err, CodeResolutionMissing)
	}
}

type brokenReader struct{ err error }

func (b brokenReader) ReadAt([]byte, int64) (int, error) { return 0, b.err }

func TestInspect_ReaderFails(t *testing.T) {
	broken := errors.New("disk on fire")
	_, err := Inspect(brokenReader{broken}, 100)
	if !errors.Is(err, broken) || fault.CodeOf(err) != "" {
		t.Errorf("got %v, want the reader's error and no fault", err)
	}
}

// periodic is a file of any size: a start, then the same bytes over and over.
type periodic struct{ start, period []byte }

func (p periodic) ReadAt(b []byte, off int64) (int, error) {
	for i := range b {
		at := off + int64(i)
		if at < int64(len(p.start)) {
			b[i] = p.start[at]
			continue
		}
		b[i] = p.period[(at-int64(len(p.start)))%int64(len(p.period))]
	}
	return len(b), nil
}

// TestInspect_Bounded walks files that never end.
func TestInspect_Bounded(t *testing.T) {
	for _, c := range []struct {
		name string
		file io.ReaderAt
	}{
		{"JPEG/Segments", periodic{[]byte{0xff, 0xd8}, segment(0xe1, make([]byte, 2000))}},
		{"JPEG/EmptySegments", periodic{[]byte{0xff, 0xd8}, segment(0xe1, nil)}},
		{"JPEG/FillBytes", periodic{[]byte{0xff, 0xd8}, []byte{0xff}}},
		{"JPEG/Junk", periodic{[]byte{0xff, 0xd8, 0xff, 0x00}, []byte{0x55}}},
		{"HEIC/Boxes", periodic{ftyp("heic"), isoBox("free")}},
		{"HEIC/LongBoxes", periodic{ftyp("heic"), isoBox("free", make([]byte, 2000))}},
		{"HEIC/Metas", periodic{ftyp("heic"), meta(pitm(1), iprp(ipco(ispe(0, 0)), ipma(assoc(1, 1))))}},
		{"HEIC/Brands", periodic{openBox("ftyp", []byte("mif1")), []byte("none")}},
		{"HEIC/Properties", periodic{
			join(ftyp("heic"), openBox("meta", u32(0)), openBox("iprp"), openBox("ipco")), ispe(0, 0),
		}},
		{"HEIC/Associations", periodic{
			join(ftyp("heic"), openBox("meta", u32(0), pitm(1)), openBox("iprp"),
				openBox("ipma", u32(0), u32(math.MaxUint32))),
			assoc(1, bytes.Repeat([]byte{1}, 255)...),
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &countingReader{r: c.file}
			_, err := Inspect(r, math.MaxInt64)
			if fault.CodeOf(err) != CodeResolutionMissing {
				t.Errorf("got %v, want %s", err, CodeResolutionMissing)
			}
			if r.calls > maxReads || r.bytes > maxReads*windowBytes {
				t.Errorf("%d reads of %d bytes in all", r.calls, r.bytes)
			}
		})
	}
}

func TestInspect_Allocations(t *testing.T) {
	r := bytes.NewReader(heicOf(4000, 3000))
	got := testing.AllocsPerRun(100, func() {
		if _, err := Inspect(r, r.Size()); err != nil {
			t.Fatal(err)
		}
	})
	if got > 20 {
		t.Errorf("%v allocations for one header", got)
	}
}
