// Package fault defines the error type of all layers: a kind (what the caller can do about it), a stable code, a
// message and details that are safe to show, and a cause that is only logged.
//
// Use cases return faults; the HTTP layer maps a kind to a status. Any other error is a bug or a failed dependency
// and becomes an opaque internal error.
package fault

import (
	"errors"
	"maps"
	"time"
)

// Kind says what went wrong in terms of what the caller can do.
type Kind uint8

// The kinds. Their HTTP statuses live in package httpx.
const (
	Internal Kind = iota
	Invalid
	Unauthorized
	PaymentRequired
	Forbidden
	NotFound
	Conflict
	Gone
	TooLarge
	RateLimited
	Unavailable
)

// Error is an error with everything that the caller may see, and a hidden cause.
type Error struct {
	Kind       Kind
	Code       string
	Message    string
	Details    map[string]any
	RetryAfter time.Duration // zero: not sent
	cause      error
}

// New returns a fault without details.
func New(kind Kind, code, message string) *Error {
	return &Error{Kind: kind, Code: code, Message: message}
}

// With returns a copy that also carries one detail.
func (e *Error) With(key string, value any) *Error {
	c := *e
	c.Details = maps.Clone(e.Details)
	if c.Details == nil {
		c.Details = make(map[string]any, 1)
	}
	c.Details[key] = value
	return &c
}

// Because returns a copy with a cause for the log; the cause is never shown to the caller.
func (e *Error) Because(cause error) *Error {
	c := *e
	c.cause = cause
	return &c
}

// After returns a copy that tells the caller when to retry.
func (e *Error) After(d time.Duration) *Error {
	c := *e
	c.RetryAfter = d
	return &c
}

// Error returns the code and the safe message; the cause is available through Unwrap.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Unwrap returns the hidden cause.
func (e *Error) Unwrap() error { return e.cause }

// Is compares codes, so that a sentinel matches its copies with details.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// KindOf returns the kind of the fault in err; Internal if there is none.
func KindOf(err error) Kind {
	if f, ok := errors.AsType[*Error](err); ok {
		return f.Kind
	}
	return Internal
}

// CodeOf returns the code of the fault inside err, or "" when there is none.
func CodeOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}
