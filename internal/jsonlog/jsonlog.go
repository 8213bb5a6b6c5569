// Package jsonlog is the log of the program: lines of JSON, for which no request waits as long as whoever reads them
// keeps up. An error has its hidden cause beside it.
package jsonlog

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/assayhq/assay/internal/domain/fault"
)

// Options are those of every handler of the log: beside an "error" they put the "cause" that it hides.
func Options() *slog.HandlerOptions { return &slog.HandlerOptions{ReplaceAttr: withCause} }

func withCause(_ []string, a slog.Attr) slog.Attr {
	if a.Key != "error" {
		return a
	}
	err, ok := a.Value.Any().(error)
	if !ok {
		return a
	}
	cause := fault.Cause(err)
	if cause == "" {
		return a
	}
	// A group without a name stands for its attributes.
	return slog.Group("", slog.String(a.Key, err.Error()), slog.String("cause", cause))
}

// New returns a logger of JSON lines to w, as slog.NewJSONHandler writes them with Options. Flush has to be called
// before the program ends.
func New(w io.Writer) *slog.Logger {
	lines := newLineWriter(w)
	return slog.New(&Handler{Handler: slog.NewJSONHandler(lines, Options()), lines: lines})
}

// Handler is the slog.Handler of a logger of New, as long as that has no attributes or groups of its own.
type Handler struct {
	slog.Handler
	lines *lineWriter
}

// Handle writes a line. slog's handler would hold its lock while the line is written.
func (h *Handler) Handle(ctx context.Context, r slog.Record) error {
	var line bytes.Buffer
	if err := slog.NewJSONHandler(&line, Options()).Handle(ctx, r); err != nil {
		return err
	}
	_, err := h.lines.Write(line.Bytes())
	return err
}

// WriteBatched writes a line that its caller has encoded, with its end. It is one of many, such as those of an access
// log, and may be kept for a moment to be written with others.
func (h *Handler) WriteBatched(line []byte) { h.lines.add(line, true) }

// flushWait is how long the end of a program waits for whoever reads its log.
const flushWait = 2 * time.Second

// Flush waits until all lines of a logger of New are written.
func Flush(log *slog.Logger) {
	h, ok := log.Handler().(*Handler)
	if !ok {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.lines.flush()
	}()
	select {
	case <-done:
	case <-time.After(flushWait):
	}
}
