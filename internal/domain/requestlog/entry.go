// Package requestlog is the log of the requests that an account's keys have made: what an entry is, how many of them
// are stored together, and which of them a filter chooses. Nothing that may be a secret is in it: no body, no query and
// no header.
package requestlog

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
)

// NotFound is the refusal of a request id that is not in the log of the account, or not any more.
var NotFound = fault.Missing("request")

// MaxRequests is how many requests are kept of an account and environment, however young they are.
const MaxRequests = 1_000_000

// Entry is one request and how it was answered.
type Entry struct {
	ID uuid.UUID // of version 7: it tells when the request began
	access.Tenant
	KeyID    string
	Method   string
	Route    string // such as GET /v1/integrations/orders/{id}; empty: there is no such operation
	Ref      string // what stood for {id} when it is no order's id; without a route, the path
	OrderID  string // that the request was about
	Status   int
	Code     string // of a refusal
	Duration time.Duration
	Refusal  string // a Refusal as JSON
}

// Refusal is what the caller was told about a request that was refused.
type Refusal struct {
	Message string         `json:"message"`
	Details map[string]any `json:"details,omitempty"`
}

// At is when the request began.
func (e *Entry) At() time.Time { return TimeOf(e.ID) }

// Path is the path of the request, in which the id of an order stands for whatever named it.
func (e *Entry) Path() string {
	_, path, ok := strings.Cut(e.Route, " ")
	if !ok {
		return e.Ref
	}
	ref := e.OrderID
	if ref == "" {
		ref = e.Ref
	}
	return strings.Replace(path, "{id}", ref, 1)
}

// TimeOf returns when a request with the id began.
func TimeOf(id uuid.UUID) time.Time {
	var ms int64
	for _, b := range id[:6] {
		ms = ms<<8 | int64(b)
	}
	return time.UnixMilli(ms).UTC()
}

// Filter chooses requests of one tenant; an empty field chooses all.
type Filter struct {
	access.Tenant
	Class  int // of the status: 2, 4 or 5
	Status int
	Code   string
	Route  string
	KeyID  string
	Order  string    // the id of an order, or what stood for {id}
	Orders []string  // with Order: the ids of the orders that have it as number or external id
	Since  time.Time // inclusive
	Until  time.Time // exclusive
	Before uuid.UUID // only older ones, for the next page; zero: from the newest
}

// Matches reports whether the filter chooses an entry of its tenant.
func (f *Filter) Matches(e *Entry) bool {
	at := e.At()
	about := f.Order == "" || e.OrderID == f.Order || e.Ref == f.Order ||
		e.OrderID != "" && slices.Contains(f.Orders, e.OrderID)
	return about && (f.Class == 0 || e.Status/100 == f.Class) && (f.Status == 0 || e.Status == f.Status) &&
		(f.Code == "" || e.Code == f.Code) && (f.Route == "" || e.Route == f.Route) &&
		(f.KeyID == "" || e.KeyID == f.KeyID) &&
		(f.Since.IsZero() || !at.Before(f.Since)) && (f.Until.IsZero() || at.Before(f.Until)) &&
		(f.Before == uuid.Nil || Less(e.ID, f.Before))
}

// Less reports whether one id sorts before another.
func Less(a, b uuid.UUID) bool { return string(a[:]) < string(b[:]) }
