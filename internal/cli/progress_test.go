package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/progress"
	"github.com/assayhq/assay/internal/testkit/fakeclock"
)

var noon = time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)

func TestProgressPart(t *testing.T) {
	for _, c := range []struct {
		unit        progress.Unit
		total, done int64
		elapsed     time.Duration
		want        string
	}{
		{progress.Bytes, 0, 0, 7500 * time.Millisecond, "photos: 7s"},
		{progress.Bytes, 4e9, 1e9, 10 * time.Second, "photos: 1.0 GB of 4.0 GB (25 %), 100.0 MB/s, 30s left"},
		{progress.Bytes, 0, 2_500, 5 * time.Second, "photos: 2.5 kB, 500 B/s"},
		{progress.Items, 90_000, 30_000, time.Minute, "photos: 30000 of 90000 (33 %), 500/s, 2m0s left"},
		{progress.Items, 30, 3, 6 * time.Second, "photos: 3 of 30 (10 %), 0.5/s, 54s left"},
		{progress.Items, 30, 0, 3 * time.Second, "photos: 0 of 30 (0 %)"},
		{progress.Items, 30, 30, 3 * time.Second, "photos: 30 of 30 (100 %), 10/s"},
		{progress.Items, 30, 60, 3 * time.Second, "photos: 60, 20/s"}, // more has come meanwhile
		{progress.Items, 30, 3, 0, "photos: 3 of 30 (10 %)"},
	} {
		p := &progressPart{what: "photos", unit: c.unit, total: c.total, began: noon}
		p.done.Add(c.done)
		if got := p.line(noon.Add(c.elapsed)); got != c.want {
			t.Errorf("%d of %d after %s: %q, want %q", c.done, c.total, c.elapsed, got, c.want)
		}
	}
}

// newTestLine returns a line that is shown by tick alone.
func newTestLine(terminal bool) (*progressLine, *bytes.Buffer, *fakeclock.Clock) {
	var out bytes.Buffer
	clock := fakeclock.New(noon)
	return &progressLine{
		out: &out, terminal: terminal, command: "backup", now: clock.Now, began: noon, stop: make(chan struct{}),
	}, &out, clock
}

func TestProgressLine_Plain(t *testing.T) {
	p, out, clock := newTestLine(false)
	done := p.begin("photos", progress.Items, 100)
	for range 60 { // 12 seconds
		done(1)
		clock.Advance(redrawEvery)
		p.tick()
	}
	p.end()
	p.tick()
	want := "backup, photos: 10 of 100 (10 %), 5.0/s, 18s left\n" +
		"backup, photos: 35 of 100 (35 %), 5.0/s, 13s left\n" +
		"backup, photos: 60 of 100 (60 %), 5.0/s, 8s left\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out, want)
	}
}

func TestProgressLine_Terminal(t *testing.T) {
	p, out, clock := newTestLine(true)
	done := p.begin("photos", progress.Items, 100)
	done(40)
	clock.Advance(quietFor - time.Millisecond)
	p.tick()
	if out.Len() > 0 {
		t.Fatalf("a quick command says %q", out)
	}
	clock.Advance(time.Millisecond)
	p.tick()
	p.begin("making it durable", progress.Items, 0)
	clock.Advance(time.Second)
	p.tick()
	if _, err := p.Write([]byte("a warning\n")); err != nil {
		t.Fatal(err)
	}
	p.tick()
	p.end()
	p.end()
	want := clearLine + "backup, photos: 40 of 100 (40 %), 20/s, 3s left" + clearLine + "backup, making it durable: 1s" +
		clearLine + "a warning\n" + clearLine + "backup, making it durable: 1s" + clearLine
	if out.String() != want {
		t.Errorf("got  %q\nwant %q", out, want)
	}
}

func TestCutLine(t *testing.T) {
	for width, want := range map[int]string{
		0: "check, photos: 3", 40: "check, photos: 3", 17: "check, photos: 3", 16: "check, photos:", 6: "check",
	} {
		if got := cutLine("check, photos: 3", width); got != want {
			t.Errorf("at %d: %q, want %q", width, got, want)
		}
	}
}

// TestReporting checks that a program that reads JSON from a pipe gets no progress.
func TestReporting(t *testing.T) {
	for _, json := range []bool{false, true} {
		inv := &invocation{json: json, progress: newProgressLine(new(bytes.Buffer))}
		if told := progress.On(inv.reporting(context.Background(), "check")); told == json {
			t.Errorf("with --json %t progress is told: %t", json, told)
		}
		inv.progress.end()
	}
}

// TestProgress_Log checks that what is logged while a line is shown stands alone, though the log was opened before: a
// server does so when it makes the demo.
func TestProgress_Log(t *testing.T) {
	p, out, clock := newTestLine(true)
	inv := &invocation{IO: IO{Stderr: out}, progress: p}
	log := inv.logger()
	progress.Step(inv.reporting(context.Background(), "demo"), "orders")
	clock.Advance(quietFor)
	p.tick()
	log.Warn("away")
	p.end()
	if got := out.String(); !strings.HasPrefix(got, clearLine+"demo, orders: 2s"+clearLine+`{"`) {
		t.Errorf("the terminal got %q", got)
	}
}

// TestServing checks that a server does not tell of what its requests do.
func TestServing(t *testing.T) {
	var lasting []string
	for _, c := range commands() {
		if c.serves {
			lasting = append(lasting, c.name)
		}
	}
	if got := strings.Join(lasting, ", "); got != "serve, orders watch, listen" {
		t.Errorf("without progress: %s", got)
	}
}
