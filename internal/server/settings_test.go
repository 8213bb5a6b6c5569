package server_test

import (
	"flag"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/server"
	"github.com/assayhq/assay/internal/testkit/must"
)

// TestSettings_AllProblems checks that all that cannot work is told at once, always in the same order.
func TestSettings_AllProblems(t *testing.T) {
	var s server.Settings
	fs := flag.NewFlagSet("serve", flag.ContinueOnError)
	s.Bind(fs)
	must.NoError(t, fs.Parse([]string{
		"-data", t.TempDir(), "-webhook-timeout", "0", "-claim-expiry", "0", "-event-retention", "0",
		"-secret-overlap", "-1s", "-max-claims", "-1", "-max-keys", "-1", "-auth-failure-limit", "-1",
	}))
	want := strings.Join([]string{
		"--auth-failure-limit must not be negative",
		"--webhook-timeout must be more than 0", "--claim-expiry must be more than 0",
		"--event-retention must be more than 0", "--secret-overlap must not be negative",
	}, "\n")
	for range 20 {
		err := s.Check()
		if err == nil || !strings.HasSuffix(err.Error(), want) ||
			!strings.Contains(err.Error(), "--max-claims must not be negative\n--max-keys must not be negative\n") {
			t.Fatalf("the problems are\n%v", err)
		}
	}
}
