// Package host asks the operating system what Go's standard library does not: free space, locks on files, durable
// folders, how many files may be open, whether there is a file, and to forget pages of the program. It has the same
// functions on every system that releases are made for.
package host

import "os"

// Space is how much room a file system has, in bytes.
type Space struct {
	Total uint64
	Free  uint64 // of which this program may use Usable
	// Usable is what is left for this program: some file systems keep a part for the administrator.
	Usable uint64
}

// NoLimit is the number of open files where the system names none.
const NoLimit = 1 << 30

// Exists reports whether there is something with the path, be it a link that leads nowhere.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
