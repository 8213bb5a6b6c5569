package httpx

import (
	"io"
	"net/http"
)

// MaxDrain is how much of the body of a refused request is read and thrown away: an upload of ten photos of 10 MiB, and
// what is around them.
const MaxDrain = 101 << 20

// Drain reads what a client is still sending with a request that is refused, or answered without its body: many clients
// look for the answer only after they have sent everything, and a connection closed before that loses it. No more is
// read than most, which is MaxDrain where nothing speaks against it. A client that waits for 100 Continue, which the
// first read tells it, has not begun to send.
func Drain(r *http.Request, most int64) {
	body, begun := r.Body, false
	if b := limitedBodyOf(r); b != nil {
		body, begun = b, b.begun
	}
	if body != nil && (begun || r.Header.Get("Expect") == "") {
		_, _ = io.CopyN(io.Discard, body, most)
	}
}
