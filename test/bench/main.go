// Command bench measures the real program against a base that does the least that the work needs: a bare net/http
// handler, a bare copy to disk, a bare loop of the same SQL; and against PocketBase. All sides take turns under the
// same load in one run, so that the ratios hardly depend on the machine. A target that is missed makes it fail.
//
//	go run -tags nodynamic ./test/bench [-quick] [-only NAME,…] [-report-only] [-json] [-docs FOLDER] [-profiles FOLDER]
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/assayhq/assay/internal/testkit/child"
)

// roleVariable selects another role of this program, which it starts as a child process.
const roleVariable = "ASSAY_BENCH_ROLE"

var roles = map[string]func(context.Context) error{
	"bare":   serveBare,
	"record": serveRecorded,
	"loop":   serveLoop,
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
		os.Exit(1)
	}
}

// scale is how long and how large a run is.
type scale struct {
	rounds        int
	round, warmUp time.Duration
	few, many     int // orders
	most          int // orders; 0: not measured
	postgres      int // orders on PostgreSQL, whose databases are filled anew in each run
	history       int // past deliveries
	events        int // of the audit log, beside many orders
	accounts      int // that create orders on PostgreSQL at the same time
}

var (
	fullScale = scale{
		rounds: 5, round: 2 * time.Second, warmUp: time.Second, few: 10_000, many: 1_000_000, most: 10_000_000,
		postgres: 100_000, history: 2_000_000, events: 1_000_000,
		accounts: 20,
	}
	quickScale = scale{
		rounds: 2, round: 300 * time.Millisecond, warmUp: 100 * time.Millisecond, few: 1_000, many: 10_000,
		postgres: 10_000, history: 20_000, events: 10_000,
		accounts: 5,
	}
)

// suite is a run of the benchmarks.
type suite struct {
	scale
	quick    bool
	folder   string // working directory, on the disk of the system's temporary directory
	cache    string // of filled databases
	binary   string
	only     []string
	profiles string // folder for CPU profiles; empty: none
	report   *report

	started     []func() error // ends what was started, in the order of the starts
	pgbenchRuns int            // so far: no two make the same values
}

// step is a family of figures.
type step struct {
	figures []string // their names, or how these begin
	run     func(context.Context, *suite) error
	long    bool // left out of a quick run
}

// steps are in the order of the report.
func steps() []step {
	return []step{
		{figures: []string{imagesName}, run: images},
		{figures: []string{flowName}, run: flow},
		{figures: []string{detailName, listName, deepListName, brandsName, viewName, depthName}, run: reads},
		{figures: []string{createName}, run: creations},
		{figures: []string{requestLogName}, run: requestLog},
		{figures: []string{uploadName}, run: uploads},
		{figures: []string{s3UploadName}, run: s3Uploads, long: true},
		{figures: []string{webhooksName}, run: webhooks},
		{figures: []string{postgresName}, run: postgresFigures},
		{figures: []string{nodesName}, run: twoNodes, long: true},
		{figures: []string{growthName}, run: growth},
		{figures: []string{startName, memoryName}, run: startAndMemory},
		{figures: []string{"desk: ", "portal: "}, run: pages},
	}
}

var errMissed = errors.New("a target is missed")

func bench(ctx context.Context) (err error) {
	asJSON := flag.Bool("json", false, "print one JSON array instead of a table")
	only := flag.String("only", "",
		"run only the figures whose `names` begin so, such as post, get /orders or webhooks; separated by commas")
	profiles := flag.String("profiles", "",
		"save CPU profiles of the program under the loads that miss their target in this `folder`")
	quick := flag.Bool("quick", false, "short rounds and few orders: a check that takes minutes, not a measurement")
	reportOnly := flag.Bool("report-only", false, "exit with 0 although targets are missed")
	docs := flag.String("docs", "", "write performance.md and performance.svg into this `folder`")
	cache := flag.String("cache", "",
		"`folder` for filled databases, which are used again; default: the user's cache folder")
	round := flag.Duration("round", 0, "`time` of a round, instead of that of the scale")
	flag.Parse()

	folder, err := os.MkdirTemp("", "assay-bench-")
	if err != nil {
		return err
	}
	if _, err := child.StartJanitor(folder); err != nil { // removes the directory however this process ends
		return err
	}
	s := &suite{
		scale: fullScale, quick: *quick, folder: folder, cache: *cache, profiles: *profiles,
		only: strings.Split(strings.ToLower(*only), ","), report: &report{quiet: *asJSON, began: time.Now()},
	}
	if s.quick {
		s.scale = quickScale
	}
	if *round > 0 {
		s.round = *round
	}
	if s.cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return err
		}
		s.cache = filepath.Join(user, "assay-bench")
	}
	if *docs != "" && s.profiles == "" {
		s.profiles = folder // for the figures that miss their target
	}
	if s.binary, err = build(ctx, folder); err != nil {
		return err
	}
	for _, step := range steps() {
		if !s.anyWanted(step.figures) || s.leavesOut(step.long) {
			continue
		}
		if err := s.thenClose(func() error { return step.run(ctx, s) }); err != nil {
			s.report.print(os.Stdout) // what was measured so far
			return fmt.Errorf("%s…: %w", strings.TrimRight(step.figures[0], ": "), err)
		}
	}
	if *asJSON {
		err = json.NewEncoder(os.Stdout).Encode(s.report.figures)
	} else {
		s.report.print(os.Stdout)
	}
	if *docs != "" {
		err = errors.Join(err, s.writeDocs(ctx, *docs))
	}
	if s.report.missed() > 0 && !*reportOnly {
		err = errors.Join(err, errMissed)
	}
	return err
}

// later calls end when the part is over that thenClose runs.
func (s *suite) later(end func() error) { s.started = append(s.started, end) }

// thenClose runs a part and ends what it has started, the last first.
func (s *suite) thenClose(part func() error) error {
	before := len(s.started)
	err := part()
	for _, end := range slices.Backward(s.started[before:]) {
		err = errors.Join(err, end())
	}
	s.started = s.started[:before]
	return err
}

// wanted reports whether a figure is selected.
func (s *suite) wanted(name string) bool {
	return slices.ContainsFunc(s.only, func(part string) bool { return strings.Contains(strings.ToLower(name), part) })
}

// anyWanted reports whether a figure that begins with one of the names may be selected.
func (s *suite) anyWanted(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		begin := strings.ToLower(name)
		return slices.ContainsFunc(s.only, func(part string) bool {
			return strings.Contains(begin, part) || strings.HasPrefix(part, begin)
		})
	})
}

// leavesOut reports whether a part that takes long is left out: of a quick run that was not asked for certain figures.
func (s *suite) leavesOut(long bool) bool {
	return long && s.quick && slices.Equal(s.only, []string{""})
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
