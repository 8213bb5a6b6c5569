package order

import (
	"crypto/rand"
	"encoding/binary"
	"sync"
)

// NumberPrefix begins every order number.
const NumberPrefix = "AS-"

const (
	crockford     = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	numberSymbols = 7 // and a check symbol

	suffixBits = 15 // three symbols
	seriesSize = 1 << 10
)

// numbers hands out the order numbers of this process in short series: those of one share their first four symbols,
// drawn at random, so that orders which are created together are neighbours in the index of numbers as well; a number
// drawn at random for each would change a page of that index for every order.
var numbers series

type series struct {
	mu           sync.Mutex
	first        uint64 // the symbols that all numbers of the series share
	suffix, step uint64 // an odd step meets every suffix once
	left         int
}

func (s *series) next() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left == 0 {
		var raw [8]byte
		_, _ = rand.Read(raw[:])
		drawn := binary.NativeEndian.Uint64(raw[:])
		s.first, s.suffix, s.step = drawn>>44<<suffixBits, drawn, drawn>>suffixBits|1
		s.left = seriesSize
	}
	s.left--
	s.suffix = (s.suffix + s.step) & (1<<suffixBits - 1)
	return s.first | s.suffix
}

// NewNumber returns a fresh order number: AS-, seven symbols and a check symbol over them. Whoever stores it keeps it
// unique.
func NewNumber() string {
	var values [numberSymbols]byte
	n := numbers.next()
	for i := range values {
		values[numberSymbols-1-i] = byte(n & 31)
		n >>= 5
	}
	out := make([]byte, 0, len(NumberPrefix)+numberSymbols+1)
	out = append(out, NumberPrefix...)
	for _, v := range values {
		out = append(out, crockford[v])
	}
	return string(append(out, crockford[checkSymbol(values[:])]))
}

// ValidNumber reports whether s is an order number without a typing error.
func ValidNumber(s string) bool {
	if len(s) != len(NumberPrefix)+numberSymbols+1 || s[:len(NumberPrefix)] != NumberPrefix {
		return false
	}
	var values [numberSymbols + 1]byte
	for i := range values {
		var ok bool
		if values[i], ok = symbolValue(s[len(NumberPrefix)+i]); !ok {
			return false
		}
	}
	return checkSymbol(values[:numberSymbols]) == values[numberSymbols]
}

// checkSymbol evaluates the symbols as a polynomial over GF(32): every single wrong symbol and every swap of two
// neighbours changes the result.
func checkSymbol(values []byte) byte {
	var sum byte
	for _, v := range values {
		sum = double(sum ^ v)
	}
	return sum
}

// double multiplies by x in GF(32) with the polynomial x^5 + x^2 + 1.
func double(v byte) byte {
	v <<= 1
	if v&32 != 0 {
		v ^= 0b100101
	}
	return v
}

func symbolValue(c byte) (value byte, ok bool) {
	for range len(crockford) {
		if crockford[value] == c {
			return value, true
		}
		value++
	}
	return 0, false
}
