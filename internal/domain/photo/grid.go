package photo

import (
	"encoding/binary"
	"io"
)

// Grid is a HEIC photo that is stored as tiles of one size, row by row, as phones do. The tiles at the right and lower
// edges may reach over them.
type Grid struct {
	Width, Height         int // as stored, before Turns
	TileWidth, TileHeight int
	Turns                 int // quarter turns to the left that make the photo upright
	Tiles                 []Tile

	end     int64 // of the meta box
	primary int64 // offset of the ID of the primary item
	wide    bool  // it has 32 bits
}

// Tile is a part of a Grid.
type Tile struct {
	id           uint32
	data, length int64
	offset, base int64 // data is the sum of base and the field at offset
}

// TileFile returns a HEIC file that shows one tile of a file: its boxes with the tile as their primary item, and the
// data of that tile alone.
func (g *Grid) TileFile(file []byte, i int) []byte {
	t := g.Tiles[i]
	out := make([]byte, 0, g.end+8+t.length)
	out = append(out, file[:g.end]...)
	if g.wide {
		binary.BigEndian.PutUint32(out[g.primary:], t.id)
	} else {
		binary.BigEndian.PutUint16(out[g.primary:], uint16(t.id)) //nolint:gosec // checked by ReadGrid
	}
	binary.BigEndian.PutUint32(out[t.offset:], uint32(g.end+8-t.base)) //nolint:gosec // checked by ReadGrid
	out = binary.BigEndian.AppendUint32(out, uint32(8+t.length))       //nolint:gosec // has 32 bits in the file
	out = append(out, "mdat"...)
	return append(out, file[t.data:t.data+t.length]...)
}

// ReadGrid returns the grid that a HEIF file describes. It reports false when the photo is not a grid, or not one whose
// tiles can be decoded alone and look as they do in the photo.
func ReadGrid(r io.ReaderAt, size int64) (*Grid, bool) {
	h := newHeader(r, size)
	m, whole := readHEIF(h)
	primary, ok := readPrimaryItem(h, m.pitm)
	if !ok || m.kindOf(h, primary) != "grid" {
		return nil, false
	}
	version, _ := h.uint8(m.pitm.start)
	g := &Grid{
		Width: int(whole.width), Height: int(whole.height), Tiles: m.tilesOf(h, primary),
		end: m.end, primary: m.pitm.start + 4, wide: version > 0,
	}
	if len(g.Tiles) == 0 || !m.locate(h, g.Tiles) {
		return nil, false
	}
	photo, tile := m.transformOf(h, primary), m.transformOf(h, g.Tiles[0].id)
	g.Turns, g.TileWidth, g.TileHeight = photo.turns, int(tile.size.width), int(tile.size.height)
	if photo.size != whole || photo.other || photo.coding != "" && photo.coding != tile.coding ||
		tile.size.pixels() == 0 || tile.other || tile.turns != 0 {
		return nil, false
	}
	columns, rows := (g.Width+g.TileWidth-1)/g.TileWidth, (g.Height+g.TileHeight-1)/g.TileHeight
	return g, len(g.Tiles) == columns*rows && h.failure == nil
}

// kindOf returns the type of an item, and nothing when the file does not say it.
func (m *itemBoxes) kindOf(h *header, item uint32) string {
	for id, kind := range m.kinds(h) {
		if id == item {
			return kind
		}
	}
	return ""
}

// tilesOf returns the items that an item is derived from.
func (m *itemBoxes) tilesOf(h *header, item uint32) []Tile {
	version, _ := h.uint8(m.iref.start)
	for b := range h.boxes(m.iref.start+4, m.iref.end) {
		from, size, _ := h.itemID(b.start, version > 0)
		count, ok := h.uint16(b.start + size)
		if !ok || b.kind != "dimg" || from != item {
			continue
		}
		tiles := make([]Tile, count)
		for i := range tiles {
			if tiles[i].id, _, ok = h.itemID(b.start+size+2+int64(i)*size, version > 0); !ok {
				return nil
			}
		}
		return tiles
	}
	return nil
}

// locate finds the data of tiles. It reports false where that is stored as no camera does: in several pieces, or at
// offsets that do not have 32 bits.
func (m *itemBoxes) locate(h *header, tiles []Tile) bool {
	sizes, _ := h.uint16(m.iloc.start + 4) // of an offset, a length, a base offset and an index, four bits each
	if sizes != 0x4400 && sizes != 0x4440 {
		return false
	}
	found := make(map[uint32][]place, len(tiles))
	for i := range tiles {
		found[tiles[i].id] = nil
	}
	for id, p := range m.places(h) {
		if before, wanted := found[id]; wanted && len(before) < 2 {
			found[id] = append(before, p)
		}
	}
	version, _ := h.uint8(m.pitm.start)
	for i := range tiles {
		id := tiles[i].id
		if len(found[id]) != 1 || id >= 1<<16 && version == 0 { // the primary item could not be replaced by it
			return false
		}
		p := found[id][0]
		if p.pieces != 1 || p.method != 0 || p.base > m.end {
			return false
		}
		tiles[i] = Tile{id: id, data: p.at, length: p.length, offset: p.field, base: p.base}
	}
	return true
}

// int64 reads 32 bits, 0 where there are none.
func (h *header) int64(off int64) int64 {
	v, _ := h.uint32(off)
	return int64(v)
}

// transform is how an item's pixels become what is shown.
type transform struct {
	size   extent
	turns  int
	coding string // the nclx box, which says how colors are coded; empty: the coded data says it
	other  bool   // it is mirrored or cropped
}

func (m *itemBoxes) transformOf(h *header, item uint32) (t transform) {
	properties := m.propertiesOf(h, item)
	index := 0
	for b := range h.boxes(m.ipco.start, m.ipco.end) {
		index++
		if !properties.has(index) {
			continue
		}
		switch b.kind {
		case "ispe":
			t.size = h.extent32(b.start + 4)
		case "irot":
			turns, _ := h.uint8(b.start)
			t.turns = int(turns & 3)
		case "imir", "clap":
			t.other = true
		case "colr":
			if h.has(b.start, "nclx") {
				coding, _ := h.bytes(b.start, int(min(b.end-b.start, 11)))
				t.coding = string(coding)
			}
		}
	}
	return t
}

// ColorProfile returns the ICC profile of a HEIF file, nil when it has none or a larger one than maxBytes. The first
// colr box is that of the photo; those of thumbnails and masks follow. The error is that of the reader.
func ColorProfile(r io.ReaderAt, size int64, maxBytes int) ([]byte, error) {
	h := newHeader(r, size)
	m, _ := readHEIF(h)
	var colr box
	h.firstBoxes(m.ipco.start, m.ipco.end, map[string]*box{"colr": &colr})
	length := colr.end - colr.start - 4
	if !h.has(colr.start, "prof") && !h.has(colr.start, "rICC") || length <= 0 || length > int64(maxBytes) {
		return nil, h.failure
	}
	profile := make([]byte, length)
	if n, err := r.ReadAt(profile, colr.start+4); n < len(profile) {
		return nil, err
	}
	return profile, nil
}
