package media

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/testkit/must"
)

func openDisk(t testing.TB) (*Disk, *Staging) {
	t.Helper()
	d, err := NewDisk(filepath.Join(t.TempDir(), "media"))
	must.NoError(t, err)
	must.CloseLater(t, d)
	s, err := NewStaging(d.StagingDir())
	must.NoError(t, err)
	return d, s
}

func stage(t testing.TB, s *Staging, content string) *Staged {
	t.Helper()
	staged, err := s.Stage(t.Context(), strings.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	must.CloseLater(t, staged)
	return staged
}

const someName = "abcdefghijklmnopqrstuvwxyz234567.jpg"

// record records the steps of a Put.
func record(d *Disk) *[]string {
	var steps []string
	rel := func(path string) string {
		r, err := filepath.Rel(d.dir, path)
		if err != nil {
			return path
		}
		if strings.HasPrefix(r, stagingFolder) {
			return "staged"
		}
		return r
	}
	d.flush = func(f *os.File) error {
		steps = append(steps, "flush "+rel(f.Name()))
		return f.Sync()
	}
	d.rename = func(from, to string) error {
		steps = append(steps, "rename "+rel(from)+" "+rel(to))
		return os.Rename(from, to)
	}
	return &steps
}

// TestDisk_PutOrder checks the order that survives a crash at any step: the bytes are flushed before the name, the
// name before Put returns.
func TestDisk_PutOrder(t *testing.T) {
	d, s := openDisk(t)
	steps := record(d)
	if err := d.Put(t.Context(), someName, stage(t, s, "bytes")); err != nil {
		t.Fatal(err)
	}
	want := []string{"flush staged", "flush .", "flush a", "rename staged a/b/" + someName, "flush a/b"}
	if !slices.Equal(*steps, want) {
		t.Errorf("steps of the first put\n got %q\nwant %q", *steps, want)
	}
	*steps = nil
	second := "ab" + someName[2:30] + "77.png"
	if err := d.Put(t.Context(), second, stage(t, s, "bytes")); err != nil {
		t.Fatal(err)
	}
	want = []string{"flush staged", "rename staged a/b/" + second, "flush a/b"}
	if !slices.Equal(*steps, want) {
		t.Errorf("steps of the second put\n got %q\nwant %q", *steps, want)
	}
	*steps = nil
	if err := d.Delete(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	if want := []string{"flush a/b"}; !slices.Equal(*steps, want) {
		t.Errorf("steps of the delete: %q", *steps)
	}
}

// TestDisk_PutFails fails every step. Before the rename no file may be visible, after it only the complete file.
func TestDisk_PutFails(t *testing.T) {
	for _, c := range []struct {
		name    string
		failAt  string
		visible bool
	}{
		{"FlushFile", "flush staged", false},
		{"FlushRoot", "flush .", false},
		{"FlushFolder", "flush a", false},
		{"Rename", "rename", false},
		{"FlushLeaf", "flush a/b", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, s := openDisk(t)
			steps := record(d)
			flush, rename := d.flush, d.rename
			d.flush = func(f *os.File) error {
				err := flush(f)
				if (*steps)[len(*steps)-1] == c.failAt {
					return syscall.ENOSPC
				}
				return err
			}
			d.rename = func(from, to string) error {
				if c.failAt == "rename" {
					return syscall.ENOSPC
				}
				return rename(from, to)
			}
			err := d.Put(t.Context(), someName, stage(t, s, "bytes"))
			if fault.CodeOf(err) != fault.CodeUnavailable || !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("Put: %v, want unavailable because of ENOSPC", err)
			}
			stat, err := d.Stat(t.Context(), someName)
			if c.visible && (err != nil || stat.Size != 5) || !c.visible && !errors.Is(err, ErrNotFound) {
				t.Errorf("Stat after the failure: %+v, %v", stat, err)
			}
			d.flush, d.rename = flush, rename
			if err := d.Put(t.Context(), someName, stage(t, s, "bytes")); err != nil {
				t.Errorf("Put once the disk is well again: %v", err)
			}
		})
	}
}

