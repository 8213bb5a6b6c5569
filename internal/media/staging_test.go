package media

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/testkit/pictures"
)

func newStaging(t testing.TB) *Staging {
	t.Helper()
	s, err := NewStaging(filepath.Join(t.TempDir(), "staging"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func filesIn(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestStage(t *testing.T) {
	const limit = 100_000
	for _, c := range []struct {
		name string
		size int
		wrap func(io.Reader) io.Reader
	}{
		{"Empty", 0, nil},
		{"OneByte", 1, nil},
		{"OneBuffer", len(copyBuffer{}), nil},
		{"OneBufferAndAByte", len(copyBuffer{}) + 1, nil},
		{"BelowLimit", limit - 1, nil},
		{"AtLimit", limit, nil},
		{"ByteByByte", limit, iotest.OneByteReader},
		{"DataWithEOF", limit, iotest.DataErrReader},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStaging(t)
			want := bytes.Repeat([]byte("0123456789abcdef\n"), c.size/17+1)[:c.size]
			var r io.Reader = bytes.NewReader(want)
			if c.wrap != nil {
				r = c.wrap(r)
			}
			staged, err := s.Stage(t.Context(), r, limit)
			if err != nil {
				t.Fatal(err)
			}
			sum := sha256.Sum256(want)
			if staged.Size() != int64(c.size) || staged.SHA256() != hex.EncodeToString(sum[:]) {
				t.Errorf("%d bytes with hash %s", staged.Size(), staged.SHA256())
			}
			if got, err := io.ReadAll(staged.Reader()); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			for range 2 {
				if err := staged.Close(); err != nil {
					t.Error(err)
				}
			}
			if left := filesIn(t, s.dir); len(left) != 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

func TestStage_Refused(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	broken := errors.New("connection reset")
	for _, c := range []struct {
		name string
		ctx  context.Context
		r    io.Reader
		want error
	}{
		{"OneByteOver", t.Context(), strings.NewReader(strings.Repeat("x", 1001)), photo.FileTooLarge(1000)},
		{"Endless", t.Context(), zeros{}, photo.FileTooLarge(1000)},
		{
			"OverThenBroken", t.Context(),
			io.MultiReader(strings.NewReader(strings.Repeat("x", 1001)), iotest.ErrReader(broken)), photo.FileTooLarge(1000),
		},
		{"Broken", t.Context(), io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(broken)), broken},
		{
			"CutShort", t.Context(), io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(io.ErrUnexpectedEOF)),
			io.ErrUnexpectedEOF,
		},
		{"Canceled", canceled, strings.NewReader("abc"), context.Canceled},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStaging(t)
			staged, err := s.Stage(c.ctx, c.r, 1000)
			if !errors.Is(err, c.want) || staged != nil {
				t.Errorf("got %v, %v; want %v", staged, err, c.want)
			}
			if want, ok := errors.AsType[*fault.Error](c.want); ok {
				got, _ := errors.AsType[*fault.Error](err)
				if got == nil || got.Kind != fault.TooLarge || got.Details["max_bytes"] != want.Details["max_bytes"] {
					t.Errorf("got %+v", got)
				}
			}
			if left := filesIn(t, s.dir); len(left) != 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestStage_StopsEarly checks that the rest of a file that is too large is not read: nothing of one that writes itself,
// and one buffer of others.
func TestStage_StopsEarly(t *testing.T) {
	for _, c := range []struct {
		of   func(*bytes.Reader) io.Reader
		read int
	}{
		{func(r *bytes.Reader) io.Reader { return r }, 0},
		{func(r *bytes.Reader) io.Reader { return struct{ io.Reader }{r} }, len(copyBuffer{})},
	} {
		r := bytes.NewReader(make([]byte, 1<<20))
		if _, err := newStaging(t).Stage(t.Context(), c.of(r), 1000); fault.CodeOf(err) != photo.CodeFileTooLarge {
			t.Fatal(err)
		}
		if read := 1<<20 - r.Len(); read != c.read {
			t.Errorf("%d bytes were read, want %d", read, c.read)
		}
	}
}

func TestStage_DiskFails(t *testing.T) {
	s := newStaging(t)
	if err := os.RemoveAll(s.dir); err != nil {
		t.Fatal(err)
	}
	_, err := s.Stage(t.Context(), strings.NewReader("abc"), 10)
	if fault.CodeOf(err) != fault.CodeUnavailable || !errors.Is(err, syscall.ENOENT) {
		t.Errorf("got %v", err)
	}
}

// TestCheck_DiskFails checks that a staged file which cannot be read back is no broken upload, and that the caller does
// not learn where it is.
func TestCheck_DiskFails(t *testing.T) {
	for _, strips := range []bool{false, true} {
		s := newStaging(t)
		s.stripLocation = strips
		staged, err := s.Stage(t.Context(), bytes.NewReader(pictures.GrayJPEG(9, 9)), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.check(staged); err != nil {
			t.Errorf("before: %v", err)
		}
		if err := staged.file.Close(); err != nil { // it cannot be read from now on
			t.Fatal(err)
		}
		_, err = s.check(staged)
		f, _ := errors.AsType[*fault.Error](err)
		if f == nil || f.Kind != fault.Unavailable || strings.Contains(f.Message, s.dir) || !errors.Is(err, os.ErrClosed) {
			t.Errorf("got %v", err)
		}
	}
}

func TestNewStaging_RemovesLeftovers(t *testing.T) {
	s := newStaging(t)
	if _, err := s.Stage(t.Context(), strings.NewReader("left by a crash"), 100); err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(s.dir, "README")
	if err := os.WriteFile(foreign, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-2 * leftover)
	for _, name := range filesIn(t, s.dir) {
		if err := os.Chtimes(filepath.Join(s.dir, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	running, err := s.Stage(t.Context(), strings.NewReader("being written by another server"), 100)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewStaging(s.dir); err != nil {
		t.Fatal(err)
	}
	got := filesIn(t, s.dir)
	slices.Sort(got)
	if want := []string{"README", filepath.Base(running.file.Name())}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

// TestStage_Memory checks that allocations do not depend on the file size.
func TestStage_Memory(t *testing.T) {
	s := newStaging(t)
	const size = 10 << 20
	once := func() {
		staged, err := s.Stage(t.Context(), io.LimitReader(zeros{}, size), size)
		if err != nil {
			t.Fatal(err)
		}
		if err := staged.Close(); err != nil {
			t.Fatal(err)
		}
	}
	once() // fills the pool
	const rounds = 5
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	allocs := testing.AllocsPerRun(rounds, once)
	runtime.ReadMemStats(&after)
	if allocs > 40 {
		t.Errorf("%v allocations for a file", allocs)
	}
	if perFile := (after.TotalAlloc - before.TotalAlloc) / (rounds + 1); perFile > 2*uint64(len(copyBuffer{})) {
		t.Errorf("%d bytes allocated for a file of %d", perFile, size)
	}
}

func BenchmarkStage(b *testing.B) {
	s := newStaging(b)
	const size = 10 << 20
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		staged, err := s.Stage(b.Context(), io.LimitReader(zeros{}, size), size)
		if err != nil {
			b.Fatal(err)
		}
		if err := staged.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
