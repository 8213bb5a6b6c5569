// Package ratelimit counts requests in fixed windows of 60 seconds, each starting at its first counted request: of API
// keys by category of operation, and of failed authentications by address.
package ratelimit

import (
	"context"
	"time"
)

// Window is the length of every window.
const Window = 60 * time.Second

// The categories: operations of one category share the quota of a key.
const (
	Catalog = "catalog"
	Read    = "read"
	Create  = "create"
	Update  = "update"
	Upload  = "upload"
	Webhook = "webhook"
)

// Categories lists the categories.
var Categories = []string{Catalog, Read, Create, Update, Upload, Webhook}

// DefaultLimit returns the requests of a category that a key has in a window unless an operator gave it more; it is 0
// for an unknown category.
func DefaultLimit(category string) int {
	switch category {
	case Catalog:
		return 120
	case Read:
		return 300
	case Create, Update:
		return 30
	case Upload:
		return 20
	case Webhook:
		return 10
	}
	return 0
}

// LimitOf returns the requests of a category that a key with the limits has in a window: its own limit, or else the
// default.
func LimitOf(limits map[string]int, category string) int {
	if limit, ok := limits[category]; ok {
		return limit
	}
	return DefaultLimit(category)
}

// Decision says whether a request may go on and what is left.
type Decision struct {
	Allowed    bool
	Limit      int           // requests in a window
	Remaining  int           // requests left in this window after this one
	RetryAfter time.Duration // until the window ends; more than zero exactly when refused
}

// Limiter counts requests. Take counts one request of a key in a category if the window has room for it under the
// limit; a refused request is not counted and does not make the window longer. The limit may change from call to
// call and holds for the window that is running. An error means that the count could not be reached, never a
// refusal.
type Limiter interface {
	Take(ctx context.Context, key, category string, limit int) (Decision, error)

	// Uses returns how much of each quota is used, in the order of the quotas. It counts nothing and begins no window.
	Uses(ctx context.Context, quotas []Quota) ([]Use, error)
}

// Quota is what is counted: one category of one key.
type Quota struct{ Key, Category string }

// Use is how much of a quota is used; the zero value where no window is running.
type Use struct {
	Count int           // requests in the window that is running
	Left  time.Duration // until that window ends
}
