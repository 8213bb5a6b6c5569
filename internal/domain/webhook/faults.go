package webhook

import (
	"strconv"

	"github.com/assayhq/assay/internal/domain/fault"
)

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

// DeliveryNotFound is the refusal of a delivery that does not exist for the caller.
var DeliveryNotFound = fault.Missing("delivery")

// NotRedeliverable is the refusal to send a delivery again that is pending, or has nowhere to go.
var NotRedeliverable = fault.New(fault.Conflict, "not-redeliverable",
	"The delivery is still pending, or its endpoint is deleted, or the endpoint's key is revoked.")

// EndpointStopped is the refusal of a test event to an endpoint whose key is revoked.
var EndpointStopped = fault.New(fault.Conflict, "endpoint-stopped",
	"The API key of this endpoint is revoked: it gets nothing any more.")

func item(field string, i int) string { return field + "[" + strconv.Itoa(i) + "]" }
