package host

import (
	"os"
	"path/filepath"
	"testing"
)

func TestSpaceOf(t *testing.T) {
	s, err := SpaceOf(t.TempDir())
	if err != nil || s.Total == 0 || s.Usable > s.Free || s.Free > s.Total {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := SpaceOf(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a folder that is not there has room")
	}
}

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	first, second := open(), open()
	if err := Lock(first, true); err != nil {
		t.Fatal(err)
	}
	if err := Lock(second, false); err == nil {
		t.Error("a file is locked twice")
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Lock(second, false); err != nil {
		t.Error(err)
	}
}

func TestLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	server, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	look, err := os.Open(path) // as on a disk that cannot be written
	if err != nil {
		t.Fatal(err)
	}
	if locked, err := Locked(look); locked || err != nil {
		t.Errorf("nobody has it: %v, %v", locked, err)
	}
	if err := Lock(server, false); err != nil {
		t.Fatalf("a look keeps the file: %v", err)
	}
	if locked, err := Locked(look); !locked || err != nil {
		t.Errorf("somebody has it: %v, %v", locked, err)
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	if err := look.Close(); err != nil {
		t.Fatal(err)
	}
	if locked, err := Locked(look); locked || err == nil {
		t.Errorf("what cannot be asked for is taken for a lock: %v, %v", locked, err)
	}
}

func TestOpenFiles(t *testing.T) {
	if n := OpenFiles(); n < 3 || n > NoLimit {
		t.Error(n)
	}
}
