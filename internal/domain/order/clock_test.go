package order_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/assayhq/assay/internal/domain/order"
)

var noon = time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC)

func newOrder() *order.Order {
	due := noon.Add(time.Hour)
	return &order.Order{Status: order.Queued, DueAt: &due, CreatedAt: noon, UpdatedAt: noon}
}

func apply(t *testing.T, o *order.Order, move order.Move, at time.Time) {
	t.Helper()
	if err := o.Apply(move, at); err != nil {
		t.Fatal(err)
	}
}

// TestApply follows what moves do to an order beside its status.
func TestApply(t *testing.T) {
	t.Run("RefusedMoveChangesNothing", func(t *testing.T) {
		o := newOrder()
		before := *o
		if err := o.Apply(order.Complete, noon.Add(time.Hour)); err == nil {
			t.Fatal("a queued order was completed")
		}
		if o.Status != before.Status || !o.UpdatedAt.Equal(before.UpdatedAt) || o.DueAt != before.DueAt || o.EndedAt != nil {
			t.Errorf("the order became %+v", o)
		}
	})
	t.Run("ClockStopsAndGoesOn", func(t *testing.T) {
		o := newOrder()
		apply(t, o, order.Claim, noon.Add(10*time.Minute))
		apply(t, o, order.RequestPhotos, noon.Add(20*time.Minute))
		if o.DueAt != nil || o.TimeLeft == nil || *o.TimeLeft != 40*time.Minute || o.Round != 1 {
			t.Fatalf("the clock did not stop: %+v", o)
		}
		apply(t, o, order.SubmitPhotos, noon.Add(5*time.Hour))
		if o.DueAt == nil || !o.DueAt.Equal(noon.Add(5*time.Hour+40*time.Minute)) || o.TimeLeft != nil {
			t.Fatalf("the clock did not go on: %+v", o)
		}
	})
	t.Run("OverdueStaysOverdue", func(t *testing.T) {
		o := newOrder()
		apply(t, o, order.Claim, noon)
		apply(t, o, order.RequestPhotos, noon.Add(90*time.Minute))
		if !o.IsDelayed(noon) {
			t.Error("an order whose time is over is not delayed while it waits")
		}
		apply(t, o, order.SubmitPhotos, noon.Add(5*time.Hour))
		if !o.DueAt.Equal(noon.Add(4*time.Hour+30*time.Minute)) || !o.IsDelayed(noon.Add(5*time.Hour)) {
			t.Errorf("the order is due at %v", o.DueAt)
		}
	})
	t.Run("RequestsGoWithTheAnswer", func(t *testing.T) {
		o := newOrder()
		apply(t, o, order.Claim, noon)
		apply(t, o, order.RequestPhotos, noon)
		o.Requested = []order.PhotoRequest{{IndexCode: "overall", MaxPhotos: 1}}
		apply(t, o, order.SubmitPhotos, noon)
		if o.Requested != nil {
			t.Error("the order still asks for photos")
		}
	})
	t.Run("ReleaseTakesTheAssignee", func(t *testing.T) {
		o := newOrder()
		apply(t, o, order.Claim, noon)
		o.AssignTo("someone", noon)
		apply(t, o, order.Release, noon)
		if o.AssigneeID != "" || o.ClaimedAt != nil {
			t.Errorf("a queued order is held by %q", o.AssigneeID)
		}
	})
	t.Run("EndIsKept", func(t *testing.T) {
		for _, move := range []order.Move{order.Complete, order.Fail, order.Cancel} {
			o := newOrder()
			apply(t, o, order.Claim, noon)
			apply(t, o, move, noon.Add(time.Hour))
			if o.EndedAt == nil || !o.EndedAt.Equal(noon.Add(time.Hour)) || !o.UpdatedAt.Equal(noon.Add(time.Hour)) {
				t.Errorf("%s ended the order at %v", move, o.EndedAt)
			}
		}
	})
}

// TestIsDelayed holds when an order is late.
func TestIsDelayed(t *testing.T) {
	finished := func(at time.Duration) *order.Order {
		o := newOrder()
		apply(t, o, order.Claim, noon)
		apply(t, o, order.Complete, noon.Add(at))
		return o
	}
	stopped := func(at time.Duration) *order.Order {
		o := newOrder()
		apply(t, o, order.Claim, noon)
		apply(t, o, order.RequestPhotos, noon.Add(at))
		return o
	}
	marked := newOrder()
	marked.MarkedLate = true
	canceled := stopped(90 * time.Minute)
	apply(t, canceled, order.Cancel, noon.Add(5*time.Hour))
	for _, late := range []struct {
		name  string
		order *order.Order
		at    time.Duration
		want  bool
	}{
		{name: "InTime", order: newOrder(), at: 59 * time.Minute},
		{name: "AtTheDueDate", order: newOrder(), at: 60 * time.Minute},
		{name: "Late", order: newOrder(), at: 60*time.Minute + time.Nanosecond, want: true},
		{name: "CompletedInTime", order: finished(60 * time.Minute), at: 24 * time.Hour},
		{name: "CompletedLate", order: finished(61 * time.Minute), at: 24 * time.Hour, want: true},
		{name: "StoppedInTime", order: stopped(59 * time.Minute), at: 24 * time.Hour},
		{name: "StoppedLate", order: stopped(61 * time.Minute), at: 24 * time.Hour, want: true},
		{name: "CanceledWhileStopped", order: canceled, at: 24 * time.Hour, want: true},
		{name: "MarkedByItsDeveloper", order: marked, at: 0, want: true},
	} {
		t.Run(late.name, func(t *testing.T) {
			if got := late.order.IsDelayed(noon.Add(late.at)); got != late.want {
				t.Errorf("delayed is %v", got)
			}
		})
	}
}

// TestClock_Model moves an order at random and compares its clock with the sum of the times it ran.
func TestClock_Model(t *testing.T) {
	t.Run("Random", func(t *testing.T) {
		rapid.Check(t, func(rt *rapid.T) {
			o, now, left, rounds := newOrder(), noon, time.Hour, 0
			for range rapid.IntRange(1, 40).Draw(rt, "moves") {
				wait := time.Duration(rapid.IntRange(0, 30).Draw(rt, "minutes")) * time.Minute
				now = now.Add(wait)
				if o.Status != order.UpdatePhotos && !o.Status.Terminal() {
					left -= wait
				}
				move := rapid.SampledFrom(order.Moves).Draw(rt, "move")
				want, before := machine[move][o.Status], o.Status
				if err := o.Apply(move, now); (err == nil) != (want != "") || err == nil && o.Status != want {
					rt.Fatalf("%s brought %s to %s: %v", move, before, o.Status, err)
				}
				if want == order.UpdatePhotos {
					rounds++
				}
				switch {
				case o.Round != rounds:
					rt.Fatalf("round %d, not %d", o.Round, rounds)
				case o.Status.Terminal() != (o.EndedAt != nil):
					rt.Fatalf("%s and ended at %v", o.Status, o.EndedAt)
				case o.Status == order.UpdatePhotos && (o.DueAt != nil || *o.TimeLeft != left):
					rt.Fatalf("stopped with %v left, not %v", o.TimeLeft, left)
				case o.Status != order.UpdatePhotos && !o.Status.Terminal() && !o.DueAt.Equal(now.Add(left)):
					rt.Fatalf("due at %v, not %v", o.DueAt, now.Add(left))
				case !o.Status.Terminal() && o.IsDelayed(now) != (left < 0):
					rt.Fatalf("delayed is %v with %v left", o.IsDelayed(now), left)
				}
			}
		})
	})
}
