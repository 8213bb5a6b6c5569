package integration

import (
	"net/http"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/domain/wire"
	"github.com/assayhq/assay/internal/httpx"
	"github.com/assayhq/assay/internal/ratelimit"
)

type meView struct {
	Environment access.Environment `json:"environment"`
	Account     accountView        `json:"account"`
	Key         keyView            `json:"key"`
	Limits      []limitView        `json:"limits"`
	Webhooks    webhooksView       `json:"webhooks"`
}

type accountView struct {
	ID     string      `json:"id"`
	Name   string      `json:"name"`
	Locale text.Locale `json:"locale"`
}

type keyView struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Scopes    []access.Scope  `json:"scopes"`
	CreatedAt wire.Timestamp  `json:"created_at"`
	ExpiresAt *wire.Timestamp `json:"expires_at"`
}

type limitView struct {
	Category      string `json:"category"`
	Limit         int    `json:"limit"`
	Remaining     int    `json:"remaining"`
	WindowSeconds int    `json:"window_seconds"`
}

type webhooksView struct {
	Endpoints int `json:"endpoints"`
	Failing   int `json:"failing"`
}

// getMe tells a key about itself.
func (a *API) getMe(w http.ResponseWriter, r *http.Request, c *call) error {
	account, err := a.Service.Account(r.Context(), c.actor(r), c.key.AccountID)
	if err != nil {
		return err
	}
	limits, err := a.limitsOf(r, c.key)
	if err != nil {
		return err
	}
	endpoints, failing, err := a.Service.CountEndpoints(r.Context(), c.actor(r))
	if err != nil {
		return err
	}
	return httpx.WriteJSON(w, http.StatusOK, meView{
		Environment: c.key.Environment, Account: accountView{account.ID, account.Name, account.Locale},
		Key: keyView{
			ID: c.key.ID, Name: c.key.Name, Scopes: append([]access.Scope{}, c.key.Scopes...),
			CreatedAt: wire.Timestamp(c.key.CreatedAt), ExpiresAt: wire.OptionalTimestamp(c.key.ExpiresAt),
		},
		Limits: limits, Webhooks: webhooksView{endpoints, failing},
	})
}

// limitsOf returns the quotas of a key and what is left of them. Looking counts nothing.
func (a *API) limitsOf(r *http.Request, key *access.Key) ([]limitView, error) {
	quotas := make([]ratelimit.Quota, len(ratelimit.Categories))
	for i, category := range ratelimit.Categories {
		quotas[i] = ratelimit.Quota{Key: key.ID, Category: category}
	}
	uses, err := a.Limiter.Uses(r.Context(), quotas)
	if err != nil {
		return nil, fault.UnavailableError(err)
	}
	limits := make([]limitView, len(quotas))
	for i, q := range quotas {
		limit := ratelimit.LimitOf(key.Limits, q.Category)
		limits[i] = limitView{
			Category: q.Category, Limit: limit, Remaining: max(0, limit-uses[i].Count),
			WindowSeconds: int(ratelimit.Window.Seconds()),
		}
	}
	return limits, nil
}
