package imaging

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"io"

	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/gen2brain/avif"
	"github.com/gen2brain/heic"
	"golang.org/x/image/draw"
)

// heifFile is what the boxes of a HEIF file say: items with their properties. Phones store a photo as a grid of small
// images; read one by one they take little memory, where the decoders would put the whole photo together several times.
type heifFile struct {
	r          io.ReaderAt
	primary    uint32
	kinds      map[uint32]string
	places     map[uint32]heifPlace
	properties []heifBox           // from 1
	of         map[uint32][]uint16 // properties of an item
	tiles      map[uint32][]uint32 // items that an item is put together from
	idat       []byte
}

// heifPlace is where the bytes of an item are.
type heifPlace struct {
	inside  bool // in the meta box
	offset  int64
	extents [][2]int64 // offset and length
}

type heifBox struct {
	kind    string
	content []byte
}

var errHEIF = errors.New("broken HEIF")

const (
	maxTile    = 16 << 20 // bytes of one item
	maxTiles   = 1024     // of a photo; phones make some fifty
	maxExtents = 64       // pieces that an item is stored in; nearly always it is one
)

// readHEIF reads the meta box. The error is errHEIF or that of the reader.
func readHEIF(r io.ReaderAt, size int64) (*heifFile, error) {
	var head [16]byte
	for at, n := int64(0), 0; at+8 <= size && n < maxParts; n++ {
		if _, err := r.ReadAt(head[:], at); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		length, headed := int64(binary.BigEndian.Uint32(head[:])), int64(8)
		switch length {
		case 0:
			length = size - at
		case 1:
			length, headed = int64(binary.BigEndian.Uint64(head[8:])&(1<<62-1)), 16
		}
		if length < headed || length > size-at {
			return nil, errHEIF
		}
		if string(head[4:8]) == "meta" {
			if length > maxSegment {
				return nil, errHEIF
			}
			meta := make([]byte, length-headed)
			if n, err := r.ReadAt(meta, at+headed); n < len(meta) {
				return nil, err
			}
			return parseHEIF(r, meta)
		}
		at += length
	}
	return nil, errHEIF
}

func parseHEIF(r io.ReaderAt, meta []byte) (f *heifFile, err error) {
	defer func() { // every read below is checked by the slices themselves
		if recover() != nil {
			f, err = nil, errHEIF
		}
	}()
	f = &heifFile{
		r: r, kinds: make(map[uint32]string), places: make(map[uint32]heifPlace), of: make(map[uint32][]uint16), tiles: make(map[uint32][]uint32),
		properties: []heifBox{{}},
	}
	for _, b := range boxesIn(meta[4:]) {
		c := b.content
		switch b.kind {
		case "pitm":
			f.primary = (&fields{c[4:]}).id(c[0] > 0)
		case "iinf":
			entries := c[6:]
			if c[0] > 0 {
				entries = c[8:]
			}
			for _, e := range boxesIn(entries) {
				if e.kind == "infe" && e.content[0] >= 2 {
					in := &fields{e.content[4:]}
					id := in.id(e.content[0] > 2)
					f.kinds[id] = string(in.b[2:6])
				}
			}
		case "iloc":
			f.readPlaces(c)
		case "iref":
			for _, ref := range boxesIn(c[4:]) {
				if ref.kind != "dimg" {
					continue
				}
				in := &fields{ref.content}
				from := in.id(c[0] > 0)
				for range in.uint(2) {
					f.tiles[from] = append(f.tiles[from], in.id(c[0] > 0))
				}
			}
		case "idat":
			f.idat = c
		case "iprp":
			for _, p := range boxesIn(c) {
				switch p.kind {
				case "ipco":
					f.properties = append(f.properties, boxesIn(p.content)...)
				case "ipma":
					f.readAssociations(p.content)
				}
			}
		}
	}
	return f, nil
}

