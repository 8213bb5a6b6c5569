package certificate

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/assayhq/assay/internal/domain/fault"
)

func TestPDFs(t *testing.T) {
	t.Run("DrawnOnceForAll", func(t *testing.T) {
		p := newPDFs()
		drawn, release := make(chan struct{}, 100), make(chan struct{})
		draw := func(context.Context) (func() ([]byte, error), error) {
			drawn <- struct{}{}
			<-release
			return func() ([]byte, error) { return []byte("pdf"), nil }, nil
		}
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				if b, err := p.get(t.Context(), "a", draw); string(b) != "pdf" || err != nil {
					t.Errorf("%q, %v", b, err)
				}
			})
		}
		<-drawn
		close(release)
		all.Wait()
		if b, err := p.get(t.Context(), "a", draw); string(b) != "pdf" || err != nil || len(drawn) > 0 {
			t.Errorf("%q, %v, drawn %d times more", b, err, len(drawn))
		}
	})
	t.Run("LongLine", func(t *testing.T) {
		p := newPDFs()
		release := make(chan struct{})
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		for range pdfLine {
			p.line <- struct{}{}
		}
		_, err := p.get(t.Context(), "one more", func(context.Context) (func() ([]byte, error), error) {
			return nil, errors.New("read")
		})
		if fault.KindOf(err) != fault.Unavailable {
			t.Errorf("one more than may wait: %v", err)
		}
		<-p.line
		draw := func(context.Context) (func() ([]byte, error), error) {
			<-release
			return func() ([]byte, error) { return []byte("pdf"), nil }, nil
		}
		if _, err := p.get(gone, "a", draw); err == nil {
			t.Error("somebody who has gone gets an answer")
		}
		close(release)
		again := func(context.Context) (func() ([]byte, error), error) { return nil, errors.New("read again") }
		if b, err := p.get(t.Context(), "a", again); string(b) != "pdf" {
			t.Errorf("%q, %v", b, err)
		}
	})
	t.Run("Panic", func(t *testing.T) {
		_, err := newPDFs().get(t.Context(), "a", func(context.Context) (func() ([]byte, error), error) {
			panic("ink")
		})
		if err == nil || !strings.Contains(err.Error(), "ink") {
			t.Error(err)
		}
	})
}
