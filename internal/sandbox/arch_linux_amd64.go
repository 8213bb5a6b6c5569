package sandbox

import "golang.org/x/sys/unix"

// auditArch is how the kernel calls this architecture. Calls of its variant x32 have numbers of their own, which the
// filter refuses like all that it does not list.
const auditArch uint32 = unix.AUDIT_ARCH_X86_64
