package service

import (
	"context"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/letter"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/store"
)

// TellFailingEndpoints queues a mail to the owners of each endpoint, of up to limit, that has acknowledged nothing for
// webhook.FailingAfter since an attempt failed, and returns how many there were. Nothing more is said of an endpoint
// until it has acknowledged a delivery.
func (s *Service) TellFailingEndpoints(ctx context.Context, limit int) (told int, err error) {
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
			if err := s.tellFailing(tx, f, now); err != nil {
				return err
			}
			told++
		}
		return nil
	})
	return told, s.afterMail(err)
}

func (s *Service) tellFailing(tx *store.Tx, f store.FailingEndpoint, now time.Time) error {
	first, err := tx.TellFailing(f.ID, now)
	if err != nil || !first {
		return err
	}
	e, err := tx.Endpoint(tx.Context(), f.ID)
	if err != nil {
		return err
	}
	page := s.publicURL + "/portal/" + string(e.Environment) + "/webhooks/" + e.ID
	return s.tellOwners(tx, e.AccountID, func(a *access.Account) letter.Letter {
		return letter.EndpointFails(a.Locale, a.Name, e.Environment, e.URL, f.Since, page)
	})
}
