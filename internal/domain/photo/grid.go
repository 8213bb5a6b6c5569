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
	Tiles                 []uint32

	primary int64 // offset of the ID of the primary item
	wide    bool  // it has 32 bits
}

// SelectTile makes a tile the primary item of a file, so that a decoder decodes that tile and nothing else.
func (g *Grid) SelectTile(file []byte, i int) {
	if g.wide {
		binary.BigEndian.PutUint32(file[g.primary:], g.Tiles[i])
	} else {
		binary.BigEndian.PutUint16(file[g.primary:], uint16(g.Tiles[i])) //nolint:gosec // checked by ReadGrid
	}
}

// ReadGrid returns the grid that a HEIF file describes. It reports false when the photo is not a grid, or not one whose
// tiles look alone as they do in the photo.
func ReadGrid(r io.ReaderAt, size int64) (*Grid, bool) {
	h := &header{r: r, size: size}
	m, whole := readHEIF(h)
	primary, ok := readPrimaryItem(h, m.pitm)
	if !ok || m.kindOf(h, primary) != "grid" {
		return nil, false
	}
	version, _ := h.uint8(m.pitm.start)
	g := &Grid{
		Width: int(whole.width), Height: int(whole.height), Tiles: m.tilesOf(h, primary),
		primary: m.pitm.start + 4, wide: version > 0,
	}
	if len(g.Tiles) == 0 {
		return nil, false
	}
	photo, tile := m.transformOf(h, primary), m.transformOf(h, g.Tiles[0])
	g.Turns, g.TileWidth, g.TileHeight = photo.turns, int(tile.size.width), int(tile.size.height)
	if photo.size != whole || photo.other || photo.coding != "" && photo.coding != tile.coding ||
		tile.size.pixels() == 0 || tile.other || tile.turns != 0 {
		return nil, false
	}
	columns, rows := (g.Width+g.TileWidth-1)/g.TileWidth, (g.Height+g.TileHeight-1)/g.TileHeight
	if len(g.Tiles) != columns*rows {
		return nil, false
	}
	for _, id := range g.Tiles {
		if id >= 1<<16 && !g.wide {
			return nil, false
		}
	}
	return g, h.failure == nil
}

// kindOf returns the type of an item, and nothing when the file does not say it.
func (m *itemBoxes) kindOf(h *header, item uint32) string {
	entries := m.iinf.start + 6
	if version, _ := h.uint8(m.iinf.start); version > 0 {
		entries += 2
	}
	for b := range h.boxes(entries, m.iinf.end) {
		version, _ := h.uint8(b.start)
		id, size, ok := h.itemID(b.start+4, version > 2)
		if !ok || b.kind != boxInfe || version < 2 || id != item {
			continue
		}
		if kind, ok := h.bytes(b.start+4+size+2, 4); ok {
			return string(kind)
		}
	}
	return ""
}

// tilesOf returns the items that an item is derived from.
func (m *itemBoxes) tilesOf(h *header, item uint32) []uint32 {
	version, _ := h.uint8(m.iref.start)
	for b := range h.boxes(m.iref.start+4, m.iref.end) {
		from, size, _ := h.itemID(b.start, version > 0)
		count, ok := h.uint16(b.start + size)
		if !ok || b.kind != boxDimg || from != item {
			continue
		}
		tiles := make([]uint32, count)
		for i := range tiles {
			if tiles[i], _, ok = h.itemID(b.start+size+2+int64(i)*size, version > 0); !ok {
				return nil
			}
		}
		return tiles
	}
	return nil
}

// transform is how an item's pixels become what is shown.
type transform struct {
	size   extent
	turns  int
	coding string // the nclx box, which says how colours are coded; empty: the coded data says it
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
		case boxIspe:
			t.size = h.extent32(b.start + 4)
		case boxIrot:
			turns, _ := h.uint8(b.start)
			t.turns = int(turns & 3)
		case boxImir, boxClap:
			t.other = true
		case boxColr:
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
	h := &header{r: r, size: size}
	m, _ := readHEIF(h)
	var colr box
	h.firstBoxes(m.ipco.start, m.ipco.end, map[fourCC]*box{boxColr: &colr})
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
