package order

import (
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/domain/fault"
)

// Stage is a state that a developer can put a Test order into.
type Stage string

// The stages: the statuses and, for completed orders, the outcomes.
const (
	StageQueued         = Stage(Queued)
	StageProcessing     = Stage(Processing)
	StageUpdatePhotos   = Stage(UpdatePhotos)
	StageAuthentic      = Stage(Authentic)
	StageFake           = Stage(Fake)
	StageUnableToVerify = Stage(UnableToVerify)
	StageCanceled       = Stage(Canceled)
	StageError          = Stage(Failed)
)

// Stages lists the stages in the order of an order's life.
var Stages = []Stage{
	StageQueued, StageProcessing, StageUpdatePhotos, StageAuthentic, StageFake, StageUnableToVerify, StageCanceled, StageError,
}

// NotATestOrder is the refusal to rehearse with a Live order.
var NotATestOrder = fault.New(fault.Conflict, "not-a-test-order", "Only Test orders can be moved at will.")

// Words are the coded texts that a rehearsal is made of.
type Words interface {
	Texts
	Vocabulary
}

// Rehearse puts a Test order into a stage, whatever its state was, with a result as complete as a real one, or refuses and
// changes nothing. drafts are what a photo request asks for; without any it asks for what a simulated one does. They are
// for StageUpdatePhotos only. indexes are those of the order's catalog context; photos are all the order has.
func (o *Order) Rehearse(to Stage, drafts []RequestDraft, words Words, indexes []*catalog.PhotoIndex, photos []Photo, now time.Time) error {
	if o.Environment != access.Test {
		return NotATestOrder
	}
	next := *o
	next.reopen(now)
	switch to {
	case StageQueued:
		next.enter(Queued, now)
	case StageProcessing:
		next.enter(Processing, now)
	case StageUpdatePhotos:
		if len(drafts) == 0 {
			next.Simulate(MockUpdatePhotos, words, indexes, photos, now)
			break
		}
		next.enter(Processing, now)
		if err := next.Request(drafts, words, indexes, photos, now); err != nil {
			return err
		}
	case StageAuthentic, StageFake, StageUnableToVerify:
		next.Simulate(MockOutcome(to), words, indexes, photos, now)
	case StageCanceled:
		next.enter(Completed, now)
		next.Outcome = Canceled
	case StageError:
		next.enter(Failed, now)
	default:
		return fault.Validation(fault.Problem{Field: "stage", Code: "unknown_code", Message: "is not a state of an order"})
	}
	*o = next
	return nil
}

// reopen takes away what an end has left behind. The clock that a photo request has stopped for good goes on.
func (o *Order) reopen(now time.Time) {
	o.Outcome, o.CertificateID = "", ""
	o.Facts.Reasons, o.Facts.OutcomeIndexes = nil, nil
	if o.Status.Terminal() && o.DueAt == nil && o.TimeLeft != nil {
		o.DueAt, o.TimeLeft = ptr(now.Add(*o.TimeLeft)), nil
	}
}
