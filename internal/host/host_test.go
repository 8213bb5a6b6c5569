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

func TestOpenFiles(t *testing.T) {
	if n := OpenFiles(); n < 3 || n > NoLimit {
		t.Error(n)
	}
}
