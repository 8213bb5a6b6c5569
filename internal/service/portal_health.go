package service

import (
	"context"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/store"
)

// WebhookHealth is how deliveries to the endpoints of an account go.
type WebhookHealth struct {
	Endpoints int
	Pending   int       // deliveries on their way, as far as OverviewMost
	Oldest    time.Time // when the oldest of them was made; zero: there is none
	Failed    int       // deliveries of the last 24 hours that have failed for good, as far as OverviewMost
	Day, Week store.AttemptCount
	Failing   []*webhook.Endpoint // not one acknowledgement since the hour in which they last failed, within a day
}

// webhookHealth returns how deliveries go. It reads counts by the hour, never the deliveries themselves.
func (s *Service) webhookHealth(ctx context.Context, who *Member, env access.Environment) (*WebhookHealth, error) {
	now := s.now()
	endpoints, err := s.Store.EndpointsOf(ctx, who.AccountID, env)
	if err != nil {
		return nil, err
	}
	h := &WebhookHealth{Endpoints: len(endpoints)}
	if h.Pending, h.Oldest, err = s.Store.PendingDeliveries(ctx, who.AccountID, env, OverviewMost); err != nil {
		return nil, err
	}
	since := now.Add(-24 * time.Hour)
	failed, err := s.Store.FailedDeliveries(ctx, store.DeliveryFilter{AccountID: who.AccountID, Environment: string(env)}, since, store.FirstID(since), OverviewMost)
	if err != nil {
		return nil, err
	}
	h.Failed = len(failed)
	counts, err := s.Store.EndpointHealth(ctx, who.AccountID, env, now)
	if err != nil {
		return nil, err
	}
	failing := make(map[string]bool)
	for _, c := range counts {
		h.Day.Acknowledged += c.Day.Acknowledged
		h.Day.Failed += c.Day.Failed
		h.Week.Acknowledged += c.Week.Acknowledged
		h.Week.Failed += c.Week.Failed
		failing[c.EndpointID] = c.Day.Failed > 0 && c.LastFailed.After(c.LastAcknowledged)
	}
	for _, e := range endpoints {
		if failing[e.ID] {
			h.Failing = append(h.Failing, e)
		}
	}
	return h, nil
}
