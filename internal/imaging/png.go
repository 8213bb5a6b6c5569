package imaging

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"io"
)

// pngImage reads a PNG row by row. The library's decoder holds the whole image, eight bytes a pixel for the deepest kind.
type pngImage struct {
	size        image.Point
	depth       int
	colour      byte
	interlaced  bool
	palette     [256][3]byte // on white
	transparent []byte       // the colour that stands for nothing, as IHDR's kind writes it; nil: none
}

// Kinds of colour.
const (
	pngGray, pngRGB, pngPalette, pngGrayAlpha, pngRGBA byte = 0, 2, 3, 4, 6
)

var errPNG = errors.New("broken PNG")

// channels is how many samples a pixel has; 0: there is no such kind, or not in that depth.
func (p *pngImage) channels() int {
	small := p.depth == 1 || p.depth == 2 || p.depth == 4
	whole := p.depth == 8 || p.depth == 16
	switch {
	case p.colour == pngGray && (small || whole), p.colour == pngPalette && (small || p.depth == 8):
		return 1
	case !whole:
		return 0
	case p.colour == pngRGB:
		return 3
	case p.colour == pngGrayAlpha:
		return 2
	case p.colour == pngRGBA:
		return 4
	}
	return 0
}

// pngPasses are where the pixels of each pass begin, and how far apart they are.
var (
	pngWhole  = []pngPass{{0, 0, 1, 1}}
	pngPasses = []pngPass{{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}}
)

type pngPass struct{ x, y, dx, dy int }

// paintPNG paints a PNG on the surface that begin returns for its size.
func paintPNG(r io.Reader, begin func(size image.Point) (surface, error)) error {
	chunks := &pngChunks{r: bufio.NewReaderSize(r, 64<<10)}
	p, err := chunks.header()
	if err != nil {
		return err
	}
	s, err := begin(p.size)
	if err != nil {
		return err
	}
	z, err := zlib.NewReader(chunks)
	if err != nil {
		return err
	}
	passes := pngWhole
	if p.interlaced {
		passes = pngPasses
	}
	for _, pass := range passes {
		if err := p.paintPass(z, s, pass); err != nil {
			return err
		}
	}
	return nil
}

func (p *pngImage) paintPass(z io.Reader, s surface, pass pngPass) error {
	width := (p.size.X - pass.x + pass.dx - 1) / pass.dx
	if width <= 0 {
		return nil
	}
	bits := p.channels() * p.depth
	bytesApart := max(1, bits/8)
	row, before := make([]byte, 1+(width*bits+7)/8), make([]byte, 1+(width*bits+7)/8)
	rgb := make([]byte, 3*width)
	for y := pass.y; y < p.size.Y; y += pass.dy {
		if _, err := io.ReadFull(z, row); err != nil {
			return fmt.Errorf("%w: %w", errPNG, err)
		}
		if err := unfilter(row[0], row[1:], before[1:], bytesApart); err != nil {
			return err
		}
		p.colours(rgb, row[1:])
		s.paint(pass.x, y, pass.dx, rgb)
		row, before = before, row
	}
	return nil
}

// unfilter adds to each byte what was foretold from its neighbours.
func unfilter(kind byte, row, above []byte, apart int) error {
	switch kind {
	case 0:
	case 1:
		for i := apart; i < len(row); i++ {
			row[i] += row[i-apart]
		}
	case 2:
		for i, b := range above {
			row[i] += b
		}
	case 3:
		for i := range row {
			left := 0
			if i >= apart {
				left = int(row[i-apart])
			}
			row[i] += byte((left + int(above[i])) / 2) //nolint:gosec // an average of bytes
		}
	case 4:
		for i := range row {
			var left, corner int
			if i >= apart {
				left, corner = int(row[i-apart]), int(above[i-apart])
			}
			row[i] += paeth(left, int(above[i]), corner)
		}
	default:
		return fmt.Errorf("%w: filter %d", errPNG, kind)
	}
	return nil
}

// paeth returns the neighbour that is nearest to left + above - corner.
func paeth(left, above, corner int) byte {
	fromLeft, fromAbove := above-corner, left-corner
	fromCorner := fromLeft + fromAbove
	fromLeft, fromAbove, fromCorner = max(fromLeft, -fromLeft), max(fromAbove, -fromAbove), max(fromCorner, -fromCorner)
	switch {
	case fromLeft <= fromAbove && fromLeft <= fromCorner:
		return byte(left) //nolint:gosec // was a byte
	case fromAbove <= fromCorner:
		return byte(above) //nolint:gosec // was a byte
	}
	return byte(corner) //nolint:gosec // was a byte
}

