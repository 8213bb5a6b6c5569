package imaging

import (
	"bufio"
	"bytes"
	"encoding/gob"
	"errors"
	"io"
	"os"
	"runtime/debug"
	"time"

	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/sandbox"
)

// HelperMemory is what the process of a Helper may use at most, in bytes. It is enough for an AVIF of 50 megapixels,
// which takes 1.2 GB.
const HelperMemory = 2 << 30

const (
	helperCPU   = 10 * time.Minute // of computing, after which it ends, also when nobody is left who could end it
	helperFiles = 16
)

// deriveInHelper is Derive, except in tests.
var deriveInHelper = func(r io.ReadSeeker, f photo.Format, sizes []Size) (map[Size][]byte, error) {
	return Derive(r, f, sizes)
}

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
		if a.Images, err = deriveInHelper(bytes.NewReader(file.Bytes()), q.Format, q.Sizes); err != nil {
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
