package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// writeDocs writes the table and the chart.
func (s *suite) writeDocs(ctx context.Context, folder string) error {
	var text bytes.Buffer
	commit, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty", "--abbrev=12").Output()
	if err != nil {
		return fmt.Errorf("which commit is measured: %w", err)
	}
	memory, err := machineMemory()
	if err != nil {
		return err
	}
	fmt.Fprintf(&text, `# Performance

![Figures with a target, relative to it](performance.svg)

%sWritten by `+"`make bench`"+` at commit %s on %s, on a machine with %d cores and %.0f GB of memory (%s/%s, %s), in %s. Nothing
is edited: %d of %d targets are met.

The figures are ratios to a base in the same run, so that they hardly depend on the machine: all sides take turns, who goes
first alternates, and what is printed is the median over the rounds with the lowest and the highest. Durability is as in
production (`+"`synchronous=FULL`"+`, `+"`fsync`"+` on), the program is the built binary with authentication, limits, metrics and access log, and
every answer's body is checked. The load generator shares the cores with both sides. "CPU µs" is what the program's
process uses for one answer.

- **A bare handler** reads the request and writes the same bytes, from a map.
- **A bare loop of the same SQL** runs what the program's writer was recorded to run for a group of orders, on one
  connection of the same driver, with fresh values; **pgbench** does the same on PostgreSQL, an order at a time.
- **PocketBase** is version 0.39.9 with its default settings, which do not flush every commit to the disk, and a collection
  of 13 fields without authentication (`+"`test/bench/peer`"+`).
- Orders among which is measured have rows of every kind and distinct facts: %s were made by the program, the others are
  copies of them.
- Times and sizes without a base stand in the column "ratio" as they are.

`, s.caution(), strings.TrimSpace(string(commit)), s.report.began.UTC().Format(time.DateOnly), runtime.NumCPU(), memory, runtime.GOOS,
		runtime.GOARCH, runtime.Version(), time.Since(s.report.began).Round(time.Minute), s.report.met(),
		s.report.met()+s.report.missed(), count(batch))
	s.report.print(&text)
	profiles, err := s.profileTables(ctx)
	if err != nil {
		return err
	}
	text.WriteString(profiles)
	if err := os.WriteFile(filepath.Join(folder, "performance.md"), text.Bytes(), 0o644); err != nil { //nolint:gosec // docs
		return err
	}
	chart := []byte(s.report.chart())
	return os.WriteFile(filepath.Join(folder, "performance.svg"), chart, 0o644) //nolint:gosec // docs
}

// caution tells of a run that is not a measurement.
func (s *suite) caution() string {
	if s.quick {
		return "**A quick run with short rounds and few orders, not a measurement.** "
	}
	return ""
}

// machineMemory returns the memory of this machine in gigabytes.
func machineMemory() (float64, error) {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	var kilobytes float64
	_, err = fmt.Sscanf(string(text), "MemTotal: %f kB", &kilobytes)
	return kilobytes * 1024 / 1e9, err
}

const (
	profileLines = 15
	wrapping     = 60.0 // percent: what takes more only calls what is of interest
)

// profileTables returns where the CPU time of figures goes that miss their target and were profiled.
func (s *suite) profileTables(ctx context.Context) (string, error) {
	var b strings.Builder
	for i := range s.report.figures {
		f := &s.report.figures[i]
		if !f.Missed || s.profiles == "" {
			continue
		}
		file := filepath.Join(s.profiles, profileName(f.Name))
		if _, err := os.Stat(file); err != nil {
			continue
		}
		out, err := exec.CommandContext(ctx, "go", "tool", "pprof", "-top", "-cum", fmt.Sprintf("-nodecount=%d", 8*profileLines),
			file).Output()
		if err != nil {
			return "", fmt.Errorf("profile of %s: %w", f.Name, err)
		}
		if b.Len() == 0 {
			b.WriteString("\n## Where the time goes\n\nOf figures that miss their target: shares of the program's CPU time, with all" +
				" that a function calls.\n")
		}
		fmt.Fprintf(&b, "\n### %s\n\n```\n%s```\n", f.Name, ownLines(string(out)))
	}
	return b.String(), nil
}

// ownLines keeps the lines of a profile that name functions of the program, its drivers, the log and the collector.
func ownLines(profile string) string {
	var b strings.Builder
	kept := 0
	for line := range strings.SplitSeq(profile, "\n") {
		fields := strings.Fields(line)
		if len(fields) < 6 || kept == profileLines {
			continue
		}
		if share, err := strconv.ParseFloat(strings.TrimSuffix(fields[4], "%"), 64); err != nil || share > wrapping {
			continue
		}
		name := strings.Join(fields[5:], " ")
		for _, part := range []string{
			"assayhq/assay/", "database/sql", "jackc/pgx", "modernc.org", "log/slog", "net/http.(*conn).serve", "runtime.gcBgMark",
			"runtime.mallocgc", "syscall.Syscall", "encoding/json",
		} {
			if strings.Contains(name, part) {
				fmt.Fprintf(&b, "%7s  %s\n", fields[4], name)
				kept++
				break
			}
		}
	}
	return b.String()
}
