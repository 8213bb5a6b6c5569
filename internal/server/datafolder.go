package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/assayhq/assay/internal/host"
)

// dataFolder is a data folder that is being filled.
type dataFolder struct {
	lock  *os.File
	fresh []string // what was not there before, from the outside in
}

// takeDataFolder makes the folder and keeps servers off it.
func takeDataFolder(dir string) (_ *dataFolder, err error) {
	data, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	d := new(dataFolder)
	for dir := data; !host.Exists(dir); dir = filepath.Dir(dir) {
		d.fresh = append([]string{dir}, d.fresh...)
	}
	for _, name := range []string{
		lockFile, restoreFile, restoreFile + newSuffix, moveFile, moveFile + newSuffix, "media", "media/staging", "staging",
	} {
		if path := filepath.Join(data, name); !host.Exists(path) {
			d.fresh = append(d.fresh, path)
		}
	}
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, fmt.Errorf("--data: %w", err)
	}
	if d.lock, err = lockData(data); err != nil {
		return nil, err
	}
	return d, nil
}

// mayRemove says that a file can go with what was not there before.
func (d *dataFolder) mayRemove(path string) {
	if !slices.Contains(d.fresh, path) {
		d.fresh = append(d.fresh, path)
	}
}

// close gives the folder back: as it is, or as it was. Folders that are not empty stay.
func (d *dataFolder) close(keep bool) (err error) {
	for _, path := range slices.Backward(d.fresh) {
		info, e := os.Lstat(path)
		if keep || e != nil { // it was not made
			continue
		}
		if e := os.Remove(path); !info.IsDir() {
			err = errors.Join(err, e)
		}
	}
	return errors.Join(err, d.lock.Close())
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
