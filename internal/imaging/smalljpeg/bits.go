package smalljpeg

import (
	"encoding/binary"
	"errors"
	"io"
)

// input reads bytes. After its end it returns zeros and sets ended.
type input struct {
	r        io.Reader
	buf      [32 << 10]byte
	pos, end int
	ended    bool
	failure  error // of the reader, other than its end
}

func (in *input) byte() byte {
	if in.pos == in.end && !in.fill() {
		return 0
	}
	b := in.buf[in.pos]
	in.pos++
	return b
}

func (in *input) fill() bool {
	for range 100 {
		if in.ended {
			return false
		}
		n, err := in.r.Read(in.buf[:])
		in.pos, in.end = 0, n
		if err != nil {
			if n == 0 {
				in.ended = true
			}
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				in.ended, in.failure = true, err
			}
		}
		if n > 0 {
			return true
		}
	}
	in.ended = true
	return false
}

// full reads all of p.
func (in *input) full(p []byte) bool {
	for i := range p {
		p[i] = in.byte()
	}
	return !in.ended
}

func (in *input) skip(n int) {
	for n > 0 && (in.pos < in.end || in.fill()) {
		step := min(n, in.end-in.pos)
		in.pos += step
		n -= step
	}
}

// bits reads the bits of a scan. After a marker or the end it returns zeros.
type bits struct {
	in     *input
	zeros  uint // how many were added to windows that are not in the file
	marker byte // that ended the data; 0: none yet
	window
}

// window is the next bits of a scan: n of them, from the highest bit of acc on. It is small so that loops can keep it
// in registers.
type window struct {
	acc uint64
	n   uint
}

func (b *bits) reset() { b.window, b.zeros, b.marker = window{}, 0, 0 }

// over reports whether more bits were read than there are.
func (b *bits) over() bool { return b.n < b.zeros }

// enough is how many bits a window has at least before a code is read: its length and that of the value after it.
const enough = 32

// refill returns a window with at least 56 bits.
func (b *bits) refill(w window) window {
	in := b.in
	if in.end-in.pos >= 8 && b.marker == 0 {
		const ones, tops = 0x0101010101010101, 0x8080808080808080
		next := binary.BigEndian.Uint64(in.buf[in.pos:])
		if (^next-ones)&next&tops == 0 { // none of the bytes is 0xff
			// Bits behind the last complete byte are set too. They are set again, to the same, by the next call.
			w.acc |= next >> (w.n & 63)
			in.pos += int(63-w.n) >> 3
			w.n |= 56
			return w
		}
	}
	for w.n <= 56 {
		w.acc |= b.next() << (56 - w.n)
		w.n += 8
	}
	return w
}

// next returns the next byte of the scan, or a zero when there is none.
func (b *bits) next() uint64 {
	if b.marker == 0 {
		v := b.in.byte()
		if v == 0xff {
			mark := b.in.byte()
			for mark == 0xff && !b.in.ended {
				mark = b.in.byte()
			}
			b.marker = mark
		}
		if b.in.ended {
			b.marker = markEOI
		}
		if b.marker == 0 {
			return uint64(v)
		}
	}
	b.zeros += 8
	return 0
}

// take reads up to 16 bits.
func (b *bits) take(n uint) int32 {
	if b.n < n {
		b.window = b.refill(b.window)
	}
	v := int32(b.acc >> (64 - n)) //nolint:gosec // 16 bits
	b.skip(n)
	return v
}

func (w *window) skip(n uint) {
	w.acc <<= n & 63
	w.n -= n
}

// signed reads a number of 1 to 15 bits as JPEG stores them: the lower half are the negative ones.
func (w *window) signed(n uint) int32 {
	v := int32(w.acc >> ((64 - n) & 63)) //nolint:gosec // 15 bits
	if w.acc>>63 == 0 {
		v += -1<<n + 1
	}
	w.skip(n)
	return v
}

const quickBits = 10

// entry is a code and, where both are short, the value after it: from the lowest bit on, 8 bits for the number of bits,
// 4 for the size of the value, 4 for the run of zeros before it, and 16 for the value. The value is 0 when it is still
// to be read, or has no bits. The entry is 0 for codes of more than quickBits.
type entry uint32

func (e entry) length() uint { return uint(e & 0xff) }
func (e entry) size() uint   { return uint(e >> 8 & 15) }
func (e entry) run() int     { return int(e >> 12 & 15) }
func (e entry) value() int32 { return int32(e) >> 16 } //nolint:gosec // with its sign

// huffman is a table of codes.
type huffman struct {
	quick  [1 << quickBits]entry // by the bits that come next
	most   [17]int32             // largest code of a length; -1: none
	shift  [17]int32             // from a code of the length to its value's place
	values [256]byte
}

// newHuffman reads 16 counts and the values, and returns how long they are. It returns nil for impossible codes.
func newHuffman(b []byte) (h *huffman, used int) {
	total := 0
	for _, n := range b[:16] {
		total += int(n)
	}
	if total == 0 || total > 256 || len(b) < 16+total {
		return nil, 0
	}
	h = new(huffman)
	copy(h.values[:], b[16:16+total])
	code, at := int32(0), int32(0)
	for length := int32(1); length <= 16; length++ {
		n := int32(b[length-1])
		h.most[length], h.shift[length] = code+n-1, at-code
		if n == 0 {
			h.most[length] = -1
		}
		if code+n > 1<<length {
			return nil, 0
		}
		for i := range n {
			if length > quickBits {
				break
			}
			rest := uint(quickBits - length)
			first := (code + i) << rest
			for j := range int32(1) << rest {
				h.quick[first+j] = newEntry(h.values[at+i], uint(length), uint32(j), rest)
			}
		}
		code, at = (code+n)<<1, at+n
	}
	return h, 16 + total
}

// newEntry returns the entry of a symbol whose code is followed by a number of bits that are known.
func newEntry(symbol byte, length uint, known uint32, count uint) entry {
	run, size := entry(symbol>>4), uint(symbol&15)
	e := run<<12 | entry(size)<<8
	if size == 0 || size > count {
		return e | entry(length) //nolint:gosec // at most 16
	}
	w := window{acc: uint64(known) << (64 - count)}
	return entry(w.signed(size))<<16 | e | entry(length+size) //nolint:gosec // with its sign
}

// long reads a code of more than quickBits. Its entry is 0 when it is not in the table.
func (h *huffman) long(w window) entry {
	for length := uint(quickBits + 1); length <= 16; length++ {
		code := int32(w.acc >> (64 - length)) //nolint:gosec // 16 bits
		if code <= h.most[length] {
			return newEntry(h.values[(h.shift[length]+code)&0xff], length, 0, 0)
		}
	}
	return 0
}

// symbol reads a code without the value after it. The entry is 0 when the code is not in the table.
func (b *bits) symbol(h *huffman) entry {
	if b.n < enough {
		b.window = b.refill(b.window)
	}
	e := h.quick[b.acc>>(64-quickBits)]
	if e == 0 {
		e = h.long(b.window)
	}
	if e.value() != 0 {
		e = e&0xff00 | entry(e.length()-e.size()) //nolint:gosec // at most 16
	}
	b.skip(e.length())
	return e
}
