package service_test

import (
	"sync"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/proof"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// eachPortal runs a test of the portal's use cases on every engine, as the owner of the shop's account.
func eachPortal(t *testing.T, f func(t *testing.T, s *shop.Shop, owner *service.Member)) {
	t.Helper()
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := shop.New(t, target)
		u, err := s.Store.Owner(t.Context(), s.Account.ID)
		must.NoError(t, err)
		owner, err := s.Service.MemberOfSession(t.Context(), u.ID)
		must.NoError(t, err)
		f(t, s, owner)
	})
}

var portalOrigin = access.Origin{IP: "192.0.2.7", UserAgent: "a browser"}

// TestPortalLastOwner lets two owners take the role from each other at once: one stays.
func TestPortalLastOwner(t *testing.T) {
	eachPortal(t, func(t *testing.T, s *shop.Shop, owner *service.Member) {
		second := &access.User{
			ID: store.NewID(), AccountID: s.Account.ID, Email: "second@acme.example", Role: access.Owner,
			PasswordHash: "x", CreatedAt: s.Clock.Now(),
		}
		must.NoError(t, s.Store.Update(t.Context(), func(tx *store.Tx) error { return tx.InsertUser(second) }))
		other, err := s.Service.MemberOfSession(t.Context(), second.ID)
		must.NoError(t, err)
		var wg sync.WaitGroup
		wg.Go(func() { _ = s.Service.ChangeRole(t.Context(), owner.Actor("", portalOrigin), second.ID, access.Viewer) })
		wg.Go(func() { _ = s.Service.RemoveUser(t.Context(), other.Actor("", portalOrigin), owner.ID) })
		wg.Wait()
		if _, err := s.Store.Owner(t.Context(), s.Account.ID); err != nil {
			t.Errorf("the account has no owner: %v", err)
		}
	})
}

func TestPortalMoveTestOrder(t *testing.T) {
	eachPortal(t, func(t *testing.T, s *shop.Shop, owner *service.Member) {
		id := s.Order(t, s.Test, order.MockAuthentic)
		for _, from := range order.SandboxStates {
			for _, to := range order.SandboxStates {
				for _, stage := range []order.SandboxState{from, to} {
					if _, err := s.Service.SimulateState(t.Context(), owner.Actor(access.Test, access.Origin{}), id, stage,
						nil); err != nil {
						t.Fatalf("%s to %s: %v", from, to, err)
					}
				}
			}
		}
		must.NoError(t, s.Service.SimulateDelay(t.Context(), owner.Actor(access.Test, access.Origin{}), id, true))
		must.NoError(t, s.Service.SetTestBalance(t.Context(), owner.Actor(access.Test, access.Origin{}), 7))
		if balance, err := s.Store.Balance(t.Context(), s.Account.ID, access.Test); err != nil || balance != 7 {
			t.Errorf("balance %d, %v", balance, err)
		}
		live := s.Order(t, s.Live, "")
		if _, err := s.Service.SimulateState(t.Context(), owner.Actor(access.Test, access.Origin{}), live,
			order.SandboxState(order.Failed), nil); err == nil {
			t.Error("a Live order was moved")
		}
		report, err := proof.Check(t.Context(), s.Proof())
		must.NoError(t, err)
		if !report.OK {
			t.Errorf("the books do not prove: %+v", report)
		}
	})
}

