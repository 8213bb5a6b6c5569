package fault

import (
	"errors"
	"strings"
	"time"
)

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

// Problem is one broken rule of one field of a request.
type Problem struct {
	Field   string `json:"field"`   // a path such as photos[3].url
	Code    string `json:"code"`    // stable, for example required, type, max_length
	Message string `json:"message"` // describes the rule
}

// Validation returns the fault for one or more problems of a request's shape.
func Validation(problems ...Problem) *Error {
	var b strings.Builder
	b.WriteString("The request is not valid: ")
	for i, p := range problems {
		if i == 3 {
			b.WriteString("; and more")
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(p.Field + " " + p.Message)
	}
	return New(Invalid, CodeValidation, b.String()).With("errors", problems)
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
