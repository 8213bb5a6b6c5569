package backup

import (
	"fmt"
	"sync"
)

// counter counts concurrent work and reports progress.
type counter struct {
	what     string // with %d
	progress func(string)

	mu sync.Mutex
	n  int64
}

func (c *counter) add() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n++; c.n%progressEvery == 0 {
		c.progress(fmt.Sprintf(c.what, c.n))
	}
}
