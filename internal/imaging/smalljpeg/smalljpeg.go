// Package smalljpeg decodes JPEG files at full, half, quarter or eighth size. It takes the memory of the smaller image;
// for a progressive one also a few bytes for each block of 64 pixels, because only the coefficients that matter at that
// size are kept.
//
// It reads what cameras, phones and browsers write: 8 bits a sample, Huffman coded, sequential or progressive, of one,
// three or four components.
package smalljpeg

import (
	"context"
	"errors"
	"fmt"
	"image"
	"io"
)

// ErrFormat means that a file is not a JPEG, is broken, or is of an unsupported kind.
var ErrFormat = errors.New("smalljpeg: not a readable JPEG")

func broken(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrFormat, fmt.Sprintf(format, args...))
}

// Scale gets the size of the image in the file and returns what to divide it by: 1, 2, 4 or 8. Decode returns its
// error.
type Scale func(width, height int) (int, error)

// Markers.
const (
	markSOF0, markSOF1, markSOF2       = 0xc0, 0xc1, 0xc2
	markDHT, markDAC                   = 0xc4, 0xcc
	markSOFLast                        = 0xcf
	markRST0, markRST7                 = 0xd0, 0xd7
	markSOI, markEOI, markSOS, markDQT = 0xd8, 0xd9, 0xda, 0xdb
	markDRI, markAPP14, markTEM        = 0xdd, 0xee, 0x01
)

const (
	maxComponents = 4
	maxSampling   = 4
	maxScans      = 64 // encoders write about ten, and every scan visits all blocks
	maxTables     = 8 * maxScans
	maxSegments   = 10_000
)

// component is one of the color channels.
type component struct {
	id      byte
	h, v    int // samples of a minimum coded unit, in blocks
	table   int // of its quantization
	n       int // samples of a block that are made, in each direction
	keep    *[64]uint8
	across  int // blocks in a row, those included that only fill up a unit
	quant   *[64]int32
	read    bool     // in a scan
	coefs   []int16  // kept coefficients of each block; nil where blocks are converted as they are read
	nonzero []uint64 // which coefficients of a block are not zero, kept or not
	plane   []byte   // samples
	stride  int      // of plane
	dc      int32    // prediction
	dcTable *huffman
	acTable *huffman
}

type decoder struct {
	in          *input
	stopped     func() error // the reason to stop, nil: none
	bits        bits
	scale       Scale
	width       int
	height      int
	progressive bool
	components  []component
	hMax, vMax  int
	unitsAcross int // minimum coded units in a row
	unitsDown   int
	interval    int // units between restarts; 0: none
	quants      [4]*[64]int32
	dcTables    [4]*huffman
	acTables    [4]*huffman
	jfif        bool
	adobe       int // transform of the Adobe segment; -1: no such segment

	n      int // pixels of a block of the finest component
	block  block
	scans  int
	tables int // of codes
	eobRun int
}

// Decode decodes an image, a truncated one as far as it goes, to height/scale rows of width/scale pixels, both rounded
// up. It returns a Gray, a YCbCr whose color is at most half as fine as its brightness, or, where the file has other
// components, an RGBA. It stops when ctx ends, at the next row of units. The error is ErrFormat, that of scale, of the
// reader or of ctx.
func Decode(ctx context.Context, r io.Reader, scale Scale) (image.Image, error) {
	d := &decoder{in: &input{r: r}, stopped: ctx.Err, scale: scale, adobe: -1}
	d.bits.in = d.in
	err := d.decode()
	if failure := d.in.failure; failure != nil {
		return nil, failure
	}
	if err != nil {
		return nil, err
	}
	return d.image()
}

func (d *decoder) decode() error {
	if a, b := d.in.byte(), d.in.byte(); a != 0xff || b != markSOI {
		return broken("it does not begin as one")
	}
	for range maxSegments {
		mark, ok := d.nextMarker()
		if !ok || mark == markEOI {
			return nil
		}
		if mark == markTEM || mark >= markRST0 && mark <= markSOI {
			continue
		}
		size := int(d.in.byte())<<8 + int(d.in.byte()) - 2
		if size < 0 || d.in.ended {
			return nil
		}
		if mark == markSOS {
			done, err := d.scan(size)
			if err != nil || done {
				return err
			}
			continue
		}
		if err := d.segment(mark, size); err != nil {
			return err
		}
	}
	return broken("too many segments")
}

