package order

import (
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
)

// Claimed is the refusal of a move on an order that another reviewer holds. Whoever returns it adds the assignee.
var Claimed = fault.New(fault.Conflict, "order-claimed", "Another reviewer has claimed the order.")

// CheckMove checks that the actor may make the move now: first that the order's state allows it, then that nobody else
// holds the order. An administrator may move what others hold, but not claim it: that is what reassigning is for.
//
// Test orders are simulated: staff may look at them and never move them. Account users and keys cancel only what is
// queued.
func (o *Order) CheckMove(move Move, actor access.Actor) error {
	switch actor.Kind {
	case access.ByUser:
		if move == Cancel && o.Status != Queued {
			return invalidTransition("Only a queued order can be canceled.", o.Status)
		}
	case access.ByStaff:
		return o.checkStaffMove(move, actor)
	case access.ByAPIKey:
		if move == Cancel && o.Status != Queued {
			return notCancelable(o.Status)
		}
	case access.ByOperator, access.BySystem:
	}
	_, err := Next(o.Status, move)
	return err
}

func (o *Order) checkStaffMove(move Move, actor access.Actor) error {
	if o.Environment != access.Live {
		return invalidTransition("A Test order is simulated: the desk cannot move it.", o.Status).
			With("environment", string(o.Environment))
	}
	held := o.Status == Processing && o.AssigneeID != actor.ID
	if move == Claim && held {
		return Claimed
	}
	if _, err := Next(o.Status, move); err != nil {
		return err
	}
	if held && actor.StaffRole != access.Admin {
		return Claimed
	}
	return nil
}

// HeldBy reports whether the actor is the staff user who holds the order now.
func (o *Order) HeldBy(actor access.Actor) bool {
	return actor.Kind == access.ByStaff && o.Status == Processing && o.AssigneeID == actor.ID
}

// AssignTo gives the order to a staff user, whose claim begins now.
func (o *Order) AssignTo(staffID string, now time.Time) {
	o.AssigneeID = staffID
	o.ClaimedAt = new(now)
}
