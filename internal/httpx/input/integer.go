package input

import (
	"strconv"
	"strings"
)

// integer returns the value of a JSON number, and false when it has a fraction. 30, 30.0 and 3e1 are the same integer.
// A number beyond 64 bits does not fit and comes back as the nearest one that does.
func integer(raw string) (n int64, fits, ok bool) {
	digits := raw
	if strings.ContainsAny(raw, ".eE") {
		if digits, ok = integral(raw); !ok {
			return 0, false, false
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64) // clamps; nothing but the range can be wrong
	return n, err == nil, true
}

// beyond64 says which rule a number breaks that does not fit into 64 bits.
func beyond64(nearest int64) (code, message string) {
	if nearest < 0 {
		return CodeMin, "must be at least " + strconv.FormatInt(nearest, 10)
	}
	return CodeMax, "must be at most " + strconv.FormatInt(nearest, 10)
}

// integral returns a JSON number with fraction or exponent as an integer without them, or false if it is not one. A
// number with more digits than 64 bits can hold comes back as some other number with too many digits.
func integral(raw string) (string, bool) {
	const tooMany = "99999999999999999999"
	sign := ""
	if raw[0] == '-' {
		sign, raw = "-", raw[1:]
	}
	mantissa, exponent := raw, 0
	if i := strings.IndexAny(raw, "eE"); i >= 0 {
		mantissa, exponent = raw[:i], clampedExponent(raw[i+1:])
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	point := len(whole) + exponent // where the decimal point stands in the digits
	digits := whole + fraction
	trimmed := strings.TrimLeft(digits, "0")
	point -= len(digits) - len(trimmed)
	trimmed = strings.TrimRight(trimmed, "0")
	switch {
	case trimmed == "":
		return "0", true
	case len(trimmed) > point:
		return "", false
	case point >= len(tooMany):
		return sign + tooMany, true
	}
	return sign + trimmed + strings.Repeat("0", point-len(trimmed)), true
}

// clampedExponent reads an exponent; one beyond any body's number of digits stays just beyond.
func clampedExponent(s string) int {
	const beyond = 4 * MaxBody
	negative := s[0] == '-'
	n := 0
	for _, c := range strings.TrimLeft(s, "+-") {
		n = min(n*10+int(c-'0'), beyond)
	}
	if negative {
		return -n
	}
	return n
}
