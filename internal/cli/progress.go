package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/assayhq/assay/internal/progress"
	"golang.org/x/term"
)

// progressLine tells on standard error how far a command is, with rate and remaining time: on a terminal in one line
// that is rewritten, elsewhere with a line every few seconds. What ends within two seconds says nothing. Messages and
// logs go through it as well, so that none runs into the line.
type progressLine struct {
	out      io.Writer
	terminal bool
	now      func() time.Time

	mu      sync.Mutex
	command string
	began   time.Time
	part    *progressPart // nil: nothing is being done
	told    time.Time
	shown   bool          // the terminal shows a line
	stop    chan struct{} // ends the goroutine that redraws; nil: there is none
}

// progressPart is a part of the work.
type progressPart struct {
	what  string
	unit  progress.Unit
	total int64 // 0: unknown
	began time.Time
	done  atomic.Int64
}

const (
	quietFor     = 2 * time.Second
	redrawEvery  = 200 * time.Millisecond
	newLineEvery = 5 * time.Second
	clearLine    = "\r\x1b[K"
)

func newProgressLine(out io.Writer) *progressLine {
	return &progressLine{out: out, terminal: onTerminal(out), now: time.Now}
}

// reporting returns a context whose work is shown from now on. A program that reads the JSON gets no lines.
func (inv *invocation) reporting(ctx context.Context, command string) context.Context {
	p := inv.progress
	if inv.json && !p.terminal {
		return ctx
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.command, p.began = command, p.now()
	return progress.With(ctx, p.begin)
}

// begin is a progress.Reporter.
func (p *progressLine) begin(what string, unit progress.Unit, total int64) func(int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	part := &progressPart{what: what, unit: unit, total: total, began: p.now()}
	p.part = part
	if p.stop == nil {
		p.stop = make(chan struct{})
		go p.watch(p.stop)
	}
	return func(n int64) { part.done.Add(n) }
}

// watch shows the line again and again, also while a part cannot be counted.
func (p *progressLine) watch(stop <-chan struct{}) {
	ticker := time.NewTicker(redrawEvery)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
			p.tick()
		}
	}
}

// tick shows the line, when it is time to.
func (p *progressLine) tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if p.part == nil || now.Sub(p.began) < quietFor || !p.terminal && now.Sub(p.told) < newLineEvery {
		return
	}
	p.told = now
	line := p.command + ", " + p.part.line(now)
	if !p.terminal {
		fmt.Fprintln(p.out, line)
		return
	}
	p.shown = true
	fmt.Fprint(p.out, clearLine+cutLine(line, terminalWidth(p.out)))
}

// end leaves the terminal's line empty for what follows.
func (p *progressLine) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	p.part = nil
	if p.stop != nil {
		close(p.stop)
		p.stop = nil
	}
}

func (p *progressLine) clear() {
	if p.shown {
		fmt.Fprint(p.out, clearLine)
		p.shown = false
	}
}

// Write writes what has nothing to do with progress, in place of the line, which is shown again later.
func (p *progressLine) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	return p.out.Write(text)
}

// line is what a person wants to know: how much, how fast, how long still.
func (p *progressPart) line(now time.Time) string {
	done, total, elapsed := p.done.Load(), p.total, now.Sub(p.began)
	if done > total {
		total = 0 // more has come meanwhile
	}
	if done == 0 && total == 0 {
		return fmt.Sprintf("%s: %s", p.what, elapsed.Truncate(time.Second))
	}
	text := func(n int64) string {
		if p.unit == progress.Bytes {
			return bytesText(n)
		}
		return fmt.Sprint(n)
	}
	line := p.what + ": " + text(done)
	if total > 0 {
		line += fmt.Sprintf(" of %s (%d %%)", text(total), int64(100*float64(done)/float64(total)))
	}
	if done == 0 || elapsed <= 0 {
		return line
	}
	rate := float64(done) / elapsed.Seconds()
	if p.unit == progress.Items && rate < 10 {
		line += fmt.Sprintf(", %.1f/s", rate)
	} else {
		line += fmt.Sprintf(", %s/s", text(int64(rate)))
	}
	if total > done {
		line += fmt.Sprintf(", %s left", time.Duration(float64(total-done)/rate*float64(time.Second)).Round(time.Second))
	}
	return line
}

func bytesText(n int64) string {
	units := []string{"B", "kB", "MB", "GB", "TB"}
	value, unit := float64(n), 0
	for value >= 1000 && unit < len(units)-1 {
		value, unit = value/1000, unit+1
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", value, units[unit])
}

// cutLine keeps a line from wrapping, because only one line can be rewritten. A width of 0 is not known.
func cutLine(line string, width int) string {
	if runes := []rune(line); width > 0 && len(runes) >= width {
		return strings.TrimRight(string(runes[:width-1]), " ")
	}
	return line
}

func terminalWidth(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			return width
		}
	}
	return 0
}
