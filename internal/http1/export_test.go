package http1

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
)

// ParseRequest reads a request as a Server does, with what has come of its body.
func ParseRequest(b []byte, takes func(string) bool) (*http.Request, []byte, bool) {
	var r request
	ours, theirs := net.Pipe()
	_, _ = ours.Close(), theirs.Close()
	r.init(context.Background(), ours)
	if _, ok := r.parse(b, takes); !ok {
		return nil, nil, false
	}
	come, _ := io.ReadAll(io.LimitReader(r.Body, int64(len(r.body.come))))
	return &r.Request, bytes.Clone(come), true
}

// Answering returns what answers a request on a connection.
func Answering(h http.Handler, conn FrontConn, request string) (answer func() bool) {
	s := &Server{Server: &http.Server{Handler: h}, Takes: func(string) bool { return true }}
	c := newServerConn(&front{server: s}, conn)
	c.have = copy(c.read[:], request)
	return func() bool {
		_, ok := c.request.parse(c.read[:c.have], s.Takes)
		return ok && c.answer() && c.endWatch()
	}
}
