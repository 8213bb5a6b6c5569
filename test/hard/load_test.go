package hard_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/testkit/pictures"
	"github.com/assayhq/assay/internal/testkit/program"
	"github.com/assayhq/assay/internal/testkit/receiver"
)

// Figures of the long form. The short one runs beside other tests: there only the answers count.
const (
	acceptedWithin = 2 * time.Second
	refusedWithin  = 100 * time.Millisecond
	memoryBound    = 1 << 30 // with 13,000 connections
	memoryKept     = 160 << 20
)

// raw is an HTTP client without ceremony: bytes on a connection. A thousand of net/http's would be the load themselves.
type raw struct {
	conn net.Conn
	r    *bufio.Reader
}

func dialRaw(t testing.TB, address string) *raw {
	t.Helper()
	c, err := tryRaw(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.conn.Close() })
	return c
}

func tryRaw(address string) (*raw, error) {
	conn, err := net.DialTimeout("tcp", address, time.Minute)
	if err != nil {
		return nil, err
	}
	return &raw{conn, bufio.NewReaderSize(conn, 1<<10)}, nil
}

// do sends a request and returns the status and Retry-After of its answer.
func (c *raw) do(request []byte) (status int, retryAfter string, err error) {
	if err := c.conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return 0, "", err
	}
	if _, err := c.conn.Write(request); err != nil {
		return 0, "", err
	}
	resp, err := http.ReadResponse(c.r, nil)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, resp.Header.Get("Retry-After"), err
}

// creation is a request that creates a Live order.
func (s *site) creation(photo string) []byte {
	body := jsonBody(map[string]any{
		"category_code": "bags", "brand_code": "prada", "answer_time": 60,
		"photos": []any{map[string]any{"url": photo, "index_code": "overall-picture"}},
	})
	return fmt.Appendf(nil, "POST %s/orders HTTP/1.1\r\nHost: assay\r\nAuthorization: Bearer %s\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", apiPrefix, s.live, len(body), body)
}

// cheap is a request that costs the server little.
const cheap = "GET /healthz-not HTTP/1.1\r\nHost: assay\r\n\r\n"

// latencies are sorted times.
type latencies []time.Duration

func (l latencies) at(share float64) time.Duration {
	if len(l) == 0 {
		return 0
	}
	return l[min(len(l)-1, int(share*float64(len(l))))]
}

