package client

import "time"

// OrderStatus is the state of an order.
type OrderStatus string

// States of an order. Completed and error are final.
const (
	StatusQueued       OrderStatus = "queued"        // keep monitoring
	StatusProcessing   OrderStatus = "processing"    // keep monitoring
	StatusUpdatePhotos OrderStatus = "update-photos" // resolve every entry of [OrderDetail.PhotosToResubmit]
	StatusCompleted    OrderStatus = "completed"     // read the outcome
	StatusError        OrderStatus = "error"         // no outcome; contact support with id and order number
)

// Final reports whether the order can no longer change.
func (s OrderStatus) Final() bool { return s == StatusCompleted || s == StatusError }

// Outcome is the result of a completed order.
type Outcome string

// Outcomes.
const (
	OutcomeAuthentic      Outcome = "authentic"
	OutcomeFake           Outcome = "fake"
	OutcomeUnableToVerify Outcome = "unable-to-verify"
	OutcomeCanceled       Outcome = "canceled"
)

// MockOutcome selects the simulated state of a Test order.
type MockOutcome string

// Simulated states.
const (
	MockAuthentic      MockOutcome = "authentic"
	MockFake           MockOutcome = "fake"
	MockUnableToVerify MockOutcome = "unable-to-verify"
	MockUpdatePhotos   MockOutcome = "update-photos"
)

// OrderPhoto is a photo of a new order.
type OrderPhoto struct {
	URL       string `json:"url"` // from [UploadResult.URL], unchanged
	IndexCode string `json:"index_code"`
}

// CreateOrder is a new order: one item. Zero optional fields are not sent.
type CreateOrder struct {
	BrandCode    string       `json:"brand_code"`
	CategoryCode string       `json:"category_code"`
	Photos       []OrderPhoto `json:"photos"` // 1 to 75

	ModelCode   string      `json:"model_code,omitempty"`   // optional; of this brand and category
	ExternalID  string      `json:"external_id,omitempty"`  // optional; your reference, at most 100 characters
	AnswerTime  int         `json:"answer_time,omitempty"`  // optional; [AnswerTime.Code] of an available answer time
	MockOutcome MockOutcome `json:"mock_outcome,omitempty"` // required with a Test key, refused with a Live key
}

// CreatedOrder is the answer to a new order.
type CreatedOrder struct {
	ID          string      `json:"id"`
	ExternalID  *string     `json:"external_id"`
	OrderNumber *string     `json:"order_number"` // reference for support
	Status      OrderStatus `json:"status"`
	DueDate     *time.Time  `json:"due_date"`

	// Replayed reports whether the idempotency key was known: the order was created by an earlier request, and nothing
	// was charged for this one.
	Replayed bool `json:"-"`
}

func (o *CreatedOrder) missing() string { return firstMissing("id", o.ID, "status", string(o.Status)) }

// OrderListItem is an order in a list.
type OrderListItem struct {
	ID          string      `json:"id"`
	ExternalID  *string     `json:"external_id"`
	OrderNumber *string     `json:"order_number"`
	Status      OrderStatus `json:"status"`
	Outcome     *Outcome    `json:"outcome"`
	DueDate     *time.Time  `json:"due_date"`
	UpdatedAt   *time.Time  `json:"updated_at"`
}

// OrderDetail is the authoritative current state of an order.
type OrderDetail struct {
	ID             string         `json:"id"`
	Status         OrderStatus    `json:"status"`
	Outcome        *Outcome       `json:"outcome"`        // nil until assigned
	OutcomeLocale  *string        `json:"outcome_locale"` // label of the outcome
	Delayed        bool           `json:"delayed"`        // past its due date; informational only
	Classification Classification `json:"classification"`
	DueDate        *time.Time     `json:"due_date"`
	UpdatedAt      *time.Time     `json:"updated_at"`

	CertificateURL       *string           `json:"certificate_url,omitempty"`        // completed orders, when there is one
	OutcomeReasons       []string          `json:"outcome_reasons,omitempty"`        // outcome authentic or fake; English
	OutcomeReasonsLocale []string          `json:"outcome_reasons_locale,omitempty"` // in the order of OutcomeReasons
	OutcomeIndexes       []string          `json:"outcome_indexes,omitempty"`        // outcome fake: photo index codes
	PhotosToResubmit     []PhotoToResubmit `json:"photos_to_resubmit,omitempty"`     // while photos are requested
}

func (o *OrderDetail) missing() string { return firstMissing("id", o.ID, "status", string(o.Status)) }

// HasOutcome reports whether the order has the outcome o.
func (o *OrderDetail) HasOutcome(outcome Outcome) bool {
	return o.Outcome != nil && *o.Outcome == outcome
}

// Classification is how the item is classified in the catalog.
type Classification struct {
	BrandCode       *string `json:"brand_code"`
	CategoryCode    *string `json:"category_code"`
	ModelCode       *string `json:"model_code"`
	ModelName       *string `json:"model_name"`
	ModelNameLocale *string `json:"model_name_locale"`
}

// PhotoToResubmit is a photo that an order requests.
type PhotoToResubmit struct {
	IndexCode          string   `json:"index_code"`
	Name               string   `json:"name"`
	NameLocale         string   `json:"name_locale"`
	Condition          *string  `json:"condition"` // stable code, for example missing or unclear
	ConditionLocale    *string  `json:"condition_locale"`
	Requirements       []string `json:"requirements"`        // stable codes
	RequirementsLocale []string `json:"requirements_locale"` // in the order of Requirements
	Comment            *string  `json:"comment"`
	ReferencePhotoURL  *string  `json:"reference_photo_url"`
	MaxPhotos          int      `json:"max_photos"` // most photos to submit for this index
}

// firstMissing returns the first name whose value is empty; the arguments are pairs of name and value.
func firstMissing(pairs ...string) string {
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			return pairs[i]
		}
	}
	return ""
}
