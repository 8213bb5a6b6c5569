package pictures

import (
	"encoding/binary"
	"fmt"
)

func box(kind string, parts ...[]byte) []byte {
	b := append([]byte{0, 0, 0, 0}, kind...)
	for _, p := range parts {
		b = append(b, p...)
	}
	binary.BigEndian.PutUint32(b, uint32(len(b)))
	return b
}

// find returns the content of the box at a path.
func find(data []byte, path ...string) []byte {
	for len(data) >= 8 {
		size := int(binary.BigEndian.Uint32(data))
		if size < 8 || size > len(data) {
			break
		}
		if string(data[4:8]) == path[0] {
			content := data[8:size]
			if path[0] == "meta" {
				content = content[4:]
			}
			if len(path) == 1 {
				return content
			}
			return find(content, path[1:]...)
		}
		data = data[size:]
	}
	panic(fmt.Sprintf("no box %q", path))
}

// Grid returns a HEIC or AVIF grid image made of copies of one tile, as phones store photos: tile is a file of the
// same format with one image of 512 × 512 pixels. turns are quarter turns counterclockwise.
func Grid(tile []byte, width, height, turns int) []byte {
	const side = 512
	columns, rows := (width+side-1)/side, (height+side-1)/side
	n := columns * rows
	brand, kind, codec := "heic", "hvc1", "hvcC"
	if string(tile[8:12]) == "avif" {
		brand, kind, codec = "avif", "av01", "av1C"
	}
	// Encoders write the image as the first item, in one extent with 4-byte offsets.
	iloc := find(tile, "meta", "iloc")
	place, at := 14, uint32(0)
	if iloc[0] > 0 {
		place += 2
	}
	if iloc[5]>>4 == 4 {
		at = binary.BigEndian.Uint32(iloc[place-2:])
		place += 4
	}
	at += binary.BigEndian.Uint32(iloc[place:])
	data := tile[at:][:binary.BigEndian.Uint32(iloc[place+4:])]

	extent := func(w, h int) []byte {
		size := binary.BigEndian.AppendUint32(make([]byte, 4), uint32(w))
		return box("ispe", binary.BigEndian.AppendUint32(size, uint32(h)))
	}
	ipco := box("ipco", box(codec, find(tile, "meta", "iprp", "ipco", codec)), extent(side, side), extent(width, height),
		box("irot", []byte{byte(turns)}))
	short := func(b []byte, v int) []byte { return binary.BigEndian.AppendUint16(b, uint16(v)) }
	infe := func(id int, kind string) []byte {
		return box("infe", short([]byte{2, 0, 0, 0}, id), []byte("\x00\x00"+kind+"\x00"))
	}

	iinf := short(make([]byte, 4), n+1)
	ipma := binary.BigEndian.AppendUint32(make([]byte, 4), uint32(n+1))
	dimg := short(short(nil, n+1), n)
	for id := 1; id <= n; id++ {
		iinf = append(iinf, infe(id, kind)...)
		ipma = append(short(ipma, id), 2, 0x81, 2)
		dimg = short(dimg, id)
	}
	iinf = append(iinf, infe(n+1, "grid")...)
	ipma = append(short(ipma, n+1), 2, 3, 0x84)
	grid := short(short([]byte{0, 0, byte(rows - 1), byte(columns - 1)}, width), height)

	ftyp := box("ftyp", []byte(brand+"\x00\x00\x00\x00mif1miaf"+brand))
	meta := func(offset int) []byte {
		places := short([]byte{1, 0, 0, 0, 0x44, 0}, n+1)
		place := func(id, method, at, length int) {
			places = short(short(short(short(places, id), method), 0), 1)
			places = binary.BigEndian.AppendUint32(places, uint32(at))
			places = binary.BigEndian.AppendUint32(places, uint32(length))
		}
		for i := range n {
			place(i+1, 0, offset+i*len(data), len(data))
		}
		place(n+1, 1, 0, len(grid))
		return box("meta", make([]byte, 4), box("hdlr", []byte("\x00\x00\x00\x00\x00\x00\x00\x00pict"), make([]byte, 13)),
			box("pitm", short(make([]byte, 4), n+1)),
			box("iloc", places), box("iinf", iinf), box("iref", make([]byte, 4), box("dimg", dimg)),
			box("iprp", ipco, box("ipma", ipma)), box("idat", grid))
	}
	out := append(ftyp, meta(0)...)
	out = append(append([]byte{}, ftyp...), meta(len(out)+8)...)
	mdat := make([]byte, 0, n*len(data))
	for range n {
		mdat = append(mdat, data...)
	}
	return append(out, box("mdat", mdat)...)
}
