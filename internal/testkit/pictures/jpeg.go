package pictures

import (
	"encoding/binary"
	"math/rand/v2"
)

// The luminance tables of annex K of the JPEG standard: counts of codes by length, and values.
var (
	dcCounts = [16]byte{0, 1, 5, 1, 1, 1, 1, 1, 1}
	dcValues = []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	acCounts = [16]byte{0, 2, 1, 3, 3, 2, 4, 3, 5, 5, 4, 4, 0, 0, 1, 125}
	acValues = []byte("\x01\x02\x03\x00\x04\x11\x05\x12!1A\x06\x13Qa\x07\"q\x142\x81\x91\xa1\b#B\xb1\xc1\x15R\xd1\xf0$3" +
		"br\x82\t\n\x16\x17\x18\x19\x1a%&'()*456789:CDEFGHIJSTUVWXYZcdefghijstuvwxyz\x83\x84\x85\x86\x87\x88" +
		"\x89\x8a\x92\x93\x94\x95\x96\x97\x98\x99\x9a\xa2\xa3\xa4\xa5\xa6\xa7\xa8\xa9\xaa\xb2\xb3\xb4\xb5\xb6" +
		"\xb7\xb8\xb9\xba\xc2\xc3\xc4\xc5\xc6\xc7\xc8\xc9\xca\xd2\xd3\xd4\xd5\xd6\xd7\xd8\xd9\xda\xe1\xe2\xe3" +
		"\xe4\xe5\xe6\xe7\xe8\xe9\xea\xf1\xf2\xf3\xf4\xf5\xf6\xf7\xf8\xf9\xfa")
)

type code struct {
	bits   uint32
	length uint
}

// codes returns the code of each value.
func codes(counts [16]byte, values []byte) (all [256]code) {
	next, at := uint32(0), 0
	for length, n := range counts {
		for range n {
			all[values[at]] = code{next, uint(length + 1)}
			next++
			at++
		}
		next <<= 1
	}
	return all
}

// bitWriter writes entropy-coded data.
type bitWriter struct {
	out  []byte
	acc  uint64
	held uint
}

func (w *bitWriter) write(c code) {
	w.acc = w.acc<<c.length | uint64(c.bits)
	for w.held += c.length; w.held >= 8; w.held -= 8 {
		b := byte(w.acc >> (w.held - 8))
		w.out = append(w.out, b)
		if b == 0xff {
			w.out = append(w.out, 0)
		}
	}
}

func (w *bitWriter) flush() {
	w.write(code{0x7f, 7})
	w.held = 0
}

// amplitude returns the bits that follow the size category of a coefficient.
func amplitude(v int) code {
	size := uint(0)
	for m := max(v, -v); m > 0; m >>= 1 {
		size++
	}
	if v < 0 {
		v += 1<<size - 1
	}
	return code{uint32(v), size}
}

// ProgressiveJPEG returns a progressive JPEG without chroma subsampling: a DC scan, then an AC scan per component.
// It has random coefficients, detail of them per block on average.
func ProgressiveJPEG(width, height int, detail float64) []byte {
	out := []byte{0xff, 0xd8, 0xff, 0xdb, 0, 67, 0}
	for i := range 64 {
		out = append(out, byte(4+i/2))
	}
	out = append(out, 0xff, 0xc2, 0, 17, 8)
	out = binary.BigEndian.AppendUint16(out, uint16(height))
	out = binary.BigEndian.AppendUint16(out, uint16(width))
	out = append(out, 3, 1, 0x11, 0, 2, 0x11, 0, 3, 0x11, 0)
	for class, t := range []struct {
		counts [16]byte
		values []byte
	}{{dcCounts, dcValues}, {acCounts, acValues}} {
		out = append(out, 0xff, 0xc4)
		out = binary.BigEndian.AppendUint16(out, uint16(19+len(t.values)))
		out = append(append(append(out, byte(class<<4)), t.counts[:]...), t.values...)
	}
	dc, ac := codes(dcCounts, dcValues), codes(acCounts, acValues)
	random := rand.New(rand.NewPCG(1, 2))
	blocks := (width + 7) / 8 * ((height + 7) / 8)
	w := &bitWriter{out: append(out, 0xff, 0xda, 0, 12, 3, 1, 0, 2, 0, 3, 0, 0, 0, 0)}
	var last [3]int
	for range blocks {
		for c := range 3 {
			v := min(max(last[c]+random.IntN(31)-15, -200), 200)
			a := amplitude(v - last[c])
			last[c] = v
			w.write(dc[a.length])
			w.write(a)
		}
	}
	w.flush()
	for c := range 3 {
		w.out = append(w.out, 0xff, 0xda, 0, 8, 1, byte(c+1), 0, 1, 63, 0)
		for range blocks {
			k := 1
			for random.Float64() < detail/(1+detail) {
				run := random.IntN(4)
				if k += run; k > 63 {
					break
				}
				v := 1 + random.IntN(6)
				if random.IntN(2) == 0 {
					v = -v
				}
				a := amplitude(v)
				w.write(ac[byte(run<<4)|byte(a.length)])
				w.write(a)
				k++
			}
			if k <= 63 {
				w.write(ac[0])
			}
		}
		w.flush()
	}
	return append(w.out, 0xff, 0xd9)
}
