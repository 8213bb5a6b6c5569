package smalljpeg_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"slices"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/imaging/smalljpeg"
	"github.com/assayhq/assay/internal/testkit/pictures"
)

// empty is a file of one byte and restart markers in each of many scans. Zeros, which are read where data is missing,
// are a coefficient each.
type empty struct {
	side, scans int
	progressive bool
	interval    int  // units between restarts
	restarts    bool // the markers are there
}

func (e empty) file() []byte {
	b := append([]byte{0xff, 0xd8, 0xff, 0xdb, 0, 67, 0}, bytes.Repeat([]byte{1}, 64)...)
	frame, components, from := byte(0xc0), []byte{1, 2}, byte(0)
	if e.progressive {
		frame, components, from = 0xc2, []byte{1}, 1
	}
	b = append(b, 0xff, frame, 0, 17, 8)
	b = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(b, uint16(e.side)), uint16(e.side))
	b = append(b, 3, 1, 0x11, 0, 2, 0x11, 0, 3, 0x11, 0)
	for _, table := range [][2]byte{{0, 0}, {0x10, 1}} { // one code of one bit
		b = append(append(b, 0xff, 0xc4, 0, 20, table[0], 1), make([]byte, 15)...)
		b = append(b, table[1])
	}
	b = binary.BigEndian.AppendUint16(append(b, 0xff, 0xdd, 0, 4), uint16(e.interval))
	for range e.scans {
		b = append(b, 0xff, 0xda, 0, byte(6+2*len(components)), byte(len(components)))
		for _, c := range components {
			b = append(b, c, 0)
		}
		b = append(b, from, 63, 0, 0)
		for i := range e.side * e.side / 64 / e.interval {
			if e.restarts {
				b = append(b, 0xff, 0xd0+byte(i%8))
			}
		}
	}
	return append(b, 0xff, 0xd9)
}

// empties are such files, by what is wrong with them.
func empties(side int) map[string][]byte {
	return map[string][]byte{
		"Restarts":      empty{side, 64, true, 4096, true}.file(),
		"RestartOfEach": empty{side, 8, true, 1, true}.file(),
		"NoRestarts":    empty{side, 64, true, 1, false}.file(),
		"Sequential":    empty{side, 64, false, 1, false}.file(),
	}
}

// TestDecode_NoData checks that scans of many units without data take no longer than a photo of as many pixels. They
// took more than a hundred times as long when zeros were read for what is missing.
func TestDecode_NoData(t *testing.T) {
	const side = 2400
	photo := pictures.JPEG{
		Width: side, Height: side, Planes: pictures.PlanesOf(pictures.Photo(side, side)), Progressive: true, Adobe: -1,
	}
	took := func(file []byte) time.Duration {
		began := time.Now()
		_, err := smalljpeg.Decode(t.Context(), bytes.NewReader(file), by(2))
		if err != nil && !errors.Is(err, smalljpeg.ErrFormat) {
			t.Error(err)
		}
		return time.Since(began)
	}
	whole := photo.Encode()
	normal := took(whole) + took(whole)
	for name, file := range empties(side) {
		if got := took(file); got > 4*normal {
			t.Errorf("%s: %d bytes take %v, two photos %v", name, len(file), got, normal)
		}
	}
}

// TestDecode_Tables refuses files of more tables than scans can use.
func TestDecode_Tables(t *testing.T) {
	file := samples(t)["video-001"]
	at := bytes.Index(file, []byte{0xff, 0xc4})
	table := file[at : at+2+int(binary.BigEndian.Uint16(file[at+2:]))]
	if _, err := decode(slices.Insert(bytes.Clone(file), at, bytes.Repeat(table, 100)...)); err != nil {
		t.Error(err)
	}
	many := slices.Insert(bytes.Clone(file), at, bytes.Repeat(table, 1000)...)
	if _, err := decode(many); !errors.Is(err, smalljpeg.ErrFormat) {
		t.Errorf("%v", err)
	}
}

// TestDecode_LostData checks what is shown of files in which a stretch between two restart markers is cut short: all
// the rest as it was, and the stretch as far as it goes. A progressive one shows there what other scans have.
func TestDecode_LostData(t *testing.T) {
	const width, height, unit = 640, 480, 16
	planes := pictures.PlanesOf(pictures.Photo(width, height))
	for name, progressive := range map[string]bool{"Sequential": false, "Progressive": true} {
		t.Run(name, func(t *testing.T) {
			photo := pictures.JPEG{
				Width: width, Height: height, Planes: planes, Progressive: progressive, Restart: width / unit, Adobe: -1,
			}
			file := photo.Encode()
			whole, err := decode(file)
			if err != nil {
				t.Fatal(err)
			}
			from := bytes.Index(file, []byte{0xff, 0xda})
			for range 5 {
				if progressive { // the last bits of brightness are in the sixth scan
					from += 2 + bytes.Index(file[from+2:], []byte{0xff, 0xda})
				}
			}
			end := from + bytes.Index(file[from:], []byte{0xff, 0xd0})
			lost := (end - from) / 2
			damaged, err := decode(slices.Delete(bytes.Clone(file), end-lost, end))
			if err != nil {
				t.Fatal(err)
			}
			below := whole.PixOffset(0, 2*unit)
			if _, most := difference(damaged.Pix[below:], whole.Pix[below:]); most > 0 {
				t.Errorf("what was not lost differs by %d", most)
			}
			mean, _ := difference(damaged.Pix[:below], whole.Pix[:below])
			if mean == 0 || progressive && mean > 0.25 {
				t.Errorf("the rows that have lost %d bytes differ by %.2f", lost, mean)
			}
			if last := damaged.RGBAAt(width-1, 0); !progressive && last.R != 128 {
				t.Errorf("what was lost is %v, not gray", last)
			}
			checkCutOff(t, file, whole)
		})
	}
}

// checkCutOff checks that nothing is made up for what is missing at the end of a file.
func checkCutOff(t *testing.T, file []byte, whole *image.RGBA) {
	t.Helper()
	first := bytes.Index(file, []byte{0xff, 0xda})
	size := bytes.Index(file[first+2:], []byte{0xff, 0xda})
	if size < 0 {
		size = len(file) - first
	}
	part, err := decode(file[:first+size/2])
	if err != nil {
		t.Fatal(err)
	}
	for y := whole.Rect.Dy() * 3 / 4; y < whole.Rect.Dy(); y++ {
		for x := range whole.Rect.Dx() {
			if c := part.RGBAAt(x, y); c.R != 128 || c.G != 128 || c.B != 128 {
				t.Fatalf("pixel %d, %d, which is missing, is %v", x, y, c)
			}
		}
	}
}
