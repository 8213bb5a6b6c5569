package photo

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image/jpeg"
	"image/png"
	"testing"

	"github.com/assayhq/assay/internal/domain/fault"
)

// Latitude 35°0'41", as rationals, is found in a file by its bytes; XMP has it as text.
var (
	latitude = join(u32(35), u32(1), u32(0), u32(1), u32(41), u32(1))
	xmpPlace = "35,0.68N"
	camera   = "Contoso Camera 7"
)

// tiffWithGPS is EXIF data of a camera: its name, an orientation and a GPS directory.
func tiffWithGPS(order binary.AppendByteOrder) []byte {
	mark := "MM\x00*"
	if order == binary.AppendByteOrder(binary.LittleEndian) {
		mark = "II*\x00"
	}
	b := order.AppendUint32([]byte(mark), 8)
	entry := func(tag, kind uint16, count, value uint32) {
		b = order.AppendUint16(order.AppendUint16(b, tag), kind)
		b = order.AppendUint32(order.AppendUint32(b, count), value)
	}
	const entries, name, gps, place = 8, 8 + 2 + 3*12 + 4, 8 + 2 + 3*12 + 4 + 17, 8 + 2 + 3*12 + 4 + 17 + 2 + 2*12 + 4
	b = order.AppendUint16(b, 3)
	entry(0x0110, 2, uint32(len(camera)+1), name)
	entry(0x0112, 4, 1, 6)
	entry(0x8825, 4, 1, gps)
	b = order.AppendUint32(b, 0)
	b = append(append(b, camera...), 0)
	b = order.AppendUint16(b, 2)
	entry(1, 2, 2, 0x4e000000)
	entry(2, 5, 3, place)
	b = order.AppendUint32(b, 0)
	for i := range 6 {
		b = order.AppendUint32(b, binary.BigEndian.Uint32(latitude[4*i:]))
	}
	return b
}

func xmpWithGPS() []byte {
	return []byte(`<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:Description tiff:Model="` + camera + `" exif:GPSLatitude="` +
		xmpPlace + `"><exif:GPSLongitude>` + xmpPlace + `</exif:GPSLongitude></rdf:Description></x:xmpmeta>`)
}

func checkedChunk(kind string, body []byte) []byte {
	sum := crc32.ChecksumIEEE(join([]byte(kind), body))
	return join(u32(uint32(len(body))), []byte(kind), body, u32(sum))
}

// heicWithExif is a HEIC picture with EXIF and XMP data, which lie in mdat.
func heicWithExif(t testing.TB) []byte {
	t.Helper()
	exif := join(u32(6), []byte(exifPrefix), tiffWithGPS(binary.BigEndian))
	xmp := xmpWithGPS()
	head := func(at int) []byte {
		places := join(u16(2), u16(0), u16(0), u16(1), u32(uint32(at)), u32(uint32(len(exif))),
			u16(3), u16(0), u16(0), u16(1), u32(uint32(at+len(exif))), u32(uint32(len(xmp))))
		return join(ftyp("heic", "mif1"), meta(pitm(1),
			fullBox("iinf", 0, 0, u16(3), infe(1, "hvc1"), infe(2, "Exif"), infe(3, "mime")),
			fullBox("iloc", 1, 0, []byte{0x44, 0}, u16(2), places),
			iprp(ipco(hvcC(), ispe(5, 3)), ipma(assoc(1, 0x81, 2)))))
	}
	return join(head(len(head(0))+8), isoBox("mdat", exif, xmp, noise(90)))
}

