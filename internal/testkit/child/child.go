// Package child runs child processes of tests and makes sure that none outlives the test process, even after a
// panic, a timeout or kill -9.
package child

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
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

// Signal sends a signal. It does nothing if the child has ended. After SIGSTOP it returns once the child stands still.
func (p *Process) Signal(signal os.Signal) error {
	if err := p.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal %s: %w", p.cmd.Path, err)
	}
	if signal == syscall.SIGSTOP {
		for deadline := time.Now().Add(time.Minute); !p.stopped(); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				return fmt.Errorf("%s does not stop", p.cmd.Path)
			}
		}
	}
	return nil
}

// stopped reports whether the child has ended, or stands still with all its threads, as Linux tells; elsewhere nobody
// knows.
func (p *Process) stopped() bool {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.cmd.Process.Pid))
	if err != nil {
		return true
	}
	for _, task := range tasks {
		stat, err := os.ReadFile(task)
		if err != nil {
			continue // the thread has ended
		}
		_, state, _ := strings.Cut(string(stat), ") ")
		if !strings.HasPrefix(state, "T") && !strings.HasPrefix(state, "Z") {
			return false
		}
	}
	return true
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
