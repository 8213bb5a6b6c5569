package httpx

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assayhq/assay/internal/domain/fault"
)

const bodyTimeout = time.Second

// sendSlowly sends a body in pieces with pauses and returns the answer and how long it took, by the time of a bubble:
// on a machine that does other things too, pieces would come late.
func sendSlowly(t *testing.T, h http.Handler, piece string, pieces int, pause time.Duration) (string, time.Duration) {
	t.Helper()
	near, far := net.Pipe()
	accepts := &oneConnection{conn: far, closed: make(chan struct{})}
	s := &http.Server{Handler: LimitBodies(bodyTimeout, h)}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(accepts) }()
	var sending sync.WaitGroup
	defer func() {
		_ = near.Close()
		sending.Wait()
		_ = s.Close()
		<-ended
	}()
	began := time.Now()
	sending.Go(func() {
		fmt.Fprintf(near, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", len(piece)*pieces)
		for range pieces {
			if _, err := io.WriteString(near, piece); err != nil {
				return
			}
			time.Sleep(pause)
		}
	})
	if err := near.SetReadDeadline(began.Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	answer, err := bufio.NewReader(near).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		t.Errorf("no answer: %v", err)
	}
	return strings.TrimSpace(answer), time.Since(began)
}

// oneConnection is a listener with one connection.
type oneConnection struct {
	conn   net.Conn // until it is accepted
	closed chan struct{}
}

func (l *oneConnection) Accept() (net.Conn, error) {
	if c := l.conn; c != nil {
		l.conn = nil
		return c, nil
	}
	<-l.closed
	return nil, net.ErrClosed
}

func (l *oneConnection) Close() error   { close(l.closed); return nil }
func (l *oneConnection) Addr() net.Addr { return &net.TCPAddr{} }

func readAll(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

func TestLimitBodies(t *testing.T) {
	upload := func(w http.ResponseWriter, r *http.Request) {
		ExpectUpload(r)
		readAll(w, r)
	}
	for name, handler := range map[string]http.HandlerFunc{"Slow": readAll, "SlowUpload": upload} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				answer, took := sendSlowly(t, handler, "x", 1000, 20*time.Millisecond)
				if answer != "HTTP/1.1 400 Bad Request" || took > 5*time.Second {
					t.Errorf("%q after %v", answer, took)
				}
			})
		})
	}
	t.Run("Upload", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			piece := strings.Repeat("x", minUploadRate/5) // 20 times a second: four times the rate
			answer, took := sendSlowly(t, http.HandlerFunc(upload), piece, 50, 50*time.Millisecond)
			if answer != "HTTP/1.1 200 OK" || took < 2*bodyTimeout {
				t.Errorf("%q after %v", answer, took)
			}
		})
	})
	t.Run("UploadThatStops", func(t *testing.T) { // after so much at once that it could take an hour
		began := time.Now()
		s := httptest.NewServer(LimitBodies(bodyTimeout, http.HandlerFunc(upload)))
		t.Cleanup(s.Close)
		const first = 3600 * minUploadRate
		sent, stop := io.Pipe()
		t.Cleanup(func() { _ = stop.Close() })
		go func() { _, _ = io.CopyN(stop, zeros{}, first) }()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, sent)
		if err != nil {
			t.Fatal(err)
		}
		req.ContentLength = first + 1
		resp, err := s.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if _ = resp.Body.Close(); resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%s after %v", resp.Status, time.Since(began))
		}
	})
	t.Run("NobodyReads", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			answer, took := sendSlowly(t, http.NotFoundHandler(), "x", 1000, 20*time.Millisecond)
			if answer != "HTTP/1.1 404 Not Found" || took > 5*time.Second {
				t.Errorf("%q after %v", answer, took)
			}
		})
	})
	t.Run("WaitsForContinue", func(t *testing.T) { // it is answered before it has sent anything
		s := httptest.NewServer(LimitBodies(time.Hour, http.NotFoundHandler()))
		t.Cleanup(s.Close)
		conn, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2000000\r\nExpect: 100-continue\r\n\r\n")
		if answer, err := bufio.NewReader(conn).ReadString('\n'); strings.TrimSpace(answer) != "HTTP/1.1 404 Not Found" {
			t.Errorf("%q, %v", answer, err)
		}
	})
	t.Run("LongAnswer", func(t *testing.T) {
		long := func(w http.ResponseWriter, r *http.Request) {
			readAll(w, r)
			select {
			case <-r.Context().Done():
				w.WriteHeader(http.StatusGone)
			case <-time.After(2 * bodyTimeout):
			}
		}
		synctest.Test(t, func(t *testing.T) {
			for _, pieces := range []int{0, 1} {
				if answer, _ := sendSlowly(t, http.HandlerFunc(long), "x", pieces, 0); answer != "HTTP/1.1 200 OK" {
					t.Errorf("%q with %d bytes: the request ended with the time for its body", answer, pieces)
				}
			}
		})
	})
}

// sendAfterContinue sends a body once the server has asked for it, all of it before it looks for the answer.
func sendAfterContinue(t *testing.T, address string, size int) *http.Response {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", size)
	in := bufio.NewReader(conn)
	for _, want := range []string{"HTTP/1.1 100 Continue\r\n", "\r\n"} {
		if line, err := in.ReadString('\n'); line != want {
			t.Fatalf("%q, %v", line, err)
		}
	}
	if _, err := conn.Write(make([]byte, size)); err != nil {
		t.Fatalf("the client is cut off: %v", err)
	}
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// TestFail_AfterContinue: a client that was told to go on is sending, and gets the answer to what it has sent.
func TestFail_AfterContinue(t *testing.T) {
	p, _ := testResponder()
	for name, limit := range map[string]int64{"InTheMiddle": MaxDrain, "TooLarge": 10} {
		t.Run(name, func(t *testing.T) {
			h := p.Handle(func(w http.ResponseWriter, r *http.Request) error {
				r.Body = http.MaxBytesReader(w, r.Body, limit)
				_, err := io.ReadFull(r.Body, make([]byte, 100))
				return fault.UnavailableError(err)
			})
			s := httptest.NewServer(LimitBodies(time.Minute, RequestID(h)))
			t.Cleanup(s.Close)
			resp := sendAfterContinue(t, s.Listener.Addr().String(), MaxDrain-1<<20)
			if resp.StatusCode != http.StatusServiceUnavailable {
				t.Error(resp.Status)
			}
		})
	}
}

func TestLimit(t *testing.T) {
	p, _ := testResponder()
	h := p.Handle(func(w http.ResponseWriter, r *http.Request) error {
		r = Limit(time.Nanosecond, w, r)
		<-r.Context().Done()
		return context.Cause(r.Context())
	})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, get(t, "/x"))
	if w.Code != 503 || !strings.Contains(w.Body.String(), fault.CodeUnavailable) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// zeros is an endless body.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
