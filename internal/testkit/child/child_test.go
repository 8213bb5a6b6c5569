package child_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/testkit/child"
	"github.com/assayhq/assay/internal/testkit/must"
)

// parentRole makes this test binary act as a test process that is about to be killed.
const parentRole = "ASSAY_CHILD_TEST_PARENT"

func TestMain(m *testing.M) { child.Main(m, parentRole, actAsParent) }

// actAsParent starts a child, prints its process id and waits for its own end.
func actAsParent() {
	cmd := exec.Command("sleep", "600")
	process, err := child.Start(cmd, syscall.SIGKILL)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(cmd.Process.Pid)
	<-process.Done()
	os.Exit(1)
}

func TestStart_ChildEndsWithKilledParent(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux can signal a child when its parent dies")
	}
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), parentRole+"=1")
	line := must.Start(t, parent)
	pid, err := strconv.Atoi(line)
	if err != nil {
		t.Fatalf("the parent printed %q, want a process id", line)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // reports the kill

	must.Eventually(t, time.Minute, "the child ends after its parent", func() bool { return !running(pid) })
}

// running reports whether a process exists and is not a zombie.
func running(pid int) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	return err == nil && !strings.Contains(string(status), "State:\tZ")
}

func TestStart_UnknownProgram(t *testing.T) {
	_, err := child.Start(exec.Command("/nonexistent/program"), syscall.SIGKILL)
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want an error that is os.ErrNotExist", err)
	}
}

func TestProcess_ExitCode(t *testing.T) {
	process, err := child.Start(exec.Command("sh", "-c", "exit 3"), syscall.SIGKILL)
	if err != nil {
		t.Fatal(err)
	}
	if got := process.ExitCode(); got != 3 {
		t.Errorf("exit code %d, want 3", got)
	}
	if err := process.Wait(); err == nil {
		t.Error("Wait returned nil for exit code 3")
	}
	if err := process.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("signal to an ended child: %v, want nil", err)
	}
}

func TestProcess_Signal(t *testing.T) {
	process, err := child.Start(exec.Command("sleep", "600"), syscall.SIGKILL)
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if got := process.ExitCode(); got != -1 {
		t.Errorf("exit code %d after SIGKILL, want -1", got)
	}
}

// TestFreePort checks that no port is given twice, and none that the system chooses by itself for others: a server that
// is started again would find it taken now and then.
func TestFreePort(t *testing.T) {
	firstChosen := 32768
	if text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		if _, err := fmt.Sscan(string(text), &firstChosen); err != nil {
			t.Fatal(err)
		}
	}
	given := map[int]bool{}
	for range 200 {
		port, err := child.FreePort()
		if err != nil || port < 1024 || given[port] {
			t.Fatalf("FreePort() = %d, %v", port, err)
		}
		if port >= firstChosen && firstChosen >= 32768 { // elsewhere somebody has widened the range
			t.Fatalf("port %d is one of those that the system chooses, from %d on", port, firstChosen)
		}
		given[port] = true
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			t.Fatal(err)
		}
		_ = listener.Close()
	}
}

func TestJanitor(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "folder with spaces")
	if err := os.MkdirAll(filepath.Join(folder, "inner"), 0o700); err != nil {
		t.Fatal(err)
	}
	janitor, err := child.StartJanitor(folder)
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.GC()
	time.Sleep(50 * time.Millisecond) // time for it to start too early
	if _, err := os.Stat(folder); err != nil {
		t.Fatalf("removed before its time: %v", err)
	}
	for range 2 {
		if err := janitor.Clean(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after Clean: %v, want that the folder does not exist", err)
	}
}

func TestOutput(t *testing.T) {
	var output child.Output
	cmd := exec.Command("sh", "-c", "echo one; echo two >&2")
	cmd.Stdout, cmd.Stderr = &output, &output
	process, err := child.Start(cmd, syscall.SIGKILL)
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Wait(); err != nil {
		t.Fatal(err)
	}
	if got := output.String(); got != "one\ntwo\n" {
		t.Errorf("output %q", got)
	}
}
