package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
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
	line, _, _ := bytes.Cut(text, []byte("\n"))
	fields := bytes.Fields(line)
	const idle, ioWait, steal = 4, 5, 8
	if len(fields) <= steal {
		return 0, 0, fmt.Errorf("/proc/stat begins with %q", line)
	}
	for i, field := range fields[:steal+1] {
		if i == 0 {
			continue // the name of the line
		}
		n, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil {
			return 0, 0, fmt.Errorf("/proc/stat begins with %q", line)
		}
		all += n
		if i != idle && i != ioWait && i != steal {
			busy += n
		}
	}
	return busy, all, nil
}
