package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// ErrFileLost is why nothing is written while the files of the database are not those that were opened: they can be
// written as long as they are open, and all of it is lost with the end of the process.
var ErrFileLost = errors.New("the database was deleted, moved or replaced while it was open")

// Files are the files of an open SQLite database: the database and its write-ahead log. SQLite keeps both as long
// as there is a connection, whatever checkpoints, backups, VACUUM and other processes do.
type Files struct {
	opened map[string]os.FileInfo // by path

	mu     sync.Mutex
	looked time.Time
	lost   error
}

// NewFiles remembers the files of a database that has been opened.
func NewFiles(path string) (*Files, error) {
	target, err := filepath.EvalSymlinks(path) // beside which SQLite puts the log
	if err != nil {
		return nil, err
	}
	f := &Files{opened: make(map[string]os.FileInfo)}
	for _, name := range []string{path, target + "-wal"} {
		there, err := os.Stat(name)
		if err != nil {
			return nil, err
		}
		f.opened[name] = there
	}
	return f, nil
}

// Check reports whether the files are still those that were opened, by a look that is not older than age. They may come
// back.
func (f *Files) Check(age time.Duration) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := time.Now(); now.Sub(f.looked) >= age {
		f.looked, f.lost = now, f.look()
	}
	return f.lost
}

func (f *Files) look() error {
	for name, opened := range f.opened {
		there, err := os.Stat(name)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrFileLost, err)
		}
		if !os.SameFile(opened, there) {
			return fmt.Errorf("%w: %s is another file", ErrFileLost, name)
		}
	}
	return nil
}
