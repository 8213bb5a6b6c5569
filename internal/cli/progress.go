package cli

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// progress tells on standard error how far a command is, with rate and remaining time: on a terminal in one line that
// is rewritten, elsewhere with a line now and then. What ends within two seconds says nothing.
type progress struct {
	out      io.Writer
	terminal bool
	what     string
	total    int64 // 0: unknown
	began    time.Time

	mu    sync.Mutex
	done  int64
	told  time.Time
	shown bool
}

const (
	quietFor     = 2 * time.Second
	redrawEvery  = 200 * time.Millisecond
	newLineEvery = 10 * time.Second
)

func (inv *invocation) newProgress(what string, total int64) *progress {
	return &progress{
		out: inv.Stderr, terminal: onTerminal(inv.Stderr), what: what, total: total, began: time.Now(),
	}
}

// reader returns r with its bytes counted.
func (p *progress) reader(r io.Reader) io.Reader { return &countedReader{r, p} }

type countedReader struct {
	from io.Reader
	p    *progress
}

func (c *countedReader) Read(b []byte) (int, error) {
	n, err := c.from.Read(b)
	c.p.add(int64(n))
	return n, err
}

func (p *progress) add(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += n
	now := time.Now()
	every := newLineEvery
	if p.terminal {
		every = redrawEvery
	}
	if now.Sub(p.began) < quietFor || now.Sub(p.told) < every {
		return
	}
	p.told, p.shown = now, true
	line := progressLine(p.what, p.done, p.total, now.Sub(p.began))
	if p.terminal {
		fmt.Fprintf(p.out, "\r\x1b[K%s", line)
	} else {
		fmt.Fprintln(p.out, line)
	}
}

// end leaves the terminal's line empty for what follows.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown && p.terminal {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}

// progressLine is what a person wants to know: how much, how fast, how long still.
func progressLine(what string, done, total int64, elapsed time.Duration) string {
	rate := float64(done) / elapsed.Seconds()
	line := fmt.Sprintf("%s: %s", what, bytesText(done))
	if total > 0 {
		line += fmt.Sprintf(" of %s (%d %%)", bytesText(total), 100*done/total)
	}
	line += fmt.Sprintf(", %s/s", bytesText(int64(rate)))
	if total > done && rate > 0 {
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
