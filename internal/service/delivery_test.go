package service_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/expect"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pgtest"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// TestOutbox shows who gets which event.
func TestOutbox(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		woken := 0
		s := shop.New(t, target, func(c *service.Config) { c.OnDeliveries = func() { woken++ } })
		outcomes := endpoint(t, s, s.Test, "outcomes", webhook.OrderOutcome)
		both := endpoint(t, s, s.Test, "both", webhook.Events...)
		endpoint(t, s, s.Live, "live", webhook.Events...)
		count := func(f webhook.DeliveryFilter) int {
			found, err := s.Service.Deliveries(t.Context(), access.Operator, f, 100)
			must.NoError(t, err)
			return len(found)
		}
		id := s.Order(t, s.Test, order.MockFake)
		if n := count(webhook.DeliveryFilter{OrderID: id}); n != 2 || woken != 1 {
			t.Errorf("%d deliveries of an outcome, woken %d times", n, woken)
		}
		s.Order(t, s.Test, order.MockUpdatePhotos)
		s.Order(t, s.Live, "")
		if a, b, all := count(webhook.DeliveryFilter{EndpointID: outcomes.ID}),
			count(webhook.DeliveryFilter{EndpointID: both.ID}),
			count(webhook.DeliveryFilter{Tenant: access.Tenant{AccountID: s.Account.ID}}); a != 1 || b != 2 || all != 3 {
			t.Errorf("deliveries: %d, %d, in all %d", a, b, all)
		}
		must.NoError(t, s.Service.DeleteEndpoint(t.Context(), s.Test.Actor(access.Origin{}), both.ID))
		if n := count(webhook.DeliveryFilter{}); n != 1 {
			t.Errorf("%d deliveries after an endpoint was deleted", n)
		}
		_, err := s.Service.RevokeKey(t.Context(), access.Operator, s.Test.ID)
		must.NoError(t, err)
		s.Order(t, s.Test, order.MockFake)
		if n := count(webhook.DeliveryFilter{}); n != 0 {
			t.Errorf("%d deliveries for a revoked key", n)
		}
	})
}

// failDue lets the deliveries to an endpoint that are due fail.
func failDue(t *testing.T, s *shop.Shop, e *webhook.Endpoint) {
	t.Helper()
	const sender = "01980000-0000-7000-8000-000000000001"
	now := s.Clock.Now()
	must.NoError(t, s.Store.Update(t.Context(), func(tx *store.Tx) error {
		_, err := tx.LeaseQueues(sender, []string{e.ID}, now, now.Add(time.Hour))
		return err
	}))
	due, err := s.Store.DueDeliveries(t.Context(), e.ID, store.Place{}, now, 1000)
	must.NoError(t, err)
	var results []store.AttemptResult
	for _, d := range due {
		results = append(results, store.AttemptResult{
			Attempt:    webhook.Attempt{DeliveryID: d.ID, Number: d.Attempts + 1, At: now, HTTPStatus: http.StatusGone},
			EndpointID: e.ID, DueAt: d.DueAt,
		})
	}
	must.NoError(t, s.Store.RecordAttempts(t.Context(), sender, results))
}

// TestRedeliver_WhileDeleted sends a delivery again while it is being deleted: it never stands in the queue without
// being there.
func TestRedeliver_WhileDeleted(t *testing.T) {
	for name, test := range map[string]struct {
		remove func(ctx context.Context, s *shop.Shop, orderID string) error
		left   string
	}{
		"Order": {func(ctx context.Context, s *shop.Shop, orderID string) error {
			_, err := s.Service.EraseOrder(ctx, access.Operator, orderID, false)
			return err
		}, "0"},
		"Account": {func(ctx context.Context, s *shop.Shop, _ string) error {
			_, err := s.Service.EraseAccount(ctx, access.Operator, s.Account.ID, false)
			return err
		}, "0"},
		"Old": {func(ctx context.Context, s *shop.Shop, _ string) error {
			_, err := s.Service.DeleteOldDeliveries(ctx, s.Clock.Now().Add(time.Hour), 100)
			return err
		}, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			target := pgtest.Database(t)
			s := shop.New(t, target)
			e := endpoint(t, s, s.Test, "hook", webhook.OrderOutcome)
			orderID := s.Order(t, s.Test, order.MockFake)
			failDue(t, s, e)
			const old = "00000000-0000-7000-8000-000000000001" // of no part
			rawsql.Exec(t, target, "UPDATE deliveries SET id = '"+old+"'")
			rawsql.Exec(t, target, "UPDATE delivery_attempts SET delivery_id = '"+old+"'")
			removed := make(chan error, 1)
			must.NoError(t, s.Store.Update(t.Context(), func(tx *store.Tx) error {
				if err := tx.Redeliver(old, s.Clock.Now()); err != nil {
					return err
				}
				go func() { removed <- test.remove(t.Context(), s, orderID) }()
				rawsql.AwaitLock(t, target, 1)
				return nil
			}))
			must.NoError(t, <-removed)
			count := func(rows string) string { return rawsql.Rows(t, target, "SELECT COUNT(*) FROM "+rows)[0][0] }
			expect.Results(t, count, map[string]string{
				"deliveries": test.left, "delivery_queue": test.left, "delivery_attempts": test.left,
			})
		})
	}
}

