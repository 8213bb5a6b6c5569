// Package formdata reads request bodies of the type multipart/form-data, as browsers and clients send files.
package formdata

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/http"
	"net/textproto"
	"strings"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/httpx/input"
)

const (
	// bodyBuffer is how much of a body is held at a time, and about how much of a part is handed on at once.
	bodyBuffer = 128 << 10

	// maxBoundary is what RFC 2046 allows, and more for clients that do not know it.
	maxBoundary = 1 << 10

	// maxParts is how many parts a body may have: more than photos and the fields of any form.
	maxParts = 1000

	// maxPartHeader is how large the header of a part may be: it holds names.
	maxPartHeader = 32 << 10
)

var (
	errNoBoundary      = errors.New("the boundary is missing")
	errNoFinalBoundary = errors.New("the final boundary is missing")
	errNoNewPart       = errors.New("a boundary is followed by more in its line")
	errHeaderTooLarge  = errors.New("the header of a part is too large")
	errNoName          = errors.New("the Content-Disposition of a part cannot be read")
	errTooManyParts    = fmt.Errorf("there are more than %d parts", maxParts)
)

// Reader reads the parts of a body, one after the other. It reads what multipart.Reader does, which looks at 4 KB at a
// time and copies them twice: a seventh of the work of an upload. And it tells a complete body from one that was cut
// off between two parts.
type Reader struct {
	body io.Reader
	err  error // of the body, which comes after what is in the buffer

	buffer       []byte
	next, filled int // buffer[next:filled] was not handed on
	clear        int // in buffer[next:clear] no delimiter begins

	delimiter *delimiter // what ends the content of a part: the end of a line and the boundary
	content   *content   // of the part that was returned last
	parts     int
}

// NewReader returns a reader of a request's body, or refuses a body of another type or one that is compressed.
func NewReader(r *http.Request) (*Reader, error) {
	if err := input.CheckEncoding(r); err != nil {
		return nil, err
	}
	mediaType, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	boundary := params["boundary"]
	if err != nil || mediaType != "multipart/form-data" || boundary == "" {
		return nil, fault.BadRequest("The body must be multipart/form-data with a boundary.").With("field", "Content-Type")
	}
	if len(boundary) > maxBoundary {
		return nil, fault.BadRequest(fmt.Sprintf("The boundary has at most %d characters.", maxBoundary)).
			With("field", "Content-Type")
	}
	size := int64(bodyBuffer)
	if r.ContentLength >= 0 {
		size = min(size-1, r.ContentLength) + 1 // one more, to see the end at once
	}
	return &Reader{body: r.Body, delimiter: newDelimiter("\r\n--" + boundary), buffer: make([]byte, size)}, nil
}

// Part is a part of a body. Its content can be read until the next part is asked for.
type Part struct {
	io.Reader
	names multipart.Part
}

// FormName returns the name of the field.
func (p *Part) FormName() string { return p.names.FormName() }

// FileName returns the name of the file without folders; empty for a field that is no file.
func (p *Part) FileName() string { return p.names.FileName() }

// WriteTo implements io.WriterTo, without a copy where the part is not encoded.
func (p *Part) WriteTo(w io.Writer) (int64, error) { return io.Copy(w, p.Reader) }

// NextPart returns the next part, io.EOF after the final boundary, and another error for a body that is broken.
func (r *Reader) NextPart() (*Part, error) {
	if err := r.delimit(); err != nil {
		return nil, err
	}
	if r.parts++; r.parts > maxParts {
		return nil, errTooManyParts
	}
	header, err := r.header()
	if err != nil {
		return nil, err
	}
	if !named(header.Get("Content-Disposition")) {
		return nil, errNoName
	}
	r.content = newContent(r)
	part := &Part{Reader: r.content, names: multipart.Part{Header: header}}
	if strings.EqualFold(header.Get("Content-Transfer-Encoding"), "quoted-printable") {
		part.Reader = quotedprintable.NewReader(part.Reader)
	}
	return part, nil
}

// named reports whether the names that a part has can be read. One whose names are lost would look like a field without
// a name, and a photo would be passed over in silence.
func named(disposition string) bool {
	if disposition == "" {
		return true
	}
	_, params, err := mime.ParseMediaType(disposition)
	_, read := params["filename"]
	return err == nil && (read || !strings.Contains(strings.ToLower(disposition), "filename*"))
}

