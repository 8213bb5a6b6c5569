package input

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"
)

func TestInteger(t *testing.T) {
	tests := map[string]struct {
		n    int64
		fits bool
		ok   bool
	}{
		"0":                        {0, true, true},
		"-0":                       {0, true, true},
		"-0.0e7":                   {0, true, true},
		"30":                       {30, true, true},
		"-30":                      {-30, true, true},
		"30.0":                     {30, true, true},
		"3e1":                      {30, true, true},
		"3.05E+2":                  {305, true, true},
		"300e-1":                   {30, true, true},
		"0.00003e6":                {30, true, true},
		"1.5":                      {0, false, false},
		"30.000000000000000000001": {0, false, false},
		"1e-1":                     {0, false, false},
		"1e-99999999999999999999":  {0, false, false},
		"0e99999999999999999999":   {0, true, true},
		"9223372036854775807":      {math.MaxInt64, true, true},
		"9223372036854775808":      {math.MaxInt64, false, true},
		"9223372036854775807.0":    {math.MaxInt64, true, true},
		"9.3e18":                   {math.MaxInt64, false, true},
		"1e19":                     {math.MaxInt64, false, true},
		"1e400":                    {math.MaxInt64, false, true},
		"-1e99999999999999999999":  {math.MinInt64, false, true},
		"-9223372036854775808":     {math.MinInt64, true, true},
		"-9223372036854775809":     {math.MinInt64, false, true},
	}
	for raw, want := range tests {
		t.Run(raw, func(t *testing.T) {
			n, fits, ok := integer(raw)
			if ok != want.ok || (ok && (n != want.n || fits != want.fits)) {
				t.Errorf("got %d, %v, %v; want %+v", n, fits, ok, want)
			}
		})
	}
}

// reference is the exact value of a JSON number and whether it is an integer; nil when its exponent is out of reach.
func reference(raw string) (*big.Int, *bool) {
	if i := strings.IndexAny(raw, "eE"); i >= 0 {
		if e, err := strconv.Atoi(raw[i+1:]); err != nil || e > 400 || e < -400 {
			return nil, nil
		}
	}
	r, ok := new(big.Rat).SetString(raw)
	if !ok {
		return nil, nil
	}
	exact := r.IsInt()
	return r.Num(), &exact
}
