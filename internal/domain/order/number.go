package order

import "crypto/rand"

// NumberPrefix begins every order number.
const NumberPrefix = "AS-"

const (
	crockford    = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	numberRandom = 7
)

// NewNumber returns a fresh order number: AS-, seven random symbols and a check symbol over them. Whoever stores it
// keeps it unique.
func NewNumber() string {
	var raw [numberRandom]byte
	_, _ = rand.Read(raw[:])
	out := make([]byte, 0, len(NumberPrefix)+numberRandom+1)
	out = append(out, NumberPrefix...)
	for i := range raw {
		raw[i] &= 31
		out = append(out, crockford[raw[i]])
	}
	return string(append(out, crockford[checkSymbol(raw[:])]))
}

// ValidNumber reports whether s is an order number without a typing error.
func ValidNumber(s string) bool {
	if len(s) != len(NumberPrefix)+numberRandom+1 || s[:len(NumberPrefix)] != NumberPrefix {
		return false
	}
	var values [numberRandom + 1]byte
	for i := range values {
		var ok bool
		if values[i], ok = symbolValue(s[len(NumberPrefix)+i]); !ok {
			return false
		}
	}
	return checkSymbol(values[:numberRandom]) == values[numberRandom]
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
