package imaging

import (
	"bufio"
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/sandbox"
)

const (
	helperIdle   = 20 * time.Second // after which a process ends and returns its memory
	helperPlaces = 2                // processes at a time; an account has one of them

	// The time for one photo: a hundred times what its decoder takes for most photos, for a machine may be busy.
	helperBase     = 10 * time.Second
	helperPerPixel = time.Microsecond // one second for a megapixel
	helperPerByte  = time.Microsecond
	helperMost     = time.Minute
)

// Helper decodes photos in processes of their own: those that take much memory, or whose decoders need an amount that
// cannot be told before. A process has limits that the system enforces and, where the kernel has it, a sandbox; a file
// that exceeds a limit, makes the decoder hang or takes it over costs that process and nothing else.
//
// A process takes one photo after the other from its standard input and ends with it. All its photos are of one
// account: what one has made of the process, no other account's photo meets.
type Helper struct {
	command []string
	log     *slog.Logger
	places  *fairSemaphore
	limit   func(file io.ReaderAt, size int64) time.Duration // for one photo
	closing context.Context                                  // done when Close is called, which ends the processes
	close   context.CancelFunc
	tell    sync.Once // what the sandbox lacks

	mu       sync.Mutex
	children []*child // that run and have nothing to do
	working  int      // the others: they start, or have a photo
	busy     sync.WaitGroup
}

// child is a running process.
type child struct {
	account   string
	cmd       *exec.Cmd
	kill      context.CancelFunc
	in        io.WriteCloser
	questions *gob.Encoder // to in
	out       *io.LimitedReader
	answers   *gob.Decoder // of out
	idle      *time.Timer  // ends it
	worked    time.Duration
}

var (
	errClosed = errors.New("imaging: the server stops")
	errBusy   = errors.New("imaging: too many photos wait to be decoded")
)

// NewHelper returns a helper whose processes are started by a command when they are needed; a process calls
// ServeHelper. The log is told once when the sandbox is not complete.
func NewHelper(log *slog.Logger, command ...string) *Helper {
	h := &Helper{command: command, log: log, places: newFairSemaphore(helperPlaces, 1), limit: timeFor}
	h.closing, h.close = context.WithCancel(context.Background())
	return h
}

// helperHello is the first thing that a process says.
type helperHello struct{ Sandbox sandbox.Report }

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

// Derive is a Deriver. Photos wait for a place of their account, which the context names.
func (h *Helper) Derive(
	ctx context.Context, file io.ReadSeeker, f photo.Format, sizes []Size,
) (map[Size][]byte, error) {
	release, err := h.places.acquire(ctx, accountOf(ctx))
	if err != nil {
		return nil, err
	}
	defer release()
	whole, err := wholeOf(file) // before its time begins, which is for decoding it
	if err != nil {
		return nil, err
	}
	c, err := h.childFor(accountOf(ctx))
	if err != nil {
		return nil, err
	}
	defer h.busy.Done()
	timeout := time.AfterFunc(h.limit(whole, whole.Size()), c.kill)
	began := time.Now()
	derived, err := c.ask(whole, helperRequest{f, sizes, whole.Size()})
	c.worked += time.Since(began)
	if !timeout.Stop() || err != nil && !errors.Is(err, ErrUndecodable) {
		c.end()
		h.ended()
		if h.closing.Err() != nil {
			return nil, errClosed
		}
		return nil, fmt.Errorf("%w: its decoder did not survive it: %w", ErrUndecodable, err)
	}
	h.keep(c)
	return derived, err
}

// wholeOf reads a file. Photos are small enough for that: as many as there are processes are in memory at a time.
func wholeOf(file io.ReadSeeker) (*bytes.Reader, error) {
	if err := rewind(file); err != nil {
		return nil, err
	}
	b, err := io.ReadAll(file)
	return bytes.NewReader(b), err
}

// timeFor is how long a photo may take: in proportion to what there is to decode, as its header tells.
func timeFor(file io.ReaderAt, size int64) time.Duration {
	limit := helperBase + time.Duration(size)*helperPerByte
	if info, err := photo.Inspect(file, size); err == nil {
		limit += time.Duration(info.Width*info.Height) * helperPerPixel
	}
	return min(limit, helperMost)
}

// childFor returns a process for photos of an account, the one that worked for it before or a new one. The caller
// calls h.busy.Done when it is done with it.
func (h *Helper) childFor(account string) (*child, error) {
	h.mu.Lock()
	if h.closing.Err() != nil {
		h.mu.Unlock()
		return nil, errClosed
	}
	h.busy.Add(1)
	h.working++
	for i, c := range h.children {
		if c.account == account && c.idle.Stop() {
			h.children = slices.Delete(h.children, i, i+1)
			h.mu.Unlock()
			return c, nil
		}
	}
	if len(h.children) > 0 && len(h.children)+h.working > helperPlaces { // another account's makes room
		c := h.children[0]
		h.children = slices.Delete(h.children, 0, 1)
		c.idle.Stop()
		c.end()
	}
	h.mu.Unlock()
	c, err := h.start()
	if err != nil {
		h.ended()
		h.busy.Done()
		return nil, err
	}
	c.account = account
	return c, nil
}