func TestDisk_PutAfterClose(t *testing.T) {
	d, s := openDisk(t)
	staged := stage(t, s, "bytes")
	if err := staged.Close(); err != nil {
		t.Fatal(err)
	}
	wantNotPut(t, d, someName, staged)
}

// wantNotPut checks that a file cannot be stored now, and is not there after.
func wantNotPut(t *testing.T, s Store, name string, staged *Staged) {
	t.Helper()
	if err := s.Put(t.Context(), name, staged); fault.CodeOf(err) != fault.CodeUnavailable {
		t.Errorf("Put: %v", err)
	}
	if _, err := s.Stat(t.Context(), name); !errors.Is(err, ErrNotFound) {
		t.Errorf("Stat: %v", err)
	}
}

// TestDisk_LeafRemoved removes an empty directory of the store: the next put fails, the one after recreates it.
func TestDisk_LeafRemoved(t *testing.T) {
	d, s := openDisk(t)
	if err := d.Put(t.Context(), someName, stage(t, s, "bytes")); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(d.dir, "a")); err != nil {
		t.Fatal(err)
	}
	if err := d.Put(t.Context(), someName, stage(t, s, "bytes")); fault.CodeOf(err) != fault.CodeUnavailable {
		t.Errorf("first: %v", err)
	}
	if err := d.Put(t.Context(), someName, stage(t, s, "bytes")); err != nil {
		t.Errorf("second: %v", err)
	}
}

func TestDisk_Modes(t *testing.T) {
	d, s := openDisk(t)
	if err := d.Put(t.Context(), someName, stage(t, s, "bytes")); err != nil {
		t.Fatal(err)
	}
	if err := d.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	stage(t, s, "waiting")
	err := filepath.WalkDir(d.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		if e.IsDir() {
			want = 0o700
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %v, want %v", path, got, want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestDisk_Gone(t *testing.T) {
	d, s := openDisk(t)
	staged := stage(t, s, "bytes")
	if err := os.RemoveAll(d.dir); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"Ping": d.Ping(t.Context()),
		"Put":  d.Put(t.Context(), someName, staged),
	} {
		if fault.CodeOf(err) != fault.CodeUnavailable {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestDisk_NamesOfOthers checks that foreign files in the directory are ignored.
func TestDisk_NamesOfOthers(t *testing.T) {
	d, s := openDisk(t)
	if err := d.Put(t.Context(), someName, stage(t, s, "bytes")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		"README", "a/README", "a/b/README", "a/b/." + someName, "c/d/" + someName, "lost+found/x/" + someName,
	} {
		full := filepath.Join(d.dir, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for name, err := range d.Names(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, name)
	}
	if !slices.Equal(got, []string{someName}) {
		t.Errorf("got %q", got)
	}
}

// TestDisk_Reopened checks that files survive a restart, and that two processes can share a directory.
func TestDisk_Reopened(t *testing.T) {
	d, s := openDisk(t)
	other, err := NewDisk(d.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	if err := d.Put(t.Context(), someName, stage(t, s, "bytes")); err != nil {
		t.Fatal(err)
	}
	f, err := other.Open(t.Context(), someName)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var b bytes.Buffer
	if _, err := b.ReadFrom(f); err != nil || b.String() != "bytes" {
		t.Errorf("%q, %v", b.String(), err)
	}
}

func BenchmarkDisk_Put(b *testing.B) {
	content := strings.Repeat("x", 300_000)
	for name, files := range map[string]int{"OneFile": 1, "TenFilesInParallel": 10} {
		b.Run(name, func(b *testing.B) {
			d, s := openDisk(b)
			b.SetBytes(int64(files * len(content)))
			for b.Loop() {
				var all sync.WaitGroup
				for range files {
					all.Go(func() {
						staged, err := s.Stage(b.Context(), strings.NewReader(content), 1<<20)
						if err != nil {
							b.Error(err)
							return
						}
						if err := errors.Join(d.Put(b.Context(), photo.NewName(photo.JPEG), staged), staged.Close()); err != nil {
							b.Error(err)
						}
					})
				}
				all.Wait()
			}
		})
	}
}
