package fault

import (
	"slices"
	"strings"
)

// Cause returns what the faults in an error hide, however it wraps and joins them, for the log: each cause once, and
// none that the error tells itself. It is empty where nothing is hidden.
func Cause(err error) string {
	var causes []string
	eachCause(err, func(cause error) {
		text := cause.Error()
		if !slices.Contains(causes, text) && !strings.Contains(err.Error(), text) {
			causes = append(causes, text)
		}
	})
	return strings.Join(causes, "; ")
}

func eachCause(err error, f func(error)) {
	switch e := err.(type) { //nolint:errorlint // every error of the tree gets here
	case *Error:
		if e != nil && e.cause != nil {
			f(e.cause)
			eachCause(e.cause, f)
		}
	case interface{ Unwrap() error }:
		eachCause(e.Unwrap(), f)
	case interface{ Unwrap() []error }:
		for _, err := range e.Unwrap() {
			eachCause(err, f)
		}
	}
}
