package child

import (
	"bytes"
	"sync"
)

// Output collects the output of a child and can be read concurrently. The zero value is ready to use.
type Output struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

// Write appends to the output.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.Write(p)
}

// String returns what has been printed so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.String()
}
