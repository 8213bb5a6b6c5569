package smalljpeg

import mathbits "math/bits"

// zigzag is the index of a coefficient in its block, by its index in the file.
var zigzag = [64]int8{
	0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5,
	12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21, 28,
	35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
	58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
}

// keeps is, for blocks of n × n samples, the index at which a coefficient is kept by its index in the file, or unkept.
var keeps = func() (all [9][64]uint8) {
	for _, n := range []int{1, 2, 4, 8} {
		for k, at := range zigzag {
			u, v := int(at)%8, int(at)/8
			all[n][k] = unkept
			if u < n && v < n {
				all[n][k] = uint8(v*n + u)
			}
		}
	}
	return all
}()

const unkept = 64

// params are the parameters of one scan.
type params struct {
	components []*component
	from, to   int // coefficients
	high, low  uint
}

// scan reads one scan, and reports whether the image is complete.
func (d *decoder) scan(size int) (done bool, err error) {
	content := make([]byte, size)
	if !d.in.full(content) {
		return true, nil
	}
	p, err := d.readScan(content)
	if err != nil {
		return false, err
	}
	if d.scans++; d.scans > maxScans {
		return false, broken("too many scans")
	}
	for _, c := range p.components {
		if c.read && !d.progressive {
			return false, broken("a second picture")
		}
		c.read = true
	}
	whole := !d.progressive && len(p.components) == len(d.components)
	if !whole && d.components[0].coefs == nil {
		d.allocateCoefficients()
	}
	if err := d.readUnits(p, whole); err != nil {
		return false, err
	}
	return whole, nil
}

func (d *decoder) readScan(b []byte) (*params, error) {
	if d.components == nil || len(b) < 1 || int(b[0]) > len(d.components) || b[0] == 0 || len(b) < 4+2*int(b[0]) {
		return nil, broken("scan header")
	}
	if d.scans == 0 {
		d.layOut()
	}
	p := new(params)
	units := 0
	for i := range int(b[0]) {
		id, tables := b[1+2*i], b[2+2*i]
		var c *component
		for j := range d.components {
			if d.components[j].id == id {
				c = &d.components[j]
			}
		}
		if c == nil || tables>>4 > 3 || tables&15 > 3 {
			return nil, broken("scan header")
		}
		for _, other := range p.components {
			if other == c {
				return nil, broken("a component is twice in a scan")
			}
		}
		if c.quant == nil {
			if c.quant = d.quants[c.table]; c.quant == nil {
				return nil, broken("no quantization table")
			}
		}
		c.dcTable, c.acTable = d.dcTables[tables>>4], d.acTables[tables&15]
		p.components = append(p.components, c)
		units += c.h * c.v
	}
	if len(p.components) > 1 && units > 10 {
		return nil, broken("units are too large")
	}
	rest := b[1+2*len(p.components):]
	p.from, p.to, p.high, p.low = int(rest[0]), int(rest[1]), uint(rest[2]>>4), uint(rest[2]&15)
	if !d.progressive {
		p.from, p.to, p.high, p.low = 0, 63, 0, 0
	}
	if p.from > p.to || p.to > 63 || p.low > 13 || p.high > 13 ||
		d.progressive && p.from == 0 && p.to != 0 || p.from > 0 && len(p.components) != 1 {
		return nil, broken("scan header")
	}
	for _, c := range p.components {
		if p.from == 0 && p.high == 0 && c.dcTable == nil || p.to > 0 && c.acTable == nil {
			return nil, broken("no Huffman table")
		}
	}
	return p, nil
}

// allocateCoefficients allocates those of the whole image, for files in which a block is not stored in one place.
func (d *decoder) allocateCoefficients() {
	for i := range d.components {
		c := &d.components[i]
		blocks := c.across * d.unitsDown * c.v
		c.coefs = make([]int16, blocks*c.n*c.n)
		c.nonzero = make([]uint64, blocks)
	}
}

