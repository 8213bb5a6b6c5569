package http1

import (
	"bytes"
	"context"
	"io"
	"math"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
)

const (
	maxHead    = 4 << 10 // of a request; what is longer is left to net/http
	maxHeaders = 32
)

// request is the request that a connection is at. Its memory is used for one after the other.
type request struct {
	http.Request

	blank  http.Request // with what is the same for all requests of the connection
	url    url.URL
	values [maxHeaders]string // of the header
	body   requestBody
}

func (r *request) init(ctx context.Context, conn net.Conn) {
	r.blank = *(&http.Request{
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: make(http.Header), RemoteAddr: conn.RemoteAddr().String(),
	}).WithContext(ctx)
	r.body.conn = conn
}

// parse reads the request at the beginning of b, whose body may go on after it. size is what of b belongs to it. It
// reports false, and the request is nobody's, where it is not taken, where its head is not complete, and where anything
// about it is not plain: what has to be looked at closely is left to net/http.
func (r *request) parse(b []byte, takes func(path string) bool) (size int, ok bool) {
	head := bytes.Index(b, []byte("\r\n\r\n")) + len("\r\n")
	if head < len("\r\n") {
		return 0, false
	}
	line, fields, _ := strings.Cut(string(b[:head]), "\r\n")
	if !r.parseLine(line, takes) || !r.parseFields(fields) {
		return 0, false
	}
	length, ok := contentLength(r.Header)
	if !ok {
		return 0, false
	}
	head += len("\r\n")
	size = head + int(min(length, int64(len(b)-head)))
	r.body.begin(b[head:size], length-int64(size-head))
	if r.ContentLength, r.Body = length, &r.body; length == 0 {
		r.Body = http.NoBody
	}
	return size, true
}

// parseLine reads the first line.
func (r *request) parseLine(line string, takes func(path string) bool) bool {
	method, rest, _ := strings.Cut(line, " ")
	target, proto, _ := strings.Cut(rest, " ")
	switch method {
	case http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete:
	default:
		return false
	}
	path, query, more := strings.Cut(target, "?")
	if proto != "HTTP/1.1" || !takes(path) {
		return false
	}
	r.Request = r.blank
	r.Method, r.RequestURI, r.URL = method, target, &r.url
	if all(path, pathBytes) && all(query, queryBytes) {
		r.url = url.URL{Path: path, RawQuery: query, ForceQuery: more && query == ""}
		return true
	}
	u, err := url.ParseRequestURI(target)
	if err == nil {
		r.url = *u
	}
	return err == nil
}

// parseFields reads the header.
func (r *request) parseFields(fields string) bool {
	clear(r.Header)
	for n := 0; fields != ""; n++ {
		var field string
		field, fields, _ = strings.Cut(fields, "\r\n")
		name, value, ok := strings.Cut(field, ":")
		if !ok || n == maxHeaders || name == "" || !all(name, tokenBytes) || !all(value, valueBytes) {
			return false
		}
		name, value = textproto.CanonicalMIMEHeaderKey(name), strings.Trim(value, " \t")
		switch name {
		case "Host":
			if r.Host != "" || value == "" || !all(value, hostBytes) {
				return false
			}
			r.Host = value
			continue
		case "Connection":
			if !strings.EqualFold(value, "keep-alive") {
				return false
			}
		case "Expect", "Pragma", "Trailer", "Transfer-Encoding", "Upgrade":
			return false
		}
		if earlier := r.Header[name]; earlier != nil {
			r.Header[name] = append(earlier, value)
			continue
		}
		r.values[n] = value
		r.Header[name] = r.values[n : n+1 : n+1]
	}
	return r.Host != ""
}

// contentLength returns the length of the body.
func contentLength(h http.Header) (length int64, ok bool) {
	switch values := h["Content-Length"]; len(values) {
	case 0:
		return 0, true
	case 1:
		n, err := strconv.ParseUint(values[0], 10, 63)
		return int64(n & math.MaxInt64), err == nil
	default:
		return 0, false
	}
}

// requestBody is the body of a request: what was read with the head, and the rest on the connection.
type requestBody struct {
	conn   net.Conn
	come   []byte
	left   atomic.Int64 // on the connection
	closed bool
}

func (b *requestBody) begin(come []byte, left int64) {
	b.come, b.closed = come, false
	b.left.Store(left)
}

// Read implements io.Reader.
func (b *requestBody) Read(p []byte) (n int, err error) {
	left := b.left.Load()
	switch {
	case b.closed:
		return 0, http.ErrBodyReadAfterClose
	case len(b.come) > 0:
		n = copy(p, b.come)
		b.come = b.come[n:]
		return n, nil
	case left == 0:
		return 0, io.EOF
	}
	if n, err = b.conn.Read(p[:min(int64(len(p)), left)]); err == io.EOF { //nolint:errorlint // of a connection
		err = io.ErrUnexpectedEOF
	}
	b.left.Add(-int64(n))
	return n, err
}

// Close implements io.Closer. What is left is read when the request has been answered.
func (b *requestBody) Close() error {
	b.closed = true
	return nil
}

// byteSet is a set of bytes.
type byteSet [256]bool

func setOf(bytes string) *byteSet {
	s := new(byteSet)
	for i := range len(bytes) {
		s[bytes[i]] = true
	}
	return s
}

// all reports whether all bytes of a text are in a set.
func all(text string, in *byteSet) bool {
	for i := range len(text) {
		if !in[text[i]] {
			return false
		}
	}
	return true
}

const alphanumeric = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

var (
	pathBytes  = setOf(alphanumeric + "-._~/")                // which stand for themselves, and are never escaped
	queryBytes = setOf(alphanumeric + "-._~/?%&=+,:;@!$'()*") // of a query, which is not unescaped here
	tokenBytes = setOf(alphanumeric + "!#$%&'*+-.^_`|~")
	hostBytes  = setOf(alphanumeric + "-.:[]")
	valueBytes = printable()
)

// printable is what the value of a header consists of.
func printable() *byteSet {
	s := new(byteSet)
	for i := range s {
		s[i] = i >= ' ' && i != 0x7f || i == '\t'
	}
	return s
}
