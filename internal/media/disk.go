package media

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/assayhq/assay/internal/domain/photo"
)

const (
	stagingFolder = "staging"
	probeFile     = "probe"
	probeBytes    = 4096 // a file system keeps smaller files in its own blocks, which a full disk has
	listBatch     = 512
)

// Disk is a Store in a local directory.
//
// Files are two directories deep, by the first two characters of the name: 1,024 leaf directories, which soon all
// exist. Derived images have the same layout in a directory of their own. Put costs one flush of the file and one
// of its leaf directory. Concurrent puts share the file system's journal writes: store several files concurrently.
type Disk struct {
	root   *os.Root
	dir    string
	leaves sync.Map // leaf directories known to be durable

	rename func(from, to string) error // replaced by tests
	flush  func(*os.File) error
}

var _ Store = (*Disk)(nil)

// makeDir makes a directory that is not there, and returns its absolute path.
func makeDir(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return dir, os.MkdirAll(dir, 0o700)
}

// NewDisk opens or creates the store in a directory. Several processes may share it.
func NewDisk(dir string) (*Disk, error) {
	dir, err := makeDir(dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Disk{root: root, dir: dir, rename: os.Rename, flush: (*os.File).Sync}, nil
}

// Close closes the directory. Open files stay readable.
func (d *Disk) Close() error { return d.root.Close() }

// StagingDir returns the directory for NewStaging. It is inside the store, because a rename is atomic only within
// one file system.
func (d *Disk) StagingDir() string { return filepath.Join(d.dir, stagingFolder) }

// leafOf returns the leaf directory of a name, relative to the root.
func leafOf(name string) string {
	leaf := filepath.Join(name[:1], name[1:2])
	if IsDerived(name) {
		return filepath.Join(DerivedPrefix, leaf)
	}
	return leaf
}

func pathOf(name string) string { return filepath.Join(leafOf(name), name) }

// Put flushes the staged file, renames it and flushes the directory.
func (d *Disk) Put(ctx context.Context, name string, staged *Staged) error {
	if err := cmp.Or(CheckName(name), ctx.Err()); err != nil {
		return err
	}
	if _, isPhoto := photo.ParseName(name); isPhoto {
		switch f, err := d.Open(ctx, name); {
		case err == nil:
			if err := sameFile(f, name, staged); err != nil {
				return err
			}
			if err := d.flushDir(leafOf(name)); err != nil { // whoever put it may have failed to
				return unavailable("put "+name, err)
			}
			return nil
		case !errors.Is(err, ErrNotFound):
			return err
		}
	}
	if err := d.place(name, staged); err != nil {
		return unavailable("put "+name, err)
	}
	return nil
}

func (d *Disk) place(name string, staged *Staged) error {
	if err := d.flush(staged.file); err != nil {
		return err
	}
	leaf := leafOf(name)
	if err := d.makeLeaf(leaf); err != nil {
		return err
	}
	if err := d.rename(staged.file.Name(), filepath.Join(d.dir, leaf, name)); err != nil {
		d.leaves.Delete(leaf) // it may have been removed
		return err
	}
	staged.placed = true
	return d.flushDir(leaf)
}

// makeLeaf creates a leaf and its parents durably. Each concurrent caller waits for its own flushes, so that none
// relies on an entry that another has not flushed yet.
func (d *Disk) makeLeaf(leaf string) error {
	if _, known := d.leaves.Load(leaf); known {
		return nil
	}
	var above []string
	for dir := leaf; dir != "."; dir = filepath.Dir(dir) {
		above = append(above, dir)
	}
	for _, dir := range slices.Backward(above) {
		if err := d.root.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := d.flushDir(filepath.Dir(dir)); err != nil {
			return err
		}
	}
	d.leaves.Store(leaf, struct{}{})
	return nil
}

// flushDir makes the entries of a directory durable.
func (d *Disk) flushDir(dir string) error {
	f, err := d.root.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.flush(f), f.Close())
}

