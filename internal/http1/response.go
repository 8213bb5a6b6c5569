package http1

import (
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	maxKept   = 4 << 10   // of an answer, until the handler has returned
	maxUnread = 256 << 10 // of a request that the handler has not read, for which the connection goes on; as in net/http
)

// response is the answer to a request. A connection uses it again and again.
type response struct {
	conn    FrontConn
	unread  *atomic.Int64 // of the body of the request
	closing *atomic.Bool  // the server is
	header  http.Header

	status  int     // 0: the handler has not said
	out     *[]byte // what is to be sent: the head, and what is kept after it
	length  int64   // of the body, as the handler has said; less than 0: it has not
	written int64   // of the body
	body    []byte  // where the length is not known
	last    bool    // the connection ends with this answer
	err     error   // of the connection
}

var outBuffers = sync.Pool{New: func() any { return new(make([]byte, 0, maxKept)) }}

// begin begins an answer.
func (w *response) begin() {
	clear(w.header)
	out, _ := outBuffers.Get().(*[]byte) // the pool has no other type
	*w = response{conn: w.conn, unread: w.unread, closing: w.closing, header: w.header, out: out, length: -1}
}

// end ends an answer.
func (w *response) end() {
	if cap(*w.out) <= 2*maxKept {
		*w.out = (*w.out)[:0]
		outBuffers.Put(w.out)
	}
	w.out, w.body = nil, nil
}

// Header implements http.ResponseWriter.
func (w *response) Header() http.Header { return w.header }

// SetReadDeadline sets the deadline for what is left of the request.
func (w *response) SetReadDeadline(t time.Time) error {
	if w.unread.Load() == 0 {
		return nil
	}
	return w.conn.SetReadDeadline(t)
}

// WriteHeader implements http.ResponseWriter. Informational statuses are not sent.
func (w *response) WriteHeader(status int) {
	if w.status != 0 || status < http.StatusOK {
		return
	}
	w.status = status
	if values := w.header["Content-Length"]; len(values) > 0 && len(w.header["Content-Type"]) > 0 {
		if n, err := strconv.ParseInt(values[0], 10, 64); err == nil && n >= 0 {
			w.length = n
		}
	}
	w.last = w.closing.Load() || !w.discard()
	*w.out = w.appendHead((*w.out)[:0])
	if w.length >= 0 || !w.hasBody() {
		*w.out = append(*w.out, "\r\n"...)
	}
}

// discard reads what the handler has left of a request that is not too long. It reports whether nothing is left.
func (w *response) discard() bool {
	left := w.unread.Load()
	if left > 0 && left <= maxUnread {
		n, _ := io.CopyN(io.Discard, w.conn, left) // what cannot be read is left
		left = w.unread.Add(-n)
	}
	return left == 0
}

// hasBody reports whether the status is one of an answer with a body.
func (w *response) hasBody() bool {
	return w.status != http.StatusNoContent && w.status != http.StatusNotModified
}

// appendHead appends the head without its last line, and without a length that is not known.
func (w *response) appendHead(b []byte) []byte {
	b = append(b, "HTTP/1.1 "...)
	b = strconv.AppendInt(b, int64(w.status), 10)
	b = append(append(append(b, ' '), http.StatusText(w.status)...), "\r\n"...)
	for name, values := range w.header {
		switch name {
		case "Content-Length":
			if w.length < 0 || !w.hasBody() {
				continue
			}
		case "Content-Type":
			if w.status == http.StatusNotModified {
				continue
			}
		case "Connection":
			if len(values) > 0 && strings.EqualFold(values[0], "close") {
				w.last = true
				continue
			}
		}
		for _, value := range values {
			b = appendField(b, name, value)
		}
	}
	if w.header["Date"] == nil {
		b = appendField(b, "Date", dateOf(time.Now()))
	}
	if w.last {
		b = appendField(b, "Connection", "close")
	}
	return b
}

// appendField appends a field of the header. Its value cannot begin another one.
func appendField(b []byte, name, value string) []byte {
	b = append(append(b, name...), ": "...)
	from := len(b)
	b = append(b, value...)
	for i, c := range b[from:] {
		if c == '\r' || c == '\n' {
			b[from+i] = ' '
		}
	}
	return append(b, "\r\n"...)
}

// Write implements http.ResponseWriter.
func (w *response) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	switch {
	case !w.hasBody():
		return 0, http.ErrBodyNotAllowed
	case w.length < 0:
		w.body = append(w.body, b...)
		return len(b), nil
	case int64(len(b)) > w.length-w.written:
		return 0, http.ErrContentLength
	}
	w.written += int64(len(b))
	if len(*w.out)+len(b) <= maxKept {
		*w.out = append(*w.out, b...)
		return len(b), nil
	}
	if err := w.send(b); err != nil {
		return 0, err
	}
	return len(b), nil
}

// send sends what is kept, and b.
func (w *response) send(b []byte) error {
	if w.err == nil && len(b) == 0 {
		_, w.err = w.conn.Write(*w.out)
	} else if w.err == nil {
		_, w.err = w.conn.WriteBuffers(&net.Buffers{*w.out, b})
	}
	*w.out = (*w.out)[:0]
	return w.err
}

// finish sends the rest of the answer. It reports whether there may be another one on the connection.
func (w *response) finish() (keep bool) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if w.length < 0 && w.hasBody() {
		if w.header["Content-Type"] == nil && len(w.body) > 0 {
			*w.out = appendField(*w.out, "Content-Type", http.DetectContentType(w.body))
		}
		*w.out = append(appendField(*w.out, "Content-Length", strconv.Itoa(len(w.body))), "\r\n"...)
	}
	if len(*w.out) > 0 && w.send(w.body) != nil {
		return false
	}
	short := w.length > w.written && w.hasBody()
	return w.err == nil && !short && !w.last
}

// second is a value of the header Date.
type second struct {
	unix int64
	text string
}

var lastSecond atomic.Pointer[second]

// dateOf returns the header Date, which is made once a second.
func dateOf(now time.Time) string {
	s := lastSecond.Load()
	if s == nil || s.unix != now.Unix() {
		s = &second{now.Unix(), now.UTC().Format(http.TimeFormat)}
		lastSecond.Store(s)
	}
	return s.text
}
