package main

import (
	"context"
	"fmt"
	"os"
	"time"
)

// A machine counts as quiet when its processors do little for a while. One that never is, because others use it, is
// not waited for any longer than quietWait.
const (
	quietSample = 100 * time.Millisecond
	quietShare  = 0.1
	quietWait   = 2 * time.Second
)

// untilQuiet waits until what the round before has left behind is done, such as answers that nobody waits for any more
// and a collection of garbage: it would take its time from the next round, which is another side's. A quick run
// measures nothing, and does not wait.
func (s *suite) untilQuiet(ctx context.Context) error {
	if s.quick {
		return nil
	}
	for began := time.Now(); time.Since(began) < quietWait; {
		busy, all, err := processors()
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(quietSample):
		}
		busyThen, allThen, err := processors()
		if err != nil {
			return err
		}
		if float64(busyThen-busy) <= quietShare*float64(allThen-all) {
			return nil
		}
	}
	return ctx.Err()
}

// processors returns how long all processors together have been busy since the machine was started, and how long they
// have been there, both in ticks.
func processors() (busy, all int64, err error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, err
	}
	var user, nice, system, idle, ioWait, irq, softIRQ, steal int64
	if _, err := fmt.Sscanf(string(text), "cpu %d %d %d %d %d %d %d %d",
		&user, &nice, &system, &idle, &ioWait, &irq, &softIRQ, &steal); err != nil {
		return 0, 0, fmt.Errorf("/proc/stat: %w", err)
	}
	busy = user + nice + system + irq + softIRQ
	return busy, busy + idle + ioWait + steal, nil
}
