package httpx

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// minUploadRate is how many bytes a second a client has to send of a body for which ExpectUpload was called.
const minUploadRate = 16 << 10

// LimitBodies ends connections whose clients take longer than the timeout to send a body, whatever handler reads it.
// The limit ends with the body: a handler may take any time for its answer.
func LimitBodies(timeout time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != nil && r.Body != http.NoBody {
			// Not the request of net/http, which looks at its body after the answer: it does not wait for one whose client
			// waits for 100 Continue, and gives a client that still sends the time to read the answer.
			r = r.WithContext(r.Context())
			b := &limitedBody{
				ReadCloser: r.Body, conn: http.NewResponseController(w), timeout: timeout, deadline: time.Now().Add(timeout),
			}
			b.setDeadline(b.deadline)
			r.Body = b
		}
		next.ServeHTTP(w, r)
	})
}

// ExpectUpload lets the body of a request take longer than others, as long as it arrives at a minimum rate. What came
// faster is credited for no longer than twice the timeout: a client must not send much at once and then nothing for
// hours. It is called before anything else wraps the body.
func ExpectUpload(r *http.Request) {
	if b, ok := r.Body.(*limitedBody); ok {
		b.upload = true
	}
}

// limitedBody is a body with a deadline.
type limitedBody struct {
	io.ReadCloser
	conn     *http.ResponseController
	timeout  time.Duration
	deadline time.Time
	upload   bool
	begun    bool // to be read: a client that waited for 100 Continue was told to send
}

// limitedBodyOf returns the body of a request as it arrives, below what handlers have wrapped it in: a reader that
// refuses what is too large reads no more. Nil: nothing limits it.
func limitedBodyOf(r *http.Request) *limitedBody {
	if b, ok := r.Body.(*limitedBody); ok {
		return b
	}
	if x := exchangeFrom(r.Context()); x != nil {
		return x.body
	}
	return nil
}

func (b *limitedBody) Read(p []byte) (int, error) {
	b.begun = true
	n, err := b.ReadCloser.Read(p)
	switch {
	case errors.Is(err, io.EOF): // else the end of the time would cancel the context of the request
		b.setDeadline(time.Time{})
	case b.upload && n > 0:
		b.deadline = b.deadline.Add(time.Duration(n) * time.Second / minUploadRate)
		if most := time.Now().Add(2 * b.timeout); b.deadline.After(most) {
			b.deadline = most
		}
		b.setDeadline(b.deadline)
	}
	return n, err
}

// setDeadline does nothing where the writer has no deadlines.
func (b *limitedBody) setDeadline(at time.Time) { _ = b.conn.SetReadDeadline(at) }

// Limit begins a time limit for the whole request and returns the request to go on with: the context ends what its
// handler waits for, and the read deadline a body that arrives too slowly.
func Limit(timeout time.Duration, w http.ResponseWriter, r *http.Request) *http.Request {
	x := exchangeFrom(r.Context())
	if x == nil {
		x, r = begin(w, r)
	}
	deadline := time.Now().Add(timeout)
	x.limit(deadline)
	if r.Body != nil && r.Body != http.NoBody {
		_ = http.NewResponseController(w).SetReadDeadline(deadline) // not every writer has deadlines
	}
	return r
}
