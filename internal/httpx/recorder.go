package httpx

import (
	"io"
	"net/http"
)

// Recorder is a response writer that remembers the status and the size of what was written. http.ResponseController
// reaches the writer below it through Unwrap.
type Recorder struct {
	http.ResponseWriter
	conn   *gatherConn // that the response goes to; nil: not known
	status int
	bytes  int64
}

// Record returns w if it already is a Recorder, else a new Recorder around it.
func Record(w http.ResponseWriter) *Recorder {
	if rec, ok := w.(*Recorder); ok {
		return rec
	}
	return &Recorder{ResponseWriter: w}
}

// Status returns the status sent, or 0 when nothing has been sent yet.
func (rec *Recorder) Status() int { return rec.status }

// Bytes returns how many bytes of the body have been written.
func (rec *Recorder) Bytes() int64 { return rec.bytes }

// Begun reports whether the response has begun, so that its status can no longer change.
func (rec *Recorder) Begun() bool { return rec.status != 0 }

// Unwrap returns the writer below, for http.ResponseController.
func (rec *Recorder) Unwrap() http.ResponseWriter { return rec.ResponseWriter }

// WriteHeader sends the status. Informational statuses pass through and do not begin the response.
func (rec *Recorder) WriteHeader(status int) {
	if rec.status == 0 && (status >= http.StatusOK || status == http.StatusSwitchingProtocols) {
		rec.status = status
	}
	rec.ResponseWriter.WriteHeader(status)
}

// Write sends a part of the body.
func (rec *Recorder) Write(b []byte) (int, error) {
	rec.begin()
	if rec.conn != nil && len(b) > maxHeld {
		rec.conn.hold = true
		defer func() { _ = rec.conn.release() }() // a connection that fails does so in the next write too
	}
	n, err := rec.ResponseWriter.Write(b)
	rec.bytes += int64(n)
	return n, err
}

// ReadFrom copies src into the body; below it the kernel may copy a file without passing it through the program.
func (rec *Recorder) ReadFrom(src io.Reader) (int64, error) {
	rec.begin()
	n, err := io.Copy(rec.ResponseWriter, src)
	rec.bytes += n
	return n, err
}

// FlushError sends what is buffered. It fails when the writer below cannot flush.
func (rec *Recorder) FlushError() error {
	rec.begin()
	return http.NewResponseController(rec.ResponseWriter).Flush()
}

// Flush is FlushError for callers that cannot use the error.
func (rec *Recorder) Flush() { _ = rec.FlushError() }

func (rec *Recorder) begin() {
	if rec.status == 0 {
		rec.status = http.StatusOK
	}
}
