// Package hard_test breaks things around the real program, on purpose and at random, and holds what is left against
// what clients were told: kills, disks, three nodes, random and mutated requests, overload.
//
// `make test` runs a short form of everything. `make test-hard` (ASSAY_TEST_HARD=1) runs the long one and prints the
// table of docs/reliability.md.
package hard_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/testkit/pgtest"
	"github.com/assayhq/assay/internal/testkit/program"
)

const (
	hardVariable    = "ASSAY_TEST_HARD"
	seedVariable    = "ASSAY_TEST_SEED"
	figuresVariable = "ASSAY_TEST_FIGURES"

	secretKey = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
)

// isHard reports whether this is the long form.
func isHard() bool { return os.Getenv(hardVariable) != "" }

// pick returns the first value in the short form and the second in the long one.
func pick[T any](short, long T) T {
	if isHard() {
		return long
	}
	return short
}

// newRandom returns the random numbers of a test. Its seed is printed, and can be given by ASSAY_TEST_SEED.
func newRandom(t testing.TB) (*rand.Rand, uint64) {
	t.Helper()
	seed := uint64(20260701)
	if isHard() {
		seed = uint64(time.Now().UnixNano()) % 1_000_000_000
	}
	if text := os.Getenv(seedVariable); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s: %v", seedVariable, err)
		}
	}
	t.Logf("%s=%d", seedVariable, seed)
	return rand.New(rand.NewPCG(seed, 1)), seed
}

var figures sync.Mutex

// figure adds a line to the table of docs/reliability.md: what was done, and what came of it.
func figure(t testing.TB, item, done, result string) {
	t.Helper()
	line := fmt.Sprintf("| %s | %s | %s |", item, done, result)
	t.Log(line)
	path := os.Getenv(figuresVariable)
	if path == "" {
		return
	}
	figures.Lock()
	defer figures.Unlock()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintln(f, line); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// engines runs a test on both databases, with the settings of each.
func engines(t *testing.T, f func(t *testing.T, engine string, settings program.Settings)) {
	t.Helper()
	t.Run("SQLite", func(t *testing.T) { f(t, "SQLite", program.Settings{}) })
	t.Run("PostgreSQL", func(t *testing.T) {
		f(t, "PostgreSQL", program.Settings{"database": pgtest.Database(t), "secret-key": secretKey})
	})
}
