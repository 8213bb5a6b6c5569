package server

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/jsonlog"
	"github.com/assayhq/assay/internal/testkit/child"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pgtest"
)

// TestLog_Cause checks that whatever the log says while the database is away has the cause beside it.
func TestLog_Cause(t *testing.T) {
	t.Parallel()
	for engine, test := range map[string]struct {
		says  []string
		start func(t *testing.T) (set Settings, leave, back func() error)
	}{
		"sqlite": {
			[]string{"housekeeping failed"},
			func(t *testing.T) (Settings, func() error, func() error) {
				t.Helper()
				set := nodeSettings(t)
				file := filepath.Join(set.Data, "assay.db")
				return set, func() error { return os.Rename(file, file+".moved") },
					func() error { return os.Rename(file+".moved", file) }
			},
		},
		"postgres": {
			[]string{
				"housekeeping failed", "due deliveries could not be read", "sender heartbeat could not be recorded",
				"catalog cannot be refreshed",
			},
			func(t *testing.T) (Settings, func() error, func() error) {
				t.Helper()
				cluster, dsn := pgtest.ClusterDatabase(t)
				return nodeSettings(t, "--secret-key", strings.Repeat("k", 32), "--database", dsn), cluster.Stop, cluster.Start
			},
		},
	} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			set, leave, back := test.start(t)
			set.ClaimAge = 10 * time.Second // then housekeeping has a round each second
			out := new(child.Output)
			run(t, set, jsonlog.New(out))
			must.NoError(t, leave())
			t.Cleanup(func() { must.NoError(t, back()) })
			for _, message := range test.says {
				must.Eventually(t, time.Minute, message, func() bool { return strings.Contains(out.String(), `"`+message+`"`) })
			}
			for line := range strings.Lines(out.String()) {
				var entry struct{ Error, Cause string }
				if !strings.HasSuffix(line, "\n") { // it is being written
					continue
				}
				must.NoError(t, json.Unmarshal([]byte(line), &entry))
				if strings.Contains(entry.Error, fault.CodeUnavailable) && entry.Cause == "" {
					t.Errorf("no cause: %s", line)
				}
			}
		})
	}
}
