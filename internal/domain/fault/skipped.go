package fault

import (
	"errors"
	"fmt"
)

// Skipped is the error of a task that did what it could: it names rows that could not be handled.
type Skipped struct {
	Rows  int // that were skipped
	named []error
}

// maxNamed is how many rows an error names.
const maxNamed = 20

// Add notes a row that was skipped, and why: with the cause, which a refusal does not tell by itself.
func (e *Skipped) Add(err error) {
	if refusal, ok := errors.AsType[*Error](err); ok && refusal.Unwrap() != nil {
		err = fmt.Errorf("%w: %w", err, refusal.Unwrap())
	}
	if e.Rows++; len(e.named) < maxNamed {
		e.named = append(e.named, err)
	}
}

// OrNil returns the error, or nil when nothing was skipped.
func (e *Skipped) OrNil() error {
	if e.Rows == 0 {
		return nil
	}
	return e
}

// Error names the rows.
func (e *Skipped) Error() string {
	text := errors.Join(e.named...).Error()
	if more := e.Rows - len(e.named); more > 0 {
		text += fmt.Sprintf("\nand %d more", more)
	}
	return text
}

// Unwrap returns the errors of the rows that are named.
func (e *Skipped) Unwrap() []error { return e.named }
