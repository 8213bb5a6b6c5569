package child

import "syscall"

func signalOnParentDeath(attributes *syscall.SysProcAttr, signal syscall.Signal) {
	attributes.Pdeathsig = signal
}
