package webhook

import (
	"time"

	"github.com/assayhq/assay/internal/domain/access"
)

// DeliveryFilter chooses deliveries; an empty field chooses all.
type DeliveryFilter struct {
	access.Tenant
	EndpointID string
	OrderID    string
	Status     Status
	Before     string // the id of a delivery: only older ones, for the next page
}

// AttemptCount is how many attempts were acknowledged, and how many were not.
type AttemptCount struct{ Acknowledged, Failed int64 }

// HourCount is how the attempts on an endpoint went within an hour.
type HourCount struct {
	Hour time.Time
	AttemptCount
}

// EndpointHealth is how the attempts on an endpoint went lately.
type EndpointHealth struct {
	EndpointID       string
	Day, Week        AttemptCount
	LastAcknowledged time.Time // the hour; zero: none in the week
	LastFailed       time.Time
}
