package service

import (
	"context"
	"errors"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/letter"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/progress"
	"github.com/assayhq/assay/internal/store"
)

// Deliveries returns up to limit deliveries that the filter chooses, newest first, without their bodies.
func (s *Service) Deliveries(
	ctx context.Context, actor access.Actor, f webhook.DeliveryFilter, limit int,
) ([]*webhook.Delivery, error) {
	if err := actor.RequireIn(access.ViewAccount, f.AccountID); err != nil {
		return nil, err
	}
	return s.store.Lists(ctx).Deliveries(ctx, f, limit)
}

// Delivery returns a delivery with its body and the attempts that are still kept.
func (s *Service) Delivery(
	ctx context.Context, actor access.Actor, id string,
) (*webhook.Delivery, []webhook.Attempt, error) {
	if err := actor.Require(access.ViewAccount); err != nil {
		return nil, nil, err
	}
	d, err := s.delivery(ctx, actor, id)
	if err != nil {
		return nil, nil, err
	}
	attempts, err := s.store.Attempts(ctx, d.ID)
	return d, attempts, err
}

func (s *Service) delivery(ctx context.Context, actor access.Actor, id string) (*webhook.Delivery, error) {
	d, err := byID(ctx, id, s.store.Delivery, webhook.DeliveryNotFound)
	if err == nil && !actor.Sees(d.Tenant) {
		return nil, webhook.DeliveryNotFound
	}
	return d, err
}

// hiddenToken stands for an OAuth2 token.
const hiddenToken = "••••••"

// SentHeaders returns a function that tells the headers of the attempts on a delivery, as far as they are known:
// nothing of them is kept, all follows from the delivery, the endpoint and the time. A token is never told, and a
// signature not when its endpoint is deleted or its secret is replaced and forgotten.
func (s *Service) SentHeaders(
	ctx context.Context, d *webhook.Delivery,
) (func(webhook.Attempt) []webhook.Header, error) {
	proof := func(webhook.Attempt) []webhook.Header { return nil }
	e, err := s.store.Endpoint(ctx, d.EndpointID)
	switch {
	case errors.Is(err, store.ErrNotFound):
	case err != nil:
		return nil, err
	case e.OAuth != nil:
		proof = func(webhook.Attempt) []webhook.Header { return webhook.TokenHeaders(hiddenToken) }
	default:
		proof = func(a webhook.Attempt) []webhook.Header { return s.signatures(e, a.At, d.Body) }
	}
	return func(a webhook.Attempt) []webhook.Header {
		return append(webhook.Headers(d.Event, d.ID), proof(a)...)
	}, nil
}

// signatures returns the headers with which a delivery to an endpoint is signed at a time; none when the secret is
// not kept any more, or cannot be read: then the sender cannot read it either, and says so in the log.
func (s *Service) signatures(e *webhook.Endpoint, at time.Time, body []byte) []webhook.Header {
	current, previous := e.Secrets(at)
	secret, err := s.secrets.Open(current, e.ID)
	if err != nil {
		return nil
	}
	headers := webhook.SignatureHeaders(webhook.NewSigner(secret), at, body)
	if previous == "" {
		return headers
	}
	if secret, err = s.secrets.Open(previous, e.ID); err != nil {
		return headers
	}
	return append(headers, webhook.PreviousSignatureHeader(webhook.NewSigner(secret), at, body))
}

// Redeliver sends a delivery that has ended once more, under the same delivery id and with all attempts before it.
func (s *Service) Redeliver(ctx context.Context, actor access.Actor, id string) error {
	if err := actor.Require(access.Redeliver); err != nil {
		return err
	}
	d, err := s.delivery(ctx, actor, id)
	if err != nil {
		return err
	}
	err = s.store.Update(ctx, func(tx *store.Tx) error {
		if err := tx.Redeliver(d.ID, s.now()); err != nil {
			return store.NotFoundAs(err, webhook.NotRedeliverable)
		}
		of := map[string]any{"environment": string(d.Environment), "event": string(d.Event)}
		return errors.Join(
			s.record(tx, actor, eventOn(d.AccountID, audit.Redelivered, audit.TargetDelivery, d.ID, of)),
			s.recordStaffAction(tx, actor, audit.Action{
				Code: audit.DeliveryRedelivered, AccountID: d.AccountID,
				Target: audit.ActionTarget{Type: audit.ActionTargetDelivery, ID: d.ID, Name: string(d.Event)},
			}))
	})
	if err == nil {
		s.onDeliveries()
	}
	return err
}

// redeliverBatch is how many deliveries one transaction makes pending: others must not wait long for it.
const redeliverBatch = 100

