package order

import (
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
)

// Claimed is the refusal of a move on an order that another reviewer holds. Whoever returns it adds the assignee.
var Claimed = fault.New(fault.Conflict, "order-claimed", "Another reviewer has claimed the order.")

// CheckMove holds that a staff user may make a move of the desk: first that the order's state allows it, then that nobody
// else holds the order. An administrator may move what others hold, but not claim it: that is what reassigning is for.
//
// Test orders are simulated: the desk may look at them and never moves them.
func (o *Order) CheckMove(move Move, who *access.Staff) error {
	if o.Environment != access.Live {
		return fault.New(fault.Conflict, "invalid-transition", "A Test order is simulated: the desk cannot move it.").
			With("status", string(o.Status)).With("environment", string(o.Environment))
	}
	if move == Claim && o.Status == Processing && o.AssigneeID != who.ID {
		return Claimed
	}
	if _, err := Next(o.Status, move); err != nil {
		return err
	}
	if o.Status == Processing && o.AssigneeID != who.ID && who.Role != access.Admin {
		return Claimed
	}
	return nil
}

// HeldBy reports whether the staff user holds the order now.
func (o *Order) HeldBy(who *access.Staff) bool {
	return o.Status == Processing && o.AssigneeID == who.ID
}

// AssignTo puts the order into the hands of a staff user, whose time for it begins.
func (o *Order) AssignTo(staffID string, now time.Time) {
	o.AssigneeID = staffID
	o.ClaimedAt = ptr(now)
}