// nextMarker skips everything before the next marker.
func (d *decoder) nextMarker() (byte, bool) {
	if m := d.bits.marker; m != 0 {
		d.bits.reset()
		return m, m != markEOI
	}
	d.bits.reset()
	for !d.in.ended {
		if d.in.byte() != 0xff {
			continue
		}
		b := d.in.byte()
		for b == 0xff && !d.in.ended {
			b = d.in.byte()
		}
		if b != 0 {
			return b, true
		}
	}
	return 0, false
}

// segment reads a segment that is not a scan.
func (d *decoder) segment(mark byte, size int) error {
	switch {
	case mark == markDQT, mark == markDHT, mark == markDRI, mark == markAPP14, mark == 0xe0:
		content := make([]byte, size)
		if !d.in.full(content) {
			return broken("it ends in a segment")
		}
		switch mark {
		case markDQT:
			return d.readQuants(content)
		case markDHT:
			return d.readHuffman(content)
		case markDRI:
			if size < 2 {
				return broken("restart interval")
			}
			d.interval = int(content[0])<<8 + int(content[1])
		case markAPP14:
			if size >= 12 && string(content[:5]) == "Adobe" {
				d.adobe = int(content[11])
			}
		default:
			d.jfif = d.jfif || size >= 5 && string(content[:5]) == "JFIF\x00"
		}
		return nil
	case mark == markSOF0, mark == markSOF1, mark == markSOF2:
		content := make([]byte, size)
		if !d.in.full(content) {
			return broken("it ends in its header")
		}
		return d.readFrame(content, mark == markSOF2)
	case mark > markSOF2 && mark <= markSOFLast && mark != markDAC:
		return broken("coding %#x is not read", mark)
	}
	d.in.skip(size)
	return nil
}

func (d *decoder) readQuants(b []byte) error {
	for len(b) > 0 {
		wide, id := int(b[0]>>4), b[0]&15
		b = b[1:]
		if wide > 1 || id > 3 || len(b) < 64*(1+wide) {
			return broken("quantization table")
		}
		q := new([64]int32)
		for i := range q {
			if wide == 1 {
				q[i] = int32(b[2*i])<<8 | int32(b[2*i+1])
			} else {
				q[i] = int32(b[i])
			}
		}
		d.quants[id] = q
		b = b[64*(1+wide):]
	}
	return nil
}

func (d *decoder) readHuffman(b []byte) error {
	for len(b) > 0 {
		if len(b) < 17 {
			return broken("Huffman table")
		}
		class, id := b[0]>>4, b[0]&15
		h, used := newHuffman(b[1:])
		if class > 1 || id > 3 || h == nil {
			return broken("Huffman table")
		}
		if d.tables++; d.tables > maxTables {
			return broken("too many Huffman tables")
		}
		if class == 0 {
			d.dcTables[id] = h
		} else {
			d.acTables[id] = h
		}
		b = b[1+used:]
	}
	return nil
}

func (d *decoder) readFrame(b []byte, progressive bool) error {
	if d.components != nil {
		return broken("two frames")
	}
	if len(b) < 6 || len(b) < 6+3*int(b[5]) || b[0] != 8 {
		return broken("frame header")
	}
	d.progressive = progressive
	d.height, d.width = int(b[1])<<8+int(b[2]), int(b[3])<<8+int(b[4])
	n := int(b[5])
	if d.width == 0 || d.height == 0 || n != 1 && n != 3 && n != 4 {
		return broken("%d × %d pixels of %d components", d.width, d.height, n)
	}
	components := make([]component, n)
	for i := range components {
		c := &components[i]
		p := b[6+3*i:]
		c.id, c.h, c.v, c.table = p[0], int(p[1]>>4), int(p[1]&15), int(p[2])
		if n == 1 {
			c.h, c.v = 1, 1 // a unit of one component is one block, whatever the file says
		}
		if c.h < 1 || c.h > maxSampling || c.v < 1 || c.v > maxSampling || c.table > 3 {
			return broken("component")
		}
		d.hMax, d.vMax = max(d.hMax, c.h), max(d.vMax, c.v)
	}
	d.unitsAcross, d.unitsDown = upTo(d.width, 8*d.hMax), upTo(d.height, 8*d.vMax)
	scale, err := d.scale(d.width, d.height)
	if err != nil {
		return err
	}
	d.n, d.components = 8/scale, components
	return nil
}

// upTo divides and rounds up.
func upTo(whole, part int) int { return (whole + part - 1) / part }
