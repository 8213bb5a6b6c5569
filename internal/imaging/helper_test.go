package imaging

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pictures"
)

const serveArgument = "-serve-helper="

// The decoder of the helper's process never gets done with one of these files, and answers the other with more than it
// may.
const hangs, talks = "hangs", "talks"

// TestMain lets this program be the process of a helper.
func TestMain(m *testing.M) {
	deriveInHelper = func(
		ctx context.Context, r io.ReadSeeker, f photo.Format, sizes []Size,
	) (map[Size][]byte, error) {
		switch b, _ := io.ReadAll(r); string(b) {
		case hangs:
			time.Sleep(time.Hour) // ends with the process
		case talks:
			return map[Size][]byte{Thumb: make([]byte, (len(sizes)+1)*maxDerived)}, nil
		}
		return Derive(ctx, r, f, sizes)
	}
	if memory, ok := strings.CutPrefix(os.Args[len(os.Args)-1], serveArgument); ok {
		limit, err := strconv.ParseUint(memory, 10, 64)
		if err == nil {
			err = ServeHelper(os.Stdin, os.Stdout, limit)
		}
		if err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func newHelper(t *testing.T, memory int) *Helper {
	h := NewHelper(slog.New(slog.DiscardHandler), os.Args[0], "--", serveArgument+strconv.Itoa(memory))
	h.limit = func(io.ReaderAt, int64) time.Duration { return 5 * time.Minute } // the machine may be busy
	t.Cleanup(h.Close)
	return h
}

func (h *Helper) try(ctx context.Context, file []byte, f photo.Format) (map[Size][]byte, error) {
	return h.Derive(ctx, bytes.NewReader(file), f, Sizes)
}

func TestHelper(t *testing.T) {
	file := pictures.Sample(t, "github.com/gen2brain/heic", "test8.heic")
	want, err := Derive(t.Context(), bytes.NewReader(file), photo.HEIC, Sizes)
	if err != nil {
		t.Fatal(err)
	}
	same := func(t *testing.T, h *Helper) {
		t.Helper()
		got, err := h.try(t.Context(), file, photo.HEIC)
		if err != nil || !bytes.Equal(got[Thumb], want[Thumb]) || !bytes.Equal(got[Screen], want[Screen]) {
			t.Errorf("not the images that are made here: %v", err)
		}
	}
	t.Run("OneProcessForMany", func(t *testing.T) {
		h := newHelper(t, HelperMemory)
		same(t, h)
		first := h.children[0].cmd.Process.Pid
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() { same(t, h) })
		}
		all.Wait()
		if _, err := h.try(t.Context(), []byte("nothing"), photo.HEIC); !errors.Is(err, ErrUndecodable) {
			t.Errorf("%v", err)
		}
		same(t, h)
		if h.children[0].cmd.Process.Pid != first {
			t.Error("a broken photo cost the process")
		}
		h.rest(h.children[0])
		if len(h.children) > 0 {
			t.Error("the process does not end when there is nothing to do")
		}
		same(t, h)
	})
	t.Run("EveryFormat", func(t *testing.T) {
		h := newHelper(t, HelperMemory)
		for format, sample := range map[photo.Format][]byte{
			photo.AVIF: pictures.Sample(t, "github.com/gen2brain/avif", "test8.avif"),
			photo.HEIC: file,
			photo.WebP: pictures.Sample(t, "github.com/gen2brain/webp", "test.webp"),
		} {
			if got, err := h.try(t.Context(), sample, format); err != nil || len(got) != len(Sizes) {
				t.Errorf("%s: %d images, %v", format, len(got), err)
			}
		}
	})
	t.Run("OutOfMemory", func(t *testing.T) {
		h := newHelper(t, 128<<20) // enough to start
		avif := pictures.Sample(t, "github.com/gen2brain/avif", "test8.avif")
		if _, err := h.try(t.Context(), avif, photo.AVIF); !errors.Is(err, ErrUndecodable) {
			t.Errorf("%v", err)
		}
		for len(h.children) > 0 { // it may have survived
			h.rest(h.children[0])
		}
		h.command = newHelper(t, HelperMemory).command
		same(t, h)
	})
	t.Run("TooMuchIsSaid", func(t *testing.T) {
		h := newHelper(t, HelperMemory)
		if images, err := h.try(t.Context(), []byte(talks), photo.HEIC); err == nil {
			t.Errorf("an image of %d bytes is taken", len(images[Thumb]))
		}
		same(t, h)
	})
	t.Run("Closed", func(t *testing.T) {
		h := newHelper(t, HelperMemory)
		h.Close()
		if _, err := h.try(t.Context(), file, photo.HEIC); err == nil || errors.Is(err, ErrUndecodable) {
			t.Errorf("a server that stops says of a photo: %v", err)
		}
	})
	t.Run("NoSuchProgram", func(t *testing.T) {
		h := NewHelper(slog.New(slog.DiscardHandler), "/nowhere/assay")
		if _, err := h.try(t.Context(), file, photo.HEIC); err == nil || errors.Is(err, ErrUndecodable) {
			t.Errorf("%v", err)
		}
	})
}

