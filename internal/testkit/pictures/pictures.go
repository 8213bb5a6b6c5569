// Package pictures generates large photos of every format for tests. Their pixels are noise that compresses about
// as well as photos; formats that cannot be encoded here are assembled from a small file.
package pictures

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
)

// PadJPEG pads a JPEG to at least size bytes with comments. The mark makes each file different.
func PadJPEG(file []byte, size int, mark string) []byte {
	const most = 65533
	out := append([]byte{}, file[:2]...)
	for first := true; first || len(out)+len(file) < size; first = false {
		n := min(max(size-len(out)-len(file), len(mark)), most)
		out = append(out, 0xff, 0xfe)
		out = binary.BigEndian.AppendUint16(out, uint16(2+n))
		out = append(append(out, mark...), make([]byte, n-len(mark))...)
	}
	return append(out, file[2:]...)
}

// PadPNG is PadJPEG for PNG.
func PadPNG(file []byte, size int, mark string) []byte {
	const header = 8 + 25
	content := append([]byte(mark), make([]byte, max(0, size-len(file)-12-len(mark)))...)
	return append(append(append([]byte{}, file[:header]...), chunk("asSy", content)...), file[header:]...)
}

// PadWebP is PadJPEG for WebP.
func PadWebP(file []byte, size int, mark string) []byte {
	n := max(len(mark), size-len(file)-8)
	n += n & 1
	out := append([]byte{}, file...)
	out = append(out, "asSy"...)
	out = binary.LittleEndian.AppendUint32(out, uint32(n))
	out = append(append(out, mark...), make([]byte, n-len(mark))...)
	binary.LittleEndian.PutUint32(out[4:], uint32(len(out)-8))
	return out
}

// PadHEIF is PadJPEG for HEIC and AVIF.
func PadHEIF(file []byte, size int, mark string) []byte {
	return append(append([]byte{}, file...),
		box("free", append([]byte(mark), make([]byte, max(0, size-len(file)-8-len(mark)))...))...)
}

func chunk(kind string, content []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(content)))
	b = append(append(b, kind...), content...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[4:]))
}

// DeepPNG returns a PNG with 16 bits per channel and alpha: eight bytes per pixel.
func DeepPNG(width, height int, interlaced bool) []byte {
	ihdr := binary.BigEndian.AppendUint32(nil, uint32(width))
	ihdr = append(binary.BigEndian.AppendUint32(ihdr, uint32(height)), 16, 6, 0, 0, 0)
	var passes [][2]int // width and height
	if interlaced {
		ihdr[12] = 1
		for _, p := range [][4]int{
			{0, 0, 8, 8},
			{4, 0, 8, 8},
			{0, 4, 4, 8},
			{2, 0, 4, 4},
			{0, 2, 2, 4},
			{1, 0, 2, 2},
			{0, 1, 1, 2},
		} {
			passes = append(passes, [2]int{(width - p[0] + p[2] - 1) / p[2], (height - p[1] + p[3] - 1) / p[3]})
		}
	} else {
		passes = [][2]int{{width, height}}
	}
	var pixels bytes.Buffer
	z, _ := zlib.NewWriterLevel(&pixels, zlib.BestSpeed)
	random := rand.New(rand.NewPCG(1, 2))
	for _, pass := range passes {
		if pass[0] == 0 {
			continue
		}
		row := make([]byte, 1+8*pass[0])
		for y := range pass[1] {
			clear(row)
			row[0] = 2 // the difference to the row above
			if y == 0 {
				for x := range pass[0] {
					binary.BigEndian.PutUint64(row[1+8*x:], 0x8000_9000_a000_ffff)
				}
			}
			for range pass[0] / 60 {
				row[1+8*random.IntN(pass[0])+2*random.IntN(3)] = byte(random.Uint32())
			}
			_, _ = z.Write(row)
		}
	}
	_ = z.Close()
	out := append([]byte("\x89PNG\r\n\x1a\n"), chunk("IHDR", ihdr)...)
	out = append(out, chunk("IDAT", pixels.Bytes())...)
	return append(out, chunk("IEND", nil)...)
}
