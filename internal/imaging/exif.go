package imaging

import (
	"encoding/binary"
	"io"
	"slices"
	"strings"

	"github.com/assayhq/assay/internal/domain/photo"
)

// Exif is what a photo's metadata says about how it was made. Anyone can write anything there: it is a hint for a
// reviewer.
type Exif struct {
	Camera   string // maker and model
	Lens     string
	Software string
	TakenAt  string // as the camera wrote it: 2025:03:01 09:30:00, in a time zone that it did not tell
	SavedAt  string
	Located  bool // it tells where it was taken; the place itself is not read
}

// Empty reports whether the file says nothing: it was made without a camera, or cleaned.
func (f *Exif) Empty() bool { return *f == Exif{} }

// editors are programs that change pictures; cameras and phones write other names.
var editors = []string{
	"photoshop", "lightroom", "gimp", "snapseed", "affinity", "pixelmator", "picsart", "canva", "capture one",
	"darktable", "facetune", "meitu", "vsco", "imagemagick", "paint", "acdsee", "luminar", "photopea", "picmonkey",
	"polarr", "remini", "faceapp", "photoscape", "krita", "corel", "paintshop", "photodirector", "beautyplus", "snow",
}

// Edited reports whether the file says that a program which changes pictures has written it.
func (f *Exif) Edited() bool {
	name := strings.ToLower(f.Software)
	return slices.ContainsFunc(editors, func(e string) bool { return strings.Contains(name, e) })
}

// ReadExif reads the EXIF data of a photo. A file without any, or with none that can be read, gives an empty Exif.
//
// It is called in the server itself, with files that anybody can send: nothing here allocates what a file claims to
// have, as the libraries of the decoders do.
func ReadExif(r io.ReadSeeker, f photo.Format) (x Exif, err error) {
	m, err := readMetadata(r, f)
	if err == nil {
		readTIFF(m.exif, &x)
	}
	return x, err
}

const (
	tagMake, tagModel, tagOrientation     = 0x010f, 0x0110, 0x0112
	tagSoftware, tagDateTime              = 0x0131, 0x0132
	tagExif, tagGPS                       = 0x8769, 0x8825
	tagDateTimeOriginal, tagLens          = 0x9003, 0xa434
	typeASCII, typeShort, typeLong        = 2, 3, 4
	maxEntries, maxText, entrySize    int = 512, 200, 12
)

// tiff is an EXIF structure.
type tiff struct {
	data  []byte
	order binary.ByteOrder
}

// readTIFF fills x and returns the orientation, 1 when there is none.
func readTIFF(data []byte, x *Exif) int {
	if len(data) < 8 {
		return 1
	}
	t := tiff{data: data}
	switch string(data[:4]) {
	case "II*\x00":
		t.order = binary.LittleEndian
	case "MM\x00*":
		t.order = binary.BigEndian
	default:
		return 1
	}
	orientation := 1
	var maker, model string
	read := func(tag, kind uint16, value []byte) {
		switch tag {
		case tagMake:
			maker = t.text(kind, value)
		case tagModel:
			model = t.text(kind, value)
		case tagSoftware:
			x.Software = t.text(kind, value)
		case tagDateTime:
			x.SavedAt = t.text(kind, value)
		case tagDateTimeOriginal:
			x.TakenAt = t.text(kind, value)
		case tagLens:
			x.Lens = t.text(kind, value)
		case tagGPS:
			x.Located = true
		case tagOrientation:
			if kind == typeShort && len(value) >= 2 {
				if o := int(t.order.Uint16(value)); o >= 1 && o <= 8 {
					orientation = o
				}
			}
		}
	}
	var below uint32
	t.walk(t.order.Uint32(data[4:]), func(tag, kind uint16, value []byte) {
		if tag == tagExif && kind == typeLong && len(value) >= 4 {
			below = t.order.Uint32(value)
		}
		read(tag, kind, value)
	})
	if below > 0 {
		t.walk(below, read)
	}
	x.Camera = camera(maker, model)
	return orientation
}

// walk calls each for the entries of a directory, with the bytes of their values.
func (t *tiff) walk(at uint32, each func(tag, kind uint16, value []byte)) {
	if int64(at)+2 > int64(len(t.data)) {
		return
	}
	n := min(int(t.order.Uint16(t.data[at:])), maxEntries)
	rest := t.data[at+2:]
	for ; n > 0 && len(rest) >= entrySize; n-- {
		entry := rest[:entrySize]
		rest = rest[entrySize:]
		tag, kind, count := t.order.Uint16(entry), t.order.Uint16(entry[2:]), int64(t.order.Uint32(entry[4:]))
		size := count * map[uint16]int64{1: 1, typeASCII: 1, typeShort: 2, typeLong: 4, 5: 8, 7: 1}[kind]
		value := entry[8:]
		if size > 4 {
			from := int64(t.order.Uint32(value))
			if from+size > int64(len(t.data)) {
				continue
			}
			value = t.data[from : from+size]
		} else {
			value = value[:size]
		}
		each(tag, kind, value)
	}
}

func (t *tiff) text(kind uint16, value []byte) string {
	if kind != typeASCII {
		return ""
	}
	return clean(string(value[:min(len(value), 4*maxText)]))
}

// clean makes a text of a file fit for a page: up to its first zero, printable and short.
func clean(s string) string {
	s, _, _ = strings.Cut(s, "\x00")
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\uFFFD' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "")
	}
	return strings.TrimSpace(s)
}

// camera joins maker and model; many cameras repeat the maker in the model.
func camera(maker, model string) string {
	maker, model = clean(maker), clean(model)
	if strings.HasPrefix(strings.ToLower(model), strings.ToLower(maker)) {
		return model
	}
	return strings.TrimSpace(maker + " " + model)
}
