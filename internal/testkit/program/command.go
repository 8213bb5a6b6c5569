package program

import (
	"os/exec"
	"syscall"
	"testing"

	"github.com/assayhq/assay/internal/testkit/child"
)

// Command is a running command that does not end by itself.
type Command struct {
	child          *child.Process
	stdout, stderr child.Output
}

// Begin starts a command. One that is still running at the end of the test is killed.
func (i *Installation) Begin(t testing.TB, arguments ...string) *Command {
	t.Helper()
	c := new(Command)
	cmd := exec.Command(i.binary, arguments...)
	cmd.Env, cmd.Stdout, cmd.Stderr = i.environment, &c.stdout, &c.stderr
	process, err := child.Start(cmd, syscall.SIGKILL)
	if err != nil {
		t.Fatal(err)
	}
	c.child = process
	t.Cleanup(func() { c.Kill(t) })
	return c
}

// Stderr returns the standard error so far.
func (c *Command) Stderr() string { return c.stderr.String() }

// Kill ends the command with SIGKILL and waits for it.
func (c *Command) Kill(t testing.TB) {
	t.Helper()
	if err := c.child.Signal(syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	<-c.child.Done()
}