// ended is called when a process that was working has ended.
func (h *Helper) ended() {
	h.mu.Lock()
	h.working--
	h.mu.Unlock()
}

// keep keeps a process for the next photo, unless it has used much of what it may use in all.
func (h *Helper) keep(c *child) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.working--
	if h.closing.Err() != nil || c.worked > helperCPU/2 {
		c.end()
		return
	}
	h.children = append(h.children, c)
	c.idle = time.AfterFunc(helperIdle, func() { h.rest(c) })
}

func (h *Helper) start() (*child, error) {
	ctx, kill := context.WithCancel(h.closing)
	cmd := exec.CommandContext(ctx, h.command[0], h.command[1:]...) //nolint:gosec // the program itself
	cmd.Env = []string{}                                            // it needs no secrets
	cmd.Dir = os.TempDir()
	in, err := cmd.StdinPipe()
	if err != nil {
		kill()
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		kill()
		return nil, fmt.Errorf("start the decoder: %w", err)
	}
	from := &io.LimitedReader{R: out, N: maxHello}
	c := &child{cmd: cmd, kill: kill, in: in, questions: gob.NewEncoder(in), out: from, answers: gob.NewDecoder(from)}
	var hello helperHello
	timeout := time.AfterFunc(helperMost, kill)
	err = c.answers.Decode(&hello)
	if !timeout.Stop() || err != nil {
		c.end()
		if h.closing.Err() != nil {
			return nil, errClosed
		}
		return nil, fmt.Errorf("the decoder did not start: %w", err)
	}
	h.tell.Do(func() {
		if !hello.Sandbox.Complete() {
			h.log.Warn("the image decoder runs without a complete sandbox", "missing", hello.Sandbox.Missing)
		}
	})
	return c, nil
}

// ask sends a photo and returns the answer. After an error other than ErrUndecodable the process cannot be used again.
func (c *child) ask(file io.Reader, q helperRequest) (map[Size][]byte, error) {
	if err := c.questions.Encode(q); err != nil {
		return nil, err
	}
	if _, err := io.CopyN(c.in, file, q.Bytes); err != nil {
		return nil, err
	}
	// A process that a photo has taken over could fill the server's memory instead of its own.
	c.out.N = int64(len(q.Sizes)) * (maxDerived + maxHello)
	var a helperAnswer
	if err := c.answers.Decode(&a); err != nil {
		return nil, err
	}
	if a.Problem != "" {
		return nil, fmt.Errorf("%w: %s", ErrUndecodable, a.Problem)
	}
	return a.Images, nil
}

// maxHello is how much a process may say beside images, in bytes.
const maxHello = 1 << 20

// end ends the process.
func (c *child) end() {
	c.kill()
	_ = c.cmd.Wait() // how it ended does not matter
}

// rest ends a process that is idle.
func (h *Helper) rest(c *child) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if at := slices.Index(h.children, c); at >= 0 {
		h.children = slices.Delete(h.children, at, at+1)
		c.end()
	}
}

// Close ends the processes, whatever they do, and starts no other.
func (h *Helper) Close() {
	h.close()
	h.mu.Lock()
	for _, c := range h.children {
		c.idle.Stop()
		c.end()
	}
	h.children = nil
	h.mu.Unlock()
	h.busy.Wait()
}

// HelperMemory is what the process of a Helper may use at most, in bytes. It is enough for an AVIF of 50 megapixels,
// which takes 1.2 GB.
const HelperMemory = 2 << 30

const (
	helperCPU   = 10 * time.Minute // of computing, after which it ends, also when nobody is left who could end it
	helperFiles = 16
)

// deriveInHelper is Derive, except in tests.
var deriveInHelper Deriver = Derive

// ServeHelper is the other side of a Helper: it answers requests until the input ends. It puts the process that calls
// it into a sandbox, from which nothing but in and out can be reached, and limits what it may use.
func ServeHelper(in io.Reader, out io.Writer, memory uint64) error {
	// When the machine runs out of memory, this process is to be killed first. Not all systems have this file.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0o600)
	report, err := sandbox.Enter(sandbox.Limits{
		Memory: memory, CPU: uint64(helperCPU / time.Second), Files: helperFiles,
	})
	if err != nil {
		return err
	}
	debug.SetMemoryLimit(int64(memory / 4)) //nolint:gosec // a few gigabytes; from here on the collector works harder
	debug.SetGCPercent(20)
	r := bufio.NewReaderSize(in, 64<<10) // gob reads no further in it than to the end of a value
	questions, answers := gob.NewDecoder(r), gob.NewEncoder(out)
	if err := answers.Encode(helperHello{report}); err != nil {
		return err
	}
	for {
		var q helperRequest
		if err := questions.Decode(&q); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		var file bytes.Buffer
		if _, err := io.CopyN(&file, r, q.Bytes); err != nil {
			return err
		}
		var a helperAnswer
		var err error
		a.Images, err = deriveInHelper(context.Background(), bytes.NewReader(file.Bytes()), q.Format, q.Sizes)
		if err != nil {
			a.Problem = err.Error()
		}
		if err := answers.Encode(a); err != nil {
			return err
		}
		for range 2 { // decoders in a sync.Pool are freed by the second collection
			debug.FreeOSMemory()
		}
	}
}