func (f *heifFile) readPlaces(c []byte) {
	version := c[0]
	offsetSize, lengthSize, baseSize, indexSize := int(c[4]>>4), int(c[4]&15), int(c[5]>>4), int(c[5]&15)
	if version == 0 {
		indexSize = 0
	}
	in := &fields{c[6:]}
	count := in.uint(2)
	if version == 2 {
		count = count<<16 | in.uint(2)
	}
	for range count {
		id := in.id(version == 2)
		var p heifPlace
		if version > 0 {
			p.inside = in.uint(2)&15 == 1
		}
		in.uint(2) // another file, never used
		p.offset = in.uint(baseSize)
		extents := in.uint(2)
		if extents > maxExtents {
			panic(errHEIF)
		}
		for range extents {
			in.uint(indexSize)
			p.extents = append(p.extents, [2]int64{in.uint(offsetSize), in.uint(lengthSize)})
		}
		f.places[id] = p
	}
}

func (f *heifFile) readAssociations(c []byte) {
	in := &fields{c[4:]}
	for range in.uint(4) {
		id := in.id(c[0] > 0)
		for range in.uint(1) {
			index := in.uint(1)
			if c[3]&1 != 0 {
				index = index<<8 | in.uint(1)
				index &= 0x7fff
			} else {
				index &= 0x7f
			}
			if int(index) < len(f.properties) || len(f.properties) == 1 {
				f.of[id] = append(f.of[id], uint16(index))
			}
		}
	}
}

// fields reads numbers one after the other. It panics at the end.
type fields struct{ b []byte }

func (f *fields) uint(size int) (v int64) {
	for _, b := range f.b[:size] {
		v = v<<8 | int64(b)
	}
	f.b = f.b[size:]
	return v
}

func (f *fields) id(wide bool) uint32 {
	if wide {
		return uint32(f.uint(4)) //nolint:gosec // 32 bits
	}
	return uint32(f.uint(2)) //nolint:gosec // 16 bits
}

// boxesIn returns the boxes one behind the other, as far as they are whole.
func boxesIn(data []byte) (all []heifBox) {
	for len(data) >= 8 && len(all) < maxParts {
		size := int(binary.BigEndian.Uint32(data))
		if size < 8 || size > len(data) {
			break
		}
		all = append(all, heifBox{string(data[4:8]), data[8:size]})
		data = data[size:]
	}
	return all
}

// propertiesOf returns the properties of an item.
func (f *heifFile) propertiesOf(item uint32) (all []heifBox) {
	for _, i := range f.of[item] {
		if int(i) < len(f.properties) && i > 0 {
			all = append(all, f.properties[i])
		}
	}
	return all
}

// read returns the bytes of an item.
func (f *heifFile) read(item uint32) ([]byte, error) {
	var all []byte
	place := f.places[item]
	for _, e := range place.extents {
		at, length := place.offset+e[0], e[1]
		if at < 0 || length < 0 || int64(len(all))+length > maxTile {
			return nil, errHEIF
		}
		if place.inside {
			if at+length > int64(len(f.idat)) {
				return nil, errHEIF
			}
			all = append(all, f.idat[at:at+length]...)
			continue
		}
		part := make([]byte, length)
		if n, err := f.r.ReadAt(part, at); n < len(part) {
			return nil, fmt.Errorf("%w: %w", errHEIF, err)
		}
		all = append(all, part...)
	}
	return all, nil
}

// grid is a photo that is put together from tiles of one size.
type grid struct {
	*heifFile
	items       []uint32
	columns     int
	size        image.Point // of the stored photo
	tile        image.Point
	orientation int
	kind        string // of the items
}