func TestRedeliver(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := shop.New(t, target)
		ctx := t.Context()
		e := endpoint(t, s, s.Test, "hook", webhook.OrderOutcome)
		fail := func() { failDue(t, s, e) }
		for range 250 {
			s.Order(t, s.Test, order.MockUnableToVerify)
		}
		pending := newest(t, s)
		if err := s.Service.Redeliver(ctx, access.Operator, pending.ID); fault.CodeOf(err) != "not-redeliverable" {
			t.Errorf("redelivery of a pending delivery: %v", err)
		}
		fail()
		d, attempts, err := s.Service.Delivery(ctx, access.Operator, strings.ToUpper(pending.ID))
		if err != nil || d.Status != webhook.Failed || len(attempts) != 1 || attempts[0].HTTPStatus != http.StatusGone {
			t.Errorf("delivery: %+v, %+v, %v", d, attempts, err)
		}
		must.NoError(t, s.Service.Redeliver(ctx, access.Operator, d.ID))
		if got := newest(t, s); got.Status != webhook.Pending || string(got.Body) != string(pending.Body) {
			t.Errorf("redelivered: %+v", got)
		}
		since := s.Clock.Now()
		if n, err := s.Service.RedeliverFailed(ctx, access.Operator, webhook.DeliveryFilter{},
			since.Add(time.Second)); n != 0 || err != nil {
			t.Errorf("%d failed later, %v", n, err)
		}
		if n, err := s.Service.RedeliverFailed(ctx, access.Operator, webhook.DeliveryFilter{EndpointID: e.ID},
			since); n != 249 || err != nil {
			t.Errorf("%d failed were sent again, %v", n, err)
		}
		fail()
		must.NoError(t, s.Service.DeleteEndpoint(ctx, s.Test.Actor(access.Origin{}), e.ID))
		if n, err := s.Service.RedeliverFailed(ctx, access.Operator, webhook.DeliveryFilter{}, since); n != 0 || err != nil {
			t.Errorf("%d were sent again to a deleted endpoint, %v", n, err)
		}
		if err := s.Service.Redeliver(ctx, access.Operator, d.ID); fault.CodeOf(err) != "not-redeliverable" {
			t.Errorf("redelivery to a deleted endpoint: %v", err)
		}
		for _, id := range []string{"", "x", uuid7.New()} {
			if _, _, err := s.Service.Delivery(ctx, access.Operator, id); !errors.Is(err, webhook.DeliveryNotFound) {
				t.Errorf("delivery %q: %v", id, err)
			}
		}
		if n, err := s.Service.DeleteOldAttempts(ctx, s.Clock.Advance(time.Hour), 1000); n != 500 || err != nil {
			t.Errorf("%d attempts were forgotten, %v", n, err)
		}
		if n, err := s.Service.DeleteOldAttempts(ctx, s.Clock.Now(), 1000); n != 0 || err != nil {
			t.Errorf("%d attempts were forgotten again, %v", n, err)
		}
	})
}

// attempts sends test events to an endpoint now, one for each status that it answers with.
func attempts(t *testing.T, s *shop.Shop, e *webhook.Endpoint, owner access.Actor, statuses ...int) {
	t.Helper()
	now, sender := s.Clock.Now(), uuid7.New()
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
			n, err := s.Service.NotifyFailingEndpoints(t.Context(), 100)
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
		n, err := s.Service.NotifyFailingEndpoints(t.Context(), 100)
		must.NoError(t, err)
		if n != 0 {
			t.Errorf("%d endpoints were told about", n)
		}
		s.Reconfigure(t, shop.WithMail)
		n, err = s.Service.NotifyFailingEndpoints(t.Context(), 100)
		must.NoError(t, err)
		if n != 1 {
			t.Errorf("%d endpoints were told about with a mail server", n)
		}
		s.WantMails(t, "endpoint-failing "+owner.Email)
	})
}
