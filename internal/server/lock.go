package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/assayhq/assay/internal/host"
)

const lockFile = "server.lock"

// lockData keeps a second server off the same SQLite database: each would count rate limits and claims by itself.
func lockData(dir string) (*os.File, error) {
	path := filepath.Join(filepath.Clean(dir), lockFile)
	for {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, err
		}
		if err := host.Lock(f, false); err != nil {
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

func sameFile(f *os.File, path string) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(open, there)
}
