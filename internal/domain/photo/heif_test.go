package photo

import (
	"bytes"
	"math"
	"testing"

	"github.com/assayhq/assay/internal/domain/fault"
)

func TestInspect_Brands(t *testing.T) {
	picture := meta(pitm(1), iprp(ipco(ispe(20, 10)), ipma(assoc(1, 1))))
	for _, c := range []struct {
		name string
		ftyp []byte
		want Format // empty: refused
	}{
		{"heic", ftyp("heic", "mif1", "heic"), HEIC},
		{"heix", ftyp("heix"), HEIC},
		{"hevc", ftyp("hevc", "msf1"), HEIC},
		{"hevx", ftyp("hevx"), HEIC},
		{"heim", ftyp("heim"), HEIC},
		{"heis", ftyp("heis"), HEIC},
		{"avif", ftyp("avif", "mif1", "miaf"), AVIF},
		{"avis", ftyp("avis", "msf1"), AVIF},
		{"mif1", ftyp("mif1", "mif1"), HEIF},
		{"mif1 without compatible brands", ftyp("mif1"), HEIF},
		{"msf1", ftyp("msf1", "iso8"), HEIF},
		{"mif1 with avif", ftyp("mif1", "miaf", "avif"), AVIF},
		{"mif1 with heic", ftyp("mif1", "MiHB", "heic"), HEIC},
		{"msf1 with hevc", ftyp("msf1", "hevc"), HEIC},
		{"major before compatible", ftyp("avif", "heic"), AVIF},
		{"unknown major with heic", ftyp("MiHE", "mif1", "heic"), HEIC},
		{"64-bit size", wideBox("ftyp", []byte("mif1\x00\x00\x00\x00avif")), AVIF},
		{"mp4", ftyp("isom", "isom", "iso2", "avc1", "mp41"), ""},
		{"mp42", ftyp("mp42"), ""},
		{"quicktime", ftyp("qt  "), ""},
		{"raw", ftyp("crx ", "crx ", "isom"), ""},
		{"upper case", ftyp("HEIC"), ""},
		{"minor version is no brand", isoBox("ftyp", []byte("isomheic")), ""},
		{"brand after the box", join(ftyp("isom"), []byte("heic")), ""},
		{"brand past the bound", ftyp("isom", append(repeat("none", maxBrands), "heic")...), ""},
		{"no brand", isoBox("ftyp"), ""},
		{"size too small", claiming(7, ftyp("heic")), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := inspect(join(c.ftyp, picture))
			switch {
			case c.want == "" && fault.CodeOf(err) != CodeInvalidFileType:
				t.Errorf("got %v, %v; want %s", got, err, CodeInvalidFileType)
			case c.want != "" && (err != nil || got != Info{c.want, 20, 10}):
				t.Errorf("got %v, %v; want %s", got, err, c.want)
			}
		})
	}
}

func repeat(s string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = s
	}
	return all
}

