package fault_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/fault"
)

// TestError checks what a fault carries and hides.
func TestError(t *testing.T) {
	refusal := fault.New(fault.Conflict, "busy", "Try later.")
	t.Run("CopiesDoNotShare", func(t *testing.T) { // faults are package variables: nobody may change them
		a := refusal.With("a", 1)
		b := a.With("b", 2)
		a = a.With("a", 3)
		if refusal.Details != nil || len(a.Details) != 1 || len(b.Details) != 2 || b.Details["a"] != 1 {
			t.Errorf("the details are %v, %v and %v", refusal.Details, a.Details, b.Details)
		}
		if c := refusal.After(time.Second); c.RetryAfter != time.Second || refusal.RetryAfter != 0 {
			t.Error("the waiting time is shared")
		}
	})
	t.Run("CauseIsHidden", func(t *testing.T) {
		cause := errors.New("password of the database")
		e := refusal.Because(cause)
		if strings.Contains(e.Error(), "password") || !errors.Is(e, cause) || refusal.Unwrap() != nil {
			t.Errorf("the fault says %q", e.Error())
		}
	})
	t.Run("SameCodeIsTheSame", func(t *testing.T) {
		wrapped := fmt.Errorf("while moving: %w", refusal.With("status", "queued"))
		if !errors.Is(wrapped, refusal) || errors.Is(wrapped, fault.BadRequest("x")) ||
			errors.Is(errors.New("busy"), refusal) {
			t.Error("faults are not told apart by their codes")
		}
	})
	t.Run("SharedCodeIsNotTheSame", func(t *testing.T) {
		keyNotFound := fault.Missing("key")
		copies := []*fault.Error{
			keyNotFound, keyNotFound.With("id", 1).With("hint", 2), keyNotFound.Because(errors.New("x")), keyNotFound.After(1),
		}
		for i, e := range copies {
			if !errors.Is(fmt.Errorf("x: %w", e), keyNotFound) || !errors.Is(keyNotFound, e) {
				t.Errorf("copy %d is not the refusal it was made of", i)
			}
			if userNotFound := fault.Missing("user"); errors.Is(e, userNotFound) || errors.Is(userNotFound, e) {
				t.Errorf("copy %d is a refusal of something else", i)
			}
		}
		if errors.Is(fault.InvalidField("a", "type", "x"), fault.InvalidField("b", "type", "x")) {
			t.Error("refusals of different fields are the same")
		}
	})
	t.Run("KindOf", func(t *testing.T) {
		if got := fault.KindOf(fmt.Errorf("x: %w", refusal)); got != fault.Conflict {
			t.Errorf("the kind is %d", got)
		}
		if got := fault.KindOf(errors.New("x")); got != fault.Internal {
			t.Errorf("an error that is no fault has the kind %d", got)
		}
	})
	t.Run("CodeOf", func(t *testing.T) {
		if got := fault.CodeOf(fmt.Errorf("x: %w", refusal)); got != "busy" {
			t.Errorf("the code is %q", got)
		}
		if got := fault.CodeOf(errors.New("x")) + fault.CodeOf(nil); got != "" {
			t.Errorf("an error that is no fault has the code %q", got)
		}
	})
}

func TestValidation(t *testing.T) {
	problem := func(field string) fault.Problem {
		return fault.Problem{Field: field, Code: "required", Message: "is required"}
	}
	t.Run("MessageNamesFieldsAndRules", func(t *testing.T) {
		e := fault.Validation(problem("a"), problem("b[1].c"))
		if e.Kind != fault.Invalid || e.Code != "validation-error" ||
			e.Message != "The request is not valid: a is required; b[1].c is required" {
			t.Errorf("the fault is %+v", e)
		}
	})
	t.Run("LongListsAreCutInTheMessageOnly", func(t *testing.T) {
		e := fault.Validation(problem("a"), problem("b"), problem("c"), problem("d"))
		if list, ok := e.Details["errors"].([]fault.Problem); !ok || len(list) != 4 ||
			!strings.HasSuffix(e.Message, "; and more") {
			t.Errorf("the fault is %+v", e)
		}
	})
}

// TestUnavailable checks that the caller learns when to retry, but not the cause.
func TestUnavailable(t *testing.T) {
	t.Run("RetryAfter", func(t *testing.T) {
		e := fault.UnavailableError(errors.New("dial tcp 10.0.0.1"))
		if e.Kind != fault.Unavailable || e.Code != "service-unavailable" || e.RetryAfter <= 0 ||
			strings.Contains(e.Error(), "10.0.0.1") {
			t.Errorf("the fault is %+v", e)
		}
	})
}
