package client

import (
	"context"
	"time"
)

// Environment is Test or Live.
type Environment string

// The environments.
const (
	EnvironmentTest Environment = "test"
	EnvironmentLive Environment = "live"
)

// Me is what the API key of a client is, and what it can still do.
type Me struct {
	Environment Environment  `json:"environment"`
	Account     Account      `json:"account"`
	Key         APIKey       `json:"key"`
	Limits      []Limit      `json:"limits"` // one for each category
	Webhooks    WebhookState `json:"webhooks"`
}

func (m *Me) missing() string {
	return firstMissing("environment", string(m.Environment), "key", m.Key.ID)
}

// Account is the account of an API key.
type Account struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Locale Locale `json:"locale"` // of webhook payloads
}

// APIKey describes an API key, without its secret.
type APIKey struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	Scopes    []string   `json:"scopes"`
	CreatedAt time.Time  `json:"created_at"`
	ExpiresAt *time.Time `json:"expires_at"` // nil: never
}

// Limit is a limit in force and what is left of it in the current window.
type Limit struct {
	Category      RateCategory `json:"category"`
	Limit         int          `json:"limit"`
	Remaining     int          `json:"remaining"`
	WindowSeconds int          `json:"window_seconds"`
}

// WebhookState counts the webhook endpoints of an API key.
type WebhookState struct {
	Endpoints int `json:"endpoints"`
	Failing   int `json:"failing"` // whose last delivery failed for good
}

// GetMe returns what the API key is: its environment, account, scopes and limits, and how its webhooks do.
func (c *Client) GetMe(ctx context.Context) (*Me, error) {
	return read[Me](ctx, c, "/me", nil)
}
