package photo

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/assayhq/assay/internal/domain/fault"
)

// heicWithItems is a HEIC picture with n items of EXIF data, the entries of an iloc box whose fields have these sizes,
// and data.
func heicWithItems(n int, sizes byte, entries, data []byte) []byte {
	var infes []byte
	for i := range n {
		infes = append(infes, infe(uint16(i+2), "Exif")...)
	}
	return join(ftyp("heic", "mif1"), meta(pitm(1),
		fullBox("iinf", 0, 0, u16(uint16(n)), infes),
		fullBox("iloc", 0, 0, []byte{sizes, 0}, u16(uint16(n)), entries),
		iprp(ipco(hvcC(), ispe(5, 3)), ipma(assoc(1, 0x81, 2)))),
		isoBox("mdat", data))
}

// TestStripLocation_Work checks that a file costs no more than in proportion to its size, whatever it claims, and that
// one is refused which would need more edits than any photo.
func TestStripLocation_Work(t *testing.T) {
	jpg := encodeJPEG(t, 30, 20)
	scanned := func(data string) []byte {
		return join(jpg[:len(jpg)-2], bytes.Repeat([]byte(data), 1<<20/len(data)), jpg[len(jpg)-2:])
	}
	segments := func(content []byte) []byte {
		return afterSOI(jpg, bytes.Repeat(segment(0xe1, join([]byte(exifPrefix), content)), 5000))
	}
	overlapping := join(u16(2), u16(0), u16(500), bytes.Repeat(join(u32(400), u32(100_000)), 500))
	var empty, apart []byte
	for i := range 500 {
		empty = append(empty, join(u16(uint16(i+2)), u16(0), u16(0xffff))...)
		apart = append(apart, join(u16(uint16(i+2)), u16(0), u16(1), u32(uint32(30_000+20*i)), u32(20))...)
	}
	for name, c := range map[string]struct {
		file  []byte
		code  string
		edits int
	}{
		"LargeFilmBoxes":      {scanned("\x00\x3f\x00\x00loci"), "", 0},
		"FilmBoxes":           {scanned("\x00\x00\x01\x00loci"), CodeInvalidFileType, 0},
		"FilmBoxesWithout":    {scanned("\x00\x00\x01\x00\xa9xyz"), "", 0},
		"FilmKinds":           {scanned("loci\xa9xyz"), "", 0},
		"BrokenSegments":      {segments([]byte("no TIFF")), CodeInvalidFileType, 0},
		"SegmentsWithout":     {segments([]byte("MM\x00*\x00\x00\x00\x00")), "", 0},
		"ExtentsWithoutSize":  {heicWithItems(500, 0, empty, nil), "", 0},
		"OverlappingExtents":  {heicWithItems(1, 0x44, overlapping, noise(200_000)), CodeInvalidFileType, 0},
		"ManyItems":           {heicWithItems(5000, 0x44, nil, nil), CodeInvalidFileType, 0},
		"AsManyItemsAsPieces": {heicWithItems(500, 0x44, apart, noise(50_000)), "", 500},
	} {
		t.Run(name, func(t *testing.T) {
			info, err := inspect(c.file)
			if err != nil {
				t.Fatal(err)
			}
			r := &countingReader{r: bytes.NewReader(c.file)}
			edits, err := StripLocation(r, int64(len(c.file)), info.Format)
			if fault.CodeOf(err) != c.code || c.code == "" && err != nil || len(edits) != c.edits {
				t.Errorf("%d edits, %v; want %d, %q", len(edits), err, c.edits, c.code)
			}
			if r.bytes > 4*len(c.file)+4<<16 || r.calls > 6000 {
				t.Errorf("%d bytes in %d calls were read of a file of %d", r.bytes, r.calls, len(c.file))
			}
		})
	}
}