func (d *Disk) Open(ctx context.Context, name string) (File, error) {
	if CheckName(name) != nil {
		return nil, ErrNotFound
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := d.root.Open(pathOf(name))
	if err != nil {
		return nil, missingOr("open "+name, err)
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, unavailable("open "+name, err)
	}
	return diskFile{File: f, stat: Stat{Size: info.Size(), ModTime: info.ModTime()}}, nil
}

// diskFile is an *os.File with its size and time. Embedding the file enables sendfile.
type diskFile struct {
	*os.File
	stat Stat
}

func (f diskFile) Size() int64        { return f.stat.Size }
func (f diskFile) ModTime() time.Time { return f.stat.ModTime }

func (d *Disk) Stat(ctx context.Context, name string) (Stat, error) {
	if CheckName(name) != nil {
		return Stat{}, ErrNotFound
	}
	if err := ctx.Err(); err != nil {
		return Stat{}, err
	}
	info, err := d.root.Lstat(pathOf(name))
	if err != nil {
		return Stat{}, missingOr("stat "+name, err)
	}
	return Stat{Size: info.Size(), ModTime: info.ModTime()}, nil
}

// missingOr maps a missing file to ErrNotFound and other errors to unavailable.
func missingOr(doing string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNotFound
	}
	return unavailable(doing, err)
}

// Delete removes the file and its derived images and flushes the directory, so that they do not reappear after a
// crash.
func (d *Disk) Delete(ctx context.Context, name string) error {
	if err := cmp.Or(CheckName(name), ctx.Err()); err != nil {
		return err
	}
	derived := derivedOf(name)
	for _, name := range slices.Concat(derived, []string{name}, derived) {
		if err := d.remove(name); err != nil {
			return unavailable("delete "+name, err)
		}
	}
	return nil
}

func (d *Disk) remove(name string) error {
	err := d.root.Remove(pathOf(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return d.flushDir(leafOf(name))
}

// DiscardUnfinished has nothing to do: what was not stored is in the staging directory.
func (d *Disk) DiscardUnfinished(ctx context.Context, _ time.Time) (int, error) { return 0, ctx.Err() }

// Ping puts a small file where uploads are staged, flushes it and moves it into the store, as an upload does: that
// fails if the disk is missing, full or read-only, or one of the folders cannot be written.
func (d *Disk) Ping(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := d.probe(); err != nil {
		return unavailable("ping", err)
	}
	return nil
}

func (d *Disk) probe() (err error) {
	if err := d.root.Mkdir(stagingFolder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	f, err := os.CreateTemp(d.StagingDir(), stagedPrefix)
	if err != nil {
		return err
	}
	defer func() {
		if e := os.Remove(f.Name()); !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}()
	_, err = f.Write(make([]byte, probeBytes))
	if err = errors.Join(err, d.flush(f), f.Close()); err != nil {
		return err
	}
	return d.rename(f.Name(), filepath.Join(d.dir, probeFile))
}

// Names reads the directories in batches, so that its memory does not grow with the store.
func (d *Disk) Names(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		leaves, err := d.listLeaves()
		if err != nil {
			yield("", unavailable("list", err))
			return
		}
		for _, leaf := range leaves {
			if !d.listLeaf(ctx, leaf, yield) {
				return
			}
		}
	}
}

// listLeaves returns the existing leaves. Nothing else in the store has a one-character name.
func (d *Disk) listLeaves() ([]string, error) {
	leaves := []string{"."}
	for range 2 {
		var below []string
		for _, dir := range leaves {
			entries, err := fs.ReadDir(d.root.FS(), filepath.ToSlash(dir))
			if err != nil {
				return nil, err
			}
			for _, e := range entries {
				if e.IsDir() && len(e.Name()) == 1 {
					below = append(below, filepath.Join(dir, e.Name()))
				}
			}
		}
		leaves = below
	}
	return leaves, nil
}

// listLeaf yields the names in one leaf and reports whether to continue.
func (d *Disk) listLeaf(ctx context.Context, leaf string, yield func(string, error) bool) bool {
	f, err := d.root.Open(leaf)
	if err != nil {
		yield("", unavailable("list "+leaf, err))
		return false
	}
	defer func() { _ = f.Close() }() // opened for reading only
	for {
		if err := ctx.Err(); err != nil {
			yield("", err)
			return false
		}
		entries, err := f.ReadDir(listBatch)
		for _, e := range entries {
			if _, ok := photo.ParseName(e.Name()); ok && leafOf(e.Name()) == leaf && !yield(e.Name(), nil) {
				return false
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return true
		case err != nil:
			yield("", unavailable("list "+leaf, err))
			return false
		}
	}
}
