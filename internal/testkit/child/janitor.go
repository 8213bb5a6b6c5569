package child

import (
	"fmt"
	"io"
	"os/exec"
	"syscall"
)

// Janitor is a process that removes a directory when this process ends, however that happens, or on Clean.
type Janitor struct {
	input io.Closer
	done  chan struct{}
	err   error // readable once done is closed
}

// janitorScript waits for the end of its input. It retries, because a server may still be writing.
const janitorScript = `
	read -r _
	for attempt in 1 2 3 4 5 6 7 8 9 10; do
		rm -rf -- "$0" && exit 0
		sleep 0.5
	done
	exit 1`

// StartJanitor starts a janitor for a directory.
func StartJanitor(folder string) (*Janitor, error) {
	cmd := exec.Command("/bin/sh", "-c", janitorScript, folder)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // it must survive an interrupt of the test run
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the janitor: %w", err)
	}
	j := &Janitor{input: input, done: make(chan struct{})}
	// Waiting also keeps the pipe referenced: garbage collection would close it, and the janitor would start.
	go func() {
		j.err = cmd.Wait()
		close(j.done)
	}()
	return j, nil
}

// Clean removes the folder now. It may be called again.
func (j *Janitor) Clean() error {
	_ = j.input.Close() // fails only when it is closed already
	<-j.done
	if j.err != nil {
		return fmt.Errorf("remove a temporary folder: %w", j.err)
	}
	return nil
}
