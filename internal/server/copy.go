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
)

// OpenToCheck opens an installation to look at it. Where its folder cannot be written, such as a mounted snapshot, the
// database is opened in a copy that Close removes: SQLite writes beside a database, also to read it.
func OpenToCheck(ctx context.Context, s Settings, log *slog.Logger) (_ *App, err error) {
	original := s.databaseTarget()
	if s.Database != "" || !exists(original) || writable(s.Data) {
		return Open(ctx, s, log)
	}
	folder, err := os.MkdirTemp("", "assay-check-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(folder))
		}
	}()
	s.databaseCopy = filepath.Join(folder, filepath.Base(original))
	if err := copyFile(s.databaseCopy, original); err != nil {
		return nil, err
	}
	// What was committed last may be in the log beside the database.
	if err := copyFile(s.databaseCopy+"-wal", original+"-wal"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	app, err := Open(ctx, s, log)
	if err != nil {
		return nil, err
	}
	app.temporary = folder
	return app, nil
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
