package media

import (
	"os"

	"golang.org/x/sys/unix"
)

// beginFlush asks the kernel to write the file to the disk and does not wait for it: while the next file of an upload
// comes in, the disk works on this one, and the flush that counts has less to do. It promises nothing, so a failure
// does not matter.
func beginFlush(f *os.File) {
	_ = unix.SyncFileRange(int(f.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WRITE)
}
