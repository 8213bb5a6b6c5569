package host

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// SpaceOf returns the room on the file system of a folder.
func SpaceOf(dir string) (s Space, err error) {
	path, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return s, err
	}
	err = windows.GetDiskFreeSpaceEx(path, &s.Usable, &s.Total, &s.Free)
	return s, err
}

// Lock takes a file for this process until it is closed. It waits for another process that has it, or fails.
func Lock(f *os.File, wait bool) error {
	how := uint32(windows.LOCKFILE_EXCLUSIVE_LOCK)
	if !wait {
		how |= windows.LOCKFILE_FAIL_IMMEDIATELY
	}
	return windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, new(windows.Overlapped))
}

// Locked reports whether another process has the file by Lock. It asks for a lock that many can have, and gives it back.
func Locked(f *os.File) (bool, error) {
	file := windows.Handle(f.Fd())
	switch err := windows.LockFileEx(file, windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, new(windows.Overlapped)); {
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION):
		return true, nil
	case err != nil:
		return false, err
	}
	return false, windows.UnlockFileEx(file, 0, 1, 0, new(windows.Overlapped))
}

// SyncFolder makes the entries of a folder durable: here they are once files are.
func SyncFolder(string) error { return nil }

// OpenFiles returns how many files and connections the process may have open.
func OpenFiles() int { return NoLimit }
