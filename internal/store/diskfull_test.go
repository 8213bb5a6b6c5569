package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/db"
)

// TestDiskFull checks that a full disk is called one, at the start and while it runs, and is over when there is room.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=8m"); err != nil {
		t.Skipf("a small disk cannot be mounted here: %v", err) // needs root
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	target, ballast := filepath.Join(dir, "assay.db"), filepath.Join(dir, "ballast")
	fill := func() {
		f, err := os.Create(ballast)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for block := make([]byte, 4096); err == nil; {
			_, err = f.Write(block)
		}
	}
	s, err := store.Open(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	s.SealLogs(audit.NewChain([]byte("key")))
	_, ids := insertOrders(t, s, "acme", strings.Split(strings.Repeat("x,", 20), ",")...)
	fill()
	for i := 0; err == nil && i < len(ids); i++ { // until the log has no room
		err = s.Update(t.Context(), claim(ids[i]))
	}
	wantUnavailable(t, "a full disk", err)
	if !errors.Is(err, db.ErrDiskFull) {
		t.Errorf("the cause is %v", errors.Unwrap(err))
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := s.Update(t.Context(), claim(ids[len(ids)-1])); err != nil {
		t.Errorf("with room again: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	fill()
	if s, err := store.Open(t.Context(), target); err == nil {
		_ = s.Close()
	} else if !strings.Contains(err.Error(), "full") {
		t.Errorf("the start says %v", err)
	}
}
