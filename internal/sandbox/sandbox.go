// Package sandbox takes from the calling process what it does not need to compute: files, network, other programs and
// other processes. What a decoder of hostile files is made to do then stays inside it.
//
// It is for a process that only reads from and writes to descriptors that are open already. There is no way back.
package sandbox

import "strings"

// Limits are what a process may use at most, as the system enforces it.
type Limits struct {
	Memory uint64 // bytes of data
	CPU    uint64 // seconds
	Files  uint64 // descriptors, those that are open included
}

// Report says what could not be taken away, and why: this kernel or system does not have the means.
type Report struct {
	Missing []string // empty: the sandbox is complete
}

// Complete reports whether nothing is missing.
func (r Report) Complete() bool { return len(r.Missing) == 0 }

// String lists what is missing.
func (r Report) String() string {
	if r.Complete() {
		return "complete"
	}
	return "without " + strings.Join(r.Missing, ", ")
}

// lacks notes a part that is missing.
func (r *Report) lacks(part string, err error) {
	if err != nil {
		part += " (" + err.Error() + ")"
	}
	r.Missing = append(r.Missing, part)
}
