package main

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"text/template"
	"time"
)

//go:embed performance.md.tmpl
var page string

// writeDocs writes the table and the chart.
func (s *suite) writeDocs(ctx context.Context, folder string) error {
	commit, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty", "--abbrev=12").Output()
	if err != nil {
		return fmt.Errorf("which commit is measured: %w", err)
	}
	memory, err := machineMemory()
	if err != nil {
		return err
	}
	profiles, err := s.profileTables(ctx)
	if err != nil {
		return err
	}
	var table, text bytes.Buffer
	s.report.print(&table)
	if err := template.Must(template.New("page").Parse(page)).Execute(&text, map[string]any{
		"Quick": s.quick, "Commit": strings.TrimSpace(string(commit)), "Date": s.report.began.UTC().Format(time.DateOnly),
		"Cores": runtime.NumCPU(), "Memory": fmt.Sprintf("%.0f", memory), "Batch": count(batch), "Table": table.String(),
		"System": fmt.Sprintf("%s/%s, %s", runtime.GOOS, runtime.GOARCH, runtime.Version()), "Profiles": profiles,
		"Took": time.Since(s.report.began).Round(time.Minute), "Met": s.report.met(),
		"Targets": s.report.met() + s.report.missed(),
	}); err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		"performance.md": text.Bytes(), "performance.svg": []byte(s.report.chart()),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
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

// profiled is where the CPU time of a figure goes.
type profiled struct{ Figure, Lines string }

// profileTables returns those of the figures that miss their target and were profiled.
func (s *suite) profileTables(ctx context.Context) ([]profiled, error) {
	var all []profiled
	for i := range s.report.figures {
		f := &s.report.figures[i]
		file := filepath.Join(s.profiles, profileName(f.Name))
		if _, err := os.Stat(file); err != nil || !f.Missed {
			continue
		}
		out, err := exec.CommandContext(ctx, "go", "tool", "pprof", "-top", "-cum", "-nodecount=120", file).Output()
		if err != nil {
			return nil, fmt.Errorf("profile of %s: %w", f.Name, err)
		}
		all = append(all, profiled{f.Name, ownLines(string(out))})
	}
	return all, nil
}

// ofInterest are parts of the names of the program's functions, its drivers, the log and the collector.
var ofInterest = []string{
	"assayhq/assay/", "database/sql", "jackc/pgx", "modernc.org", "log/slog", "net/http.(*conn).serve", "encoding/json",
	"runtime.gcBgMark", "runtime.mallocgc", "syscall.Syscall",
}

// ownLines keeps the lines of a profile that are of interest.
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
		for _, part := range ofInterest {
			if strings.Contains(name, part) {
				fmt.Fprintf(&b, "%7s  %s\n", fields[4], name)
				kept++
				break
			}
		}
	}
	return b.String()
}
