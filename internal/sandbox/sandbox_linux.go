package sandbox

import (
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Enter limits the calling process, all its threads included, and then takes away everything but computing: landlock
// refuses the file system and TCP, seccomp every system call that the Go runtime and two pipes do not need. The error
// is for limits that every system has; what this kernel does not have is in the report, and the rest still holds.
func Enter(l Limits) (r Report, err error) {
	// A filter may only be set by who can never gain rights again. Threads that are made later inherit all of it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := limit(l); err != nil {
		return r, err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		r.lacks("no_new_privs", err)
		return r, nil
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil { // nor may others of the user look into it
		r.lacks("a memory that others cannot read", err)
	}
	if err := restrictFiles(); err != nil {
		r.lacks("landlock", err)
	}
	if err := filterSystemCalls(); err != nil {
		r.lacks("seccomp", err)
	}
	return r, nil
}

func limit(l Limits) error {
	for resource, most := range map[int]uint64{
		unix.RLIMIT_DATA: l.Memory, unix.RLIMIT_CPU: l.CPU, unix.RLIMIT_NOFILE: l.Files,
		unix.RLIMIT_FSIZE: 0, unix.RLIMIT_CORE: 0,
	} {
		var now unix.Rlimit
		if err := unix.Getrlimit(resource, &now); err != nil {
			return err
		}
		most = min(most, now.Max)
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: most, Max: most}); err != nil {
			return err
		}
	}
	return nil
}

// rulesetOf has everything that a version of landlock can refuse. Later versions can refuse more.
func rulesetOf(version uintptr) unix.LandlockRulesetAttr {
	files := uint64(unix.LANDLOCK_ACCESS_FS_MAKE_SYM<<1 - 1) // the first version
	if version >= 2 {
		files |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if version >= 3 {
		files |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if version >= 5 {
		files |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	a := unix.LandlockRulesetAttr{Handled_access_fs: files}
	if version >= 4 {
		a.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if version >= 6 {
		a.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	return a
}

// restrictFiles refuses all files, on every thread.
func restrictFiles() error {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return errno
	}
	attr := rulesetOf(version)
	size := unsafe.Offsetof(attr.Quiet_access_fs)
	switch { // an older kernel refuses a longer description
	case version < 4:
		size = unsafe.Offsetof(attr.Handled_access_net)
	case version < 6:
		size = unsafe.Offsetof(attr.Scoped)
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return errno
	}
	defer func() { _ = unix.Close(int(fd)) }()
	if _, _, errno := syscall.AllThreadsSyscall(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0); errno != 0 {
		return errno // also where the program is built with cgo, whose threads Go does not know
	}
	if _, _, errno := syscall.AllThreadsSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// filterSystemCalls sets the filter on every thread.
func filterSystemCalls() error {
	if auditArch == 0 {
		return fmt.Errorf("no filter for %s", runtime.GOARCH)
	}
	program := filter(uint32(unix.Getpid()))                                  //nolint:gosec // a process id is positive
	sockets := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]} //nolint:gosec // some hundred
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&sockets)))
	switch {
	case errno != 0:
		return errno
	case thread != 0:
		return fmt.Errorf("thread %d cannot be filtered", thread)
	}
	return nil
}
