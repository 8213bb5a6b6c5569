package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

// ErrUnexpectedAnswer is wrapped by an [*Error] for an answer that does not follow the API: a proxy's page, a
// redirect, broken or foreign JSON, or more bytes than allowed. The beginning of the answer is in [Error.Body].
var ErrUnexpectedAnswer = errors.New("the answer does not follow the interface")

// maxKeptBody is how much of an unexpected answer an error keeps.
const maxKeptBody = 4 << 10

// Error is an answer of the service that is not a success, or not a usable one. It is also the error of a single file
// in an upload ([UploadResult.Error]), then without timestamp, path and request id.
type Error struct {
	StatusCode int             `json:"statusCode"`           // HTTP status
	Code       Code            `json:"code"`                 // empty when the answer is not the service's
	Message    string          `json:"message"`              // for people; never branch on it
	Details    json.RawMessage `json:"details,omitempty"`    // a JSON object, or nil; the methods of Error read it
	Timestamp  time.Time       `json:"timestamp,omitzero"`   // zero if unknown
	Path       string          `json:"path,omitempty"`       // requested path, without the query
	RequestID  string          `json:"request_id,omitempty"` // to quote to support

	Method     string        `json:"-"` // of the request
	RetryAfter time.Duration `json:"-"` // requested by the service; 0 if not
	Body       []byte        `json:"-"` // beginning of an unexpected answer; nil for the service's own errors

	cause error
}

// Error describes the failure in one line, with the request id.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("assay: ")
	if e.Method != "" {
		b.WriteString(e.Method + " " + e.Path + ": ")
	}
	fmt.Fprintf(&b, "%d", e.StatusCode)
	if e.Code != "" {
		b.WriteString(" " + string(e.Code))
	} else if text := http.StatusText(e.StatusCode); text != "" {
		b.WriteString(" " + text)
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	if e.RequestID != "" {
		b.WriteString(" (request " + e.RequestID + ")")
	}
	return b.String()
}

// Unwrap returns [ErrUnexpectedAnswer] for an answer that does not follow the API, and nil otherwise.
func (e *Error) Unwrap() error { return e.cause }

// IsCode reports whether err is, or wraps, an [*Error] with one of the codes. It is false for nil.
func IsCode(err error, codes ...Code) bool {
	var e *Error
	return errors.As(err, &e) && e != nil && slices.Contains(codes, e.Code)
}

// IsAmbiguous reports whether the service may have carried out a request although it failed: no answer came back, or
// one that does not tell, such as 5xx. After a write, read the state of the service before sending it again.
// It is false for nil, for errors found before anything was sent, and for requests that the service refused.
func IsAmbiguous(err error) bool {
	var unsettled *unsettledError
	if errors.As(err, &unsettled) {
		return true
	}
	var answer *Error
	if errors.As(err, &answer) && answer != nil {
		return answer.StatusCode >= 500 || answer.StatusCode == http.StatusRequestTimeout ||
			answer.StatusCode < 300 || answer.Code == CodeRequestInProgress
	}
	var transport *transportError
	if !errors.As(err, &transport) {
		return false
	}
	var network *net.OpError
	return !errors.As(err, &network) || network.Op != "dial"
}

// transportError is a request that got no complete answer.
type transportError struct{ err error }

func (e *transportError) Error() string { return "assay: " + e.err.Error() }
func (e *transportError) Unwrap() error { return e.err }

// unsettledError is the failure of the last attempt of a write when an earlier attempt was ambiguous. The last failure
// alone would hide that the write may have been carried out.
type unsettledError struct{ err error }

func (e *unsettledError) Error() string {
	return e.err.Error() + " (an earlier attempt has an unknown result)"
}
func (e *unsettledError) Unwrap() error { return e.err }

// received is an answer with what is needed to describe it in an error.
type received struct {
	request  *http.Request
	response *http.Response
	body     []byte
	at       time.Time
}

// failure returns the error for an answer with another status than 2xx.
func (r received) failure() *Error {
	var e Error
	if err := json.Unmarshal(r.body, &e); err != nil || e.Code == "" {
		return r.unexpected(r.foreignAnswer() + r.wrongBase())
	}
	e.StatusCode = r.response.StatusCode
	return r.complete(&e)
}

// unexpected returns the error for an answer that does not follow the API.
func (r received) unexpected(why string) *Error {
	return r.complete(&Error{
		StatusCode: r.response.StatusCode,
		Message:    why,
		Body:       r.body[:min(len(r.body), maxKeptBody)],
		cause:      ErrUnexpectedAnswer,
	})
}

// complete adds what the envelope may lack: the request's side and the headers.
func (r received) complete(e *Error) *Error {
	e.Method = r.request.Method
	if e.Path == "" {
		e.Path = r.request.URL.EscapedPath()
	}
	if e.RequestID == "" {
		e.RequestID = r.response.Header.Get("X-Request-Id")
	}
	e.RetryAfter = retryAfter(r.response.Header, r.at)
	if e.RetryAfter == 0 && e.Code == CodeRateLimitExceeded {
		e.RetryAfter = time.Duration(max(0, detail[int32](e, "retry_after_seconds"))) * time.Second
	}
	return e
}

func (r received) foreignAnswer() string {
	if location := r.response.Header.Get("Location"); location != "" && r.response.StatusCode < 400 {
		return fmt.Sprintf("the service does not redirect, but the answer points to %q", location)
	}
	if len(r.body) == 0 {
		return "the answer is empty, not an error of the service"
	}
	contentType := r.response.Header.Get("Content-Type")
	return fmt.Sprintf("the answer (%q, %d bytes) is not an error of the service", contentType, len(r.body))
}

// wrongBase asks for the prefix of the API, which is easily forgotten, where the request went without it.
func (r received) wrongBase() string {
	if strings.Contains(r.request.URL.Path, "/v1/integrations/") {
		return ""
	}
	return "; does the base URL end in /v1/integrations?"
}

// UnmarshalJSON reads an error as the service writes it: the envelope of a failed request, or the error of a failed
// upload result. A property of an unexpected type is left at its zero value, so that one of them does not
// hide the others.
func (e *Error) UnmarshalJSON(data []byte) error {
	var properties map[string]json.RawMessage
	if err := json.Unmarshal(data, &properties); err != nil {
		return err
	}
	*e = Error{}
	for name, target := range map[string]any{
		"statusCode": &e.StatusCode,
		"code":       &e.Code,
		"message":    &e.Message,
		"timestamp":  &e.Timestamp,
		"path":       &e.Path,
		"request_id": &e.RequestID,
	} {
		if raw, ok := properties[name]; ok {
			_ = json.Unmarshal(raw, target) // an unexpected value stays zero
		}
	}
	if details := properties["details"]; bytes.HasPrefix(details, []byte("{")) {
		e.Details = details
	}
	return nil
}
