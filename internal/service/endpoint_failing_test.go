package service_test

import (
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/shop"
)

// attempts sends test events to an endpoint now, one for each status that it answers with.
func attempts(t *testing.T, s *shop.Shop, e *webhook.Endpoint, owner access.Actor, statuses ...int) {
	t.Helper()
	now, sender := s.Clock.Now(), store.NewID()
	must.NoError(t, s.Store.Update(t.Context(), func(tx *store.Tx) error {
		_, err := tx.LeaseQueues(sender, []string{e.ID}, now, now.Add(time.Second))
		return err
	}))
	var results []store.AttemptResult
	for i, status := range statuses {
		id, err := s.Service.SendTestEvent(t.Context(), owner, e.ID, webhook.OrderOutcome)
		must.NoError(t, err)
		results = append(results, store.AttemptResult{
			Attempt: webhook.Attempt{
				DeliveryID: id, Number: 1, At: now.Add(time.Duration(i) * time.Millisecond), HTTPStatus: status,
			},
			EndpointID: e.ID, DueAt: now,
		})
	}
	must.NoError(t, s.Store.RecordAttempts(t.Context(), sender, results))
	must.NoError(t, s.Store.Update(t.Context(), func(tx *store.Tx) error {
		return tx.ReturnQueues(sender, []string{e.ID})
	}))
}

// TestFailingEndpoints lets an endpoint fail and recover: its owners are told once for each time it fails for an hour.
func TestFailingEndpoints(t *testing.T) {
	eachPost(t, func(t *testing.T, s *shop.Shop, owner *service.Member) {
		addOwner(t, s, "second@acme.example", access.Owner)
		addOwner(t, s, "developer@acme.example", access.Developer)
		actor := owner.Actor(access.Live, portalOrigin)
		e := endpoint(t, s, s.Live, "hook", webhook.Events...)
		told := func(want bool) []*service.OutgoingMail {
			t.Helper()
			n, err := s.Service.TellFailingEndpoints(t.Context(), 100)
			must.NoError(t, err)
			if !want {
				s.WantMails(t)
				return nil
			}
			if n != 1 {
				t.Errorf("%d endpoints were told about", n)
			}
			return s.WantMails(t, "endpoint-failing owner@acme.example", "endpoint-failing second@acme.example")
		}
		attempts(t, s, e, actor, 204)
		told(false)
		s.Clock.Advance(5 * time.Minute)
		attempts(t, s, e, actor, 500, 204, 500)
		since := s.Clock.Now()
		s.Clock.Advance(30 * time.Minute)
		attempts(t, s, e, actor, 500)
		told(false)
		s.Clock.Advance(29 * time.Minute)
		told(false)
		s.Clock.Advance(time.Minute + time.Second)
		mails := told(true)
		for _, word := range []string{
			e.URL, since.Format("2006-01-02 15:04") + " UTC", "/portal/live/webhooks/" + e.ID, "Live",
		} {
			if !strings.Contains(mails[0].Text, word) {
				t.Errorf("the mail does not say %q:\n%s", word, mails[0].Text)
			}
		}
		for range 30 { // it goes on failing, for longer than its counts are looked at
			s.Clock.Advance(2 * time.Hour)
			attempts(t, s, e, actor, 500)
			told(false)
		}
		attempts(t, s, e, actor, 200)
		told(false) // healthy
		s.Clock.Advance(time.Minute)
		attempts(t, s, e, actor, 500)
		told(false)
		s.Clock.Advance(2 * time.Hour)
		must.NoError(t, s.Store.Update(t.Context(), func(tx *store.Tx) error {
			return tx.SetAccountLocale(s.Account.ID, text.Japanese)
		}))
		if mails := told(true); !strings.Contains(mails[0].Text, "本番環境") {
			t.Errorf("the mail is not in Japanese:\n%s", mails[0].Text)
		}

		attempts(t, s, e, actor, 200)
		told(false)
		attempts(t, s, e, actor, 500)
		s.Clock.Advance(30 * time.Minute)
		must.NoError(t, second(s.Service.PauseEndpoint(t.Context(), actor, e.ID, true)))
		s.Clock.Advance(time.Hour)
		told(false) // who pauses it knows
		must.NoError(t, second(s.Service.PauseEndpoint(t.Context(), actor, e.ID, false)))
		s.Clock.Advance(26 * time.Hour)
		told(false) // it is long ago
	})
}

// TestFailingEndpoints_NoMail checks that nothing is noted where nobody can be told.
func TestFailingEndpoints_NoMail(t *testing.T) {
	eachPortal(t, func(t *testing.T, s *shop.Shop, owner *service.Member) {
		actor := owner.Actor(access.Test, portalOrigin)
		e := endpoint(t, s, s.Test, "hook", webhook.Events...)
		attempts(t, s, e, actor, 500)
		s.Clock.Advance(time.Hour)
		n, err := s.Service.TellFailingEndpoints(t.Context(), 100)
		must.NoError(t, err)
		if n != 0 {
			t.Errorf("%d endpoints were told about", n)
		}
		s.Reconfigure(t, shop.WithMail)
		n, err = s.Service.TellFailingEndpoints(t.Context(), 100)
		must.NoError(t, err)
		if n != 1 {
			t.Errorf("%d endpoints were told about with a mail server", n)
		}
		s.WantMails(t, "endpoint-failing "+owner.Email)
	})
}