// grid returns the grid that the photo is, and false when it is anything else, or one that only the decoders understand.
func (f *heifFile) grid() (*grid, bool) {
	items := f.tiles[f.primary]
	if f.kinds[f.primary] != "grid" || len(items) == 0 {
		return nil, false
	}
	data, err := f.read(f.primary)
	if err != nil || len(data) < 8 {
		return nil, false
	}
	g := &grid{heifFile: f, items: items, columns: int(data[3]) + 1, orientation: 1, kind: f.kinds[items[0]]}
	rows := int(data[2]) + 1
	if data[1]&1 != 0 && len(data) >= 12 {
		g.size = image.Pt(int(binary.BigEndian.Uint32(data[4:])), int(binary.BigEndian.Uint32(data[8:])))
	} else {
		g.size = image.Pt(int(binary.BigEndian.Uint16(data[4:])), int(binary.BigEndian.Uint16(data[6:])))
	}
	g.tile = extentOf(f.propertiesOf(items[0]))
	if len(items) != rows*g.columns || g.kind != "hvc1" && g.kind != "av01" || tooLarge(g.size) || tooLarge(g.tile) ||
		g.tile.X*g.columns < g.size.X || g.tile.Y*rows < g.size.Y || g.tile.X*(g.columns-1) >= g.size.X || g.tile.Y*(rows-1) >= g.size.Y {
		return nil, false
	}
	for _, item := range items {
		if f.kinds[item] != g.kind || extentOf(f.propertiesOf(item)) != g.tile {
			return nil, false
		}
	}
	for _, p := range f.propertiesOf(f.primary) {
		switch p.kind {
		case "irot":
			g.orientation = turned(g.orientation, p)
		case "imir":
			g.orientation = mirrored(g.orientation, p)
		case "clap":
			return nil, false
		}
	}
	return g, true
}

func extentOf(properties []heifBox) image.Point {
	for _, p := range properties {
		if p.kind == "ispe" && len(p.content) >= 12 {
			return image.Pt(int(binary.BigEndian.Uint32(p.content[4:])), int(binary.BigEndian.Uint32(p.content[8:])))
		}
	}
	return image.Point{}
}

func tooLarge(size image.Point) bool {
	return size.X < 1 || size.Y < 1 || size.X > photo.MaxSide || size.Y > photo.MaxSide || size.X*size.Y > photo.MaxPixels
}

// leftTurn and the mirrors tell which EXIF orientation one becomes when the picture is turned a quarter to the left, or
// mirrored, after it.
var (
	leftTurn = [9]int{0, 8, 5, 6, 7, 4, 1, 2, 3}
	mirrorX  = [9]int{0, 2, 1, 4, 3, 6, 5, 8, 7} // left and right change places
	mirrorY  = [9]int{0, 4, 3, 2, 1, 8, 7, 6, 5} // top and bottom change places
)

func turned(orientation int, irot heifBox) int {
	if len(irot.content) > 0 {
		for range irot.content[0] & 3 {
			orientation = leftTurn[orientation]
		}
	}
	return orientation
}

func mirrored(orientation int, imir heifBox) int {
	if len(imir.content) > 0 && imir.content[0]&1 == 0 {
		return mirrorY[orientation]
	}
	return mirrorX[orientation]
}

// uprightSize is the size of the photo as it is shown.
func (g *grid) uprightSize() image.Point {
	if g.orientation >= 5 {
		return image.Pt(g.size.Y, g.size.X)
	}
	return g.size
}

// paint decodes tile after tile and paints them upright.
func (g *grid) paint(s surface) error {
	for i, item := range g.items {
		at := image.Pt(i%g.columns*g.tile.X, i/g.columns*g.tile.Y)
		visible := image.Rectangle{Max: g.tile}.Intersect(image.Rectangle{Max: g.size.Sub(at)})
		file, err := g.tileFile(item)
		if err != nil {
			return err
		}
		img, err := decodeItem(file, g.kind)
		if err != nil {
			return err
		}
		if img.Bounds().Size() != g.tile {
			return fmt.Errorf("%w: a tile of %v, not %v", errHEIF, img.Bounds().Size(), g.tile)
		}
		tile := image.NewRGBA(visible)
		draw.Draw(tile, visible, image.White, image.Point{}, draw.Src)
		draw.Draw(tile, visible, img, img.Bounds().Min, draw.Over)
		paintImage(s, g.place(visible.Add(at)), upright(tile, g.orientation))
	}
	return nil
}

