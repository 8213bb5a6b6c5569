// Package ratelimit counts requests in fixed windows of 60 seconds, each starting with its first request: requests
// of API keys by category, and failed authentications by address; on this node alone, or in Redis for all nodes.
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

// DefaultLimit returns the default requests per window of a category, 0 for an unknown category.
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

// LimitOf returns the requests per window of a category: the limit of the key, or else the default.
func LimitOf(limits map[string]int, category string) int {
	if limit, ok := limits[category]; ok {
		return limit
	}
	return DefaultLimit(category)
}

// Decision says whether a request is allowed and how many are left.
type Decision struct {
	Allowed    bool
	Limit      int           // requests in a window
	Remaining  int           // requests left in this window after this one
	RetryAfter time.Duration // until the window ends; more than zero exactly when refused
}

// Limiter counts requests. Take counts a request of a key in a category if the window has room under the limit; a
// refused request is not counted and does not extend the window. The limit may change between calls and applies to
// the current window. An error means that the counter is unavailable, not a refusal.
type Limiter interface {
	Take(ctx context.Context, key, category string, limit int) (Decision, error)

	// Uses returns how much of each quota is used, in the order of the quotas. It does not count or start a window.
	Uses(ctx context.Context, quotas []Quota) ([]Use, error)
}

// Quota identifies a counter: a category of a key.
type Quota struct{ Key, Category string }

// Use is the usage of a quota; zero if no window is running.
type Use struct {
	Count int           // requests in the current window
	Left  time.Duration // until that window ends
}
