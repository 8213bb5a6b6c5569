//go:build !linux

package host

// UnmapProgram does nothing on this system.
func UnmapProgram() error { return nil }