// delimit reads on until after the line of the next boundary.
func (r *Reader) delimit() error {
	for {
		if err := r.toBoundary(); err != nil {
			return err
		}
		line, err := r.line(len(r.buffer))
		rest, final := bytes.CutPrefix(line, []byte("--"))
		rest = bytes.TrimLeft(rest, " \t")
		if r.content == nil && !final && string(rest) == "\n" {
			r.delimiter = newDelimiter(string(r.delimiter.text[1:])) // as all lines of this body end
		}
		ended := bytes.HasPrefix(r.delimiter.text, rest) && bytes.HasSuffix(rest, []byte("\n"))
		switch {
		case final && (ended || len(rest) == 0):
			return r.end()
		case err != nil:
			return cutOff(err, errNoFinalBoundary)
		case ended && !final:
			return nil
		case r.content != nil:
			return errNoNewPart
		}
	}
}

// end reads what follows the final boundary, so that a body which is cut off there is broken as well.
func (r *Reader) end() error {
	for r.err == nil {
		r.next = r.filled
		r.read()
	}
	return r.err
}

// toBoundary reads on until after the next boundary.
func (r *Reader) toBoundary() error {
	if r.content != nil {
		_, err := r.content.WriteTo(io.Discard)
		return err
	}
	boundary := r.delimiter.text[len("\r\n"):]
	for begins := true; ; { // begins: a line does
		err := r.fill(len(boundary))
		if begins && bytes.HasPrefix(r.held(), boundary) {
			r.next += len(boundary)
			return nil
		}
		if err != nil {
			return cutOff(err, errNoBoundary)
		}
		line, err := r.line(len(r.buffer) / 2)
		if err != nil {
			return cutOff(err, errNoBoundary)
		}
		begins = bytes.HasSuffix(line, []byte("\n"))
	}
}

// header reads the header of a part.
func (r *Reader) header() (textproto.MIMEHeader, error) {
	var head []byte
	for {
		line, err := r.line(maxPartHeader)
		if err != nil {
			return nil, cutOff(err, io.ErrUnexpectedEOF)
		}
		if head = append(head, line...); len(head) > maxPartHeader || !bytes.HasSuffix(line, []byte("\n")) {
			return nil, errHeaderTooLarge
		}
		if len(bytes.TrimRight(line, "\r\n")) == 0 {
			return textproto.NewReader(bufio.NewReaderSize(bytes.NewReader(head), len(head))).ReadMIMEHeader()
		}
	}
}

// cutOff returns the error of a body, or what its end means.
func cutOff(err, end error) error {
	if errors.Is(err, io.EOF) {
		return end
	}
	return err
}

func (r *Reader) held() []byte { return r.buffer[r.next:r.filled] }

// line takes a line with its end, or as much of it as most says, or with an error the rest of the body.
func (r *Reader) line(most int) ([]byte, error) {
	for n := 1; ; n = r.filled - r.next + 1 {
		err := r.fill(min(n, most))
		line := r.held()
		if end := bytes.IndexByte(line, '\n'); end >= 0 {
			line, err = line[:end+1], nil
		} else if err == nil && len(line) < most {
			continue
		}
		r.next += len(line)
		return line, err
	}
}

// fill reads until n bytes are held, which the buffer must have room for, or the body ends or fails.
func (r *Reader) fill(n int) error {
	for r.filled-r.next < n && r.err == nil {
		r.read()
	}
	if r.filled-r.next < n {
		return r.err
	}
	return nil
}

// read reads from the body once.
func (r *Reader) read() {
	if r.filled == len(r.buffer) || r.next == r.filled {
		r.clear = max(0, r.clear-r.next)
		r.filled = copy(r.buffer, r.held())
		r.next = 0
	}
	if r.filled == len(r.buffer) { // it is longer than it said
		r.err = io.ErrShortBuffer
		return
	}
	n, err := r.body.Read(r.buffer[r.filled:])
	r.filled += n
	if r.err = err; err != nil && !errors.Is(err, io.EOF) {
		r.err = &bodyError{err}
	}
}

// bodyError says why a body could not be read to its end. Its text is for clients, who need not see the cause.
type bodyError struct{ cause error }

func (e *bodyError) Error() string { return "it could not be read to its end" }

func (e *bodyError) Unwrap() error { return e.cause }
