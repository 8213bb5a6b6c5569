package sandbox

import "golang.org/x/sys/unix"

// auditArch is how the kernel calls this architecture.
const auditArch uint32 = unix.AUDIT_ARCH_AARCH64
