package imaging

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/testkit/pictures"
)

const serveArgument = "-serve-helper="

// TestMain lets this program be the process of a helper.
func TestMain(m *testing.M) {
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
	h := NewHelper(os.Args[0], "--", serveArgument+strconv.Itoa(memory))
	t.Cleanup(h.Close)
	return h
}

func (h *Helper) try(ctx context.Context, file []byte, f photo.Format) (map[Size][]byte, error) {
	return h.Derive(ctx, bytes.NewReader(file), f, Sizes)
}

func TestHelper(t *testing.T) {
	file := pictures.Sample(t, "github.com/gen2brain/heic", "test8.heic")
	want, err := Derive(bytes.NewReader(file), photo.HEIC, Sizes)
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
		first := h.child.cmd.Process.Pid
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() { same(t, h) })
		}
		all.Wait()
		if _, err := h.try(t.Context(), []byte("nothing"), photo.HEIC); !errors.Is(err, ErrUndecodable) {
			t.Errorf("%v", err)
		}
		same(t, h)
		if h.child.cmd.Process.Pid != first {
			t.Error("a broken photo cost the process")
		}
		h.rest()
		if h.child != nil {
			t.Error("the process does not end when there is nothing to do")
		}
		same(t, h)
	})
	t.Run("OutOfMemory", func(t *testing.T) {
		h := newHelper(t, 48<<20)
		avif := pictures.Sample(t, "github.com/gen2brain/avif", "test8.avif")
		if _, err := h.try(t.Context(), avif, photo.AVIF); !errors.Is(err, ErrUndecodable) {
			t.Errorf("%v", err)
		}
		h.command = newHelper(t, HelperMemory).command
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
		h := NewHelper("/nowhere/assay")
		if _, err := h.try(t.Context(), file, photo.HEIC); err == nil || errors.Is(err, ErrUndecodable) {
			t.Errorf("%v", err)
		}
	})
}
