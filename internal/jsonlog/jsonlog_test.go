package jsonlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/domain/fault"
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

// TestCause checks that a line tells the cause that its error hides, in both forms of the log.
func TestCause(t *testing.T) {
	var out bytes.Buffer
	lines := New(&out)
	text := slog.New(slog.NewTextHandler(&out, Options()))
	var none *fault.Error
	hiding := fmt.Errorf("x: %w", fault.New(fault.Unavailable, "busy", "Later.").Because(errors.New("disk full")))
	for _, c := range []struct {
		err  error
		json string
		text string
	}{
		{hiding, `"error":"x: busy: Later.","cause":"disk full","n":1}`, `error="x: busy: Later." cause="disk full" n=1`},
		{errors.New("y"), `"msg":"failed","error":"y","n":1}`, `msg=failed error=y n=1`},
		{none, `"msg":"failed","error":"<nil>","n":1}`, `msg=failed error=<nil> n=1`},
	} {
		for want, log := range map[string]*slog.Logger{c.json: lines, c.text: text} {
			out.Reset()
			log.ErrorContext(t.Context(), "failed", "error", c.err, "n", 1)
			Flush(lines)
			if !strings.Contains(out.String(), want) {
				t.Errorf("logged %s, want %s", &out, want)
			}
		}
	}
}
