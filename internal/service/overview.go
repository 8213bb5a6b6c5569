package service

import (
	"context"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/credit"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/store"
)

// What the overview looks at; all of it costs the same however much business an account does.
const (
	overviewOrders = 8
	OverviewMost   = 500 // counts end here: to count further takes longer than all the rest
)

// Overview is how an account is doing in an environment.
type Overview struct {
	Totals   credit.AccountTotals
	Waiting  int // orders that wait for photos
	Recent   []order.Summary
	Days     []OverviewDay // the oldest first, today last
	Total    OverviewDay   // of all these days
	Webhooks *WebhookHealth
}

// Overview returns how the actor's account is doing in the environment that the actor looks at.
func (s *Service) Overview(ctx context.Context, actor access.Actor) (*Overview, error) {
	if err := actor.Require(access.ViewAccount); err != nil {
		return nil, err
	}
	t, o, q := actor.Tenant, new(Overview), s.store.Lists(ctx)
	var err error
	if o.Totals, err = s.store.AccountTotals(ctx, t.AccountID, t.Environment); err != nil {
		return nil, err
	}
	if o.Waiting, err = s.store.CountWaiting(ctx, t, OverviewMost); err != nil {
		return nil, err
	}
	if o.Recent, _, err = q.Orders(ctx, &order.Filter{Tenant: t}, nil, overviewOrders); err != nil {
		return nil, err
	}
	if o.Days, o.Total, err = s.overviewDays(ctx, q, t, o.Totals.Orders); err != nil {
		return nil, err
	}
	o.Webhooks, err = s.webhookHealth(ctx, t)
	return o, err
}

// WebhookHealth is how deliveries to the endpoints of an account go.
type WebhookHealth struct {
	Endpoints int
	Pending   int       // deliveries on their way, as far as OverviewMost
	Oldest    time.Time // when the oldest of them was made; zero: there is none
	Failed    int       // deliveries of the last 24 hours that have failed for good, as far as OverviewMost
	Day, Week webhook.AttemptCount
	Failing   []*webhook.Endpoint // not one acknowledgement since the hour in which they last failed, within a day
}

// webhookHealth returns how deliveries go. It reads counts by the hour, never the deliveries themselves.
func (s *Service) webhookHealth(ctx context.Context, t access.Tenant) (*WebhookHealth, error) {
	now, q := s.now(), s.store.Lists(ctx)
	endpoints, err := q.EndpointsOf(ctx, t.AccountID, t.Environment)
	if err != nil {
		return nil, err
	}
	h := &WebhookHealth{Endpoints: len(endpoints)}
	if h.Pending, h.Oldest, err = q.PendingDeliveries(ctx, t.AccountID, t.Environment, OverviewMost); err != nil {
		return nil, err
	}
	since := now.Add(-24 * time.Hour)
	ofTenant := webhook.DeliveryFilter{Tenant: t}
	failed, err := q.FailedDeliveries(ctx, ofTenant, since, store.FirstID(since), OverviewMost)
	if err != nil {
		return nil, err
	}
	h.Failed = len(failed)
	counts, err := q.EndpointHealth(ctx, t.AccountID, t.Environment, now)
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
