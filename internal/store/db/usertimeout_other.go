//go:build !linux

package db

import "syscall"

// limitUnacknowledged does nothing: only Linux can limit it for a connection.
func limitUnacknowledged(string, string, syscall.RawConn) error { return nil }
