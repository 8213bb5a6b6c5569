package service_test

import (
	"sync"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/shop"
)

// TestPortalLastOwner lets two owners take the role from each other at once: one stays.
func TestPortalLastOwner(t *testing.T) {
	eachPortal(t, func(t *testing.T, s *shop.Shop, owner *service.Member) {
		second := &access.User{
			ID: uuid7.New(), AccountID: s.Account.ID, Email: "second@acme.example", Role: access.Owner,
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
