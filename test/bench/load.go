package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/assayhq/assay/internal/testkit/child"
)

// connections is the number of clients of a load. Each sends its next request after the response to the last.
const connections = 32

// target is the destination of a load. It implements HTTP/1.1 over kept-alive connections itself: a full client
// would take CPU time from the servers to be compared.
type target struct {
	address  string
	process  *child.Process
	ops      string   // ops listener for profiles; "-" if none
	requests [][]byte // sent in rotation, each connection with its own offset
	status   int      // expected status
}

// newTarget prepares requests of one method with one body to some paths.
func newTarget(at *server, method string, paths []string, header http.Header, body []byte, status int) *target {
	t := &target{address: at.http, process: at.process, ops: at.ops, status: status}
	for _, path := range paths {
		request := &http.Request{Method: method, URL: &url.URL{Scheme: "http", Host: at.http}, Header: header, Host: at.http}
		request.URL.Opaque = path
		if body != nil {
			request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		}
		var text bytes.Buffer
		_ = request.Write(&text) // into memory
		t.requests = append(t.requests, text.Bytes())
	}
	return t
}

// sample is the measurement of one round.
type sample struct {
	rate      float64       // responses per second
	work      time.Duration // CPU time per response
	latencies []time.Duration
}

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
	for i := range connections {
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

// client sends requests over one connection until ctx ends.
func (t *target) client(ctx context.Context, n int) (latencies []time.Duration, err error) {
	connection, err := new(net.Dialer).DialContext(context.WithoutCancel(ctx), "tcp", t.address)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, connection.Close()) }()
	reader := bufio.NewReaderSize(connection, 32<<10)
	for next := n * len(t.requests) / connections; ctx.Err() == nil; next++ {
		sent := time.Now()
		if _, err := connection.Write(t.requests[next%len(t.requests)]); err != nil {
			return latencies, err
		}
		status, err := readAnswer(reader)
		if err != nil {
			return latencies, fmt.Errorf("read an answer: %w", err)
		}
		if status != t.status {
			return latencies, fmt.Errorf("%s: status %d, want %d",
				bytes.SplitN(t.requests[0], []byte("\r\n"), 2)[0], status, t.status)
		}
		latencies = append(latencies, time.Since(sent))
	}
	return latencies, nil
}

var contentLength = []byte("content-length:")

// readAnswer reads one answer to its end and returns its status.
func readAnswer(r *bufio.Reader) (status int, err error) {
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
			_, err := r.Discard(length)
			return status, err
		case len(line) > len(contentLength) && bytes.EqualFold(line[:len(contentLength)], contentLength):
			if length, err = strconv.Atoi(string(bytes.TrimSpace(line[len(contentLength):]))); err != nil {
				return 0, err
			}
		}
	}
}

// percentile of sorted latencies, in milliseconds.
func percentile(ordered []time.Duration, share float64) float64 {
	if len(ordered) == 0 {
		return 0
	}
	return float64(ordered[int(share*float64(len(ordered)-1))].Microseconds()) / 1000
}

func median(values []float64) float64 {
	ordered := slices.Sorted(slices.Values(values))
	return ordered[len(ordered)/2]
}
