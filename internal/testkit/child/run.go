package child

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// Run starts cmd and collects its output. It is killed at the end of the test, and a failed test shows the output.
func Run(t testing.TB, cmd *exec.Cmd) (*Process, *Output) {
	t.Helper()
	output := new(Output)
	cmd.Stdout, cmd.Stderr = output, output
	process, err := Start(cmd, syscall.SIGKILL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := process.Signal(syscall.SIGKILL); err != nil {
			t.Error(err)
		}
		<-process.Done()
		if t.Failed() {
			t.Logf("output of %s:\n%s", cmd.Path, output)
		}
	})
	return process, output
}

// Main is the TestMain of a package whose tests start their own program again: where the variable is set, it does what
// such a process is for instead of running tests.
func Main(m *testing.M, variable string, act func()) {
	if os.Getenv(variable) != "" {
		act()
	}
	os.Exit(m.Run())
}
