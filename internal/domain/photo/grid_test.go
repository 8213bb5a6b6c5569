package photo

import (
	"bytes"
	"slices"
	"testing"
)

// gridParts are the parts of a photo of 5 × 3 pixels in tiles of 4 × 2 that a test changes.
type gridParts struct {
	kind       string   // of the primary item
	photo      [][]byte // properties after its size
	tile       [][]byte // the same of each tile
	tiles      int      // 0: 4
	sizes      []byte   // of the fields in iloc
	brokenIloc bool
}

func infe(id uint16, kind string) []byte {
	return fullBox("infe", 2, 0, u16(id), u16(0), []byte(kind), []byte{0})
}

func gridOf(p gridParts) []byte {
	if p.kind == "" {
		p.kind = "grid"
	}
	if p.tiles == 0 {
		p.tiles = 4
	}
	if p.sizes == nil {
		p.sizes = []byte{0x44, 0}
	}
	properties := slices.Concat([][]byte{ispe(5, 3), ispe(4, 2)}, p.photo, p.tile)
	ofPhoto, ofTile := []byte{1}, []byte{2}
	for i := range p.photo {
		ofPhoto = append(ofPhoto, byte(3+i))
	}
	for i := range p.tile {
		ofTile = append(ofTile, byte(3+len(p.photo)+i))
	}
	associations := [][]byte{assoc(9, ofPhoto...)}
	items, refs := infe(9, p.kind), u16(9)
	refs = append(refs, u16(uint16(p.tiles))...)
	for id := range uint16(p.tiles) {
		associations = append(associations, assoc(id+1, ofTile...))
		items = append(items, infe(id+1, "hvc1")...)
		refs = append(refs, u16(id+1)...)
	}
	head := func(data int) []byte {
		entry := []byte{}
		for id := range p.tiles {
			entry = join(entry, u16(uint16(id+1)), u16(0), u16(0), u16(1), u32(uint32(data+3*id)), u32(3))
		}
		if p.brokenIloc {
			entry = entry[:len(entry)-1]
		}
		return join(ftyp("heic", "mif1"), meta(pitm(9), fullBox("iinf", 0, 0, u16(uint16(p.tiles+1)), items),
			fullBox("iloc", 1, 0, p.sizes, u16(uint16(p.tiles)), entry), fullBox("iref", 0, 0, isoBox("dimg", refs)),
			iprp(ipco(properties...), ipma(associations...))))
	}
	return join(head(len(head(0))+8), isoBox("mdat", []byte("AAABBBCCCDDD")))
}

func nclx(matrix byte) []byte {
	return isoBox("colr", []byte("nclx\x00\x01\x00\x0d\x00"), []byte{matrix, 0x80})
}

func TestReadGrid(t *testing.T) {
	file := gridOf(gridParts{photo: [][]byte{isoBox("irot", []byte{3})}})
	g, ok := ReadGrid(bytes.NewReader(file), int64(len(file)))
	if !ok || g.Width != 5 || g.Height != 3 || g.TileWidth != 4 || g.TileHeight != 2 ||
		g.Turns != 3 || len(g.Tiles) != 4 {
		t.Fatalf("%+v, %v", g, ok)
	}
	for i, data := range []string{"AAA", "BBB", "CCC", "DDD"} {
		tile := g.TileFile(file, i)
		if !bytes.HasSuffix(tile, isoBox("mdat", []byte(data))) || !bytes.Contains(tile, pitm(uint16(i+1))) {
			t.Errorf("tile %d is %q", i, tile)
		}
		if info, err := inspect(tile); err != nil || info.Width != 4 || info.Height != 2 {
			t.Errorf("tile %d: %+v, %v", i, info, err)
		}
		at := bytes.Index(tile, join(u16(uint16(i+1)), u16(0), u16(0), u16(1), u32(uint32(len(tile)-3)), u32(3)))
		if at < 0 {
			t.Errorf("tile %d is not where its file says", i)
		}
	}
	for name, c := range map[string]struct {
		parts gridParts
		want  bool
	}{
		"Plain":                {gridParts{}, true},
		"SameColors":           {gridParts{photo: [][]byte{nclx(1)}, tile: [][]byte{nclx(1)}}, true},
		"ColorsOfTilesOnly":    {gridParts{tile: [][]byte{nclx(1)}}, true},
		"ColorsOfThePhotoOnly": {gridParts{photo: [][]byte{nclx(1)}}, false},
		"OtherColors":          {gridParts{photo: [][]byte{nclx(1)}, tile: [][]byte{nclx(9)}}, false},
		"Overlay":              {gridParts{kind: "iovl"}, false},
		"Mirrored":             {gridParts{photo: [][]byte{isoBox("imir", []byte{0})}}, false},
		"Cropped":              {gridParts{photo: [][]byte{isoBox("clap", make([]byte, 32))}}, false},
		"TurnedTiles":          {gridParts{tile: [][]byte{isoBox("irot", []byte{1})}}, false},
		"TooFewTiles":          {gridParts{tiles: 3}, false},
		"TooManyTiles":         {gridParts{tiles: 5}, false},
		"WideOffsets":          {gridParts{sizes: []byte{0x88, 0}}, false},
		"CutLocations":         {gridParts{brokenIloc: true}, false},
	} {
		file := gridOf(c.parts)
		if _, ok := ReadGrid(bytes.NewReader(file), int64(len(file))); ok != c.want {
			t.Errorf("%s: %v", name, ok)
		}
	}
	single := heicOf(320, 240)
	if _, ok := ReadGrid(bytes.NewReader(single), int64(len(single))); ok {
		t.Error("a photo of one item is a grid")
	}
}

func TestColorProfile(t *testing.T) {
	of := func(properties ...[]byte) []byte {
		return join(ftyp("heic"), meta(pitm(1), iprp(ipco(append(properties, ispe(3, 2))...))))
	}
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"Profile":   {of(isoBox("colr", []byte("profABC")), isoBox("colr", []byte("profX"))), "ABC"},
		"rICC":      {of(isoBox("colr", []byte("rICCABC"))), "ABC"},
		"nclx":      {of(nclx(1)), ""},
		"None":      {of(), ""},
		"Empty":     {of(isoBox("colr", []byte("prof"))), ""},
		"TooLong":   {of(isoBox("colr", []byte("prof"), make([]byte, 101))), ""},
		"PastMeta":  {of(claiming(500, isoBox("colr", []byte("prof")))), ""},
		"NoPicture": {join(ftyp("heic"), meta(iprp(ipco(isoBox("colr", []byte("profABC")))))), ""},
	} {
		got, err := ColorProfile(bytes.NewReader(c.file), int64(len(c.file)), 100)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
