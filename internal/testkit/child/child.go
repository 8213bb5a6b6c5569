// Package child runs child processes of tests and makes sure that none outlives the test process, even after a
// panic, a timeout or kill -9.
package child

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// Process is a running child process.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error // of Wait; readable once done is closed
}

// Start starts cmd. On Linux the kernel sends it onDeath when this process ends; elsewhere a child may survive a
// killed parent. Start may set further fields of cmd.SysProcAttr.
func Start(cmd *exec.Cmd, onDeath syscall.Signal) (*Process, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	signalOnParentDeath(cmd.SysProcAttr, onDeath)
	p := &Process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The kernel regards the forking thread as the parent, so that this thread must live as long as the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.err = cmd.Wait()
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	return p, nil
}

// Done is closed when the child has ended and has been waited for.
func (p *Process) Done() <-chan struct{} {
	return p.done
}

// PID is the child's process id.
func (p *Process) PID() int {
	return p.cmd.Process.Pid
}

// Signal sends a signal. It does nothing if the child has ended.
func (p *Process) Signal(signal os.Signal) error {
	if err := p.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal %s: %w", p.cmd.Path, err)
	}
	return nil
}

// Wait waits for the child's end and returns what exec.Cmd.Wait returned.
func (p *Process) Wait() error {
	<-p.done
	return p.err
}

// ExitCode waits for the child's end and returns its exit code, or -1 if a signal ended it.
func (p *Process) ExitCode() int {
	<-p.done
	return p.cmd.ProcessState.ExitCode()
}
