package housekeeping

import (
	"context"
	"fmt"
	"time"
)

const (
	// maxClockError is how far the clock may be off before nothing is expired or deleted by it.
	maxClockError = time.Hour

	// clockSettles is how long a clock has to run steadily after a jump before it is believed.
	clockSettles = time.Hour
)

// ClockGuard keeps a clock that is wrong from expiring and deleting what is not old. It compares the clock with the
// monotonic one, with that of the database, and at the start with the newest row.
type ClockGuard struct {
	Elapsed  func() time.Duration                     // of a clock that only runs forward
	Database func(context.Context) (time.Time, error) // nil: the database has no clock of its own
	Newest   func(context.Context) (time.Time, error) // the newest time in the database, zero: none

	begun  bool
	base   time.Time     // the clock when Elapsed was 0
	paused time.Duration // Elapsed until which the clock is not believed
	why    string
}

// Check returns why the clock is not to be believed now, or "". Without a guard it always is.
func (g *ClockGuard) Check(ctx context.Context, now time.Time) (string, error) {
	if g == nil {
		return "", nil
	}
	elapsed := g.Elapsed()
	base := now.Round(0).Add(-elapsed) // without the reading of the other clock
	switch {
	case !g.begun:
		newest, err := g.Newest(ctx)
		if err != nil {
			return "", err
		}
		g.begun = true
		if off := now.Sub(newest); !newest.IsZero() && off.Abs() > maxClockError {
			g.distrust(elapsed, fmt.Sprintf("it is %s and the newest row is of %s: the clock is wrong, or nothing ran meanwhile",
				now.UTC().Format(time.RFC3339), newest.UTC().Format(time.RFC3339)))
		}
	case base.Sub(g.base).Abs() > maxClockError:
		g.distrust(elapsed, fmt.Sprintf("the clock has jumped by %s to %s", base.Sub(g.base).Round(time.Second),
			now.UTC().Format(time.RFC3339)))
	default:
		base = g.base // so that small steps add up
	}
	g.base = base
	if g.Database != nil {
		theirs, err := g.Database(ctx)
		if err != nil {
			return "", err
		}
		if off := now.Sub(theirs); off.Abs() > maxClockError {
			return fmt.Sprintf("the clock is off that of the database by %s", off.Round(time.Second)), nil
		}
	}
	if elapsed < g.paused {
		return g.why, nil
	}
	return "", nil
}

func (g *ClockGuard) distrust(elapsed time.Duration, why string) {
	g.paused, g.why = elapsed+clockSettles, why
}