func TestInspect_PrimaryItem(t *testing.T) {
	type extents struct{ width, height int }
	both := ipco(hvcC(), ispe(320, 240), ispe(4032, 3024))
	wide := func(id uint32, indexes ...uint16) []byte {
		b := join(u32(id), []byte{byte(len(indexes))})
		for _, i := range indexes {
			b = append(b, u16(i|0x8000)...)
		}
		return b
	}
	many := func(n int) []byte {
		var b []byte
		for range n {
			b = append(b, isoBox("free")...)
		}
		return b
	}
	small, large := extents{320, 240}, extents{4032, 3024}
	ofPrimary, ofAnyItem := iprp(ipco(ispe(320, 240)), ipma(assoc(1, 1))), iprp(ipco(ispe(320, 240)))
	sizeIn64 := u32(1)
	for _, c := range []struct {
		name string
		meta []byte
		want extents
	}{
		{"ByAssociation", meta(pitm(2), iprp(both, ipma(assoc(1, 0x81, 3), assoc(2, 0x81, 2)))), small},
		{"PrimaryLast", meta(iprp(ipma(assoc(1, 2), assoc(2, 3)), both), pitm(2)), large},
		{"Grid", meta(pitm(49), isoBox("iinf"), iprp(
			ipco(hvcC(), ispe(512, 512), ispe(4032, 3024)),
			ipma(assoc(1, 1, 2), assoc(2, 1, 2), assoc(49, 3)))), large},
		{"GridSmallerThanItsTiles", meta(pitm(9), iprp(
			ipco(ispe(512, 512), ispe(500, 400)),
			ipma(assoc(1, 1), assoc(9, 2)))), extents{500, 400}},
		{"SecondAssociationBox", meta(pitm(2), iprp(both, ipma(assoc(1, 3)), ipma(assoc(2, 2)))), small},
		{"WideIDs", meta(
			fullBox("pitm", 1, 0, u32(70000)),
			iprp(both, fullBox("ipma", 1, 1, u32(2), wide(1, 1, 3), wide(70000, 1, 2)))), small},
		{"WideIndex", meta(pitm(1), iprp(
			ipco(ispe(320, 240), many(300), ispe(64, 48)),
			fullBox("ipma", 0, 1, u32(1), u16(1), []byte{1}, u16(302)))), extents{64, 48}},
		{"NoPrimary", meta(iprp(both, ipma(assoc(1, 2)))), large},
		{"NoAssociations", meta(pitm(1), iprp(both)), large},
		{"PrimaryWithoutExtent", meta(pitm(1), iprp(both, ipma(assoc(1, 1)))), large},
		{"AssociationsCut", meta(pitm(1), iprp(both, fullBox("ipma", 0, 0, u32(1000), u16(1)))), large},
		{"CountOverstated", meta(pitm(1), iprp(both, fullBox("ipma", 0, 0, u32(math.MaxUint32), assoc(1, 2)))), small},
		{"JunkAfterProperties", meta(pitm(1), iprp(both, ipma(assoc(1, 2))), u32(3), []byte("junk\x01")), small},
		{"64BitSizes", wideBox("meta", u32(0), pitm(1), wideBox("iprp",
			wideBox("ipco", ispe(320, 240)), ipma(assoc(1, 1)))), small},
		{"OpenSizes", openBox("meta", u32(0), pitm(1), openBox("iprp",
			ipma(assoc(1, 1)), openBox("ipco", ispe(320, 240)))), small},
		{"MetaPastTheEnd", claiming(1<<30, meta(pitm(1), ofPrimary)), small},
		{"64BitSizePastAnyFile", join(sizeIn64, []byte("meta"),
			bytes.Repeat([]byte{0xff}, 8), u32(0), ofAnyItem), small},
		{"AfterMdat", join(isoBox("mdat", make([]byte, 300_000)), meta(pitm(1), ofPrimary)), small},
		{"AfterWideMdat", join(wideBox("mdat", make([]byte, 5000)), meta(ofAnyItem)), small},
		{"SecondMeta", join(meta(isoBox("hdlr")), meta(ofAnyItem)), small},
		{"LastMeta", join(bytes.Repeat(meta(pitm(1)), maxMetas-1), meta(ofAnyItem)), small},
		{"ThousandsOfBoxes", join(many(100_000), meta(ofAnyItem)), small},

		{"NoMeta", isoBox("mdat", make([]byte, 100)), extents{}},
		{"TooManyMetas", join(bytes.Repeat(meta(pitm(1)), maxMetas), meta(ofAnyItem)), extents{}},
		{"NoProperties", meta(pitm(1)), extents{}},
		{"NoExtent", meta(pitm(1), iprp(ipco(hvcC()), ipma(assoc(1, 1)))), extents{}},
		{"ExtentCut", meta(pitm(1), iprp(ipco(isoBox("ispe", u32(0), u32(320))), ipma(assoc(1, 1)))), extents{}},
		{"ExtentOfZero", meta(pitm(1), iprp(ipco(ispe(320, 240), ispe(0, 240)), ipma(assoc(1, 2)))), extents{}},
		{"OpenMdatBefore", join(openBox("mdat"), meta(ofAnyItem)), extents{}},
		{"MdatPastTheEnd", join(claiming(1<<20, isoBox("mdat")), meta(ofAnyItem)), extents{}},
		{"64BitSizeTooSmall", join(sizeIn64, []byte("free"), make([]byte, 7), []byte{15}, meta(ofAnyItem)), extents{}},
		{"64BitSizeOfZero", join(sizeIn64, []byte("free"), make([]byte, 8), meta(ofAnyItem)), extents{}},
		{"64BitSizeCut", join(sizeIn64, []byte("meta"), make([]byte, 4)), extents{}},
		{"SizeTooSmall", join(claiming(4, isoBox("free")), meta(ofAnyItem)), extents{}},
		{"NestedMeta", isoBox("moov", meta(ofAnyItem)), extents{}},
		{"DeeplyNested", nested("meta", 5000), extents{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := inspect(join(ftyp("heic", "mif1"), c.meta))
			if c.want == (extents{}) {
				if fault.CodeOf(err) != CodeResolutionMissing {
					t.Errorf("got %v, %v; want %s", got, err, CodeResolutionMissing)
				}
				return
			}
			if want := (Info{HEIC, c.want.width, c.want.height}); err != nil || got != want {
				t.Errorf("got %v, %v; want %v", got, err, want)
			}
		})
	}
}

