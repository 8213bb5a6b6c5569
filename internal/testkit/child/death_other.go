//go:build !linux

package child

import "syscall"

// signalOnParentDeath does nothing: other kernels have no such request.
func signalOnParentDeath(*syscall.SysProcAttr, syscall.Signal) {}
