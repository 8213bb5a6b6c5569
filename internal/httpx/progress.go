package httpx

import (
	"io"
	"net/http"
	"time"
)

// WritePart is what a client has to accept of a response within the time of LimitWrites, or of what calls WriteParts.
const WritePart = 64 << 10

// WriteParts writes part by part, and calls begin before each.
func WriteParts(w io.Writer, b []byte, begin func()) (written int, err error) {
	for {
		begin()
		n, err := w.Write(b[:min(len(b), WritePart)])
		written += n
		if b = b[n:]; err != nil || len(b) == 0 {
			return written, err
		}
	}
}

// LimitWrites ends streams of HTTP/2 whose clients do not take what is written within the timeout, part by part: they
// share a connection, on which other streams make progress. In HTTP/1 the connection has such a limit itself.
func LimitWrites(timeout time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor < 2 {
			next.ServeHTTP(w, r)
			return
		}
		limited := &limitedWriter{w, http.NewResponseController(w), timeout}
		next.ServeHTTP(limited, r)
		limited.begin() // what is buffered is written when the handler has ended
	})
}

type limitedWriter struct {
	http.ResponseWriter
	stream  *http.ResponseController
	timeout time.Duration
}

// begin and end set the deadline only while something is written: it would end a stream on which nothing is.
func (w *limitedWriter) begin() { _ = w.stream.SetWriteDeadline(time.Now().Add(w.timeout)) }
func (w *limitedWriter) end()   { _ = w.stream.SetWriteDeadline(time.Time{}) }

// Unwrap returns the writer below, for http.ResponseController.
func (w *limitedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Write writes part by part.
func (w *limitedWriter) Write(b []byte) (written int, err error) {
	defer w.end()
	return WriteParts(w.ResponseWriter, b, w.begin)
}

// FlushError sends what is buffered.
func (w *limitedWriter) FlushError() error {
	w.begin()
	defer w.end()
	return w.stream.Flush()
}
