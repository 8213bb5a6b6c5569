package progress_test

import (
	"io"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/progress"
)

func TestBegin(t *testing.T) {
	nobody := t.Context()
	progress.Begin(nobody, "photos", progress.Items, 3)(1)
	if progress.On(nobody) || progress.On(progress.With(nobody, nil)) {
		t.Error("somebody listens")
	}
	var read int64
	ctx := progress.With(nobody, func(what string, unit progress.Unit, total int64) func(int64) {
		if what != "file" || unit != progress.Bytes || total != 7 {
			t.Errorf("told of %s, %d, %d", what, unit, total)
		}
		return func(n int64) { read += n }
	})
	if !progress.On(ctx) {
		t.Error("nobody listens")
	}
	r := progress.Reader(strings.NewReader("content"), progress.Begin(ctx, "file", progress.Bytes, 7))
	if text, err := io.ReadAll(r); err != nil || string(text) != "content" || read != 7 {
		t.Errorf("read %q, %v, told of %d", text, err, read)
	}
}
