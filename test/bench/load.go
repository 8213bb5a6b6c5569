package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
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

// target is the destination of a load. HTTP/1.1 over kept-alive connections is implemented here: a full client would
// take CPU time from the servers to be compared.
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
	want    []byte // the body of the answer; nil: it contains the unique text of the request, if that has one
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

// fresh writes the request to a buffer, with a unique text that no other request has; "" if the request has none.
func (p *prepared) fresh(buffer []byte) (text []byte, its string) {
	text = append(buffer[:0], p.text...)
	if len(p.uniques) > 0 {
		its = freshUnique()
	}
	for _, at := range p.uniques {
		copy(text[at:], its)
	}
	return text, its
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
	worked, err := processorTime(t.process.PID())
	if err != nil {
		return sample{}, err
	}
	started := time.Now()
	merged := sample{}
	if merged.latencies, err = t.run(ctx, cmp.Or(t.clients, connections)); err != nil {
		return sample{}, err
	}
	answers := max(1, len(merged.latencies))
	merged.rate = float64(answers) / time.Since(started).Seconds()
	after, err := processorTime(t.process.PID())
	merged.work = (after - worked) / time.Duration(answers)
	return merged, err
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

// readAnswer reads one answer to its end and returns its status.
func readAnswer(r *bufio.Reader, body *[]byte) (status int, err error) {
	var head []byte
	for !bytes.HasSuffix(head, endOfHead) {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		head = append(head, line...)
	}
	status, length, err := readHead(head)
	if err != nil {
		return 0, err
	}
	if cap(*body) < length {
		*body = make([]byte, length)
	}
	*body = (*body)[:length]
	_, err = io.ReadFull(r, *body)
	return status, err
}

var (
	endOfHead     = []byte("\r\n\r\n")
	contentLength = []byte("\nContent-Length: ") // as all of the programs write it
)

// readHead returns the status of an answer and the length of its body.
func readHead(head []byte) (status, length int, err error) {
	const begin, end = len("HTTP/1.1 "), len("HTTP/1.1 200")
	if len(head) < end {
		return 0, 0, fmt.Errorf("not an answer: %q", head)
	}
	if status, err = strconv.Atoi(string(head[begin:end])); err != nil {
		return 0, 0, fmt.Errorf("not an answer: %q", head)
	}
	at := bytes.Index(head, contentLength)
	if at < 0 {
		return 0, 0, fmt.Errorf("an answer without its length: %q", head)
	}
	digits, _, _ := bytes.Cut(head[at+len(contentLength):], endOfHead[:1])
	if length, err = strconv.Atoi(string(digits)); err != nil {
		return 0, 0, fmt.Errorf("an answer with the length %q", digits)
	}
	return status, length, nil
}