// place returns where the upper left corner of a part of the stored photo is when the photo is upright.
func (g *grid) place(r image.Rectangle) image.Point {
	w, h := g.size.X, g.size.Y
	switch g.orientation {
	case 2:
		return image.Pt(w-r.Max.X, r.Min.Y)
	case 3:
		return image.Pt(w-r.Max.X, h-r.Max.Y)
	case 4:
		return image.Pt(r.Min.X, h-r.Max.Y)
	case 5:
		return image.Pt(r.Min.Y, r.Min.X)
	case 6:
		return image.Pt(h-r.Max.Y, r.Min.X)
	case 7:
		return image.Pt(h-r.Max.Y, w-r.Max.X)
	case 8:
		return image.Pt(r.Min.Y, w-r.Max.X)
	}
	return r.Min
}

func decodeItem(file []byte, kind string) (image.Image, error) {
	if kind == "av01" {
		return avif.Decode(bytes.NewReader(file))
	}
	return heic.Decode(bytes.NewReader(file))
}

// tileFile returns a HEIF file of one tile alone.
func (g *grid) tileFile(item uint32) ([]byte, error) {
	data, err := g.read(item)
	if err != nil {
		return nil, err
	}
	var properties []byte
	var indexes []byte
	own := g.propertiesOf(item)
	coloured := false
	for _, p := range own {
		coloured = coloured || p.kind == "colr"
	}
	if !coloured {
		for _, p := range g.propertiesOf(g.primary) {
			if p.kind == "colr" {
				own = append(own, p)
			}
		}
	}
	for _, p := range own {
		switch p.kind {
		case "irot", "imir", "clap": // the grid is turned as a whole
			continue
		}
		properties = append(properties, makeBox(p.kind, p.content)...)
		index := byte(len(indexes) + 1) //nolint:gosec // a handful
		if p.kind == "hvcC" || p.kind == "av1C" {
			index |= 0x80 // essential
		}
		indexes = append(indexes, index)
	}
	if len(indexes) > 100 {
		return nil, errHEIF
	}
	brand := "heic"
	if g.kind == "av01" {
		brand = "avif"
	}
	ftyp := makeBox("ftyp", []byte(brand+"\x00\x00\x00\x00mif1miaf"+brand))
	meta := func(offset int) []byte {
		iloc := []byte("\x00\x00\x00\x00\x44\x00\x00\x01\x00\x01\x00\x00\x00\x01")
		iloc = binary.BigEndian.AppendUint32(iloc, uint32(offset))                             //nolint:gosec // maxTile
		iloc = binary.BigEndian.AppendUint32(iloc, uint32(len(data)))                          //nolint:gosec // maxTile
		ipma := append([]byte("\x00\x00\x00\x00\x00\x00\x00\x01\x00\x01"), byte(len(indexes))) //nolint:gosec // at most 100
		return makeBox("meta", []byte("\x00\x00\x00\x00"),
			makeBox("hdlr", []byte("\x00\x00\x00\x00\x00\x00\x00\x00pict\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")),
			makeBox("pitm", []byte("\x00\x00\x00\x00\x00\x01")),
			makeBox("iloc", iloc),
			makeBox("iinf", []byte("\x00\x00\x00\x00\x00\x01"), makeBox("infe", []byte("\x02\x00\x00\x00\x00\x01\x00\x00"+g.kind+"\x00"))),
			makeBox("iprp", makeBox("ipco", properties), makeBox("ipma", append(ipma, indexes...))))
	}
	before := len(ftyp) + len(meta(0)) + 8
	return append(append(ftyp, meta(before)...), makeBox("mdat", data)...), nil
}

func makeBox(kind string, parts ...[]byte) []byte {
	b := append([]byte{0, 0, 0, 0}, kind...)
	for _, p := range parts {
		b = append(b, p...)
	}
	binary.BigEndian.PutUint32(b, uint32(len(b))) //nolint:gosec // maxTile
	return b
}
