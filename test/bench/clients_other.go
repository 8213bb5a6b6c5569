//go:build !linux

package main

import (
	"context"
	"errors"
	"time"
)

// run is only supported on Linux, as what the CPU time of a process is read from.
func (t *target) run(context.Context, int) ([]time.Duration, error) {
	return nil, errors.New("loads are only supported on Linux")
}
