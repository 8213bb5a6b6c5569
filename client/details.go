package client

import (
	"encoding/json"
	"errors"
	"time"
)

// ValidationProblem is one broken rule of one field of a request.
type ValidationProblem struct {
	Field   string `json:"field"` // path such as photos[3].url
	Code    string `json:"code"`
	Message string `json:"message"`
}

// AnswerTimeDetails belongs to [CodeAnswerTimeUnavailable].
type AnswerTimeDetails struct {
	AvailableAnswerTimes []int      `json:"available_answer_times"` // codes that can be used now
	NextAvailableAt      *time.Time `json:"next_available_at"`      // of the requested answer time; nil when unknown
}

// PhotoLimitDetails belongs to [CodePhotoLimitExceeded].
type PhotoLimitDetails struct {
	IndexCode      string `json:"index_code"`
	MaxPhotos      int    `json:"max_photos"`
	ReceivedPhotos int    `json:"received_photos"`
}

// RateLimitDetails belongs to [CodeRateLimitExceeded]. When the service's abuse protection refused the request, only
// RetryAfterSeconds is set.
type RateLimitDetails struct {
	Category          RateCategory `json:"category"`
	Limit             int          `json:"limit"`
	WindowSeconds     int          `json:"window_seconds"`
	RetryAfterSeconds int          `json:"retry_after_seconds"`
}

// RateCategory names the operations that share one quota.
type RateCategory string

// Categories of rate limits.
const (
	RateCatalog RateCategory = "catalog"
	RateRead    RateCategory = "read"
	RateCreate  RateCategory = "create"
	RateUpdate  RateCategory = "update"
	RateUpload  RateCategory = "upload"
	RateWebhook RateCategory = "webhook"
)

// DecodeDetails decodes the details into v, for codes and properties that the other methods do not cover.
func (e *Error) DecodeDetails(v any) error {
	if len(e.Details) == 0 {
		return errors.New("assay: the error has no details")
	}
	return json.Unmarshal(e.Details, v)
}

// detail returns one property of the details, or the zero value when it is absent or of another type.
func detail[T any](e *Error, name string) T {
	var properties map[string]json.RawMessage
	var value T
	if e.DecodeDetails(&properties) != nil || json.Unmarshal(properties[name], &value) != nil {
		var zero T
		return zero
	}
	return value
}

// details decodes the details of an error with the given code. It reports false for another code or a foreign form.
func details[T any](e *Error, code Code) (T, bool) {
	var value T
	if e.Code != code || e.DecodeDetails(&value) != nil {
		var zero T
		return zero, false
	}
	return value, true
}

// ValidationProblems lists what is wrong with a request refused with [CodeValidation].
func (e *Error) ValidationProblems() []ValidationProblem {
	return detail[[]ValidationProblem](e, "errors")
}

// OrderStatus is the status that an order has instead of queued, for [CodeOrderNotCancelable].
func (e *Error) OrderStatus() OrderStatus { return detail[OrderStatus](e, "status") }

// OldestCursor is the cursor that all events follow which are still kept, for [CodeCursorExpired].
func (e *Error) OldestCursor() string { return detail[string](e, "oldest_cursor") }

// MissingIndexCodes lists the photo indexes that lack a photo, for [CodeMissingRequiredPhotoIndexes] and
// [CodeMissingRequestedPhotoIndexes].
func (e *Error) MissingIndexCodes() []string { return detail[[]string](e, "missing_index_codes") }

// RequestedIndexCodes lists the photo indexes that the order asks for, for [CodePhotoIndexNotRequested].
func (e *Error) RequestedIndexCodes() []string { return detail[[]string](e, "requested_index_codes") }

// AllowedMockOutcomes lists the values a Test key can send, for [CodeMockOutcomeRequired]. It is empty for a Live key,
// which must send none.
func (e *Error) AllowedMockOutcomes() []MockOutcome {
	return detail[[]MockOutcome](e, "allowed_mock_outcomes")
}

// RequiredScope is the scope that the API key lacks, for [CodeForbidden].
func (e *Error) RequiredScope() string { return detail[string](e, "required_scope") }

// Address is where the service saw the request come from, for [CodeForbidden] of an API key that may not be used there.
func (e *Error) Address() string { return detail[string](e, "address") }

// ExpectedStatus is the status the order should have had, for [CodeOrderNotAwaitingUpdatePhotos].
func (e *Error) ExpectedStatus() OrderStatus { return detail[OrderStatus](e, "expected_status") }

// NotFoundEntity tells which catalog entity does not exist, for [CodeNotFound]: category, brand or model, and the code
// when the service names it. Both are empty when something else was not found.
func (e *Error) NotFoundEntity() (entity, code string) {
	return detail[string](e, "entity"), detail[string](e, "code")
}

// UnsafeURLReason tells why a webhook destination was refused, for [CodeUnsafeWebhookURL].
func (e *Error) UnsafeURLReason() string { return detail[string](e, "reason") }

// MaxBytes is the largest accepted file, for [CodeFileTooLarge].
func (e *Error) MaxBytes() int64 { return detail[int64](e, "max_bytes") }

// UploadResults lists the result for each file of an upload of which no file was stored. It is empty when the request
// was refused before its files were looked at.
func (e *Error) UploadResults() []UploadResult { return detail[[]UploadResult](e, "data") }

// AnswerTimeDetails returns the details of [CodeAnswerTimeUnavailable].
func (e *Error) AnswerTimeDetails() (AnswerTimeDetails, bool) {
	return details[AnswerTimeDetails](e, CodeAnswerTimeUnavailable)
}

// PhotoLimitDetails returns the details of [CodePhotoLimitExceeded].
func (e *Error) PhotoLimitDetails() (PhotoLimitDetails, bool) {
	return details[PhotoLimitDetails](e, CodePhotoLimitExceeded)
}

// RateLimitDetails returns the details of [CodeRateLimitExceeded].
func (e *Error) RateLimitDetails() (RateLimitDetails, bool) {
	return details[RateLimitDetails](e, CodeRateLimitExceeded)
}
