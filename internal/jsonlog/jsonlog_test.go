package jsonlog

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
)

// TestNew checks that lines are those of slog, with and without attributes of the logger, in their order.
func TestNew(t *testing.T) {
	var out bytes.Buffer
	log := New(&out)
	log.InfoContext(t.Context(), "first", "a", 1)
	log.Handler().(*Handler).WriteBatched([]byte("{}\n"))
	log.With("node", "b").InfoContext(t.Context(), "last", "a", 2)
	Flush(log)
	lines := strings.SplitAfter(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 || !strings.Contains(lines[0], `"msg":"first","a":1}`) || lines[1] != "{}\n" ||
		!strings.Contains(lines[2], `"msg":"last","node":"b","a":2}`) {
		t.Errorf("logged %s", &out)
	}
	if !log.Enabled(context.Background(), slog.LevelInfo) || log.Enabled(context.Background(), slog.LevelDebug) {
		t.Error("the log does not begin at info")
	}
}
