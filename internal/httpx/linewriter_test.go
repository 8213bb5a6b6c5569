package httpx

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// slowReader is a log that nobody reads until it is opened.
type slowReader struct {
	begun, open chan struct{}
	once        sync.Once
	text        bytes.Buffer
}

func (s *slowReader) Write(p []byte) (int, error) {
	s.once.Do(func() { close(s.begun) })
	<-s.open
	return s.text.Write(p)
}

// TestLineWriter checks that requests do not wait for a log that is not read, and that all lines arrive, in order.
func TestLineWriter(t *testing.T) {
	w := &slowReader{begun: make(chan struct{}), open: make(chan struct{})}
	log := NewJSONLog(w)
	go log.Info("line", "n", 0)
	<-w.begun
	const lines = 5000
	for n := 1; n < lines; n++ {
		log.Info("line", "n", n) // none of them waits
	}
	close(w.open)
	FlushLog(log)
	got := strings.Split(strings.TrimSpace(w.text.String()), "\n")
	if len(got) != lines {
		t.Fatalf("%d of %d lines", len(got), lines)
	}
	for n, line := range got {
		if !strings.HasSuffix(line, fmt.Sprintf(`"n":%d}`, n)) {
			t.Fatalf("line %d is %s", n, line)
		}
	}
	log.Info("last") // nobody else writes: it is there at once
	if !strings.Contains(w.text.String(), "last") {
		t.Error("a line that nothing holds up is not written at once")
	}
}