// readUnits reads the units of a scan as far as there is data for them. Those that are cut off are left as they are, up
// to the next restart marker: a file without data costs no more time than it is long.
func (d *decoder) readUnits(p *params, whole bool) error {
	across, down := d.unitsAcross, d.unitsDown
	single := len(p.components) == 1
	if single { // a unit is one block, and blocks that only fill up are left out
		c := p.components[0]
		across, down = upTo(upTo(d.width*c.h, d.hMax), 8), upTo(upTo(d.height*c.v, d.vMax), 8)
	}
	d.bits.reset()
	if d.bits.window = d.bits.refill(d.bits.window); d.bits.n == d.bits.zeros && d.scans == 1 {
		return broken("no data")
	}
	d.restart(p)
	left := d.interval
	for y := range down {
		if err := d.stopped(); err != nil {
			return err
		}
		for x := range across {
			if d.interval > 0 {
				if left == 0 {
					if !d.nextRestart() {
						return nil
					}
					d.restart(p)
					left = d.interval
				}
				left--
			}
			if d.bits.over() {
				if !d.restartable() {
					return nil
				}
				continue
			}
			if err := d.readUnit(p, x, y, single, whole); err != nil {
				return err
			}
		}
	}
	return nil
}

// restartable reports whether broken data may be followed by good data.
func (d *decoder) restartable() bool {
	return d.interval > 0 && d.bits.marker >= markRST0 && d.bits.marker <= markRST7
}

func (d *decoder) restart(p *params) {
	d.eobRun = 0
	for _, c := range p.components {
		c.dc = 0
	}
}

// nextRestart skips to after the next restart marker. It reports false at any other, which is left unread and ends the
// scan.
func (d *decoder) nextRestart() bool {
	mark := d.bits.marker
	if mark == 0 {
		mark, _ = d.nextMarker()
	}
	d.bits.reset()
	if mark >= markRST0 && mark <= markRST7 {
		return true
	}
	if mark == 0 {
		mark = markEOI
	}
	d.bits.marker = mark
	return false
}

