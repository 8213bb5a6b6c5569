// Package host asks the operating system what Go's standard library does not: free space, locks on files, durable
// folders, how many files may be open and to forget pages of the program. It has the same functions on every system
// that releases are made for.
package host

// Space is how much room a file system has, in bytes.
type Space struct {
	Total uint64
	Free  uint64 // of which this program may use Usable
	// Usable is what is left for this program: some file systems keep a part for the administrator.
	Usable uint64
}

// NoLimit is the number of open files where the system names none.
const NoLimit = 1 << 30
