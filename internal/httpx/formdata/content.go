package formdata

import (
	"bytes"
	"errors"
	"io"
)

// content is that of a part, as far as the delimiter.
type content struct {
	*Reader
	end error // io.EOF after the delimiter, or why there is none
}

// newContent returns what comes after a header. A boundary may stand there at once: the line before it is the empty one
// that ends the header.
func newContent(r *Reader) *content {
	c := &content{Reader: r}
	boundary := bytes.TrimLeft(r.delimiter.text, "\r\n")
	_ = r.fill(len(boundary) + 2) // what ends the body before is found by peek
	r.clear = r.next
	if bytes.HasPrefix(r.held(), boundary) && c.ends(r.next+len(boundary)) == yes {
		r.next += len(boundary)
		c.end = io.EOF
	}
	return c
}

// Read implements io.Reader.
func (c *content) Read(p []byte) (int, error) {
	piece, err := c.peek(1)
	n := copy(p, piece)
	c.next += n
	return n, err
}

// WriteTo implements io.WriterTo. What it writes are pieces of the buffer.
func (c *content) WriteTo(w io.Writer) (total int64, err error) {
	for {
		piece, err := c.peek(len(c.buffer) * 3 / 4)
		if errors.Is(err, io.EOF) {
			return total, nil
		}
		if err != nil {
			return total, err
		}
		n, err := w.Write(piece)
		total += int64(n)
		c.next += n
		if err != nil {
			return total, err
		}
	}
}

// peek returns what comes next: n bytes or more, unless the content ends before.
func (c *content) peek(n int) ([]byte, error) {
	for c.end == nil {
		delimited := c.search()
		if piece := c.buffer[c.next:c.clear]; len(piece) > 0 &&
			(delimited || len(piece) >= n || c.filled-c.next == len(c.buffer)) {
			return piece, nil
		}
		switch {
		case delimited:
			c.next += len(c.delimiter.text)
			c.end = io.EOF
		case c.err != nil:
			c.end = cutOff(c.err, io.ErrUnexpectedEOF)
		default:
			c.read()
		}
	}
	return nil, c.end
}

// search moves clear on, to where a delimiter begins or could begin. It is delimited if one begins there.
func (c *content) search() (delimited bool) {
	for {
		at := c.delimiter.index(c.buffer[c.clear:c.filled])
		if at < 0 {
			c.clear = max(c.clear, c.filled-len(c.delimiter.text)+1)
			return false
		}
		c.clear += at
		switch c.ends(c.clear + len(c.delimiter.text)) {
		case yes:
			return true
		case unknown:
			return false
		case no:
			c.clear += len(c.delimiter.text)
		}
	}
}

type answer int

const (
	no answer = iota
	yes
	unknown // more has to be read
)

// ends reports whether the boundary ends before a place in the buffer: it could be the beginning of another text.
func (c *content) ends(at int) answer {
	rest := c.buffer[at:c.filled]
	switch {
	case len(rest) == 0 && c.err == nil, string(rest) == "-" && c.err == nil:
		return unknown
	case len(rest) == 0, bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0, bytes.HasPrefix(rest, []byte("--")):
		return yes
	}
	return no
}
