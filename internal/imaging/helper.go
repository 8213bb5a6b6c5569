package imaging

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"

	"github.com/assayhq/assay/internal/domain/photo"
)

const (
	helperTime = time.Minute      // for one photo
	helperIdle = 20 * time.Second // after which the process ends and returns its memory
)

// Helper decodes photos in a process of its own: those that take much memory, or whose decoders need an amount that
// cannot be told before. The process has a limit that the system enforces, HelperMemory; a file that exceeds it, or
// makes the decoder hang, costs that process and nothing else.
//
// The process takes one photo after the other from its standard input and ends with it.
type Helper struct {
	command []string
	closing context.Context // done when Close is called, which ends the process
	close   context.CancelFunc

	mu    sync.Mutex // held for one photo
	child *child     // nil: it does not run
	idle  *time.Timer
}

// child is the running process.
type child struct {
	cmd       *exec.Cmd
	kill      context.CancelFunc
	in        io.WriteCloser
	questions *gob.Encoder // to in
	answers   *gob.Decoder
}

var errClosed = errors.New("imaging: the server stops")

// NewHelper returns a helper whose process is started by a command when it is needed; the process calls ServeHelper.
func NewHelper(command ...string) *Helper {
	h := &Helper{command: command}
	h.closing, h.close = context.WithCancel(context.Background())
	return h
}

// helperRequest is followed by the bytes of the file.
type helperRequest struct {
	Format photo.Format
	Sizes  []Size
	Bytes  int64
}

type helperAnswer struct {
	Problem string // the photo cannot be decoded
	Images  map[Size][]byte
}

// Derive is a Deriver. One photo is worked on at a time.
func (h *Helper) Derive(
	_ context.Context, file io.ReadSeeker, f photo.Format, sizes []Size,
) (map[Size][]byte, error) {
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	if err := rewind(file); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.start(); err != nil {
		return nil, err
	}
	timeout := time.AfterFunc(helperTime, h.child.kill)
	derived, err := h.child.ask(file, helperRequest{f, sizes, size})
	if !timeout.Stop() || err != nil && !errors.Is(err, ErrUndecodable) {
		h.stop()
		if h.closing.Err() != nil {
			return nil, errClosed
		}
		return nil, fmt.Errorf("%w: its decoder did not survive it: %w", ErrUndecodable, err)
	}
	if h.idle == nil {
		h.idle = time.AfterFunc(helperIdle, h.rest)
	} else {
		h.idle.Reset(helperIdle)
	}
	return derived, err
}

func (h *Helper) start() error {
	if h.closing.Err() != nil {
		return errClosed
	}
	if h.child != nil {
		return nil
	}
	ctx, kill := context.WithCancel(h.closing)
	cmd := exec.CommandContext(ctx, h.command[0], h.command[1:]...) //nolint:gosec // the program itself
	cmd.Env = []string{}                                            // it needs no secrets
	in, err := cmd.StdinPipe()
	if err != nil {
		kill()
		return err
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		kill()
		return fmt.Errorf("start the decoder: %w", err)
	}
	h.child = &child{cmd: cmd, kill: kill, in: in, questions: gob.NewEncoder(in), answers: gob.NewDecoder(out)}
	return nil
}

// ask sends a photo and returns the answer. After an error other than ErrUndecodable the process cannot be used again.
func (c *child) ask(file io.Reader, q helperRequest) (map[Size][]byte, error) {
	if err := c.questions.Encode(q); err != nil {
		return nil, err
	}
	if _, err := io.CopyN(c.in, file, q.Bytes); err != nil {
		return nil, err
	}
	var a helperAnswer
	if err := c.answers.Decode(&a); err != nil {
		return nil, err
	}
	if a.Problem != "" {
		return nil, fmt.Errorf("%w: %s", ErrUndecodable, a.Problem)
	}
	return a.Images, nil
}

// stop ends the process.
func (h *Helper) stop() {
	if h.child != nil {
		h.child.kill()
		_ = h.child.cmd.Wait() // how it ended does not matter
		h.child = nil
	}
}

// rest ends the process when it is idle.
func (h *Helper) rest() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stop()
}

// Close ends the process, whatever it does, and starts no other.
func (h *Helper) Close() {
	h.close()
	h.rest()
}
