package imaging_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/imaging"
	"github.com/assayhq/assay/internal/testkit/pictures"
)

func isoBox(kind string, parts ...[]byte) []byte {
	body := bytes.Join(parts, nil)
	b := binary.BigEndian.AppendUint32(nil, uint32(8+len(body)))
	return append(append(b, kind...), body...)
}

// heifWithExif is a HEIF file whose EXIF item claims a length.
func heifWithExif(brand string, item []byte, length uint64) []byte {
	file := func(at int) []byte {
		iloc := binary.BigEndian.AppendUint64([]byte{1: 0, 2: 0, 3: 0, 4: 0x48, 5: 0, 7: 1, 9: 2, 13: 1}, length)
		iloc = append(iloc[:14], append(binary.BigEndian.AppendUint32(nil, uint32(at)), iloc[14:]...)...)
		return bytes.Join([][]byte{
			isoBox("ftyp", []byte(brand+"\x00\x00\x00\x00mif1")),
			isoBox("meta", make([]byte, 4),
				isoBox("pitm", []byte{5: 1}),
				isoBox("iinf", []byte{5: 1}, isoBox("infe", []byte("\x02\x00\x00\x00\x00\x02\x00\x00Exif\x00"))),
				isoBox("iloc", iloc),
				isoBox("iprp", isoBox("ipco", isoBox("ispe", []byte{7: 4, 11: 4})),
					isoBox("ipma", []byte{7: 1, 9: 1, 10: 1, 11: 1}))),
			isoBox("mdat", item),
		}, nil)
	}
	return file(len(file(0)) - len(item))
}

// TestReadExif_HEIF checks that the EXIF data of HEIF files says all that it says in a JPEG.
func TestReadExif_HEIF(t *testing.T) {
	tiff := exif(map[uint16]any{0x0110: "Seven", 0x0131: "GIMP 3", 0x8825: 0, 0xa434: "A fine lens"},
		0x0110, 0x0131, 0x8825, 0xa434)
	item := append([]byte("\x00\x00\x00\x06Exif\x00\x00"), tiff...)
	want := imaging.Exif{Camera: "Seven", Software: "GIMP 3", Lens: "A fine lens", Located: true}
	for brand, f := range map[string]photo.Format{"heic": photo.HEIC, "mif1": photo.HEIF, "avif": photo.AVIF} {
		file := heifWithExif(brand, item, uint64(len(item)))
		if x, err := imaging.ReadExif(bytes.NewReader(file), f); err != nil || x != want {
			t.Errorf("%s: %+v, %v; want %+v", brand, x, err, want)
		}
	}
	for module, f := range map[string]photo.Format{"heic": photo.HEIC, "avif": photo.AVIF} {
		file := pictures.Sample(t, "github.com/gen2brain/"+module, "test_exif."+module)
		if x, err := imaging.ReadExif(bytes.NewReader(file), f); err != nil || x.Empty() {
			t.Errorf("%s: %+v, %v", module, x, err)
		}
	}
}

// TestReadExif_ClaimedLength reads EXIF data that claims to be longer than any memory. A decoder that believes it ends
// the process.
func TestReadExif_ClaimedLength(t *testing.T) {
	for brand, f := range map[string]photo.Format{"heic": photo.HEIC, "mif1": photo.HEIF, "avif": photo.AVIF} {
		for _, length := range []uint64{1 << 20, 1 << 44, 1<<63 - 1, 1<<64 - 1} {
			file := heifWithExif(brand, make([]byte, 64), length)
			info, err := photo.Inspect(bytes.NewReader(file), int64(len(file)))
			if err != nil || info.Format != f {
				t.Fatal(info, err)
			}
			if err := photo.CheckWhole(bytes.NewReader(file), int64(len(file)), info); err != nil {
				t.Fatal(err)
			}
			if x, err := imaging.ReadExif(bytes.NewReader(file), f); err != nil || !x.Empty() {
				t.Errorf("%s, %d: %+v, %v", brand, length, x, err)
			}
		}
	}
}
