package db

import (
	"errors"
	"fmt"
	"path/filepath"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/assayhq/assay/internal/host"
	"github.com/assayhq/assay/internal/store/sqlite"
)

// ErrDiskFull says in words what SQLite calls an I/O error: it finds out only while it writes or grows a file.
var ErrDiskFull = errors.New("the disk of the database is full")

// nearlyFull is the free space below which an I/O error is one of a full disk.
const nearlyFull = 1 << 20

// DiskFull adds ErrDiskFull to an error of SQLite that a full disk has caused. path is that of the database.
func DiskFull(path string, err error) error {
	e, ok := errors.AsType[sqlite.Error](err)
	if !ok {
		return err
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_FULL:
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN:
		if disk, unknown := host.SpaceOf(filepath.Dir(path)); unknown != nil || disk.Usable > nearlyFull {
			return err
		}
	default:
		return err
	}
	return fmt.Errorf("%w: %w", ErrDiskFull, err)
}

// NotWritten reports whether a transaction of SQLite has failed because its writes found the disk full. The log then
// lacks its end, and nothing of it is committed; after another error of a full disk it may be.
func NotWritten(err error) bool {
	e, ok := errors.AsType[sqlite.Error](err)
	return ok && e.Code()&0xff == sqlite3.SQLITE_FULL
}