// rush sends creations on connections, each at most one in every interval, for a time, and sorts what came of them. The
// connections are made before, with a request that costs little: the server waits only so long for the first one.
func rush(
	t testing.TB, address string, connections int, request []byte, every, lasts time.Duration,
) (accepted, refused latencies) {
	t.Helper()
	var mu sync.Mutex
	var running sync.WaitGroup
	open := make([]*raw, connections)
	for i := range open {
		open[i] = dialRaw(t, address)
		defer open[i].conn.Close()
		if _, _, err := open[i].do([]byte(cheap)); err != nil {
			t.Fatal(err)
		}
	}
	begin := time.Now()
	for i, c := range open {
		running.Go(func() {
			next := begin.Add(every * time.Duration(i) / time.Duration(connections))
			for time.Since(begin) < lasts {
				time.Sleep(time.Until(next))
				sent := time.Now()
				status, retryAfter, err := c.do(request)
				took := time.Since(sent)
				next = next.Add(every)
				if next.Before(time.Now()) {
					next = time.Now()
				}
				mu.Lock()
				switch {
				case err == nil && status == http.StatusCreated:
					accepted = append(accepted, took)
				case err == nil && status == http.StatusServiceUnavailable && retryAfter != "":
					refused = append(refused, took)
				default:
					t.Errorf("status %d, Retry-After %q, %v", status, retryAfter, err)
				}
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	running.Wait()
	slices.Sort(accepted)
	slices.Sort(refused)
	return accepted, refused
}

// resident returns the memory of a process in bytes.
func resident(t testing.TB, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	t.Fatal("no VmRSS")
	return 0
}

func mib(bytes int) string { return fmt.Sprintf("%d MiB", bytes>>20) }

// startLoaded starts a server that anybody may connect to as often as they like.
func startLoaded(t *testing.T, settings program.Settings) (*site, *program.Process) {
	t.Helper()
	settings["max-connections-per-address"] = "0"
	s := newSite(t, settings, receiver.Start(t, "127.0.0.1"))
	s.nodes = []*node{newNode(callTimeout)}
	server := s.Start(t)
	s.nodes[0].moveTo(server.HTTP)
	s.open(t)
	return s, server
}

// TestLoadOverload sends creations at three times the capacity on 2,000 connections. What is accepted is answered soon,
// the rest is told at once to come back later.
func TestLoadOverload(t *testing.T) {
	engines(t, func(t *testing.T, engine string, settings program.Settings) {
		s, server := startLoaded(t, settings)
		request := s.creation(s.upload(t.Context(), s.nodes[0], s.live))
		before := resident(t, server.PID())
		lasts := pick(1500*time.Millisecond, 10*time.Second)
		calm, _ := rush(t, server.HTTP, 64, request, 0, lasts)
		connections := pick(500, 2000)
		capacity := max(float64(len(calm)), 1) / lasts.Seconds()
		every := time.Duration(float64(connections) / (3 * capacity) * float64(time.Second))
		accepted, refused := rush(t, server.HTTP, connections, request, every, lasts)
		peak := resident(t, server.PID())
		figure(t, "Overload, "+engine,
			fmt.Sprintf("%.0f creations/s by 64 clients; then %d clients at three times that for %s", capacity, connections,
				lasts),
			fmt.Sprintf("%d accepted, p50 %s, p99 %s; %d refused with 503, p50 %s, p99 %s; memory %s, then %s",
				len(accepted), ms(accepted.at(.5)), ms(accepted.at(.99)), len(refused), ms(refused.at(.5)), ms(refused.at(.99)),
				mib(before), mib(peak)))
		if len(accepted) == 0 {
			t.Error("nothing was accepted")
		}
		if isHard() && (accepted.at(.99) > acceptedWithin || refused.at(.99) > refusedWithin) {
			t.Errorf("want p99 of accepted below %s, of refused below %s", acceptedWithin, refusedWithin)
		}
		if result := s.Run(t, "check"); result.ExitCode != 0 {
			t.Errorf("assay check: %s", result.Stdout)
		}
	})
}

func ms(d time.Duration) string { return fmt.Sprintf("%d ms", d.Milliseconds()) }

// TestLoadConnections holds idle, slow and deaf connections by the thousand: others are served, the slow ones end, and
// the memory comes back.
func TestLoadConnections(t *testing.T) {
	s, server := startLoaded(t, program.Settings{})
	ctx := t.Context()
	large := s.uploadLarge(t, 6<<20)
	creation := s.creation(s.upload(ctx, s.nodes[0], s.live))
	before := resident(t, server.PID())
	idle, slow := pick(500, 10_000), pick(50, 1000)
	for range idle {
		c := dialRaw(t, server.HTTP)
		if _, err := c.conn.Write([]byte(cheap)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.conn.Close() })
	}
	kinds := map[string]string{
		"slow headers": "POST /portal/sign-in HTTP/1.1\r\nHost: assay\r\nX-Slow: ",
		"slow bodies": "POST /portal/sign-in HTTP/1.1\r\nHost: assay\r\nContent-Type: application/x-www-form-urlencoded\r\n" +
			"Content-Length: 1000\r\n\r\nemail=",
		"slow readers": "GET " + large + " HTTP/1.1\r\nHost: assay\r\n\r\n",
	}
	lingering := make(map[string][]*raw)
	for kind, text := range kinds {
		for range slow {
			c := dialRaw(t, server.HTTP)
			if tcp, ok := c.conn.(*net.TCPConn); ok && kind == "slow readers" {
				_ = tcp.SetReadBuffer(4 << 10)
			}
			if _, err := c.conn.Write([]byte(text)); err != nil {
				t.Fatal(err)
			}
			lingering[kind] = append(lingering[kind], c)
		}
	}
	var took latencies
	one := dialRaw(t, server.HTTP)
	for range pick(20, 200) {
		began := time.Now()
		if status, _, err := one.do(creation); status != http.StatusCreated {
			t.Fatalf("status %d, %v", status, err)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	peak := resident(t, server.PID())
	ended := s.awaitEnds(t, lingering, pick(0*time.Second, 2*time.Minute))
	for _, list := range lingering {
		for _, c := range list {
			_ = c.conn.Close()
		}
	}
	kept, after := awaitMemory(ctx, t, server.PID(), before, pick(0*time.Second, 3*time.Minute))
	figure(t, "Connections",
		fmt.Sprintf("%d idle, %d each with slow headers, slow bodies and readers that read nothing", idle, slow),
		fmt.Sprintf("creations p50 %s, p99 %s; %s; memory %s, then %s, %s %s after", ms(took.at(.5)), ms(took.at(.99)),
			ended, mib(before), mib(peak), mib(kept), after.Round(time.Second)))
	if isHard() && (peak > memoryBound || kept > before+memoryKept) {
		t.Errorf("memory %s, then %s, then %s", mib(before), mib(peak), mib(kept))
	}
}

// uploadLarge uploads a photo of a size and returns its path.
func (s *site) uploadLarge(t *testing.T, size int) string {
	t.Helper()
	body, contentType := photoForm(pictures.PadPNG(s.newPhoto(), size, "large"))
	a := s.nodes[0].send(t.Context(), &request{
		method: http.MethodPost, path: apiPrefix + "/photos", token: s.live, body: body, contentType: contentType,
	})
	var uploaded struct{ Data []struct{ URL string } }
	if !a.done() {
		t.Fatal(a)
	}
	a.decode(t, &uploaded)
	return "/media/" + uploaded.Data[0].URL[strings.LastIndex(uploaded.Data[0].URL, "/")+1:]
}

// awaitEnds waits until the server has ended connections, and tells how many of each kind and when the last.
func (s *site) awaitEnds(t *testing.T, lingering map[string][]*raw, limit time.Duration) string {
	t.Helper()
	if limit == 0 {
		return "their ends are not awaited in the short form"
	}
	began := time.Now()
	var mu sync.Mutex
	last := make(map[string]time.Duration)
	ended := make(map[string]int)
	var waiting sync.WaitGroup
	for kind, list := range lingering {
		for _, c := range list {
			waiting.Go(func() {
				_ = c.conn.SetDeadline(began.Add(limit))
				var err error
				if kind == "slow readers" { // reading would make them quick: the server's end shows in a write
					err = writeUntilReset(c.conn)
				} else {
					_, err = io.Copy(io.Discard, c.r)
				}
				if timeout, ok := err.(net.Error); ok && timeout.Timeout() { //nolint:errorlint // of a connection
					return
				}
				mu.Lock()
				defer mu.Unlock()
				ended[kind]++
				last[kind] = max(last[kind], time.Since(began))
			})
		}
	}
	waiting.Wait()
	var parts []string
	for _, kind := range ids(lingering) {
		if ended[kind] != len(lingering[kind]) {
			t.Errorf("%d of %d connections with %s were ended", ended[kind], len(lingering[kind]), kind)
		}
		parts = append(parts, fmt.Sprintf("%s ended within %s", kind, last[kind].Round(time.Second)))
	}
	return strings.Join(parts, ", ")
}

// writeUntilReset writes a byte now and then until the other side does not take it any more, or until the deadline.
func writeUntilReset(c net.Conn) error {
	for {
		time.Sleep(500 * time.Millisecond)
		if _, err := c.Write([]byte("x")); err != nil {
			return err
		}
	}
}

// awaitMemory waits until a process has given its memory back, and tells how much it has then and how long that took.
func awaitMemory(ctx context.Context, t *testing.T, pid, before int, limit time.Duration) (int, time.Duration) {
	t.Helper()
	began := time.Now()
	for {
		now := resident(t, pid)
		if now <= before+memoryKept || time.Since(began) > limit || ctx.Err() != nil {
			return now, time.Since(began)
		}
		time.Sleep(100 * time.Millisecond)
	}
}