// TestHelper_FairTurns checks that photos of one account that take for ever hold up no other account.
func TestHelper_FairTurns(t *testing.T) {
	file := pictures.Sample(t, "github.com/gen2brain/heic", "test8.heic")
	h := newHelper(t, HelperMemory)
	h.limit = func(io.ReaderAt, int64) time.Duration { return time.Hour }
	var heavy sync.WaitGroup
	for range 5 {
		heavy.Go(func() {
			if _, err := h.try(OfAccount(t.Context(), "heavy"), []byte(hangs), photo.HEIC); err == nil {
				t.Error("an image of nothing")
			}
		})
	}
	must.Eventually(t, time.Minute, "a photo is being decoded", func() bool {
		h.places.mu.Lock()
		defer h.places.mu.Unlock()
		return h.places.taken["heavy"] == 1
	})
	for _, account := range []string{"light", "other", "light"} {
		if _, err := h.try(OfAccount(t.Context(), account), file, photo.HEIC); err != nil {
			t.Errorf("a photo of %s: %v", account, err)
		}
	}
	h.mu.Lock()
	if n := len(h.children); n > helperPlaces {
		t.Errorf("%d processes wait", n)
	}
	h.mu.Unlock()
	h.Close()
	heavy.Wait()
}

// TestHelper_Processes checks that those which work and those which have nothing to do are no more than there may be.
func TestHelper_Processes(t *testing.T) {
	file := pictures.Sample(t, "github.com/gen2brain/heic", "test8.heic")
	h := newHelper(t, HelperMemory)
	for _, account := range []string{"a", "b"} {
		if _, err := h.try(OfAccount(t.Context(), account), file, photo.HEIC); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range h.children {
		c.idle.Stop() // they do not end by themselves
	}
	var others sync.WaitGroup
	for i, account := range []string{"c", "d"} {
		others.Go(func() {
			if _, err := h.try(OfAccount(t.Context(), account), []byte(hangs), photo.HEIC); err == nil {
				t.Error("an image of nothing")
			}
		})
		must.Eventually(t, time.Minute, "the process of another account has made room", func() bool {
			h.mu.Lock()
			defer h.mu.Unlock()
			return len(h.children) == helperPlaces-1-i
		})
	}
	h.Close()
	others.Wait()
	if h.working != 0 {
		t.Errorf("%d processes are counted when none is left", h.working)
	}
}

// TestHelper_TimeLimit checks that a photo has time in proportion to its size, and costs its process after that.
func TestHelper_TimeLimit(t *testing.T) {
	small := timeFor(bytes.NewReader(nil), 1000)
	info := pictures.Sample(t, "github.com/gen2brain/heic", "test8.heic")
	middle := timeFor(bytes.NewReader(info), int64(len(info)))
	png := "\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR\x00\x00\x1f\x40\x00\x00\x17\x70\x08\x02\x00\x00\x00" // 48 megapixels
	large := timeFor(strings.NewReader(png), 10<<20)
	if small >= middle || middle >= large || small < 10*time.Second || large != time.Minute {
		t.Errorf("%v, %v, %v", small, middle, large)
	}
	h := newHelper(t, HelperMemory)
	h.limit = func(io.ReaderAt, int64) time.Duration { return 20 * time.Millisecond }
	if _, err := h.try(t.Context(), []byte(hangs), photo.HEIC); !errors.Is(err, ErrUndecodable) {
		t.Errorf("%v", err)
	}
	if len(h.children) != 0 {
		t.Error("the process that hangs is kept")
	}
}

// interrupted is a file that cannot be read, which takes its time.
type interrupted struct{ *bytes.Reader }

var errInterrupted = errors.New("the connection broke off")

func (f interrupted) Read(p []byte) (int, error) {
	if f.Len() > 1000 {
		return f.Reader.Read(p[:min(len(p), f.Len()-1000)])
	}
	time.Sleep(100 * time.Millisecond)
	return 0, errInterrupted
}

// TestHelper_ReadFails checks that a photo that cannot be read is not taken for a broken one, and that its time is for
// decoding it, not for reading it.
func TestHelper_ReadFails(t *testing.T) {
	file := pictures.Sample(t, "github.com/gen2brain/heic", "test8.heic")
	for _, limit := range []time.Duration{5 * time.Minute, 20 * time.Millisecond} {
		h := newHelper(t, HelperMemory)
		h.limit = func(io.ReaderAt, int64) time.Duration { return limit }
		_, err := h.Derive(t.Context(), interrupted{bytes.NewReader(file)}, photo.HEIC, Sizes)
		if !errors.Is(err, errInterrupted) || errors.Is(err, ErrUndecodable) {
			t.Errorf("with %v for the photo: %v", limit, err)
		}
	}
}

// TestHelper_OneAccountPerProcess checks that a process that saw an account's photo sees no other account's.
func TestHelper_OneAccountPerProcess(t *testing.T) {
	file := pictures.Sample(t, "github.com/gen2brain/heic", "test8.heic")
	h := newHelper(t, HelperMemory)
	of := map[int]string{}
	for _, account := range []string{"a", "b", "a", "c", "b", "a"} {
		if _, err := h.try(OfAccount(t.Context(), account), file, photo.HEIC); err != nil {
			t.Fatal(err)
		}
		last := h.children[len(h.children)-1]
		if before, ok := of[last.cmd.Process.Pid]; ok && before != account {
			t.Errorf("a process of %s decodes a photo of %s", before, account)
		}
		of[last.cmd.Process.Pid] = account
	}
}

// TestHelper_Sandbox checks that the process that decodes is in a sandbox, or that it is said once that it is not. What
// the sandbox refuses is tested in its package.
func TestHelper_Sandbox(t *testing.T) {
	file := pictures.Sample(t, "github.com/gen2brain/heic", "test8.heic")
	var log bytes.Buffer
	h := newHelper(t, HelperMemory)
	h.log = slog.New(slog.NewTextHandler(&log, nil))
	for _, account := range []string{"a", "b"} {
		if _, err := h.try(OfAccount(t.Context(), account), file, photo.HEIC); err != nil {
			t.Fatal(err)
		}
	}
	if runtime.GOOS != "linux" || log.Len() > 0 {
		if n := strings.Count(log.String(), "without a complete sandbox"); n != 1 {
			t.Errorf("said %d times: %s", n, log.String())
		}
		return
	}
	pid := strconv.Itoa(h.children[0].cmd.Process.Pid)
	status, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"NoNewPrivs:\t1", "Seccomp:\t2"} {
		if !strings.Contains(string(status), want) {
			t.Errorf("the process does not have %q", want)
		}
	}
}
