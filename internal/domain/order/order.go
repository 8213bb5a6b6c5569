// Package order holds the rules of an order: its states and moves, what a creation and a photo submission must
// satisfy, the simulated results of Test orders, and what a customer sees of it.
package order

import (
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/text"
)

// Order is one item to authenticate.
type Order struct {
	ID          string
	AccountID   string
	Environment access.Environment
	APIKeyID    string // the key that created it: its webhook endpoints get the events
	Seq         int64  // dense within account and environment
	Number      string
	ExternalID  *string

	Status  Status
	Outcome Outcome // empty until completed

	AnswerTime int
	Price      int64
	DueAt      *time.Time     // nil while the clock is paused
	TimeLeft   *time.Duration // while photos are requested: what the clock had left
	CreatedAt  time.Time
	UpdatedAt  time.Time
	EndedAt    *time.Time
	Round      int // photo requests so far
	AssigneeID string
	ClaimedAt  *time.Time // last activity of the assignee
	MarkedLate bool       // a developer marked the Test order as late

	CertificateID string // unguessable; only of authentic orders
	Recorded
}

// Recorded is what the customer sees beyond the columns that are searched: kept with the order in every language, so
// that the detail is one read and a later catalog does not change a past verdict.
type Recorded struct {
	Classification Classification `json:"classification"`
	Reasons        []CodedText    `json:"reasons,omitempty"`
	OutcomeIndexes []string       `json:"outcome_indexes,omitempty"`
	Requested      []PhotoRequest `json:"requested,omitempty"` // while photos are requested
}

// Classification says what the item is.
type Classification struct {
	CategoryCode string     `json:"category_code"`
	CategoryName text.Text  `json:"category_name"`
	BrandCode    string     `json:"brand_code"`
	BrandName    text.Text  `json:"brand_name"`
	ModelCode    string     `json:"model_code,omitempty"`
	ModelName    *text.Text `json:"model_name,omitempty"`
}

// CodedText is a catalog text with the code it came from. A reason in a reviewer's own words has no code.
type CodedText struct {
	Code string    `json:"code,omitempty"`
	Text text.Text `json:"text"`
}

// PhotoRequest asks for photos of one index.
type PhotoRequest struct {
	IndexCode         string      `json:"index_code"`
	Name              text.Text   `json:"name"`
	Condition         *CodedText  `json:"condition,omitempty"`
	Requirements      []CodedText `json:"requirements,omitempty"`
	Comment           string      `json:"comment,omitempty"`
	ReferencePhotoURL string      `json:"reference_photo_url,omitempty"`
	MaxPhotos         int         `json:"max_photos"`
}

// Photo is a photo of an order in one round: 0 at creation, then the number of the photo request it answers.
type Photo struct {
	Name      string // managed name of the stored file; empty when the index could not be provided
	IndexCode string
	Round     int
}

// Tenant returns whose order it is.
func (o *Order) Tenant() access.Tenant {
	return access.Tenant{AccountID: o.AccountID, Environment: o.Environment}
}

// IsDelayed reports whether the order is past its due date now, or was when it ended.
func (o *Order) IsDelayed(now time.Time) bool {
	if o.EndedAt != nil {
		now = *o.EndedAt
	}
	switch {
	case o.MarkedLate:
		return true
	case o.DueAt != nil:
		return now.After(*o.DueAt)
	case o.TimeLeft != nil:
		return *o.TimeLeft < 0
	}
	return false
}

// Apply makes the move, or returns invalid-transition and leaves the order as it is. It keeps the clock, the round
// and the end; what a verdict or request says is set by the caller.
func (o *Order) Apply(move Move, now time.Time) error {
	to, err := Next(o.Status, move)
	if err != nil {
		return err
	}
	o.enter(to, now)
	return nil
}

// enter puts the order into a status and keeps what follows from it.
func (o *Order) enter(to Status, now time.Time) {
	if o.Status == UpdatePhotos && to != UpdatePhotos {
		o.Requested = nil
		if !to.Terminal() && o.TimeLeft != nil {
			o.DueAt = new(now.Add(*o.TimeLeft))
			o.TimeLeft = nil
		}
	}
	if to == UpdatePhotos {
		o.Round++
		if o.Status != UpdatePhotos && o.DueAt != nil { // the clock stops
			o.TimeLeft, o.DueAt = new(o.DueAt.Sub(now)), nil
		}
	}
	if to == Queued {
		o.AssigneeID, o.ClaimedAt = "", nil
	}
	o.EndedAt = nil
	if to.Terminal() {
		o.EndedAt = new(now)
	}
	o.Status = to
	o.UpdatedAt = now
}
