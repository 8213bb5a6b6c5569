// Command bench measures the real program against a minimal baseline: a bare net/http handler, a bare copy to disk.
// Both run in alternating rounds under the same load, and the result is the ratio, which hardly depends on the machine.
//
//	go run ./test/bench [--only NAME] [--json] [--profiles FOLDER]
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/assayhq/assay/internal/testkit/child"
)

// roleVariable selects another role of this program, which it starts as a child process.
const roleVariable = "ASSAY_BENCH_ROLE"

var roles = map[string]func(context.Context) error{
	"bare": serveBare,
	"seed": seed,
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	run := bench
	if role := os.Getenv(roleVariable); role != "" {
		run = roles[role]
	}
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop has been called
	}
}

// suite is a run of the benchmarks.
type suite struct {
	folder   string // working directory, on the disk of the system's temporary directory
	binary   string
	only     string
	profiles string // folder for CPU profiles; empty: none
	report   *report
}

// step is a benchmark that can be run alone.
type step struct {
	name string
	run  func(context.Context, *suite) error
}

var steps = []step{
	{"sqlite", func(ctx context.Context, s *suite) error { return s.requests(ctx, sqlite) }},
	{"postgres", func(ctx context.Context, s *suite) error { return s.requests(ctx, postgres) }},
	{"upload", uploads},
	{"depth", depth},
	{"desk and portal", pages},
	{"webhooks", webhooks},
}

func bench(ctx context.Context) (err error) {
	asJSON := flag.Bool("json", false, "print one JSON array instead of a table")
	only := flag.String("only", "",
		"run only the figures whose `name` contains this, such as sqlite, postgres, upload, depth, desk, portal, "+
			"webhooks or 'GET /orders'")
	profiles := flag.String("profiles", "", "also save a CPU profile of each comparison in this `folder`")
	flag.Parse()

	folder, err := os.MkdirTemp("", "assay-bench-")
	if err != nil {
		return err
	}
	if _, err := child.StartJanitor(folder); err != nil { // removes the directory however this process ends
		return err
	}
	s := &suite{folder: folder, only: strings.ToLower(*only), profiles: *profiles, report: &report{quiet: *asJSON}}
	if s.binary, err = build(ctx, folder); err != nil {
		return err
	}
	for _, step := range steps {
		if err := step.run(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	if *asJSON {
		return json.NewEncoder(os.Stdout).Encode(s.report.figures)
	}
	s.report.print(os.Stdout)
	return nil
}

// wanted reports whether a figure is selected.
func (s *suite) wanted(name string) bool {
	return strings.Contains(strings.ToLower(name), s.only)
}

// build returns the binary named by ASSAY_TEST_BINARY, or builds one.
func build(ctx context.Context, folder string) (string, error) {
	if binary := os.Getenv("ASSAY_TEST_BINARY"); binary != "" {
		return binary, nil
	}
	binary := filepath.Join(folder, "assay")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-tags", "nodynamic", "-o", binary,
		"github.com/assayhq/assay/cmd/assay")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program: %w\n%s", err, output)
	}
	return binary, nil
}
