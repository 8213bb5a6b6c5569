// Package fault defines the error type of all layers: a kind (what the caller can do about it), a stable code, a
// message and details that are safe to show, and a cause that is only logged.
//
// Use cases return faults; the HTTP layer maps a kind to a status. Any other error is a bug or a failed dependency
// and becomes an opaque internal error.
package fault

import (
	"errors"
	"maps"
	"slices"
	"strings"
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
	Incomplete // the request did not arrive whole, and may if it is sent again
)

// Error is an error with everything that the caller may see, and a hidden cause.
type Error struct {
	Kind       Kind
	Code       string
	Message    string
	Details    map[string]any
	RetryAfter time.Duration // zero: not sent
	cause      error
	root       *Error // that New returned, of a copy
}

// New returns a fault without details.
func New(kind Kind, code, message string) *Error {
	return &Error{Kind: kind, Code: code, Message: message}
}

// With returns a copy that also carries one detail.
func (e *Error) With(key string, value any) *Error {
	c := e.copy()
	c.Details = maps.Clone(e.Details)
	if c.Details == nil {
		c.Details = make(map[string]any, 1)
	}
	c.Details[key] = value
	return c
}

// Because returns a copy with a cause for the log; the cause is never shown to the caller.
func (e *Error) Because(cause error) *Error {
	c := e.copy()
	c.cause = cause
	return c
}

// After returns a copy that tells the caller when to retry.
func (e *Error) After(d time.Duration) *Error {
	c := e.copy()
	c.RetryAfter = d
	return c
}

// copy returns a copy that Is the same fault.
func (e *Error) copy() *Error {
	c := *e
	c.root = e.origin()
	return &c
}

func (e *Error) origin() *Error {
	if e.root != nil {
		return e.root
	}
	return e
}

// Error returns the code and the safe message; the cause is available through Unwrap.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Unwrap returns the hidden cause.
func (e *Error) Unwrap() error { return e.cause }

// Is reports whether two faults are the same refusal, so that a sentinel matches its copies with details. A code of its
// own says that; a code that many refusals share does not, and there both must be copies of the same fault.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	if !ok || t.Code != e.Code {
		return false
	}
	return !slices.Contains(sharedCodes, e.Code) || t.origin() == e.origin()
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

const retryUnavailable = 5 * time.Second

// Codes used by more than one package. Other codes are defined in the package of their noun.
const (
	CodeValidation  = "validation-error"
	CodeBadRequest  = "bad-request"
	CodeNotFound    = "not-found"
	CodeRateLimited = "rate-limit-exceeded"
	CodeInternal    = "internal-error"
	CodeUnavailable = "service-unavailable"
)

var sharedCodes = []string{
	CodeValidation, CodeBadRequest, CodeNotFound, CodeRateLimited, CodeInternal, CodeUnavailable,
}

// Problem is one broken rule of one field of a request.
type Problem struct {
	Field   string `json:"field"`   // a path such as photos[3].url
	Code    string `json:"code"`    // stable, for example required, type, max_length
	Message string `json:"message"` // describes the rule
}

// Validation returns the fault for one or more problems of a request's shape.
func Validation(problems ...Problem) *Error {
	var told []string
	for _, p := range problems[:min(3, len(problems))] {
		told = append(told, p.Field+" "+p.Message)
	}
	if len(problems) > len(told) {
		told = append(told, "and more")
	}
	message := "The request is not valid: " + strings.Join(told, "; ")
	return New(Invalid, CodeValidation, message).With("errors", problems)
}

// ProblemsOf returns the problems of a fault that Validation made; nil for other errors.
func ProblemsOf(err error) []Problem {
	f, ok := errors.AsType[*Error](err)
	if !ok {
		return nil
	}
	problems, _ := f.Details["errors"].([]Problem)
	return problems
}

// BadRequest returns the fault for a malformed request or a broken general rule.
func BadRequest(message string) *Error { return New(Invalid, CodeBadRequest, message) }

// UnavailableError returns the fault for a dependency (database, media store) that cannot be reached now.
func UnavailableError(cause error) *Error {
	e := New(Unavailable, CodeUnavailable, "The service is temporarily unavailable. Try again shortly.").Because(cause)
	e.RetryAfter = retryUnavailable
	return e
}

// Problems collects the broken rules of a request, so that the caller is told all of them at once.
type Problems []Problem

// Add notes a broken rule of a field.
func (p *Problems) Add(field, code, message string) {
	*p = append(*p, Problem{Field: field, Code: code, Message: message})
}

// Err returns the refusal of the request, or nil when no rule is broken.
func (p Problems) Err() error {
	if len(p) == 0 {
		return nil
	}
	return Validation(p...)
}

// InvalidField is the refusal of a request for one broken rule of one field.
func InvalidField(field, code, message string) *Error {
	return Validation(Problem{Field: field, Code: code, Message: message})
}

// Missing is the refusal of an id of something that does not exist for the caller.
func Missing(entity string) *Error {
	return New(NotFound, CodeNotFound, "There is no such "+entity+".").With("entity", entity)
}