// nested puts full boxes of one kind into each other.
func nested(kind string, depth int) []byte {
	var b []byte
	for left := depth; left > 0; left-- {
		b = append(b, u32(uint32(12*left))...)
		b = append(append(b, kind...), 0, 0, 0, 0)
	}
	return b
}

// TestInspect_Cut cuts a picture at every byte: whatever is left is refused or measured rightly, never wrongly.
func TestInspect_Cut(t *testing.T) {
	for _, file := range [][]byte{
		heicOf(320, 240), encodeJPEG(t, 320, 240), encodePNG(t, 320, 240), webpOf("VP8X", vp8x(320, 240)),
	} {
		for n := range len(file) {
			got, err := inspect(file[:n])
			switch fault.CodeOf(err) {
			case "":
				if err != nil || got.Width != 320 || got.Height != 240 {
					t.Fatalf("%d of %d bytes: got %v, %v", n, len(file), got, err)
				}
			case CodeEmptyFile, CodeInvalidFileType, CodeResolutionMissing:
			default:
				t.Fatalf("%d of %d bytes: got %v", n, len(file), err)
			}
		}
	}
}

func FuzzInspect(f *testing.F) {
	for _, seed := range [][]byte{
		encodePNG(f, 3, 2), encodeJPEG(f, 3, 2), afterSOI(encodeJPEG(f, 3, 2), exif(6)),
		webpOf("VP8 ", vp8(3, 2)), webpOf("VP8L", vp8l(3, 2)), webpOf("VP8X", vp8x(3, 2)),
		heicOf(3, 2), gridOf(gridParts{}), join(ftyp("mif1", "avif"), openBox("mdat")),
		join(ftyp("mif1"), wideBox("meta", u32(0), pitm(1), iprp(
			ipco(ispe(3, 2)),
			fullBox("ipma", 1, 1, u32(1), u32(1), []byte{1}, u16(1))))),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		r := &countingReader{r: bytes.NewReader(file)}
		got, err := Inspect(r, int64(len(file)))
		if g, ok := ReadGrid(bytes.NewReader(file), int64(len(file))); ok {
			g.TileFile(file, 0)
			g.TileFile(file, len(g.Tiles)-1)
		}
		if _, err := ColorProfile(bytes.NewReader(file), int64(len(file)), 1<<16); err != nil {
			t.Errorf("ColorProfile = %v", err)
		}
		if x, err := ExifData(bytes.NewReader(file), int64(len(file)), 1<<16); err != nil || len(x) > 1<<16 {
			t.Errorf("ExifData = %d bytes, %v", len(x), err)
		}
		if r.calls > maxReads || r.bytes > maxReads*windowBytes {
			t.Errorf("%d reads of %d bytes in all", r.calls, r.bytes)
		}
		if err != nil {
			if fault.CodeOf(err) == "" {
				t.Errorf("got %v, want a fault", err)
			}
			return
		}
		least, most := min(got.Width, got.Height), max(got.Width, got.Height)
		if least < 1 || most > MaxSide || least*most > MaxPixels {
			t.Errorf("accepted %v", got)
		}
	})
}