// colours turns a row into red, green and blue on white.
func (p *pngImage) colours(rgb, row []byte) {
	wide := p.depth / 8 // bytes of a sample; 0: several samples a byte
	pixel := p.channels() * wide
	width := len(rgb) / 3
	switch p.colour {
	case pngPalette, pngGray:
		if wide == 0 || p.colour == pngPalette {
			p.packed(rgb, row)
			return
		}
		for x := range width {
			v := row[x*pixel]
			if p.transparent != nil && bytes.Equal(row[x*pixel:][:wide], p.transparent[2-wide:2]) {
				v = 255
			}
			rgb[3*x], rgb[3*x+1], rgb[3*x+2] = v, v, v
		}
	case pngRGB:
		for x := range width {
			at := row[x*pixel:][:pixel]
			rgb[3*x], rgb[3*x+1], rgb[3*x+2] = at[0], at[wide], at[2*wide]
			if p.transparent != nil && p.isTransparent(at, wide) {
				rgb[3*x], rgb[3*x+1], rgb[3*x+2] = 255, 255, 255
			}
		}
	case pngGrayAlpha:
		for x := range width {
			v := onWhite(row[x*pixel], row[x*pixel+wide])
			rgb[3*x], rgb[3*x+1], rgb[3*x+2] = v, v, v
		}
	case pngRGBA:
		for x := range width {
			at := row[x*pixel:][:pixel]
			alpha := at[3*wide]
			rgb[3*x], rgb[3*x+1], rgb[3*x+2] = onWhite(at[0], alpha), onWhite(at[wide], alpha), onWhite(at[2*wide], alpha)
		}
	}
}

// packed reads samples of up to eight bits, which are places in the palette or greys.
func (p *pngImage) packed(rgb, row []byte) {
	mask := byte(1<<p.depth - 1)
	for x := range len(rgb) / 3 {
		bit := x * p.depth
		v := row[bit/8] >> (8 - p.depth - bit%8) & mask
		if p.colour == pngPalette {
			copy(rgb[3*x:], p.palette[v][:])
			continue
		}
		grey := byte(int(v) * 255 / int(mask)) //nolint:gosec // at most 255
		if p.transparent != nil && p.transparent[1] == v {
			grey = 255
		}
		rgb[3*x], rgb[3*x+1], rgb[3*x+2] = grey, grey, grey
	}
}

func (p *pngImage) isTransparent(pixel []byte, wide int) bool {
	for i := range 3 {
		if !bytes.Equal(pixel[i*wide:][:wide], p.transparent[2*i+2-wide:2*i+2]) {
			return false
		}
	}
	return true
}

func onWhite(v, alpha byte) byte {
	if alpha == 255 {
		return v
	}
	return byte((int(v)*int(alpha) + 255*(255-int(alpha)) + 127) / 255) //nolint:gosec // an average of bytes
}

// pngChunks reads the chunks, and as a reader the compressed pixels that are spread over several of them.
type pngChunks struct {
	r    *bufio.Reader
	left int64 // of the chunk of pixels
}

// header reads as far as the first pixels.
func (c *pngChunks) header() (*pngImage, error) {
	var signature [8]byte
	if _, err := io.ReadFull(c.r, signature[:]); err != nil || string(signature[:]) != "\x89PNG\r\n\x1a\n" {
		return nil, errors.Join(errPNG, err)
	}
	var p *pngImage
	for range maxParts {
		kind, size, err := c.next()
		if err != nil {
			return nil, err
		}
		if kind == "IDAT" {
			if p == nil || p.channels() == 0 {
				return nil, errPNG
			}
			c.left = size
			return p, nil
		}
		if kind != "IHDR" && kind != "PLTE" && kind != "tRNS" {
			if _, err := io.CopyN(io.Discard, c.r, size+4); err != nil {
				return nil, err
			}
			continue
		}
		if size > 3*256 {
			return nil, errPNG
		}
		content := make([]byte, size+4) // with its checksum
		if _, err := io.ReadFull(c.r, content); err != nil {
			return nil, err
		}
		content = content[:size]
		switch {
		case kind == "IHDR" && p == nil && size == 13 && content[10] == 0 && content[11] == 0 && content[12] <= 1:
			p = &pngImage{depth: int(content[8]), colour: content[9], interlaced: content[12] == 1}
			w, h := binary.BigEndian.Uint32(content), binary.BigEndian.Uint32(content[4:])
			if w == 0 || h == 0 || w > 1<<20 || h > 1<<20 {
				return nil, errPNG
			}
			p.size = image.Pt(int(w), int(h))
		case kind == "IHDR" || p == nil:
			return nil, errPNG
		case kind == "PLTE":
			for i := range len(content) / 3 {
				copy(p.palette[i][:], content[3*i:])
			}
		default:
			p.setTransparent(content)
		}
	}
	return nil, errPNG
}

func (p *pngImage) setTransparent(content []byte) {
	switch {
	case p.colour == pngPalette:
		for i, alpha := range content[:min(len(content), 256)] {
			for j, v := range p.palette[i] {
				p.palette[i][j] = onWhite(v, alpha)
			}
		}
	case p.colour == pngGray && len(content) >= 2, p.colour == pngRGB && len(content) >= 6:
		p.transparent = content
	}
}

// next reads the head of a chunk.
func (c *pngChunks) next() (kind string, size int64, err error) {
	var head [8]byte
	if _, err := io.ReadFull(c.r, head[:]); err != nil {
		return "", 0, err
	}
	size = int64(binary.BigEndian.Uint32(head[:]))
	if size > 1<<31-1 {
		return "", 0, errPNG
	}
	return string(head[4:]), size, nil
}

// Read reads compressed pixels.
func (c *pngChunks) Read(b []byte) (int, error) {
	for c.left == 0 {
		if _, err := c.r.Discard(4); err != nil { // the checksum of the chunk before
			return 0, err
		}
		kind, size, err := c.next()
		if err != nil {
			return 0, err
		}
		if kind != "IDAT" {
			return 0, io.ErrUnexpectedEOF
		}
		c.left = size
	}
	n, err := c.r.Read(b[:min(int64(len(b)), c.left)])
	c.left -= int64(n)
	return n, err
}
