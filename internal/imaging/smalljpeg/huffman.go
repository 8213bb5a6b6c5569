package smalljpeg

import (
	"errors"
	"io"
)

// input reads bytes. After its end it returns zeros and sets ended.
type input struct {
	r        io.Reader
	buf      [16 << 10]byte
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
	acc    uint64
	n      uint // bits in acc
	zeros  uint // of these, at its end, that are not in the file
	marker byte // that ended the data; 0: none yet
}

func (b *bits) reset() { b.acc, b.n, b.zeros, b.marker = 0, 0, 0, 0 }

// over reports whether more bits were read than there are.
func (b *bits) over() bool { return b.n < b.zeros }

func (b *bits) fill() {
	for b.n <= 56 {
		b.acc <<= 8
		b.n += 8
		if b.marker != 0 {
			b.zeros = min(b.zeros+8, 64)
			continue
		}
		v := b.in.byte()
		if v == 0xff {
			next := b.in.byte()
			for next == 0xff && !b.in.ended {
				next = b.in.byte()
			}
			if next != 0 {
				b.marker = next
			}
		}
		if b.in.ended {
			b.marker = markEOI
		}
		if b.marker != 0 {
			b.zeros = 8
			continue
		}
		b.acc |= uint64(v)
	}
}

// take reads up to 16 bits.
func (b *bits) take(n uint) int32 {
	if b.n < n {
		b.fill()
	}
	b.n -= n
	return int32(b.acc >> b.n & (1<<n - 1)) //nolint:gosec // 16 bits
}

// signed reads a number of n bits as JPEG stores them: the lower half are the negative ones.
func (b *bits) signed(n uint) int32 {
	if n == 0 {
		return 0
	}
	v := b.take(n)
	if v < 1<<(n-1) {
		v += -1<<n + 1
	}
	return v
}

const quickBits = 9

// huffman is a table of codes.
type huffman struct {
	quick  [1 << quickBits]uint16 // length and value of the code that the bits begin with; 0: a longer one
	most   [17]int32              // largest code of a length; -1: none
	shift  [17]int32              // from a code of the length to its value's place
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
			first := (code + i) << (quickBits - length)
			for j := range int32(1) << (quickBits - length) {
				h.quick[first+j] = uint16(length)<<8 | uint16(h.values[at+i])
			}
		}
		code, at = (code+n)<<1, at+n
	}
	return h, 16 + total
}

// symbol reads a code. For a code that is not in the table it returns a symbol that is not used.
func (b *bits) symbol(h *huffman) (byte, bool) {
	if b.n < 16 {
		b.fill()
	}
	if q := h.quick[b.acc>>(b.n-quickBits)&(1<<quickBits-1)]; q != 0 {
		b.n -= uint(q >> 8)
		return byte(q), true //nolint:gosec // its lower half
	}
	for length := uint(quickBits + 1); length <= 16; length++ {
		code := int32(b.acc >> (b.n - length) & (1<<length - 1)) //nolint:gosec // 16 bits
		if code <= h.most[length] {
			b.n -= length
			return h.values[(h.shift[length]+code)&0xff], true
		}
	}
	return 0, false
}
