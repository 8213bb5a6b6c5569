package imaging

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// HelperMemory is what the process of a Helper may use at most, in bytes. It lets one of 50 megapixels in a single AV1 frame
// through, which takes 1.2 GB.
const HelperMemory = 2 << 30

// ServeHelper is the other side of a Helper: it answers requests until the input ends. It takes the whole process for
// itself, which it limits to an amount of memory.
func ServeHelper(in io.Reader, out io.Writer, memory uint64) error {
	if err := unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: memory, Max: memory}); err != nil {
		return err
	}
	// Where memory is short for everyone, this process is the one to lose. A system that has no such file goes without.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0o600)
	debug.SetMemoryLimit(int64(memory / 4)) //nolint:gosec // a few gigabytes; from here on the collector works harder
	debug.SetGCPercent(20)
	r, w := bufio.NewReaderSize(in, 64<<10), bufio.NewWriterSize(out, 64<<10)
	for {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var q helperRequest
		if err := json.Unmarshal(line, &q); err != nil {
			return err
		}
		if err := answer(r, w, &q); err != nil {
			return err
		}
		for range 2 { // decoders that are kept for the next photo are let go of at the second time
			debug.FreeOSMemory()
		}
	}
}

func answer(r io.Reader, w *bufio.Writer, q *helperRequest) error {
	var file bytes.Buffer
	if _, err := io.CopyN(&file, r, q.Bytes); err != nil {
		return err
	}
	derived, err := Derive(bytes.NewReader(file.Bytes()), q.Format, q.Sizes)
	var a helperAnswer
	if err != nil {
		a.Problem = err.Error()
	} else {
		for _, size := range q.Sizes {
			a.Lengths = append(a.Lengths, len(derived[size]))
		}
	}
	head, err := json.Marshal(a)
	if err != nil {
		return err
	}
	if _, err := w.Write(append(head, '\n')); err != nil {
		return err
	}
	for i := range a.Lengths {
		if _, err := w.Write(derived[q.Sizes[i]]); err != nil {
			return err
		}
	}
	return w.Flush()
}
