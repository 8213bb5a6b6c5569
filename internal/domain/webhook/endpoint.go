// Package webhook defines webhook endpoints and the URLs they may have, the signature of a delivery, and the retry
// schedule. Deliveries are sent by internal/worker/deliver.
package webhook

import (
	"slices"
	"strconv"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
)

// Event is a kind of event that an endpoint can subscribe to.
type Event string

// The events.
const (
	OrderOutcome Event = "order-outcome" // an order completed
	UpdatePhotos Event = "update-photos" // an order needs further photos
)

// Events lists the events.
var Events = []Event{OrderOutcome, UpdatePhotos}

// Limits of an endpoint; lengths are in characters.
const (
	MaxEndpoints    = 10 // per API key
	MaxURL          = 2048
	MaxName         = 100
	MaxClientID     = 255
	MaxClientSecret = 2048
	MaxScope        = 1024
)

// Endpoint is a destination of deliveries. It belongs to one API key and receives events of orders made with that
// key.
type Endpoint struct {
	ID string
	access.Tenant
	APIKeyID  string
	Name      string // empty: none
	URL       string // as the integrator wrote it
	Events    []Event
	CreatedAt time.Time
	OAuth     *OAuth // nil: deliveries are signed

	// SealedSecret is the signing secret or, with OAuth, the client secret, encrypted and bound to the endpoint's ID.
	SealedSecret string

	// Rotation is there when the signing secret is not the first one.
	Rotation *Rotation

	PausedAt *time.Time // while deliveries wait; nil: they are sent
}

// Rotation tells of the signing secret that an endpoint had before. For a while deliveries are signed with both, so
// that a receiver can change to the new one at any time of it.
type Rotation struct {
	At             time.Time
	SealedPrevious string
	PreviousUntil  time.Time
}

// Overlaps reports whether the previous secret is still valid.
func (r *Rotation) Overlaps(now time.Time) bool { return r != nil && now.Before(r.PreviousUntil) }

// SecretSince returns since when the endpoint has its secret.
func (e *Endpoint) SecretSince() time.Time {
	if e.Rotation != nil {
		return e.Rotation.At
	}
	return e.CreatedAt
}

// Rotate replaces the signing secret. The one that the endpoint had is valid for the overlap as well.
func (e *Endpoint) Rotate(sealed string, now time.Time, overlap time.Duration) {
	e.Rotation = &Rotation{At: now, SealedPrevious: e.SealedSecret, PreviousUntil: now.Add(overlap)}
	e.SealedSecret = sealed
}

// RotateLost replaces a signing secret that nobody has received. The one before it, which the receiver knows, stays
// valid for as long as it was to be, no longer: a secret that has leaked comes to its end. Without such a one it is
// Rotate.
func (e *Endpoint) RotateLost(sealed string, now time.Time, overlap time.Duration) {
	if !e.Rotation.Overlaps(now) {
		e.Rotate(sealed, now, overlap)
		return
	}
	e.Rotation = &Rotation{At: now, SealedPrevious: e.Rotation.SealedPrevious, PreviousUntil: e.Rotation.PreviousUntil}
	e.SealedSecret = sealed
}

// Secrets returns the sealed secrets with which a delivery is signed at a time; previous is empty when there is none.
// Before the rotation it was signed with the previous one alone.
func (e *Endpoint) Secrets(at time.Time) (current, previous string) {
	switch r := e.Rotation; {
	case r == nil || !at.Before(r.PreviousUntil):
		return e.SealedSecret, ""
	case at.Before(r.At):
		return r.SealedPrevious, ""
	default:
		return e.SealedSecret, r.SealedPrevious
	}
}

// OAuth is the readable part of OAuth2 client credentials.
type OAuth struct {
	TokenURL string
	ClientID string
	Scope    string // empty: none
}

// The ways in which deliveries authenticate.
const (
	AuthHMAC   = "hmac"
	AuthOAuth2 = "oauth2"
)

// AuthType returns how deliveries to the endpoint authenticate: AuthHMAC or AuthOAuth2.
func (e *Endpoint) AuthType() string {
	if e.OAuth != nil {
		return AuthOAuth2
	}
	return AuthHMAC
}

// Wants reports whether the endpoint is subscribed to the event.
func (e *Endpoint) Wants(event Event) bool { return slices.Contains(e.Events, event) }

