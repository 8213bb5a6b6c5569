package sandbox

import "golang.org/x/sys/unix"

// What the Go runtime needs to run goroutines, collect garbage, wait, and use descriptors that are open. Everything
// else is refused with EPERM: above all open, socket, connect, execve, fork, ptrace and kill.
var allowed = []uint32{
	unix.SYS_READ, unix.SYS_WRITE, unix.SYS_PREAD64, unix.SYS_CLOSE, unix.SYS_FSTAT,
	unix.SYS_MMAP, unix.SYS_MUNMAP, unix.SYS_MPROTECT, unix.SYS_MADVISE, unix.SYS_MINCORE, unix.SYS_BRK,
	unix.SYS_FUTEX, unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ,
	unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_CLOCK_GETRES,
	unix.SYS_GETTIMEOFDAY, unix.SYS_RESTART_SYSCALL,
	unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EVENTFD2,
	unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK,
	unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_GETRANDOM, unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
}

// Offsets in struct seccomp_data; the arguments have 64 bits, of which the lower half counts here.
const (
	numberAt = 0
	archAt   = 4
	firstAt  = 16
)

const (
	refuse = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	absent = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	accept = uint32(unix.SECCOMP_RET_ALLOW)
	kill   = uint32(unix.SECCOMP_RET_KILL_PROCESS)

	// threadFlags are those of a thread; without them clone makes a process.
	threadFlags = unix.CLONE_VM | unix.CLONE_THREAD | unix.CLONE_SIGHAND
)

// filter is a classic BPF program over one system call of the process with the id.
func filter(pid uint32) []unix.SockFilter {
	program := []unix.SockFilter{
		load(archAt), skipIfEqual(auditArch, 1), result(kill), // numbers mean other calls elsewhere
		load(numberAt),
	}
	// clone: threads only.
	program = append(program, skipUnlessEqual(unix.SYS_CLONE, 5), load(firstAt),
		unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: threadFlags},
		skipIfEqual(threadFlags, 1), result(refuse), result(accept))
	// tgkill: to itself only, with which the runtime interrupts its threads.
	program = append(program, skipUnlessEqual(unix.SYS_TGKILL, 4), load(firstAt),
		skipIfEqual(pid, 1), result(refuse), result(accept))
	// clone3: its flags are in memory, where no filter can look. A C library goes on with clone where it is not there.
	program = append(program, skipUnlessEqual(unix.SYS_CLONE3, 1), result(absent))
	for _, number := range allowed {
		program = append(program, skipUnlessEqual(number, 1), result(accept))
	}
	return append(program, result(refuse))
}

func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

func result(value uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: value}
}

// skipIfEqual passes over n instructions when what is loaded is the value.
func skipIfEqual(value uint32, n uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: value, Jt: n}
}

// skipUnlessEqual passes over n instructions when it is another.
func skipUnlessEqual(value uint32, n uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: value, Jf: n}
}