// TestStripLocation checks that positions go, in every format, and that everything else stays.
func TestStripLocation(t *testing.T) {
	jpg, pic := encodeJPEG(t, 30, 20), encodePNG(t, 30, 20)
	spot := isoBox("\xa9xyz", []byte("\x00\x12\x15\xc7+35.0114+135.7681/"))
	film := join(ftyp("mp42"), isoBox("moov", isoBox("udta", spot)), isoBox("mdat", noise(70_000)))
	text := func(kind, keyword string) []byte {
		return join(pic[:33], checkedChunk(kind, join([]byte(keyword), xmpWithGPS())), pic[33:])
	}
	tiff := tiffWithGPS(binary.BigEndian)
	exifChunk := join([]byte("EXIF"), binary.LittleEndian.AppendUint32(nil, uint32(len(tiff))), tiff, []byte{0})
	app1 := func(prefix string, b []byte) []byte { return segment(0xe1, join([]byte(prefix), b)) }
	little := bytes.Clone(latitude)
	for i := range 6 {
		binary.LittleEndian.PutUint32(little[4*i:], binary.BigEndian.Uint32(latitude[4*i:]))
	}
	for name, file := range map[string][]byte{
		"JPEG":            afterSOI(jpg, app1(exifPrefix, tiffWithGPS(binary.BigEndian)), app1(xmpPrefix, xmpWithGPS())),
		"JPEG/Little":     afterSOI(jpg, app1(exifPrefix, tiffWithGPS(binary.LittleEndian))),
		"JPEG/Extended":   afterSOI(jpg, app1(extendedXMPPrefix, join(make([]byte, 40), xmpWithGPS()))),
		"JPEG/SecondOne":  join(jpg, make([]byte, 5), afterSOI(jpg, app1(exifPrefix, tiffWithGPS(binary.BigEndian)))),
		"JPEG/Film":       join(jpg, film),
		"PNG":             join(pic[:33], checkedChunk("eXIf", tiffWithGPS(binary.BigEndian)), pic[33:]),
		"PNG/XMP":         text("iTXt", "XML:com.adobe.xmp\x00\x00\x00\x00\x00"),
		"PNG/Raw profile": text("tEXt", "Raw profile type xmp\x00"),
		"WebP":            riffOf(webpOf("VP8L", join(vp8l(4, 4), []byte{0})), exifChunk),
		"HEIC":            heicWithExif(t),
	} {
		t.Run(name, func(t *testing.T) {
			secrets := [][]byte{latitude, little, []byte(xmpPlace), []byte("+35.0114")}
			found := func(b []byte) bool {
				for _, s := range secrets {
					if bytes.Contains(b, s) {
						return true
					}
				}
				return false
			}
			info, err := Inspect(bytes.NewReader(file), int64(len(file)))
			if err != nil || !found(file) {
				t.Fatalf("the file has no position: %v", err)
			}
			edits, err := StripLocation(bytes.NewReader(file), int64(len(file)), info.Format)
			if err != nil {
				t.Fatal(err)
			}
			after := bytes.Clone(file)
			for _, e := range edits {
				copy(after[e.At:], e.Bytes)
			}
			if found(after) {
				t.Error("the position is still there")
			}
			if bytes.Contains(file, []byte(camera)) && name != "PNG/Raw profile" && !bytes.Contains(after, []byte(camera)) {
				t.Error("the camera is gone with it")
			}
			if err := whole(after); err != nil {
				t.Error(err)
			}
			again, err := StripLocation(bytes.NewReader(after), int64(len(after)), info.Format)
			if err != nil {
				t.Error(err)
			}
			for _, e := range again {
				if !bytes.Equal(after[e.At:][:len(e.Bytes)], e.Bytes) {
					t.Error("it changes what has no position")
				}
			}
			switch info.Format {
			case JPEG:
				_, err = jpeg.Decode(bytes.NewReader(after))
			case PNG:
				_, err = png.Decode(bytes.NewReader(after)) // checks the sums
			default: // no decoder here
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// TestStripLocation_Nothing checks that files without a position are not changed, and that broken metadata goes.
func TestStripLocation_Nothing(t *testing.T) {
	for name, file := range map[string][]byte{
		"JPEG": afterSOI(encodeJPEG(t, 30, 20), exif(6)), "PNG": encodePNG(t, 30, 20), "HEIC": heicOf(4, 4),
		"WebP": webpOf("VP8L", join(vp8l(4, 4), noise(40_000))),
	} {
		info, err := Inspect(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		if edits, err := StripLocation(bytes.NewReader(file), int64(len(file)), info.Format); err != nil || len(edits) > 0 {
			t.Errorf("%s: %d edits, %v", name, len(edits), err)
		}
	}
	broken := tiffWithGPS(binary.BigEndian)
	binary.BigEndian.PutUint32(broken[8+2+2*12+8:], 1<<30) // the GPS directory is nowhere
	file := afterSOI(encodeJPEG(t, 30, 20), segment(0xe1, join([]byte(exifPrefix), broken)))
	edits, err := StripLocation(bytes.NewReader(file), int64(len(file)), JPEG)
	if err != nil || len(edits) != 1 || len(bytes.Trim(edits[0].Bytes, "\x00")) != 0 {
		t.Errorf("what cannot be understood stays: %v", err)
	}
}

func FuzzStripLocation(f *testing.F) {
	f.Add(afterSOI(encodeJPEG(f, 9, 9), segment(0xe1, join([]byte(exifPrefix), tiffWithGPS(binary.BigEndian)))))
	f.Add(heicOf(4, 4))
	f.Add(heicWithExif(f))
	f.Fuzz(func(t *testing.T, file []byte) {
		for _, format := range Formats {
			edits, err := StripLocation(bytes.NewReader(file), int64(len(file)), format)
			if err != nil && fault.CodeOf(err) != CodeInvalidFileType || len(edits) > maxEdits {
				t.Fatalf("%d edits, %v", len(edits), err)
			}
			for _, e := range edits {
				if e.At < 0 || e.At+int64(len(e.Bytes)) > int64(len(file)) {
					t.Fatalf("%d bytes at %d of %d", len(e.Bytes), e.At, len(file))
				}
			}
		}
	})
}
