package backup

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"

	"github.com/assayhq/assay/internal/host"
)

// folder is a backup that is being written. Files may be written concurrently.
type folder struct {
	dir  string
	root *os.Root

	erased func(ctx context.Context, name string) bool // reports whether a photo is erased by now

	mu    sync.Mutex
	made  map[string]bool // directories created
	sums  *file
	lines *bufio.Writer // into sums
	bytes int64
}

// newFolder creates the directory of a backup, or uses an empty one.
func newFolder(dir string) (f *folder, err error) {
	if err := os.MkdirAll(dir, folderMode); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	isNamed := func(name string) func(os.DirEntry) bool {
		return func(e os.DirEntry) bool { return e.Name() == name }
	}
	if slices.ContainsFunc(entries, isNamed(sumsFile)) && !slices.ContainsFunc(entries, isNamed(manifestFile)) {
		return nil, fmt.Errorf("%s holds a backup that has not ended: delete it, or choose another folder", dir)
	}
	if len(entries) > 0 {
		return nil, fmt.Errorf("%s is not empty: a backup needs a folder of its own", dir)
	}
	// An existing directory may be open to others. If it belongs to another user it stays as it is: the files are
	// private anyway.
	if err := os.Chmod(dir, folderMode); err != nil && !errors.Is(err, fs.ErrPermission) {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	f = &folder{dir: dir, root: root, made: map[string]bool{".": true}}
	if f.sums, err = f.create(sumsFile); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	f.lines = bufio.NewWriter(f.sums)
	return f, nil
}

// close closes the directory, finished or not.
func (f *folder) close() {
	_ = f.sums.file.Close()
	_ = f.root.Close()
}

// file is a file of a backup that is being written and hashed.
type file struct {
	folder *folder
	name   string
	file   *os.File
	hash   hash.Hash
	size   int64
}

func (f *folder) create(name string) (*file, error) {
	if err := f.makeFolder(path.Dir(name)); err != nil {
		return nil, err
	}
	created, err := f.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return nil, err
	}
	return &file{folder: f, name: name, file: created, hash: sha256.New()}, nil
}

func (f *folder) makeFolder(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for made := name; !f.made[made]; made = path.Dir(made) {
		if err := f.root.MkdirAll(made, folderMode); err != nil {
			return err
		}
		f.made[made] = true
	}
	return nil
}

func (w *file) Write(p []byte) (int, error) {
	n, err := w.file.Write(p)
	w.hash.Write(p[:n])
	w.size += int64(n)
	return n, err
}

// finish makes the file durable and returns its hash.
func (w *file) finish() (string, error) {
	if err := errors.Join(w.file.Sync(), w.file.Close()); err != nil {
		return "", err
	}
	w.folder.mu.Lock()
	defer w.folder.mu.Unlock()
	w.folder.bytes += w.size
	return hex.EncodeToString(w.hash.Sum(nil)), nil
}

// list makes the file durable and adds it to SHA256SUMS.
func (w *file) list() (string, error) {
	sha, err := w.finish()
	if err != nil {
		return "", err
	}
	w.folder.mu.Lock()
	defer w.folder.mu.Unlock()
	_, err = w.folder.lines.WriteString(sum{sha, w.name}.line())
	return sha, err
}

// copy stores the content of r and returns its hash.
func (f *folder) copy(ctx context.Context, name string, r io.Reader) (sha string, err error) {
	if err := checkPath(name); err != nil {
		return "", err
	}
	w, err := f.create(name)
	if err != nil {
		return "", err
	}
	if _, err := io.Copy(w, &interruptible{ctx, r}); err != nil {
		return "", errors.Join(err, w.file.Close(), f.root.Remove(name))
	}
	return w.list()
}

// complete makes everything durable and then writes the manifest.
func (f *folder) complete(m *manifest) (err error) {
	if err := f.lines.Flush(); err != nil {
		return err
	}
	if m.SumsSHA256, err = f.sums.finish(); err != nil {
		return err
	}
	m.Bytes = f.bytes
	content, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	const unfinished = manifestFile + ".new"
	w, err := f.create(unfinished)
	if err != nil {
		return err
	}
	if _, err := w.Write(append(content, '\n')); err != nil {
		return errors.Join(err, w.file.Close())
	}
	if _, err := w.finish(); err != nil {
		return err
	}
	for name := range f.made {
		if err := host.SyncFolder(filepath.Join(f.dir, name)); err != nil {
			return err
		}
	}
	if err := f.root.Rename(unfinished, manifestFile); err != nil {
		return err
	}
	return errors.Join(host.SyncFolder(f.dir), host.SyncFolder(filepath.Dir(f.dir)))
}
