package order

import (
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/text"
)

// Status is where an order stands.
type Status string

// The statuses. Completed and Failed are terminal; Failed is "error" on the wire.
const (
	Queued       Status = "queued"
	Processing   Status = "processing"
	UpdatePhotos Status = "update-photos"
	Completed    Status = "completed"
	Failed       Status = "error"
)

// Statuses lists every status in the order of an order's life.
var Statuses = []Status{Queued, Processing, UpdatePhotos, Completed, Failed}

// Terminal reports whether nothing follows the status.
func (s Status) Terminal() bool { return s == Completed || s == Failed }

// Outcome is the verdict of a completed order.
type Outcome string

// The outcomes. Canceled ends an order without a judgement.
const (
	Authentic      Outcome = "authentic"
	Fake           Outcome = "fake"
	UnableToVerify Outcome = "unable-to-verify"
	Canceled       Outcome = "canceled"
)

// Outcomes lists every outcome.
var Outcomes = []Outcome{Authentic, Fake, UnableToVerify, Canceled}

var outcomeLabels = map[Outcome]text.Text{
	Authentic:      {EN: "Authentic", JA: "真正品"},
	Fake:           {EN: "Fake", JA: "偽造品"},
	UnableToVerify: {EN: "Unable to verify", JA: "判定不能"},
	Canceled:       {EN: "Canceled", JA: "キャンセル"},
}

// Label returns the display text of the outcome.
func (o Outcome) Label() text.Text { return outcomeLabels[o] }

// Move is something that happens to an order and changes its status.
type Move string

// The moves of a Live order. A Test order begins in the state its mock outcome names and may be put anywhere by its
// developer; the accepted submission is the same move in both environments.
const (
	Claim         Move = "claim"          // a reviewer takes the order
	Release       Move = "release"        // it goes back to the queue
	RequestPhotos Move = "request-photos" // the reviewer needs better photos
	SubmitPhotos  Move = "submit-photos"  // the integrator sends them
	Complete      Move = "complete"       // the verdict
	Fail          Move = "fail"           // it cannot be processed; refunded
	Cancel        Move = "cancel"         // it is called off; refunded
	Expire        Move = "expire"         // nobody answered the photo request
)

// Moves lists every move.
var Moves = []Move{Claim, Release, RequestPhotos, SubmitPhotos, Complete, Fail, Cancel, Expire}

// transitions is the whole state machine: what each move makes of each status. A pair that is not here is refused.
var transitions = map[Move]map[Status]Status{
	Claim:         {Queued: Processing},
	Release:       {Processing: Queued},
	RequestPhotos: {Processing: UpdatePhotos},
	SubmitPhotos:  {UpdatePhotos: Processing},
	Complete:      {Processing: Completed},
	Fail:          {Processing: Failed},
	Cancel:        {Queued: Completed, Processing: Completed, UpdatePhotos: Completed},
	Expire:        {UpdatePhotos: Completed},
}

// Next returns the status that the move leads to, or invalid-transition.
func Next(from Status, move Move) (Status, error) {
	to, ok := transitions[move][from]
	if !ok {
		return "", invalidTransition("An order in status "+string(from)+" does not allow the move "+string(move)+".", from)
	}
	return to, nil
}

func invalidTransition(message string, status Status) *fault.Error {
	return fault.New(fault.Conflict, "invalid-transition", message).With("status", string(status))
}

// notCancelable is the refusal of an API key that cancels an order which somebody works on, or which has ended.
func notCancelable(status Status) *fault.Error {
	return fault.New(fault.Conflict, "order-not-cancelable", "Only a queued order can be canceled.").
		With("status", string(status))
}

// NotFound is the refusal of an order that does not exist in the caller's account and environment.
var NotFound = fault.New(fault.NotFound, "order-not-found", "There is no such order for this API key.")

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

// ClaimFor takes the order out of the queue and gives it to a staff user.
func (o *Order) ClaimFor(staffID string, now time.Time) error {
	if err := o.Apply(Claim, now); err != nil {
		return err
	}
	o.AssignTo(staffID, now)
	return nil
}
