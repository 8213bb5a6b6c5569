package formdata

import "bytes"

// delimiter is a text that is looked for in large amounts of noise, as photos are. For each length of the text it looks
// at two neighbors of the noise only: wherever the text stood, it would cover some of these. bytes.Index looks for the
// first byte, which is everywhere.
type delimiter struct {
	text  []byte
	pairs [1 << 16 / 64]uint64 // the neighbors in the text, a bit for each
}

func newDelimiter(text string) *delimiter {
	d := &delimiter{text: []byte(text)}
	for i := range len(text) - 1 {
		p := uint(text[i])<<8 | uint(text[i+1])
		d.pairs[p/64] |= 1 << (p % 64)
	}
	return d
}

// index returns where the text begins in s; -1: nowhere.
func (d *delimiter) index(s []byte) int {
	pairs := len(d.text) - 1
	for i := pairs; i < len(s); i += pairs {
		p := uint(s[i-1])<<8 | uint(s[i])
		if d.pairs[p/64]&(1<<(p%64)) == 0 {
			continue
		}
		from := i - pairs
		if at := bytes.Index(s[from:min(len(s), i+pairs)], d.text); at >= 0 {
			return from + at
		}
	}
	return -1
}