// RedeliverFailed sends all deliveries again that failed at the time or later, of those that the filter chooses, and
// returns how many. Those whose endpoint gets nothing any more are passed over.
func (s *Service) RedeliverFailed(
	ctx context.Context, actor access.Actor, f webhook.DeliveryFilter, since time.Time,
) (sent int, err error) {
	if err := actor.RequireIn(access.Redeliver, f.AccountID); err != nil {
		return 0, err
	}
	done := progress.Begin(ctx, "failed deliveries", progress.Items, 0)
	for after := ""; ; {
		ids, err := s.store.FailedDeliveries(ctx, f, since, after, redeliverBatch)
		if err != nil || len(ids) == 0 {
			return sent, err
		}
		after = ids[len(ids)-1]
		n, err := s.redeliverAll(ctx, actor, f.AccountID, ids)
		if err != nil {
			return sent, err
		}
		sent += n
		done(int64(len(ids)))
		s.onDeliveries()
	}
}

func (s *Service) redeliverAll(
	ctx context.Context, actor access.Actor, accountID string, ids []string,
) (n int, err error) {
	err = s.store.Update(ctx, func(tx *store.Tx) error {
		n = 0
		for _, id := range ids {
			switch err := tx.Redeliver(id, s.now()); {
			case err == nil:
				n++
			case !errors.Is(err, store.ErrNotFound):
				return err
			}
		}
		if n == 0 {
			return nil
		}
		details := map[string]any{"deliveries": n}
		if accountID != "" { // else an administrator sends those of all accounts
			e := eventOn(accountID, audit.Redelivered, audit.TargetDelivery, "", details)
			if err := s.record(tx, actor, e); err != nil {
				return err
			}
		}
		return s.recordStaffAction(tx, actor, audit.Action{
			Code: audit.DeliveriesRedelivered, AccountID: accountID, Details: details,
			Target: audit.ActionTarget{Type: audit.ActionTargetDelivery},
		})
	})
	return n, err
}

// FailPausedDeliveries ends up to limit deliveries that have waited too long for an endpoint that is paused, and
// returns how many.
func (s *Service) FailPausedDeliveries(ctx context.Context, limit int) (n int, err error) {
	now := s.now()
	before := now.Add(-webhook.MaxPause)
	endpoints, err := s.store.PausedEndpoints(ctx, before)
	if err != nil {
		return 0, err
	}
	for _, id := range endpoints {
		if n >= limit {
			break
		}
		due, err := s.store.DueDeliveries(ctx, id, store.Place{}, before, limit-n)
		if err != nil {
			return n, err
		}
		if len(due) == 0 {
			continue
		}
		results := make([]store.AttemptResult, len(due))
		for i, d := range due {
			results[i] = store.AttemptResult{
				Attempt: webhook.Attempt{
					DeliveryID: d.ID, Number: d.Attempts + 1, At: now, Failure: webhook.FailurePaused,
				},
				EndpointID: id, DueAt: d.DueAt,
			}
		}
		err = s.store.Update(ctx, func(tx *store.Tx) error { return tx.EndDeliveries(results) })
		if err != nil {
			return n, err
		}
		n += len(due)
	}
	return n, nil
}

// NotifyFailingEndpoints queues a mail to the owners of each endpoint, of up to limit, that has acknowledged nothing
// for webhook.FailingAfter since an attempt failed, and returns how many there were. Nothing more is said of an
// endpoint until it has acknowledged a delivery.
func (s *Service) NotifyFailingEndpoints(ctx context.Context, limit int) (told int, err error) {
	if !s.SendsMail() {
		return 0, nil
	}
	now := s.now()
	failedBy, notBefore := now.Add(-webhook.FailingAfter), now.Add(-webhook.FailingWithin)
	some, err := s.store.HasFailureNews(ctx, failedBy, notBefore)
	if err != nil || !some {
		return 0, err
	}
	err = s.store.Update(ctx, func(tx *store.Tx) error {
		told = 0
		if err := tx.ForgetRecovered(); err != nil {
			return err
		}
		failing, err := tx.FailingEndpoints(ctx, failedBy, notBefore, limit)
		if err != nil {
			return err
		}
		for _, f := range failing {
			if err := s.notifyFailing(tx, f, now); err != nil {
				return err
			}
			told++
		}
		return nil
	})
	return told, s.AfterMail(err)
}

func (s *Service) notifyFailing(tx *store.Tx, f store.FailingEndpoint, now time.Time) error {
	first, err := tx.MarkFailingNotified(f.ID, now)
	if err != nil || !first {
		return err
	}
	e, err := tx.Endpoint(tx.Context(), f.ID)
	if err != nil {
		return err
	}
	page := s.publicURL + "/portal/" + string(e.Environment) + "/webhooks/" + e.ID
	return s.notifyOwners(tx, e.AccountID, func(a *access.Account) letter.Letter {
		return letter.EndpointFails(a.Locale, a.Name, e.Environment, e.URL, f.Since, page)
	})
}
