package program

import (
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/testkit/child"
)

const (
	readyTimeout = 3 * time.Minute
	stopTimeout  = 30 * time.Second // the program itself promises 10 s
	outputShown  = 64 << 10
)

// Process is a running `assay serve`.
type Process struct {
	// Listener addresses, host:port; empty if a listener is off.
	HTTP, TLS, Ops string

	installation *Installation
	child        *child.Process
	stdout       *child.Output
	stderr       *announcement
	accountedFor bool // the test has checked how it ended
}

// Start creates an installation and starts a server on it.
func Start(t testing.TB, settings Settings, arguments ...string) *Process {
	t.Helper()
	return New(t, settings).Start(t, arguments...)
}

// Start starts `assay serve` with further arguments and returns once it is ready. A server that is still running at
// the end of the test is stopped, and must then exit with 0.
func (i *Installation) Start(t testing.TB, arguments ...string) *Process {
	t.Helper()
	cmd := i.server(arguments...)
	stderr := &announcement{ready: make(chan addresses, 1)}
	stdout := new(child.Output)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	process, err := child.Start(cmd, syscall.SIGKILL)
	if err != nil {
		t.Fatal(err)
	}
	p := &Process{installation: i, child: process, stdout: stdout, stderr: stderr}
	t.Cleanup(func() { p.cleanUp(t) })
	select {
	case told := <-stderr.ready:
		p.HTTP, p.TLS, p.Ops = told.http, told.tls, told.ops
	case <-process.Done():
		p.accountedFor = true
		t.Fatalf("assay serve ended with exit code %d before it was ready", process.ExitCode())
	case <-time.After(readyTimeout):
		p.Kill(t)
		t.Fatalf("assay serve was not ready within %s", readyTimeout)
	}
	return p
}

// URL is the address of a path on the plain HTTP listener.
func (p *Process) URL(path string) string {
	return "http://" + p.HTTP + path
}

// Installation returns the installation of the server, for further servers and commands.
func (p *Process) Installation() *Installation {
	return p.installation
}

// CLI runs an administrative command on the server's settings; see Installation.CLI.
func (p *Process) CLI(t testing.TB, answer any, arguments ...string) {
	t.Helper()
	p.installation.CLI(t, answer, arguments...)
}

// PID is the server's process id.
func (p *Process) PID() int {
	return p.child.PID()
}

// Stdout returns the standard output so far; it is complete once the server has ended.
func (p *Process) Stdout() string {
	return p.stdout.String()
}

// Stderr returns the standard error so far.
func (p *Process) Stderr() string {
	return p.stderr.output.String()
}

// Signal sends a signal, such as SIGSTOP.
func (p *Process) Signal(t testing.TB, signal os.Signal) {
	t.Helper()
	if err := p.child.Signal(signal); err != nil {
		t.Error(err)
	}
}

// Kill ends the server with SIGKILL, like a crash, and waits for it.
func (p *Process) Kill(t testing.TB) {
	t.Helper()
	p.accountedFor = true
	p.Signal(t, syscall.SIGKILL)
	<-p.child.Done()
}

// Stop ends the server with SIGTERM, waits for it and returns its exit code.
func (p *Process) Stop(t testing.TB) (exitCode int) {
	t.Helper()
	p.accountedFor = true
	p.Signal(t, syscall.SIGTERM)
	select {
	case <-p.child.Done():
	case <-time.After(stopTimeout):
		p.Kill(t)
		t.Errorf("assay serve did not end within %s of SIGTERM", stopTimeout)
	}
	return p.child.ExitCode()
}

// cleanUp ends a server that is still running, and logs its output if the test failed.
func (p *Process) cleanUp(t testing.TB) {
	if !p.accountedFor {
		if code := p.Stop(t); code != 0 {
			t.Errorf("assay serve ended with exit code %d", code)
		}
	}
	if t.Failed() {
		output := p.Stderr()
		if cut := len(output) - outputShown; cut > 0 {
			output = "…" + output[cut:]
		}
		t.Logf("standard error of assay serve:\n%s", output)
	}
}

type addresses struct{ http, tls, ops string }

// announcement collects standard error and extracts the listener addresses. Only the goroutine that copies the
// output writes to it.
type announcement struct {
	output child.Output
	told   bool
	ready  chan addresses
}

var listening = regexp.MustCompile(`(?m)^listening http=(\S+) tls=(\S+) ops=(\S+)\n`)

func (a *announcement) Write(p []byte) (int, error) {
	n, err := a.output.Write(p)
	if a.told {
		return n, err
	}
	if match := listening.FindStringSubmatch(a.output.String()); match != nil {
		a.told = true
		a.ready <- addresses{listener(match[1]), listener(match[2]), listener(match[3])}
	}
	return n, err
}

// listener returns an empty address for a listener that is off.
func listener(address string) string {
	return strings.TrimPrefix(address, "-")
}
