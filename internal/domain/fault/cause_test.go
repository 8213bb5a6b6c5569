package fault_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/assayhq/assay/internal/domain/fault"
)

// TestCause checks that the log is told of what is hidden, wherever in an error that is, and of nothing twice.
func TestCause(t *testing.T) {
	gone, full := fault.UnavailableError(errors.New("dial tcp: refused")), fault.UnavailableError(errors.New("disk full"))
	skipped := new(fault.Skipped)
	skipped.Add(fmt.Errorf("order 1: %w", gone))
	var none *fault.Error
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"Nothing":       {nil, ""},
		"NoFault":       {fmt.Errorf("x: %w", errors.New("y")), ""},
		"NothingHidden": {fault.BadRequest("x"), ""},
		"NilFault":      {none, ""},
		"Hidden":        {gone, "dial tcp: refused"},
		"Wrapped":       {fmt.Errorf("y: %w", fmt.Errorf("x: %w", gone)), "dial tcp: refused"},
		"Joined": {
			errors.Join(fmt.Errorf("x: %w", gone), errors.New("y"), fmt.Errorf("z: %w", gone), full),
			"dial tcp: refused; disk full",
		},
		"InTheCause": {full.Because(fmt.Errorf("x: %w", gone)), "x: " + gone.Error() + "; dial tcp: refused"},
		"Told":       {skipped, ""},
		"TwoOfMany":  {fmt.Errorf("%w, and %w", errors.New("x"), gone), "dial tcp: refused"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := fault.Cause(c.err); got != c.want {
				t.Errorf("the cause is %q, want %q", got, c.want)
			}
		})
	}
}