func (d *decoder) readUnit(p *params, x, y int, single, whole bool) error {
	for _, c := range p.components {
		down, across := c.v, c.h
		if single {
			down, across = 1, 1
		}
		for v := range down {
			for h := range across {
				column, row := x*across+h, y*down+v
				var err error
				if whole {
					if err = d.readBlock(c); err == nil {
						c.show(&d.block, column, row)
					}
				} else {
					err = d.readPart(p, c, row*c.across+column)
				}
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// readDC adds what the file stores of the first coefficient, the difference to that of the previous block.
func (d *decoder) readDC(c *component) error {
	e := d.bits.symbol(c.dcTable)
	if e == 0 || e.run() > 0 {
		return broken("code")
	}
	if size := e.size(); size > 0 {
		c.dc += d.bits.signed(size)
	}
	return nil
}

// readBlock reads a complete block of a sequential image into d.block, multiplied by the quantization.
func (d *decoder) readBlock(c *component) error {
	if err := d.readDC(c); err != nil {
		return err
	}
	block, keep, quant, table := &d.block, c.keep, c.quant, c.acTable
	clear(block.values[:c.n*c.n])
	block.values[0] = c.dc * quant[0]
	w := d.bits.window
	k := 1
	for k < 64 {
		if w.n < enough {
			w = d.bits.refill(w)
		}
		e := table.quick[w.acc>>(64-quickBits)]
		value := e.value()
		if value == 0 {
			if e == 0 {
				if e = table.long(w); e == 0 {
					return broken("code")
				}
			}
			w.skip(e.length())
			size := e.size()
			if size == 0 {
				if e.run() < 15 {
					break
				}
				k += 16
				continue
			}
			value = w.signed(size)
		} else {
			w.skip(e.length())
		}
		k += e.run()
		if k > 63 {
			return broken("too many coefficients")
		}
		block.values[keep[k]] = value * quant[k]
		k++
	}
	block.flat = k == 1
	d.bits.window = w
	return nil
}

// readPart reads what a scan has of a block.
func (d *decoder) readPart(p *params, c *component, index int) error {
	kept, nonzero := c.coefs[index*c.n*c.n:][:c.n*c.n], &c.nonzero[index]
	switch {
	case p.from == 0 && p.high > 0:
		kept[0] |= int16(d.bits.take(1) << p.low) //nolint:gosec // one bit
		return nil
	case p.from == 0:
		if err := d.readDC(c); err != nil {
			return err
		}
		kept[0] = int16(c.dc << p.low) //nolint:gosec // broken files may give anything
		if p.to == 0 {
			return nil
		}
		return d.firstAC(p, c, kept, nonzero)
	case p.high == 0:
		return d.firstAC(p, c, kept, nonzero)
	}
	return d.refineAC(p, c, kept, nonzero)
}

// firstAC reads coefficients for the first time. Sequential images have no runs of blocks without any: what would begin
// one only ends the block.
func (d *decoder) firstAC(p *params, c *component, kept []int16, nonzero *uint64) error {
	if d.eobRun > 0 {
		d.eobRun--
		return nil
	}
	for k := max(p.from, 1); k <= p.to && !d.bits.over(); k++ {
		e := d.bits.symbol(c.acTable)
		if e == 0 {
			return broken("code")
		}
		run, size := e.run(), e.size()
		if size == 0 {
			if run == 15 {
				k += 15
				continue
			}
			if d.progressive {
				d.eobRun = 1<<run - 1 + int(d.bits.take(uint(run)))
			}
			return nil
		}
		v := d.bits.signed(size) << p.low
		if k += run; k > 63 {
			return broken("too many coefficients")
		}
		*nonzero |= 1 << k
		if at := c.keep[k]; at < unkept {
			kept[at] = int16(v) //nolint:gosec // broken files may give anything
		}
	}
	return nil
}

// refineAC adds one bit to the coefficients that are not zero, and reads new ones.
func (d *decoder) refineAC(p *params, c *component, kept []int16, nonzero *uint64) error {
	k := p.from
	for d.eobRun == 0 && k <= p.to && !d.bits.over() {
		e := d.bits.symbol(c.acTable)
		if e == 0 || e.size() > 1 {
			return broken("code")
		}
		run, fresh := e.run(), e.size() == 1
		if !fresh && run != 15 {
			d.eobRun = 1<<run + int(d.bits.take(uint(run)))
			break
		}
		v := int32(0)
		if fresh {
			v = d.bits.signed(1) << p.low
		}
		k = d.refine(p, c, kept, *nonzero, k, run)
		if k > p.to {
			if fresh {
				return broken("too many coefficients")
			}
			break
		}
		if fresh {
			*nonzero |= 1 << k
			if at := c.keep[k]; at < unkept {
				kept[at] = int16(v)
			}
		}
		k++
	}
	if d.eobRun > 0 {
		d.eobRun--
		if *nonzero != 0 { // most blocks of most scans have nothing to add to
			d.refine(p, c, kept, *nonzero, k, 64)
		}
	}
	return nil
}

// refine skips a number of zeros, adds a bit to all coefficients between them, and returns the index of the zero after
// them, or the one after the last coefficient.
func (d *decoder) refine(p *params, c *component, kept []int16, nonzero uint64, k, zeros int) int {
	for ; ; k++ {
		gap := min(mathbits.TrailingZeros64(nonzero>>k), p.to+1-k)
		if gap > zeros {
			return k + zeros
		}
		zeros -= gap
		if k += gap; k > p.to {
			return k
		}
		if d.bits.take(1) == 0 {
			continue
		}
		at := c.keep[k]
		switch {
		case at == unkept:
		case kept[at] >= 0:
			kept[at] += 1 << p.low
		default:
			kept[at] -= 1 << p.low
		}
	}
}
