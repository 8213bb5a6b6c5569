package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/assayhq/assay/internal/host"
	"github.com/assayhq/assay/internal/proof"
	"github.com/assayhq/assay/internal/store"
)

// place is a data folder that is being filled.
type place struct {
	lock  *os.File
	fresh []string // what was not there before, from the outside in
}

// takePlace makes the folder and keeps servers off it.
func takePlace(dir string) (_ *place, err error) {
	data, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	p := new(place)
	for dir := data; !exists(dir); dir = filepath.Dir(dir) {
		p.fresh = append([]string{dir}, p.fresh...)
	}
	for _, name := range []string{
		lockFile, restoreFile, restoreFile + newSuffix, moveFile, moveFile + newSuffix, "media", "media/staging", "staging",
	} {
		if path := filepath.Join(data, name); !exists(path) {
			p.fresh = append(p.fresh, path)
		}
	}
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, fmt.Errorf("--data: %w", err)
	}
	if p.lock, err = lockData(data); err != nil {
		return nil, err
	}
	return p, nil
}

// mayRemove says that a file can go with what was not there before.
func (p *place) mayRemove(path string) {
	if !slices.Contains(p.fresh, path) {
		p.fresh = append(p.fresh, path)
	}
}

// close gives the folder back: as it is, or as it was. Folders that are not empty stay.
func (p *place) close(keep bool) (err error) {
	for _, path := range slices.Backward(p.fresh) {
		info, e := os.Lstat(path)
		if keep || e != nil { // it was not made
			continue
		}
		if e := os.Remove(path); !info.IsDir() {
			err = errors.Join(err, e)
		}
	}
	return errors.Join(err, p.lock.Close())
}

const newSuffix = ".new"

// writeMarker writes a file durably, whole or not at all: what it tells of may begin then.
func writeMarker(path, content string) error {
	f, err := os.OpenFile(filepath.Clean(path)+newSuffix, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return host.SyncFolder(filepath.Dir(path))
}

const lockFile = "server.lock"

// lockData keeps a second server off the same SQLite database: each would count rate limits and claims by itself.
func lockData(dir string) (*os.File, error) {
	path := filepath.Join(filepath.Clean(dir), lockFile)
	for {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, err
		}
		if err := lockServer(f); err != nil {
			return nil, errors.Join(fmt.Errorf("another server is running on the data folder %s", dir), f.Close())
		}
		if sameFile(f, path) {
			return f, nil
		}
		if err := f.Close(); err != nil { // a refused restore has taken the file away in between
			return nil, err
		}
	}
}

// lookTime is how long a server waits for others that only look whether one runs: each takes a moment.
const lookTime = 5 * time.Second

// lockServer takes the file for this process. It waits for those who look whether it is taken, as inUse does, but not
// for one who has taken it.
func lockServer(f *os.File) error {
	for end := time.Now().Add(lookTime); ; time.Sleep(time.Millisecond) {
		err := host.Lock(f, false)
		if err == nil {
			return nil
		}
		if taken, unknown := host.Locked(f); taken || unknown != nil || time.Now().After(end) {
			return err
		}
	}
}

func sameFile(f *os.File, path string) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(open, there)
}

// OpenToCheck opens an installation to look at it, and makes and changes nothing. Where its folder cannot be written,
// such as a mounted snapshot, the database is opened in a copy that Close removes: SQLite writes beside a database,
// also to read it. An installation that is too broken to be opened gives a report instead.
func OpenToCheck(ctx context.Context, s Settings, log *slog.Logger) (app *App, broken *proof.Report, err error) {
	failed := func(db *store.Store, err error) { broken = proof.Broken(ctx, db, err) }
	var folder string
	if original := s.databaseTarget(); s.Database == "" && exists(original) && !writable(s.Data) {
		if folder, err = s.copyDatabase(original); err != nil {
			return nil, nil, err
		}
	}
	if err = s.checkExists(ctx); err != nil {
		failed(nil, err)
	} else {
		app, err = open(ctx, s, log, opening{secrets: (*Settings).openSecrets, looks: true, failed: failed})
	}
	switch {
	case err == nil && folder != "":
		app.temporary = append(app.temporary, folder)
	case folder != "":
		err = errors.Join(err, os.RemoveAll(folder))
	}
	if broken != nil {
		return nil, broken, nil
	}
	return app, nil, err
}

// inUse reports whether a server runs on the data folder, which need not be writable here. Where the file system cannot
// tell, as some that are mounted for reading only, none does.
func inUse(dir string) bool {
	f, err := os.Open(filepath.Join(filepath.Clean(dir), lockFile))
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // was only read
	taken, err := host.Locked(f)
	return taken && err == nil
}

// copyDatabase copies the database into a temporary folder and uses it from there.
func (s *Settings) copyDatabase(original string) (folder string, err error) {
	if inUse(s.Data) { // a copy of what changes meanwhile would look broken
		return "", fmt.Errorf("a server is running on the data folder %s, which cannot be written from here: "+
			"check it where the server runs, or check a snapshot or a restored backup", s.Data)
	}
	if folder, err = os.MkdirTemp("", "assay-check-"); err != nil {
		return "", err
	}
	s.databaseCopy = filepath.Join(folder, filepath.Base(original))
	err = copyFile(s.databaseCopy, original)
	if err == nil { // what was committed last may be in the log beside the database
		if err = copyFile(s.databaseCopy+"-wal", original+"-wal"); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(folder))
	}
	return folder, nil
}

// writable reports whether files can be made in the folder; whose it is does not tell that of a read-only mount.
func writable(folder string) bool {
	file, err := os.CreateTemp(folder, ".writable-")
	if err != nil {
		return false
	}
	return errors.Join(file.Close(), os.Remove(file.Name())) == nil
}

func copyFile(to, from string) (err error) {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }() // read only

	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(target, source); err != nil {
		return errors.Join(fmt.Errorf("copy %s: %w", from, err), target.Close())
	}
	return target.Close()
}