// CheckEvents returns the events named in a request, or every problem of the list: one or two events without
// duplicates. field is the path of the list.
func CheckEvents(field string, names []string) ([]Event, []fault.Problem) {
	if len(names) == 0 {
		return nil, []fault.Problem{{Field: field, Code: "min_items", Message: "must name at least one event"}}
	}
	if len(names) > len(Events) {
		return nil, []fault.Problem{{Field: field, Code: "max_items", Message: "must name at most two events"}}
	}
	var problems fault.Problems
	events := make([]Event, 0, len(names))
	for i, name := range names {
		event := Event(name)
		switch {
		case !slices.Contains(Events, event):
			problems.Add(item(field, i), "enum", "must be order-outcome or update-photos")
		case slices.Contains(events, event):
			problems.Add(item(field, i), "duplicate", "must not repeat an event")
		default:
			events = append(events, event)
		}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return events, nil
}

// OrderEvent is what happened to an order, whether or not an endpoint was told of it.
type OrderEvent struct {
	access.Tenant
	APIKeyID    string // that created the order
	Position    Cursor
	OrderID     string
	Event       Event
	DeliveryIDs []string
	Body        []byte // of the deliveries, without their ids
	CreatedAt   time.Time
}

// Cursor is a position in the events of a key: right after an event. 0 is before all.
type Cursor int64

// String returns the cursor as the API tells it.
func (c Cursor) String() string { return strconv.FormatInt(int64(c), 10) }

// ParseCursor reads what String returns.
func ParseCursor(s string) (Cursor, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return Cursor(n), err == nil && n >= 0 && Cursor(n).String() == s
}

// CursorExpired is the error for a cursor after which events are no longer kept; all that are kept follow the oldest.
func CursorExpired(oldest Cursor) *fault.Error {
	return fault.New(fault.Gone, "cursor-expired",
		"Events after this cursor are no longer kept: go on from oldest_cursor.").
		With("oldest_cursor", oldest.String())
}

// CursorUnknown is the error for a cursor ahead of every event: it is that of a database which was restored since, or
// of another one.
func CursorUnknown(oldest Cursor) *fault.Error {
	return fault.New(fault.Gone, "cursor-expired",
		"This cursor was not given out by this database, which may have been restored since: go on from oldest_cursor.").
		With("oldest_cursor", oldest.String())
}

// CodeUnsafe is the code of Unsafe.
const CodeUnsafe = "unsafe-webhook-url"

// AlreadyExists is the error for a URL that the API key has already registered. It is checked before LimitReached.
var AlreadyExists = fault.New(fault.Conflict, "webhook-already-exists",
	"This API key already has a webhook endpoint with this URL.")

// LimitReached is the error for an endpoint beyond MaxEndpoints.
var LimitReached = fault.New(fault.Conflict, "webhook-limit-reached",
	"This API key already has "+strconv.Itoa(MaxEndpoints)+" webhook endpoints.").With("limit", MaxEndpoints)

// Unsafe is the error for a URL whose host must not be called. field is the URL's path in the request; reason is
// one of the stable reasons of netguard, for example loopback or unresolvable; ports are those that may be called.
func Unsafe(field, reason, ports string) *fault.Error {
	message := field + " must name a host that resolves to publicly reachable addresses only (" + reason + ")."
	switch reason {
	case "port":
		message = field + " must use a port that this service calls: " + ports + "."
	case "invalid-host":
		message = field + " must name a valid host in ASCII: write an international name in its xn-- form (" + reason + ")."
	}
	return fault.New(fault.Invalid, CodeUnsafe, message).
		With("reason", reason).With("field", field)
}

// NotFound is the error for an endpoint that the API key does not have.
var NotFound = fault.New(fault.NotFound, fault.CodeNotFound, "There is no such webhook endpoint.")

// NotHMAC is the error for the rotation of the secret of an endpoint that has none.
var NotHMAC = fault.New(fault.Conflict, "webhook-not-hmac",
	"Deliveries to this endpoint are not signed: it has no signing secret.")

// AlreadyRotated is the refusal to rotate a secret that is not in use any more.
var AlreadyRotated = fault.New(fault.Conflict, "secret-already-rotated",
	"The signing secret has been rotated in the meantime.")

// DeliveryNotFound is the refusal of a delivery that does not exist for the caller.
var DeliveryNotFound = fault.Missing("delivery")

// NotRedeliverable is the refusal to send a delivery again that is pending, or has nowhere to go.
var NotRedeliverable = fault.New(fault.Conflict, "not-redeliverable",
	"The delivery is still pending, or its endpoint is deleted, or the endpoint's key is revoked.")

// EndpointStopped is the refusal of a test event to an endpoint whose key is revoked.
var EndpointStopped = fault.New(fault.Conflict, "endpoint-stopped",
	"The API key of this endpoint is revoked: it gets nothing any more.")

func item(field string, i int) string { return field + "[" + strconv.Itoa(i) + "]" }
