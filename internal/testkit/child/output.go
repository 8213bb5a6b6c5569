package child

import (
	"bytes"
	"sync"
)

// Output collects what a child prints and can be read while the child still prints. Its zero value is empty and ready.
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
