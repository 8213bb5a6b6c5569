package hard_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/testkit/must"
)

// clockVariable names a file with the seconds by which the clock of a node is wrong.
const clockVariable = "CLOCK_STEP_FILE"

// clockStep is added to the standard library's time.Now in a binary of its own, which is made for this test alone: a Go
// program reads the clock without libc, so that libfaketime cannot move it.
const clockStep = `
var clockStepBy atomic.Int64

// time.Now may be called where nothing can be read: by the scheduler.
func init() {
	if file, there := syscall.Getenv("` + clockVariable + `"); there {
		go func() {
			for {
				clockStepBy.Store(readClockStep(file))
				Sleep(50 * Millisecond)
			}
		}()
	}
}

func readClockStep(file string) int64 {
	fd, err := open(file)
	if err != nil {
		return clockStepBy.Load()
	}
	defer closefd(fd)
	buf := make([]byte, 32)
	n, _ := read(fd, buf)
	by, sign := int64(0), int64(1)
	for _, c := range buf[:max(n, 0)] {
		if c == '-' {
			sign = -1
		} else if c >= '0' && c <= '9' {
			by = by*10 + int64(c-'0')
		}
	}
	return sign * by
}
`

// movableClock builds the program with a clock that a file moves.
func movableClock(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	must.NoError(t, err)
	source := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	text, err := os.ReadFile(source)
	must.NoError(t, err)
	changed := strings.Replace(string(text), "sec, nsec, mono := runtimeNow()",
		"sec, nsec, mono := runtimeNow()\n\tsec += clockStepBy.Load()", 1)
	changed = strings.Replace(changed, "import (\n", "import (\n\t\"sync/atomic\"\n\t\"syscall\"\n", 1) + clockStep
	must.NoError(t, os.WriteFile(filepath.Join(dir, "time.go"), []byte(changed), 0o600))
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{source: filepath.Join(dir, "time.go")}})
	must.NoError(t, err)
	must.NoError(t, os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600))
	binary := filepath.Join(dir, "assay")
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-tags",
		"nodynamic", "-o", binary, "github.com/assayhq/assay/cmd/assay")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return binary
}

// clockSteps runs a node whose clock is an hour behind, then an hour ahead, and then right again, while it runs.
func (c *cluster) clockSteps(t *testing.T) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "step")
	step := func(by time.Duration) {
		must.NoError(t, os.WriteFile(file, fmt.Appendf(nil, "%d", int(by.Seconds())), 0o600))
	}
	step(0)
	binary := movableClock(t)
	m := c.members[0]
	right := m.installation
	m.installation = right.As(binary, clockVariable+"="+file)
	replace := func() {
		m.process.Stop(t)
		m.start(c.t)
	}
	faults := []fault{
		{
			name: "clock of a node steps back an hour", lasts: 10 * time.Second,
			begin: func(*testing.T, *cluster) { step(-time.Hour) },
			end:   func(*testing.T, *cluster) { step(0) },
		}, {
			name: "clock of a node steps ahead an hour", lasts: 10 * time.Second,
			begin: func(*testing.T, *cluster) { step(time.Hour) },
			end:   func(*testing.T, *cluster) { step(0) },
		}, {
			name: "restart of a node with its clock an hour behind", broken: 1, lasts: 10 * time.Second,
			begin: func(*testing.T, *cluster) { step(-time.Hour); replace() },
			end:   func(*testing.T, *cluster) { step(0); replace() },
		},
	}
	m.broken.Store(true)
	replace()
	c.await(t, time.Now())
	m.broken.Store(false)
	for _, f := range faults {
		t.Run(strings.ReplaceAll(f.name, " ", "-"), func(t *testing.T) { c.suffer(t, &f) })
	}
	m.installation = right
	m.broken.Store(true)
	replace()
	c.await(t, time.Now())
	m.broken.Store(false)
}
