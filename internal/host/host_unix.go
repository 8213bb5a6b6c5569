//go:build unix

package host

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// SpaceOf returns the room on the file system of a folder.
func SpaceOf(dir string) (Space, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return Space{}, err
	}
	block := uint64(fs.Bsize) //nolint:gosec // a block size is positive; its type differs between systems
	return Space{Total: fs.Blocks * block, Free: fs.Bfree * block, Usable: fs.Bavail * block}, nil
}

// Lock takes a file for this process until it is closed. It waits for another process that has it, or fails.
func Lock(f *os.File, wait bool) error {
	how := unix.LOCK_EX
	if !wait {
		how |= unix.LOCK_NB
	}
	return unix.Flock(int(f.Fd()), how)
}

// Locked reports whether another process has the file by Lock. It asks for a lock that many can have, and gives it
// back: on network file systems one that excludes others needs a file that is open for writing.
func Locked(f *os.File) (bool, error) {
	switch err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		return true, nil
	case err != nil:
		return false, err
	}
	return false, unix.Flock(int(f.Fd()), unix.LOCK_UN)
}

// SyncFolder makes the entries of a folder durable.
func SyncFolder(dir string) error {
	f, err := os.Open(filepath.Clean(dir))
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// OpenFiles returns how many files and connections the process may have open.
func OpenFiles() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Cur > NoLimit {
		return NoLimit
	}
	return int(limit.Cur)
}
