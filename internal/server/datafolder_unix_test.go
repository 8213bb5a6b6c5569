//go:build unix

package server

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestLockData_WhileLookedAt: whoever only looks whether a server runs does not keep one from starting.
func TestLockData_WhileLookedAt(t *testing.T) {
	dir := t.TempDir()
	if inUse(dir) {
		t.Error("a folder without a lock is in use")
	}
	look, err := os.Create(filepath.Join(dir, lockFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(look.Fd()), unix.LOCK_SH); err != nil {
		t.Fatal(err)
	}
	if inUse(dir) {
		t.Error("somebody who looks is taken for a server")
	}
	time.AfterFunc(50*time.Millisecond, func() { _ = look.Close() })
	lock, err := lockData(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !inUse(dir) {
		t.Error("a server is not seen")
	}
	if _, err := lockData(dir); err == nil {
		t.Error("two servers run on a folder")
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if inUse(dir) {
		t.Error("a server that has ended is seen")
	}
}
