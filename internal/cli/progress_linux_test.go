package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/cli"
	"github.com/assayhq/assay/internal/testkit/must"
	"golang.org/x/sys/unix"
)

// watched collects what is written until it has what a test waits for.
type watched struct {
	want *regexp.Regexp
	seen chan struct{}
	once sync.Once

	mu   sync.Mutex
	text bytes.Buffer
}

func watch(want string) *watched {
	return &watched{want: regexp.MustCompile(want), seen: make(chan struct{})}
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.Write(p)
	if w.want.Match(w.text.Bytes()) {
		w.once.Do(func() { close(w.seen) })
	}
	return len(p), nil
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// openTerminal returns a terminal of 100 columns whose screen is written to w; end returns when all was read.
func openTerminal(t *testing.T, w io.Writer) (terminal *os.File, end func()) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	must.NoError(t, err)
	fd := int(screen.Fd())
	must.NoError(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	must.NoError(t, unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 100}))
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	must.NoError(t, err)
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	must.NoError(t, err)
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(w, screen) // until the other end is closed
	}()
	return terminal, sync.OnceFunc(func() {
		must.NoError(t, terminal.Close())
		<-read
		must.NoError(t, screen.Close())
	})
}

const slowAnswer = `{"data":[{"status":"uploaded","url":"https://assay.example/a.jpg","original_name":"large.jpg"}]}`

// uploadSlowly uploads a file of 32 MB to a server that takes the rest when the progress was seen.
func uploadSlowly(t *testing.T, seen <-chan struct{}, stderr io.Writer, args ...string) (stdout string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "large.jpg")
	must.NoError(t, os.WriteFile(file, nil, 0o600))
	must.NoError(t, os.Truncate(file, 32_000_000))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := io.CopyN(io.Discard, r.Body, 1_000_000)
		select {
		case <-seen:
		case <-ctx.Done():
			t.Error("no progress was seen")
		}
		if _, rest := io.Copy(io.Discard, r.Body); err != nil || rest != nil {
			t.Error(err, rest)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, slowAnswer)
	}))
	defer server.Close()
	var out bytes.Buffer
	code := cli.Run(t.Context(), append([]string{"photos", "upload", file}, args...), cli.IO{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: stderr,
		LookupEnv: func(name string) (string, bool) {
			value, ok := map[string]string{"ASSAY_SERVER": server.URL, "ASSAY_KEY": "assay_test_key"}[name]
			return value, ok
		},
	})
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	return out.String()
}

const uploadLine = `photos upload, uploading: [0-9.]+ MB of 32\.0 MB \([0-9]+ %\), [0-9.]+ [kM]?B/s, [0-9ms]+ left`

func TestProgress_Terminal(t *testing.T) {
	for _, flags := range [][]string{nil, {"--json"}} {
		t.Run(strings.Join(flags, ""), func(t *testing.T) {
			t.Parallel()
			screen := watch(`\r\x1b\[K` + uploadLine)
			terminal, end := openTerminal(t, screen)
			defer end()
			stdout := uploadSlowly(t, screen.seen, terminal, flags...)
			end()
			shown := screen.String()
			if !strings.HasSuffix(shown, "\r\x1b[K") || strings.Contains(shown, "\n") {
				t.Errorf("the terminal got %q", shown)
			}
			want := "https://assay.example/a.jpg  large.jpg\n"
			if flags != nil {
				want = slowAnswer + "\n"
			}
			if stdout != want {
				t.Errorf("standard output is %q, want %q", stdout, want)
			}
		})
	}
}

func TestProgress_Plain(t *testing.T) {
	t.Parallel()
	stderr := watch(uploadLine + `\n`)
	stdout := uploadSlowly(t, stderr.seen, stderr)
	if got := stderr.String(); strings.ContainsAny(got, "\r\x1b") || !strings.HasPrefix(got, "photos upload, uploading") {
		t.Errorf("standard error is %q", got)
	}
	if stdout != "https://assay.example/a.jpg  large.jpg\n" {
		t.Errorf("standard output is %q", stdout)
	}
}

// TestColumns: colors do not move what stands beside them.
func TestColumns(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"data":[{"id":"o1","status":"completed","external_id":"HERE"},`+
			`{"id":"o2","status":"other","external_id":"HERE"},{"id":"o3","status":"queued","external_id":"HERE"}],`+
			`"page":1,"limit":10,"total":3}`)
	}))
	t.Cleanup(server.Close)
	screen := watch("never")
	terminal, end := openTerminal(t, screen)
	defer end()
	code := cli.Run(t.Context(), []string{"orders", "list"}, cli.IO{
		Stdin: strings.NewReader(""), Stdout: terminal, Stderr: io.Discard,
		LookupEnv: func(name string) (string, bool) {
			value, ok := map[string]string{"ASSAY_SERVER": server.URL, "ASSAY_KEY": "assay_test_key"}[name]
			return value, ok
		},
	})
	end()
	lines := strings.Split(strings.TrimSpace(screen.String()), "\r\n")
	if code != 0 || len(lines) != 4 || !strings.Contains(screen.String(), "\x1b[32mcompleted\x1b[0m  ") {
		t.Fatalf("status %d, shows %q", code, screen.String())
	}
	codes := regexp.MustCompile(`\x1b\[\d+m`)
	for _, line := range lines[1:] {
		line = codes.ReplaceAllString(line, "")
		if strings.Index(line, "HERE") != strings.Index(lines[0], "EXTERNAL ID") {
			t.Errorf("%q is not below %q", line, lines[0])
		}
	}
}
