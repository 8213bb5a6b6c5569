package http1_test

import (
	"net"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/http1"
)

// sink is a connection that takes everything.
type sink struct {
	net.Conn
	writes int
}

func (s *sink) Write(b []byte) (int, error)     { s.writes++; return len(b), nil }
func (s *sink) SetReadDeadline(time.Time) error { return nil }
func (s *sink) Unread([]byte)                   {}
func (s *sink) RemoteAddr() net.Addr            { return new(net.TCPAddr) }
func (s *sink) LocalAddr() net.Addr             { return new(net.TCPAddr) }

func (s *sink) WriteBuffers(parts *net.Buffers) (n int64, err error) {
	s.writes++
	for _, part := range *parts {
		n += int64(len(part))
	}
	return n, nil
}

// answerOften returns what answers an ordinary request once more, with so many bytes.
func answerOften(tb testing.TB, size int) (*sink, func()) {
	body, types, length := make([]byte, size), []string{"application/json"}, []string{strconv.Itoa(size)}
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"], w.Header()["Content-Length"] = types, length
		_, _ = w.Write(body)
	})
	to := new(sink)
	answer := http1.Answering(h, to, get("/taken/a?b=c", "User-Agent: x", "Accept: */*", "Authorization: Bearer y"))
	return to, func() {
		if !answer() {
			tb.Fatal("the connection ends")
		}
	}
}

// TestServer_Cost bounds what a request costs beside its handler.
func TestServer_Cost(t *testing.T) {
	to, answer := answerOften(t, 500)
	const rounds = 200
	if got := testing.AllocsPerRun(rounds, answer); got > 1 { // its head as a text
		t.Errorf("a request makes %v allocations, at most 1 is allowed", got)
	}
	if to.writes != rounds+1 {
		t.Errorf("%d answers were written with %d system calls", rounds+1, to.writes)
	}
}

func BenchmarkServer(b *testing.B) {
	_, answer := answerOften(b, 500)
	b.ReportAllocs()
	for b.Loop() {
		answer()
	}
}
