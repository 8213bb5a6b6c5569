package httpx

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/wire"
)

// envelope is the body of every failed request.
type envelope struct {
	StatusCode int            `json:"statusCode"`
	Code       string         `json:"code"`
	Message    string         `json:"message"`
	Details    map[string]any `json:"details"`
	Timestamp  wire.Timestamp `json:"timestamp"`
	Path       string         `json:"path"`
	RequestID  string         `json:"request_id"`
}

var bearerChallenge = []string{"Bearer"}

var statuses = map[fault.Kind]int{
	fault.Invalid: http.StatusBadRequest, fault.Unauthorized: http.StatusUnauthorized,
	fault.PaymentRequired: http.StatusPaymentRequired, fault.Forbidden: http.StatusForbidden,
	fault.NotFound: http.StatusNotFound, fault.Conflict: http.StatusConflict,
	fault.Gone: http.StatusGone, fault.Incomplete: http.StatusRequestTimeout,
	fault.TooLarge: http.StatusRequestEntityTooLarge, fault.RateLimited: http.StatusTooManyRequests,
	fault.Unavailable: http.StatusServiceUnavailable, fault.Internal: http.StatusInternalServerError,
}

// Status returns the HTTP status of a kind of fault.
func Status(k fault.Kind) int { return cmp.Or(statuses[k], http.StatusInternalServerError) }

// RetrySeconds is a delay as Retry-After gives it: in seconds, rounded up, at least 1.
func RetrySeconds(d time.Duration) int {
	return max(1, int((d+time.Second-1)/time.Second))
}

// WriteError answers with the envelope of err. A fault shows what it carries. Every other error is opaque to the caller
// and goes to the log under the request id. Nothing may have been written to w before, except headers: those that
// describe a body which now is not sent are removed.
func (p *Responder) WriteError(w http.ResponseWriter, r *http.Request, err error) {
	p.writeFault(w, r, p.explain(r, err))
}

func (p *Responder) writeFault(w http.ResponseWriter, r *http.Request, f *fault.Error) {
	if x := exchangeFrom(r.Context()); x != nil {
		x.fault = f
	}
	status := Status(f.Kind)
	h := w.Header()
	for _, name := range [...]string{
		"Etag", "Last-Modified", "Content-Encoding", "Content-Disposition", "Content-Range", "Cache-Control", "Expires",
	} {
		delete(h, name)
	}
	if status == http.StatusUnauthorized {
		h["Www-Authenticate"] = bearerChallenge
	}
	if f.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(RetrySeconds(f.RetryAfter)))
	}
	body := envelope{
		StatusCode: status, Code: f.Code, Message: f.Message, Details: wireDetails(f.Details),
		Timestamp: wire.Timestamp(p.now()), Path: LoggedPath(r), RequestID: ensureRequestID(w, r),
	}
	if err := WriteJSON(w, status, body); err != nil {
		p.log().LogAttrs(r.Context(), slog.LevelError, "error details cannot be encoded", p.attrs(r, err)...)
		body.Details = map[string]any{}
		_ = WriteJSON(w, status, body) // nothing else in an envelope can fail to encode
	}
}

// explain chooses the fault that the caller gets, and logs what the caller must not see.
func (p *Responder) explain(r *http.Request, err error) *fault.Error {
	ended := r.Context().Err()
	clientGone := errors.Is(ended, context.Canceled)

	f, ok := errors.AsType[*fault.Error](err)
	switch {
	case ok && f != nil:
		if Status(f.Kind) >= http.StatusInternalServerError {
			p.logFailure(r, quietIf(clientGone, slog.LevelWarn), err)
		}
		return f
	case ok: // a nil *fault.Error that a handler returned as an error: its methods cannot be called
	case clientGone:
		// Whatever failed, it failed for a request that nobody waits for any more.
		p.logFailure(r, slog.LevelDebug, err)
		return fault.UnavailableError(err)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(ended, context.DeadlineExceeded):
		p.logFailure(r, slog.LevelWarn, err)
		return fault.UnavailableError(err)
	}
	p.logFailure(r, slog.LevelError, err)
	return internalError()
}

// internalError is all that a caller learns about a bug or a broken dependency.
func internalError() *fault.Error {
	return fault.New(fault.Internal, fault.CodeInternal, "The request failed because of an error in the service.")
}

// quietIf lowers a level to debug.
func quietIf(quiet bool, level slog.Level) slog.Level {
	if quiet {
		return slog.LevelDebug
	}
	return level
}

func (p *Responder) logFailure(r *http.Request, level slog.Level, err error) {
	p.log().LogAttrs(r.Context(), level, "request failed", p.attrs(r, err)...)
}

func (p *Responder) logTruncated(r *http.Request, err error) {
	gone := errors.Is(r.Context().Err(), context.Canceled)
	p.log().LogAttrs(r.Context(), quietIf(gone, slog.LevelError), "response cut off", p.attrs(r, err)...)
}

// attrs names the request in a log line about err.
func (p *Responder) attrs(r *http.Request, err error) []slog.Attr {
	return []slog.Attr{
		slog.String("request_id", RequestIDFrom(r.Context())),
		slog.String("method", r.Method),
		slog.String("path", LoggedPath(r)),
		slog.Any("error", err),
	}
}

// wireDetails makes the details an object in every case and gives times the format of the API.
func wireDetails(details map[string]any) map[string]any {
	out := make(map[string]any, len(details))
	for k, v := range details {
		switch t := v.(type) {
		case time.Time:
			out[k] = wire.Timestamp(t)
		case *time.Time:
			out[k] = wire.OptionalTimestamp(t)
		default:
			out[k] = v
		}
	}
	return out
}
