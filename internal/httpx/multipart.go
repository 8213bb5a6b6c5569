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

// readAhead is more than multipart.Reader holds beyond what it has parsed.
const readAhead = 8 << 10

var errNoFinalBoundary = errors.New("the final boundary is missing")

// Multipart reads the parts of a body and tells a complete one from one that was cut off: multipart.Reader returns
// io.EOF for both when the cut lies between two parts or in the header of one.
type Multipart struct {
	*multipart.Reader
	body  io.Reader
	final []byte // the final boundary
	ended bool   // body has been read to its end
	tail  []byte // the last bytes of body, at least readAhead of them
}

// ReadMultipart returns the parts of a request's body, or refuses a body of another type.
func ReadMultipart(r *http.Request) (*Multipart, error) {
	mediaType, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || mediaType != "multipart/form-data" || params["boundary"] == "" {
		return nil, fault.BadRequest("The body must be multipart/form-data with a boundary.").With("field", "Content-Type")
	}
	m := &Multipart{body: r.Body, final: []byte("--" + params["boundary"] + "--")}
	m.Reader = multipart.NewReader(readerFunc(m.read), params["boundary"])
	return m, nil
}

// NextPart returns the next part, io.EOF after the final boundary, and another error for a body that is broken.
func (m *Multipart) NextPart() (*multipart.Part, error) {
	part, err := m.Reader.NextPart()
	if errors.Is(err, io.EOF) {
		err = io.EOF
		if m.ended && !bytes.Contains(m.tail, m.final) {
			err = errNoFinalBoundary
		}
	}
	return part, err
}

func (m *Multipart) read(p []byte) (int, error) {
	n, err := m.body.Read(p)
	m.ended = m.ended || errors.Is(err, io.EOF)
	if len(m.tail)+n > 4*readAhead {
		m.tail = append(m.tail[:0], m.tail[len(m.tail)-min(len(m.tail), readAhead):]...)
	}
	m.tail = append(m.tail, p[:n]...)
	return n, err
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
