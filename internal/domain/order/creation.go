package order

import (
	"fmt"
	"slices"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/domain/enum"
	"github.com/assayhq/assay/internal/domain/fault"
)

// Limits of a creation and of a submission.
const (
	MaxPhotos     = 75
	MaxExternalID = 100
	MaxNote       = 1000
)

// IdempotencyWindow is how long the idempotency key of a creation stands for its first answer.
const IdempotencyWindow = 24 * time.Hour

// Draft is an order that an integrator asks for; its shape has been checked.
type Draft struct {
	CategoryCode string
	BrandCode    string
	ModelCode    string // empty: none
	ExternalID   *string
	AnswerTime   int // 0: omitted
	Photos       []DraftPhoto
	Mock         MockOutcome // empty: omitted, or not one of the values
	MockGiven    bool        // the property was there, whatever it held
}

// DraftPhoto is a photo of a draft: a URL that has still to prove to be managed.
type DraftPhoto struct {
	URL       string
	IndexCode string
}

// MockOutcome is the state that a Test order takes at once.
type MockOutcome string

// The mock outcomes.
const (
	MockAuthentic      = MockOutcome(Authentic)
	MockFake           = MockOutcome(Fake)
	MockUnableToVerify = MockOutcome(UnableToVerify)
	MockUpdatePhotos   = MockOutcome(UpdatePhotos)
)

// MockOutcomes lists the mock outcomes.
var MockOutcomes = []MockOutcome{MockAuthentic, MockFake, MockUnableToVerify, MockUpdatePhotos}

// ParseMockOutcome returns the mock outcome named by s.
func ParseMockOutcome(s string) (MockOutcome, bool) { return enum.Parse(s, MockOutcomes) }

// CheckMock checks that a Test key names its outcome and a Live key does not.
func (d *Draft) CheckMock(env access.Environment) error {
	switch {
	case env == access.Test && d.Mock == "":
		return mockRequired("A Test key must send mock_outcome with one of the allowed values.", MockOutcomes)
	case env == access.Live && d.MockGiven:
		return mockRequired("A Live key must not send mock_outcome.", []MockOutcome{})
	}
	return nil
}

func mockRequired(message string, allowed []MockOutcome) error {
	return fault.New(fault.Invalid, "mock-outcome-required", message).With("allowed_mock_outcomes", allowed)
}

// CheckPhotos checks that the order has photos, and not too many.
func (d *Draft) CheckPhotos() error {
	if n := len(d.Photos); n == 0 || n > MaxPhotos {
		return fault.Validation(wrongCount)
	}
	return nil
}

// wrongCount is what is wrong with a list of photos, or of photos to ask for, that is empty or too long.
var wrongCount = fault.Problem{
	Field: "photos", Code: "items", Message: fmt.Sprintf("must have 1 to %d items", MaxPhotos),
}

// CheckIndexes checks that every photo names an index of the catalog context.
func (d *Draft) CheckIndexes(indexes []*catalog.PhotoIndex) error {
	for i, p := range d.Photos {
		if findIndex(indexes, p.IndexCode) == nil {
			code := catalog.ClippedCode(p.IndexCode)
			return fault.New(fault.Invalid, "photo-index-not-found",
				"The photo index "+code+" does not exist for this category, brand and model.").
				With("field", fmt.Sprintf("photos[%d].index_code", i)).With("index_code", code)
		}
	}
	return nil
}

// CheckCounts checks that every required index has a photo, and then that no index has more than its limit.
func (d *Draft) CheckCounts(indexes []*catalog.PhotoIndex) error {
	received := make(map[string]int, len(indexes))
	for _, p := range d.Photos {
		received[p.IndexCode]++
	}
	var missing []string
	for _, x := range indexes {
		if x.Required && received[x.Code] == 0 {
			missing = append(missing, x.Code)
		}
	}
	if missing != nil {
		return fault.New(fault.Invalid, "missing-required-photo-indexes",
			"Required photo indexes have no photo.").With(MissingIndexCodes, missing)
	}
	for _, x := range indexes {
		if n := received[x.Code]; n > x.PhotoLimit {
			return limitExceeded(x.Code, x.PhotoLimit, n)
		}
	}
	return nil
}

func limitExceeded(code string, limit, received int) error {
	return fault.New(fault.Invalid, "photo-limit-exceeded",
		fmt.Sprintf("The photo index %s takes at most %d photos, %d were sent.", code, limit, received)).
		With("index_code", code).With("max_photos", limit).With("received_photos", received)
}

func findIndex(indexes []*catalog.PhotoIndex, code string) *catalog.PhotoIndex {
	if i := slices.IndexFunc(indexes, func(x *catalog.PhotoIndex) bool { return x.Code == code }); i >= 0 {
		return indexes[i]
	}
	return nil
}