func TestPortalLists(t *testing.T) {
	eachPortal(t, func(t *testing.T, s *shop.Shop, owner *service.Member) {
		s.Trade(t)
		actor := owner.Actor(access.Test, access.Origin{})
		rows, total, err := s.Service.OrderPage(t.Context(), actor, order.Filter{}, 1, 3)
		must.NoError(t, err)
		if len(rows) != 3 || total != 5 || rows[0].Seq != 5 || rows[0].Classification.BrandCode != "prada" {
			t.Errorf("%d rows of %d: %+v", len(rows), total, rows)
		}
		photos := order.Filter{Statuses: []order.Status{order.UpdatePhotos}}
		waiting, _, err := s.Service.Orders(t.Context(), actor, photos, nil, 10)
		must.NoError(t, err)
		if len(waiting) != 1 {
			t.Errorf("%d orders wait", len(waiting))
		}
		found, err := s.Service.FindOrders(t.Context(), actor, rows[1].Number, 10)
		must.NoError(t, err)
		if len(found) != 1 || found[0].ID != rows[1].ID {
			t.Errorf("found %+v", found)
		}
		overview, err := s.Service.Overview(t.Context(), owner.Actor(access.Test, access.Origin{}))
		must.NoError(t, err)
		if overview.Waiting != 1 || overview.Days[len(overview.Days)-1].Orders != 5 || overview.Total.Ended() != 4 {
			t.Errorf("overview %+v", overview)
		}
		live := owner.Actor(access.Live, portalOrigin)
		lines, book, err := s.Service.Ledger(t.Context(), live, live.Tenant, 1, 10)
		must.NoError(t, err)
		if len(lines) != int(book.Entries) || lines[0].BalanceAfter != book.Credits || lines[0].OrderNumber == "" {
			t.Errorf("%d of %d lines: %+v", len(lines), book.Entries, lines)
		}
		from, to := s.Clock.Now().Add(-time.Hour), s.Clock.Now().Add(time.Hour)
		created := audit.Filter{Code: audit.KeyCreated, From: &from, To: &to}
		events, _, err := s.Service.AuditEvents(t.Context(), live, created, 0, 10)
		must.NoError(t, err)
		if len(events) != 2 {
			t.Errorf("%d events", len(events))
		}
		f := webhook.DeliveryFilter{Tenant: live.Tenant}
		if n, err := s.Service.RedeliverFailed(t.Context(), live, f, from); err != nil || n != 0 {
			t.Errorf("%d sent again, %v", n, err)
		}
	})
}

// TestKeyUse checks that the last use of a key becomes known without its request waiting for it.
func TestKeyUse(t *testing.T) {
	eachPortal(t, func(t *testing.T, s *shop.Shop, owner *service.Member) {
		k, secret, err := s.Service.CreateKey(t.Context(), owner.Actor("", portalOrigin), service.NewKey{
			Tenant: s.Test.Tenant, Name: "Till", Scopes: access.AllScopes,
		})
		must.NoError(t, err)
		_, err = s.Service.Authenticate(t.Context(), secret, "")
		must.NoError(t, err)
		if at := awaitUse(t, s, k.ID); !at.Equal(s.Clock.Now()) {
			t.Errorf("used at %v", at)
		}
	})
}

// awaitUse returns when a key was used, as soon as that is noted.
func awaitUse(t *testing.T, s *shop.Shop, keyID string) time.Time {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for {
		k, err := s.Store.Key(t.Context(), keyID)
		must.NoError(t, err)
		if k.LastUsedAt != nil {
			return *k.LastUsedAt
		}
		if time.Now().After(deadline) {
			t.Fatal("the use was not noted")
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// TestKeyUseElsewhere checks that a refused request does not count as a use of the key.
func TestKeyUseElsewhere(t *testing.T) {
	eachPortal(t, func(t *testing.T, s *shop.Shop, owner *service.Member) {
		networks, problem := access.CheckNetworks("networks", []string{"192.0.2.0/24"})
		if problem != nil {
			t.Fatal(problem.Message)
		}
		k, secret, err := s.Service.CreateKey(t.Context(), owner.Actor("", portalOrigin), service.NewKey{
			Tenant: s.Test.Tenant, Name: "Till", Scopes: access.AllScopes, Networks: networks,
		})
		must.NoError(t, err)
		stored, err := s.Service.Key(t.Context(), owner.Actor("", portalOrigin), k.ID)
		must.NoError(t, err)
		if stored.Networks.String() != "192.0.2.0/24" {
			t.Errorf("networks %s", stored.Networks)
		}
		if _, err := s.Service.Authenticate(t.Context(), secret, "203.0.113.1"); fault.CodeOf(err) != "forbidden" {
			t.Errorf("from elsewhere: %v", err)
		}
		// A use is noted once a minute: were the refusal noted, this one would not be.
		s.Clock.Advance(time.Second)
		_, err = s.Service.Authenticate(t.Context(), secret, "192.0.2.1")
		must.NoError(t, err)
		if at := awaitUse(t, s, k.ID); !at.Equal(s.Clock.Now()) {
			t.Errorf("used at %v", at)
		}
		viewer := owner.User
		viewer.Role = access.Viewer
		if err := s.Service.SetKeyNetworks(t.Context(), viewer.Actor("", portalOrigin), k.ID,
			nil); fault.CodeOf(err) != "forbidden" {
			t.Errorf("a viewer changes networks: %v", err)
		}
	})
}
