package jsonlog

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
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
	log := New(w)
	go log.Info("line", "n", 0)
	<-w.begun
	const lines = 5000
	for n := 1; n < lines; n++ {
		log.Info("line", "n", n) // none of them waits
	}
	close(w.open)
	Flush(log)
	got := strings.Split(strings.TrimSpace(w.text.String()), "\n")
	if len(got) != lines {
		t.Fatalf("%d of %d lines", len(got), lines)
	}
	for n, line := range got {
		if !strings.HasSuffix(line, fmt.Sprintf(`"n":%d}`, n)) {
			t.Fatalf("line %d is %s", n, line)
		}
	}
}

// TestLineWriter_Gather checks that lines of the access log that come right after another are written together, and any
// other line at once, after them.
func TestLineWriter_Gather(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w countingWriter
		l := newLineWriter(&w)
		want := ""
		add := func(line string, oneOfMany bool, writes int) {
			t.Helper()
			l.add([]byte(line), oneOfMany)
			if want += line; w.writes != writes {
				t.Errorf("%d writes after %q, want %d", w.writes, line, writes)
			}
		}
		add("first\n", true, 1)
		for range 100 {
			add("one of many\n", true, 1)
		}
		l.flush()
		add("after them\n", true, 2)
		add("warning\n", false, 3)
		add("another\n", false, 4)
		time.Sleep(time.Second)
		add("last\n", true, 5)
		l.flush()
		if got := w.text.String(); got != want {
			t.Errorf("written: %s\nwant %s", got, want)
		}
	})
}

// countingWriter counts the writes to it.
type countingWriter struct {
	text   bytes.Buffer
	writes int
}

func (c *countingWriter) Write(p []byte) (int, error) {
	c.writes++
	return c.text.Write(p)
}