// TestStripLocation_FilmAtWindows moves the position of a film over the places where one window ends and the next
// begins.
func TestStripLocation_FilmAtWindows(t *testing.T) {
	jpg := encodeJPEG(t, 30, 20)
	spot := isoBox("loci", noise(maxFilmPosition-8))
	for shift := range 2 * maxFilmPosition {
		fill := make([]byte, len(walkBuffer{})-len(jpg)-3*maxFilmPosition/2+shift)
		file := join(jpg, fill, spot, spot)
		edits, err := StripLocation(bytes.NewReader(file), int64(len(file)), JPEG)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range edits {
			copy(file[e.At:], e.Bytes)
		}
		blanked := isoBox("loci", make([]byte, maxFilmPosition-8))
		if !bytes.Equal(file, join(jpg, fill, blanked, blanked)) {
			t.Fatalf("moved by %d: %d edits", shift, len(edits))
		}
	}
}

// TestStripTIFF_Overlapping checks that values which overlap many times are not cleared one by one: such data goes as
// a whole.
func TestStripTIFF_Overlapping(t *testing.T) {
	order := binary.BigEndian
	directory := func(entries ...[]byte) []byte { return join(u16(uint16(len(entries))), join(entries...), u32(0)) }
	entry := func(tag, kind uint16, count, value uint32) []byte {
		return join(u16(tag), u16(kind), u32(count), u32(value))
	}
	var values, directories [][]byte
	for range 100 {
		values = append(values, entry(2, 1, 5000, 2000))
		directories = append(directories, entry(0x8825, 4, 1, 1300))
	}
	many := join([]byte("MM\x00*"), u32(8), directory(entry(0x8825, 4, 1, 26)), directory(values...), noise(9000))
	if stripTIFF(many) {
		t.Error("values that overlap are understood")
	}
	many = join([]byte("MM\x00*"), u32(8), directory(directories...), noise(200))
	order.PutUint16(many[1300:], 0)
	if stripTIFF(many) {
		t.Error("a hundred GPS directories are understood")
	}
}

// TestStripXMP checks the forms in which XMP data has a position: what is in brackets goes.
func TestStripXMP(t *testing.T) {
	for _, marked := range []string{
		`<a [exif:GPSLatitude="35"] b="c"/>`,
		`<a [exif:GPSLatitude = '3"5'] b='c'/>`,
		`<x>[<exif:GPSLongitude>1</exif:GPSLongitude>]y</x>`,
		`[<exif:GPSAltitude r="1"><b>2</b></exif:GPSAltitude >]</b>`,
		`[<exif:GPSAltitude/>]<b>2</b>[<exif:GPSTime>2</exif:GPSTime>]`,
		`[<exif:GPSAltitude v="1" />]<b [exif:GPSTime="2"]>`,
		`a:GPS="1" :GPSx="1" </a:GPSx> a:GPSx b:GPSy='`,
		`<a:GPSx><b:GPSy>1</b:GPS></:GPSz></c:GPSz x>`,
	} {
		var before, want []byte
		blanks := false
		for _, c := range []byte(marked) {
			switch {
			case c == '[' || c == ']':
				blanks = c == '['
				continue
			case blanks:
				want = append(want, ' ')
			default:
				want = append(want, c)
			}
			before = append(before, c)
		}
		if ok := stripXMP(before); !ok || !bytes.Equal(before, want) {
			t.Errorf("%s became\n%s", marked, before)
		}
	}
	if stripXMP([]byte(`<a:GPSLatitude>35`)) {
		t.Error("a position without an end is understood")
	}
}

// TestStripXMP_Unclosed strips data in which each of many elements could reach to the end. Looking there for each of
// them takes hours.
func TestStripXMP_Unclosed(t *testing.T) {
	for part, left := range map[string]string{
		`<a:GPSx>b:GPSy=""`:  `<a:GPSx>         `,
		`<a:GPSx b:GPSy="" `: `<a:GPSx           `,
		`<a:GPSx `:           `<a:GPSx `,
		`a:GPSx = `:          `a:GPSx = `,
		`</a:GPSx `:          `</a:GPSx `,
	} {
		const times = 100_000
		b := bytes.Repeat([]byte(part), times)
		if !stripXMP(b) || !bytes.Equal(b, bytes.Repeat([]byte(left), times)) {
			t.Errorf("%s became %s", part, b[:len(part)])
		}
	}
}
