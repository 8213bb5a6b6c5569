package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

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
