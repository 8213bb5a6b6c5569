package smalljpeg

import (
	"encoding/hex"
	mathbits "math/bits"
)

// quantization has the tables K.1 and K.2 of the standard, for brightness and colors, in the order of the file.
var quantization = [2][64]byte{
	{
		16, 11, 12, 14, 12, 10, 16, 14, 13, 14, 18, 17, 16, 19, 24, 40,
		26, 24, 22, 22, 24, 49, 35, 37, 29, 40, 58, 51, 61, 60, 57, 51,
		56, 55, 64, 72, 92, 78, 64, 68, 87, 69, 55, 56, 80, 109, 81, 87,
		95, 98, 103, 104, 103, 62, 77, 113, 121, 112, 100, 120, 92, 101, 103, 99,
	},
	{
		17, 18, 18, 24, 21, 24, 47, 26, 26, 47, 99, 66, 56, 66, 99, 99,
		99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
		99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
		99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
	},
}

// spec is a table of Huffman codes as files have them: how many there are of each length, and their values.
type spec struct {
	counts [16]byte
	values []byte
}

// The tables K.3 to K.6 of the standard: of first and other coefficients, for brightness and colors.
var (
	lumaDC = spec{
		[16]byte{0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0},
		[]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11},
	}
	lumaAC = spec{
		[16]byte{0, 2, 1, 3, 3, 2, 4, 3, 5, 5, 4, 4, 0, 0, 1, 125},
		unhex("01020300041105122131410613516107227114328191a1082342b1c11552d1f02433627282090a161718191a25262728292a" +
			"3435363738393a434445464748494a535455565758595a636465666768696a737475767778797a838485868788898a929394" +
			"95969798999aa2a3a4a5a6a7a8a9aab2b3b4b5b6b7b8b9bac2c3c4c5c6c7c8c9cad2d3d4d5d6d7d8d9dae1e2e3e4e5e6e7e8" +
			"e9eaf1f2f3f4f5f6f7f8f9fa"),
	}
	colorDC = spec{
		[16]byte{0, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0},
		[]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11},
	}
	colorAC = spec{
		[16]byte{0, 2, 1, 2, 4, 4, 3, 4, 7, 5, 4, 4, 0, 1, 2, 119},
		unhex("000102031104052131061241510761711322328108144291a1b1c109233352f0156272d10a162434e125f11718191a262728" +
			"292a35363738393a434445464748494a535455565758595a636465666768696a737475767778797a82838485868788898a92" +
			"939495969798999aa2a3a4a5a6a7a8a9aab2b3b4b5b6b7b8b9bac2c3c4c5c6c7c8c9cad2d3d4d5d6d7d8d9dae2e3e4e5e6e7" +
			"e8e9eaf2f3f4f5f6f7f8f9fa"),
	}
)

func unhex(s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}

// code is the code of a value.
type code struct {
	bits uint32
	n    uint
}

// codes are those of one spec by their values; channelCodes are the two of a channel.
type (
	codes        [256]code
	channelCodes struct{ dc, ac *codes }
)

var (
	lumaCodes  = channelCodes{lumaDC.codes(), lumaAC.codes()}
	colorCodes = channelCodes{colorDC.codes(), colorAC.codes()}
)

func (s *spec) codes() *codes {
	all, next, at := new(codes), uint32(0), 0
	for length, n := range s.counts {
		for range n {
			all[s.values[at]] = code{next, uint(length + 1)}
			next++
			at++
		}
		next <<= 1
	}
	return all
}

// put writes a coefficient after a run of zeros.
func (c *codes) put(e *encoder, run int, v int32) {
	sign := v >> 31
	size := uint(mathbits.Len32(uint32(v ^ sign - sign))) //nolint:gosec // its amount
	code := c[(run<<4|int(size))&255]
	e.put(code.bits<<size|uint32(v+sign)&(1<<size-1), code.n+size) //nolint:gosec // the lower bits
}
