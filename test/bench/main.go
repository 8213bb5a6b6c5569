// Command bench measures the real program against the least that could do the same work: a bare net/http handler, a
// bare copy to disk. Both sides run in turns under the same load in the same minute, and what counts is the ratio:
// it says what the program costs, whatever the machine.
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

// The program runs itself in other roles, in processes of their own.
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

// suite is one run of the program: where it works and what it has found.
type suite struct {
	folder   string // for everything, on the disk that the system's temporary folder is on
	binary   string
	only     string
	profiles string // folder for CPU profiles; empty: none
	report   *report
}

// step is a part that can be run alone.
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
	if _, err := child.StartJanitor(folder); err != nil { // removes the folder however this process ends
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

// wanted tells whether a figure is to be measured.
func (s *suite) wanted(name string) bool {
	return strings.Contains(strings.ToLower(name), s.only)
}

// build returns the program: the one that ASSAY_TEST_BINARY names, or one built from the sources.
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
