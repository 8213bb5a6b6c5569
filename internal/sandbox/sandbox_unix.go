//go:build unix && !linux

package sandbox

import "golang.org/x/sys/unix"

// Enter limits the calling process. This system has no sandbox that a program can enter by itself.
func Enter(l Limits) (r Report, err error) {
	for resource, most := range map[int]uint64{
		unix.RLIMIT_DATA: l.Memory, unix.RLIMIT_CPU: l.CPU, unix.RLIMIT_CORE: 0,
	} {
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: most, Max: most}); err != nil {
			return r, err
		}
	}
	r.lacks("landlock and seccomp, which Linux has", nil)
	return r, nil
}
