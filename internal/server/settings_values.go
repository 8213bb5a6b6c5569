package server

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// ByteSize is a number of bytes, written with an optional unit: 10MiB, 500kB, 1048576.
type ByteSize int64

var byteUnits = []struct {
	suffix string
	factor float64
}{
	{"KiB", 1 << 10},
	{"MiB", 1 << 20},
	{"GiB", 1 << 30},
	{"TiB", 1 << 40},
	{"kB", 1e3},
	{"KB", 1e3},
	{"MB", 1e6},
	{"GB", 1e9},
	{"TB", 1e12},
	{"B", 1},
	{"", 1},
}

// Set reads a size.
func (b *ByteSize) Set(s string) error {
	for _, u := range byteUnits {
		number, ok := strings.CutSuffix(s, u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || n < 0 || n*u.factor >= math.MaxInt64 || n*u.factor != math.Trunc(n*u.factor) {
			break
		}
		*b = ByteSize(n * u.factor)
		return nil
	}
	return fmt.Errorf("%q is not a size such as 10MiB or 1048576", s)
}

// String writes the size in the largest binary unit that divides it.
func (b *ByteSize) String() string {
	n := int64(*b)
	switch {
	case n != 0 && n%(1<<20) == 0:
		return strconv.FormatInt(n>>20, 10) + "MiB"
	case n != 0 && n%(1<<10) == 0:
		return strconv.FormatInt(n>>10, 10) + "KiB"
	}
	return strconv.FormatInt(n, 10)
}

// Durations is a list of durations, written with commas: 1m,3m,7m. The empty list is allowed.
type Durations []time.Duration

// Set reads a list.
func (d *Durations) Set(s string) error {
	var list Durations
	if s != "" {
		for part := range strings.SplitSeq(s, ",") {
			v, err := time.ParseDuration(strings.TrimSpace(part))
			if err != nil || v < 0 {
				return fmt.Errorf("%q is not a list of durations such as 1m,3m,7m", s)
			}
			list = append(list, v)
		}
	}
	*d = list
	return nil
}

// String writes the list.
func (d *Durations) String() string {
	parts := make([]string, len(*d))
	for i, v := range *d {
		parts[i] = v.String()
	}
	return strings.Join(parts, ",")
}
