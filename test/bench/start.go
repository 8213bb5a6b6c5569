package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"
)

const (
	startName  = "start to ready"
	memoryName = "idle memory"
	idleTime   = 3 * time.Second // after the start
)

// startAndMemory measures the time from the start of the program until it is ready, and its memory when it has nothing
// to do, on an empty database and on a large one.
func startAndMemory(ctx context.Context, s *suite) error {
	empty, err := s.install(ctx, sqlite, 1)
	if err != nil {
		return err
	}
	large := s.many
	if s.most > 0 {
		large = s.most
	}
	full, err := s.filled(ctx, sqlite, mostlyEnded(large))
	if err != nil {
		return err
	}
	if err := full.catchUp(ctx); err != nil {
		return err
	}
	turns := max(3, s.rounds)
	if s.quick {
		turns = 1
	}
	for _, f := range []struct {
		name         string
		at           *installation
		start, idles goal
	}{
		{"empty", empty, goal{}, atMost(45)},
		{count(large) + " orders", full, atMost(1), atMost(60)},
	} {
		var seconds, megabytes []float64
		for range turns {
			took, resident, err := f.at.startOnce(ctx)
			if err != nil {
				return err
			}
			seconds, megabytes = append(seconds, took.Seconds()), append(megabytes, resident)
		}
		name := fmt.Sprintf("%s, %s", startName, f.name)
		if s.wanted(name) {
			s.report.add(value(name, "s", "until /readyz answers", seconds, f.start))
		}
		name = fmt.Sprintf("%s, %s", memoryName, f.name)
		if s.wanted(name) {
			s.report.add(value(name, "MB", fmt.Sprintf("resident, %s after the start", idleTime), megabytes, f.idles))
		}
	}
	return nil
}

// startOnce starts the program and returns how long it took and its memory.
func (i *installation) startOnce(ctx context.Context) (took time.Duration, megabytes float64, err error) {
	began := time.Now()
	s, err := i.start(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, s.server.close()) }()
	for {
		if _, err := exchange(ctx, http.MethodGet, "http://"+s.server.ops+"/readyz", nil, nil); err == nil {
			break
		}
		if time.Since(began) > time.Minute {
			return 0, 0, errors.New("the server is not ready after a minute")
		}
		time.Sleep(time.Millisecond)
	}
	took = time.Since(began)
	time.Sleep(idleTime)
	megabytes, err = memory(s.server.process.PID(), "VmRSS")
	return took, megabytes, err
}

// memory returns a line of the kernel's status of a process in megabytes, such as VmRSS or the peak, VmHWM.
func memory(pid int, line string) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for entry := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(entry, []byte(line+":")); ok {
			kilobytes, err := strconv.ParseFloat(string(bytes.Fields(rest)[0]), 64)
			return kilobytes * 1024 / 1e6, err
		}
	}
	return 0, fmt.Errorf("the kernel does not tell %s", line)
}
