package client

// Code is the stable, case-sensitive code of an error. The service may add codes; treat an unknown one by its HTTP
// status.
type Code string

// Codes of any operation.
const (
	CodeValidation         Code = "validation-error"    // 400; see [Error.ValidationProblems]
	CodeBadRequest         Code = "bad-request"         // 400; malformed, or a general rule is broken
	CodeUnauthorized       Code = "unauthorized"        // 401; missing, unknown, revoked or expired key
	CodeForbidden          Code = "forbidden"           // 403; see [Error.RequiredScope] and [Error.Address]
	CodeNotFound           Code = "not-found"           // 404; route, catalog entity ([Error.NotFoundEntity]) or webhook
	CodeRateLimitExceeded  Code = "rate-limit-exceeded" // 429; see [Error.RetryAfter] and [Error.RateLimitDetails]
	CodeInternalError      Code = "internal-error"      // 500
	CodeServiceUnavailable Code = "service-unavailable" // 503; see [Error.RetryAfter]
)

// Codes of orders.
const (
	CodeAnswerTimeUnavailable       Code = "answer-time-unavailable"        // 400; see [Error.AnswerTimeDetails]
	CodeMockOutcomeRequired         Code = "mock-outcome-required"          // 400; see [Error.AllowedMockOutcomes]
	CodePhotoIndexNotFound          Code = "photo-index-not-found"          // 400
	CodeMissingRequiredPhotoIndexes Code = "missing-required-photo-indexes" // 400; see [Error.MissingIndexCodes]
	CodePhotoLimitExceeded          Code = "photo-limit-exceeded"           // 400; see [Error.PhotoLimitDetails]
	CodeUnsupportedPhotoURL         Code = "unsupported-photo-url"          // 400; not a URL from photo upload
	CodeNotEnoughCredits            Code = "not-enough-credits"             // 402
	CodeOrderNotFound               Code = "order-not-found"                // 404
	CodeOrderNotCancelable          Code = "order-not-cancelable"           // 409; see [Error.OrderStatus]
	CodeNotATestOrder               Code = "not-a-test-order"               // 409; only Test orders are simulated
	CodeRequestInProgress           Code = "request-in-progress"            // 409; same idempotency key still running
)

// Codes of photo upload, of the request as a whole and of single results.
const (
	CodePhotoUploadLimitExceeded Code = "photo-upload-limit-exceeded" // 400; more than 10 files
	CodeEmptyPhotoFile           Code = "empty-photo-file"            // 400
	CodeInvalidFileType          Code = "INVALID_FILE_TYPE"           // 400
	CodeResolutionTooLarge       Code = "RESOLUTION_TOO_LARGE"        // 400
	CodeResolutionMissing        Code = "RESOLUTION_MISSING"          // 400
	CodeFileTooLarge             Code = "FILE_TOO_LARGE"              // 413; see [Error.MaxBytes]
	CodeStorageLimitReached      Code = "storage-limit-reached"       // 409; the operator's limit for the account
	CodeCaptureLinkLimitReached  Code = "capture-link-limit-reached"  // 409; 1,000 open links for each account
)

// Codes of photo updates.
const (
	CodeOrderNotAwaitingUpdatePhotos Code = "order-not-awaiting-update-photos" // 409; see [Error.ExpectedStatus]
	CodeInvalidUpdatePhoto           Code = "invalid-update-photo"             // 400
	CodePhotoIndexNotRequested       Code = "photo-index-not-requested"        // 400; see [Error.RequestedIndexCodes]
	CodeMissingRequestedPhotoIndexes Code = "missing-requested-photo-indexes"  // 400; see [Error.MissingIndexCodes]
)

// Codes of webhook endpoints and audit events.
const (
	CodeUnsafeWebhookURL      Code = "unsafe-webhook-url"       // 400; see [Error.UnsafeURLReason]
	CodeWebhookAlreadyExists  Code = "webhook-already-exists"   // 409
	CodeWebhookLimitReached   Code = "webhook-limit-reached"    // 409; 10 endpoints for each API key
	CodeWebhookNotHMAC        Code = "webhook-not-hmac"         // 409; the endpoint has no signing secret
	CodeCursorExpired         Code = "cursor-expired"           // 410; see [Error.OldestCursor]
	CodeInvalidAuditDateRange Code = "invalid-audit-date-range" // 400; from is later than to
)
