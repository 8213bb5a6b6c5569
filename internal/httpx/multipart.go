package httpx

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"

	"github.com/assayhq/assay/internal/domain/fault"
)

const (
	// readAhead is more than multipart.Reader holds beyond what it has parsed.
	readAhead = 8 << 10

	// bodyBuffer is how much is read from a connection at once: multipart.Reader reads 4 KB at a time, which would be as
	// many system calls.
	bodyBuffer = 128 << 10
)

var errNoFinalBoundary = errors.New("the final boundary is missing")

// Multipart reads the parts of a body and tells a complete one from one that was cut off: multipart.Reader returns
// io.EOF for both when the cut lies between two parts or in the header of one.
type Multipart struct {
	*multipart.Reader
	body  io.Reader
	final []byte // the final boundary
	ended bool   // the reader has got all of body

	buffer       []byte
	next, filled int    // buffer[next:filled] is for the reader
	err          error  // that comes after it
	tail         []byte // what the reader got before the buffer, the last readAhead bytes of it
}

// ReadMultipart returns the parts of a request's body, or refuses a body of another type.
func ReadMultipart(r *http.Request) (*Multipart, error) {
	mediaType, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || mediaType != "multipart/form-data" || params["boundary"] == "" {
		return nil, fault.BadRequest("The body must be multipart/form-data with a boundary.").With("field", "Content-Type")
	}
	size := int64(bodyBuffer)
	if r.ContentLength >= 0 {
		size = min(size, r.ContentLength+1) // one more, to see the end at once
	}
	m := &Multipart{body: r.Body, final: []byte("--" + params["boundary"] + "--"), buffer: make([]byte, size)}
	m.Reader = multipart.NewReader(readerFunc(m.read), params["boundary"])
	return m, nil
}

// NextPart returns the next part, io.EOF after the final boundary, and another error for a body that is broken.
func (m *Multipart) NextPart() (*multipart.Part, error) {
	part, err := m.Reader.NextPart()
	if errors.Is(err, io.EOF) {
		err = io.EOF
		if m.ended && !bytes.Contains(append(m.tail, m.buffer[:m.next]...), m.final) {
			err = errNoFinalBoundary
		}
	}
	return part, err
}

func (m *Multipart) read(p []byte) (int, error) {
	if m.next == m.filled && m.err == nil {
		m.tail = append(m.tail, m.buffer[max(0, m.next-readAhead):m.next]...)
		m.tail = append(m.tail[:0], m.tail[max(0, len(m.tail)-readAhead):]...)
		m.next = 0
		m.filled, m.err = m.body.Read(m.buffer)
	}
	n := copy(p, m.buffer[m.next:m.filled])
	m.next += n
	if n > 0 || len(p) == 0 {
		return n, nil
	}
	m.ended = m.ended || errors.Is(m.err, io.EOF)
	return 0, m.err
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
