package order

import (
	cryptorand "crypto/rand"
	"encoding/base32"
	"math/rand/v2"
	"strings"
	"sync"
)

// NumberPrefix begins every order number.
const NumberPrefix = "AS-"

const (
	crockford     = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	numberSymbols = 7 // and a check symbol
	seriesSize    = 1024
)

// numbers hands out the order numbers of this process.
var numbers = newSeries()

// series hands out numbers of 35 bits, which are seven symbols, in short series. Those of one share their first four
// symbols, drawn at random, so that orders which are created together are neighbours in the index of numbers, too: a
// number drawn at random for each would change a page of that index for every order. The other three symbols are a
// shuffled place in the series and five random bits: no two numbers of a series are equal, and none tells the next.
type series struct {
	mu     sync.Mutex
	random *rand.Rand
	first  uint64 // 20 bits
	places []int  // that are left
}

func newSeries() *series {
	var seed [32]byte
	_, _ = cryptorand.Read(seed[:])
	return &series{random: rand.New(rand.NewChaCha8(seed))} //nolint:gosec // seeded at random, and no number is a secret
}

func (s *series) next() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.places) == 0 {
		s.first, s.places = s.random.Uint64N(1<<20), s.random.Perm(seriesSize)
	}
	place := s.places[0]
	s.places = s.places[1:]
	return s.first<<15 | uint64(place)<<5 | s.random.Uint64N(1<<5) //nolint:gosec // a place is not negative
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
		value := strings.IndexByte(crockford, s[len(NumberPrefix)+i])
		if value < 0 {
			return false
		}
		values[i] = byte(value) //nolint:gosec // one of 32 symbols
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

var certificateEncoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// NewCertificateID returns an address part that cannot be guessed: 160 random bits.
func NewCertificateID() string {
	var b [20]byte
	_, _ = cryptorand.Read(b[:])
	return strings.ToLower(certificateEncoding.EncodeToString(b[:]))
}

// IsCertificateID reports whether s has the form of a certificate's id.
func IsCertificateID(s string) bool {
	if len(s) != certificateIDLength {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '2' || c > '7') {
			return false
		}
	}
	return true
}

// certificateIDLength is 160 bits in characters of 5.
const certificateIDLength = 32
