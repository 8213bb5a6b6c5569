package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const argument = "-inside="

// TestMain lets this program be the process in the sandbox.
func TestMain(m *testing.M) {
	if part, ok := strings.CutPrefix(os.Args[len(os.Args)-1], argument); ok {
		inside(part)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// outcome is what the process tells of itself.
type outcome struct {
	Missing  []string
	Attempts map[string]string // what was tried, and the error; empty: it worked
	Sum      int               // of work that a decoder does
}

// inside enters a part of the sandbox, or all of it, and tries what it must not.
func inside(part string) {
	var o outcome
	file := os.Args[0]
	parent := os.Getppid()
	for range 8 { // threads that exist before
		go func() { runtime.LockOSThread(); select {} }()
	}
	time.Sleep(10 * time.Millisecond)
	switch part {
	case "all":
		r, err := Enter(Limits{Memory: 512 << 20, CPU: 60, Files: 16})
		if err != nil {
			panic(err)
		}
		o.Missing = r.Missing
	case "landlock":
		if err := restrictFiles(); err != nil {
			o.Missing = append(o.Missing, err.Error())
		}
	case "seccomp":
		runtime.LockOSThread()
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			panic(err)
		}
		if err := filterSystemCalls(); err != nil {
			o.Missing = append(o.Missing, err.Error())
		}
		runtime.UnlockOSThread()
	}
	o.Attempts = map[string]string{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for name, attempt := range attempts(file, parent) {
		if (part == "none" || len(o.Missing) > 0) && !harmless(name) ||
			part == "landlock" && name == "trace" { // would stop it
			continue
		}
		all.Go(func() { // on whichever thread
			err := attempt()
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				o.Attempts[name] = err.Error()
				if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
					o.Attempts[name] = "refused"
				}
			} else {
				o.Attempts[name] = ""
			}
		})
	}
	all.Wait()
	var work [4]int
	for i := range work { // memory, threads, timers and the collector still work
		all.Go(func() {
			for range 50 {
				b := make([]byte, 1<<20)
				b[i] = 1
				work[i] += int(slices.Max(b))
			}
			time.Sleep(time.Millisecond)
			runtime.GC()
		})
	}
	all.Wait()
	o.Sum = work[0] + work[1] + work[2] + work[3]
	_ = json.NewEncoder(os.Stdout).Encode(o)
}

// harmless are the attempts that work without a sandbox and do no harm then.
func harmless(name string) bool {
	return slices.Contains([]string{"read a file", "list /", "connect", "unix socket"}, name)
}

func attempts(file string, parent int) map[string]func() error {
	return map[string]func() error{
		"read a file":  func() error { _, err := os.ReadFile(file); return err },
		"list /":       func() error { _, err := os.ReadDir("/"); return err },
		"write a file": func() error { return os.WriteFile(os.TempDir()+"/assay-sandbox", nil, 0o600) },
		"run a program": func() error {
			return syscall.Exec(file, []string{file, "-test.run=^$"}, nil)
		},
		"start a process": func() error { return exec.Command(file, "-test.run=^$").Run() },
		"connect": func() error {
			c, err := net.Dial("tcp", os.Args[1])
			if err == nil {
				_ = c.Close()
			}
			return err
		},
		"listen": func() error { _, err := net.Listen("tcp", "127.0.0.1:0"); return err },
		"send a datagram": func() error {
			c, err := net.Dial("udp", "127.0.0.1:9")
			if err == nil {
				_, err = c.Write([]byte("x"))
			}
			return err
		},
		"unix socket":    func() error { _, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0); return err },
		"signal another": func() error { return unix.Kill(parent, 0) },
		"trace": func() error {
			_, _, errno := unix.Syscall(unix.SYS_PTRACE, unix.PTRACE_TRACEME, 0, 0)
			if errno != 0 {
				return errno
			}
			return nil
		},
		"read its memory": func() error {
			b := make([]byte, 1)
			_, err := unix.ProcessVMReadv(parent, []unix.Iovec{{Base: &b[0], Len: 1}}, []unix.RemoteIovec{{Base: 1, Len: 1}}, 0)
			return err
		},
	}
}

func runInside(t *testing.T, part string) outcome {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], l.Addr().String(), argument+part)
	cmd.Env = []string{}
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	var o outcome
	if err == nil {
		err = json.Unmarshal(out, &o)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return o
}

// TestSandbox checks that a process in the sandbox is refused files, network, programs and other processes, on every
// thread, and can still compute. Each part of the sandbox refuses what it is for without the other.
func TestSandbox(t *testing.T) {
	for part, want := range map[string][]string{
		"none":     {},
		"landlock": {"read a file", "list /", "write a file", "run a program", "start a process", "connect"},
		"seccomp":  {"*"},
		"all":      {"*"},
	} {
		t.Run(part, func(t *testing.T) {
			o := runInside(t, part)
			for _, missing := range o.Missing { // this kernel does not have it, and it is told
				t.Logf("missing: %s", missing)
			}
			if o.Sum != 200 {
				t.Errorf("work was not done: %d", o.Sum)
			}
			for name, err := range o.Attempts {
				refused := len(want) > 0 && (want[0] == "*" || slices.Contains(want, name)) && len(o.Missing) == 0
				if refused && err != "refused" {
					t.Errorf("%s: %q", name, err)
				}
				if part == "none" && err != "" {
					t.Errorf("without a sandbox the attempt is worth nothing: %s: %s", name, err)
				}
			}
			if len(o.Attempts) < 4 || part != "none" && len(o.Missing) == 0 && len(o.Attempts) < len(attempts("", 0))-1 {
				t.Errorf("%d attempts", len(o.Attempts))
			}
		})
	}
}

// TestLimits checks that the limits hold.
func TestLimits(t *testing.T) {
	o := runInside(t, "all")
	if !(Report{Missing: o.Missing}).Complete() {
		t.Logf("%s", Report{Missing: o.Missing})
	}
	if got := (Report{Missing: []string{"landlock", "seccomp"}}).String(); got != "without landlock, seccomp" {
		t.Error(got)
	}
	if len(filter(1)) > unix.BPF_MAXINSNS {
		t.Error("the filter is longer than the kernel takes: " + strconv.Itoa(len(filter(1))))
	}
}
