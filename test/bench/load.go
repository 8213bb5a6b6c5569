package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/assayhq/assay/internal/testkit/child"
)

// connections is the number of clients of a load. Each sends its next request after the response to the last.
const connections = 64

// unique is replaced by a text of the same length that no other request has.
const unique = "@unique@@unique@"

var uniques atomic.Uint64

func init() { uniques.Store(uint64(time.Now().UnixNano())) }

func freshUnique() string { return fmt.Sprintf("%0*x", len(unique), uniques.Add(1)) }

// target is the destination of a load. It implements HTTP/1.1 over kept-alive connections itself: a full client
// would take CPU time from the servers to be compared.
type target struct {
	address  string
	process  *child.Process
	ops      string // ops listener for profiles; "-" if none
	requests []prepared
	status   int // expected status
	clients  int // 0: connections
}

// prepared is a request that is sent often.
type prepared struct {
	text    []byte
	uniques []int  // offsets of unique
	want    []byte // the body of the answer; nil: it contains the unique text of the request
}

// newTarget prepares requests of one method with one of the bodies each, in rotation; none: without a body.
func newTarget(at *server, method string, paths []string, header http.Header, bodies [][]byte, status int) *target {
	t := &target{address: at.http, process: at.process, ops: at.ops, status: status}
	for i := range max(len(paths), len(bodies)) {
		request := &http.Request{Method: method, URL: &url.URL{Scheme: "http", Host: at.http}, Header: header, Host: at.http}
		request.URL.Opaque = paths[i%len(paths)]
		if len(bodies) > 0 {
			body := bodies[i%len(bodies)]
			request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		}
		var text bytes.Buffer
		_ = request.Write(&text) // into memory
		t.requests = append(t.requests, newPrepared(text.Bytes()))
	}
	return t
}

func newPrepared(text []byte) prepared {
	p := prepared{text: text}
	for from := 0; ; {
		at := bytes.Index(text[from:], []byte(unique))
		if at < 0 {
			return p
		}
		p.uniques = append(p.uniques, from+at)
		from += at + len(unique)
	}
}

// learn takes the answers that are given now for the right ones.
func (t *target) learn(ctx context.Context) error {
	c, err := t.dial(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	reader := bufio.NewReaderSize(c, 64<<10)
	var body []byte
	for i := range t.requests {
		if _, err := c.Write(t.requests[i].text); err != nil {
			return err
		}
		status, err := readAnswer(reader, &body)
		if err != nil {
			return err
		}
		if status != t.status || len(body) == 0 {
			return fmt.Errorf("%s: status %d, want %d\n%s", firstLine(t.requests[i].text), status, t.status, body)
		}
		t.requests[i].want = bytes.Clone(body)
	}
	return nil
}

func firstLine(text []byte) []byte {
	line, _, _ := bytes.Cut(text, []byte("\r\n"))
	return line
}

// side returns the load as a side of a comparison.
func (t *target) side(name string) *side { return &side{name: name, round: t.load} }

// load runs one round.
func (t *target) load(ctx context.Context, duration time.Duration) (sample, error) {
	ctx, cancel := context.WithTimeout(ctx, duration)
	defer cancel()
	var (
		all    sync.WaitGroup
		mu     sync.Mutex
		merged sample
		failed error
	)
	worked, err := processorTime(t.process.PID())
	if err != nil {
		return sample{}, err
	}
	started := time.Now()
	for i := range cmp.Or(t.clients, connections) {
		all.Go(func() {
			latencies, err := t.client(ctx, i)
			mu.Lock()
			defer mu.Unlock()
			merged.latencies = append(merged.latencies, latencies...)
			failed = errors.Join(failed, err)
		})
	}
	all.Wait()
	answers := max(1, len(merged.latencies))
	merged.rate = float64(answers) / time.Since(started).Seconds()
	after, err := processorTime(t.process.PID())
	merged.work = (after - worked) / time.Duration(answers)
	return merged, errors.Join(failed, err)
}

// processorTime returns the CPU time of a process. Unlike wall-clock time it hardly depends on other load. Its
// resolution is a hundredth of a second.
func processorTime(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// Fields are counted from the end of the name, which is in parentheses and may contain anything.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	const user, system = 11, 12
	var ticks int64
	for _, field := range [][]byte{fields[user], fields[system]} {
		n, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond, nil
}

func (t *target) dial(ctx context.Context) (net.Conn, error) {
	return new(net.Dialer).DialContext(context.WithoutCancel(ctx), "tcp", t.address)
}

// client sends requests over one connection until ctx ends.
func (t *target) client(ctx context.Context, n int) (latencies []time.Duration, err error) {
	connection, err := t.dial(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, connection.Close()) }()
	reader := bufio.NewReaderSize(connection, 32<<10)
	var text, body []byte
	for next := n * len(t.requests) / connections; ctx.Err() == nil; next++ {
		request := &t.requests[next%len(t.requests)]
		text = append(text[:0], request.text...)
		want := request.want
		if len(request.uniques) > 0 {
			fresh := freshUnique()
			for _, at := range request.uniques {
				copy(text[at:], fresh)
			}
			want = []byte(fresh)
		}
		sent := time.Now()
		if _, err := connection.Write(text); err != nil {
			return latencies, err
		}
		status, err := readAnswer(reader, &body)
		if err != nil {
			return latencies, fmt.Errorf("read an answer: %w", err)
		}
		latencies = append(latencies, time.Since(sent))
		if status != t.status || request.want != nil && !bytes.Equal(body, want) || !bytes.Contains(body, want) {
			return latencies, fmt.Errorf("%s: status %d, want %d with %s, got %s", firstLine(text), status, t.status, want, body)
		}
	}
	return latencies, nil
}

var contentLength = []byte("content-length:")

// readAnswer reads one answer to its end and returns its status.
func readAnswer(r *bufio.Reader, body *[]byte) (status int, err error) {
	length := 0
	for first := true; ; first = false {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		line = bytes.TrimRight(line, "\r\n")
		switch {
		case first:
			if len(line) < len("HTTP/1.1 200") {
				return 0, fmt.Errorf("not an answer: %q", line)
			}
			if status, err = strconv.Atoi(string(line[9:12])); err != nil {
				return 0, err
			}
		case len(line) == 0:
			if cap(*body) < length {
				*body = make([]byte, length)
			}
			*body = (*body)[:length]
			_, err := io.ReadFull(r, *body)
			return status, err
		case len(line) > len(contentLength) && bytes.EqualFold(line[:len(contentLength)], contentLength):
			if length, err = strconv.Atoi(string(bytes.TrimSpace(line[len(contentLength):]))); err != nil {
				return 0, err
			}
		}
	}
}
