//go:build !linux

package child

import "syscall"

// signalOnParentDeath is only supported on Linux.
func signalOnParentDeath(*syscall.SysProcAttr, syscall.Signal) {}
