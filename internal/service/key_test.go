package service_test

import (
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/fakeclock"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// TestKeys makes and revokes keys.
func TestKeys(t *testing.T) {
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		clock := fakeclock.New(morning)
		s := node(st, clock)
		made, err := s.CreateAccount(t.Context(), access.System, "Acme", "owner@acme.example", text.English)
		if err != nil {
			t.Fatal(err)
		}
		create := func(name string, scopes ...access.Scope) (*access.Key, string, error) {
			return s.CreateKey(t.Context(), access.Operator, service.NewKey{
				Tenant: access.Tenant{AccountID: made.Account.ID, Environment: access.Live}, Name: name, Scopes: scopes,
				Limits: map[string]int{"read": 7},
			})
		}
		key, secretKey, err := create("shop", access.OrdersRead)
		if err != nil {
			t.Fatal(err)
		}
		t.Run("Authenticates", func(t *testing.T) {
			k, err := s.Authenticate(t.Context(), secretKey, "")
			if err != nil || k.ID != key.ID || k.Limits["read"] != 7 || k.CreatedBy != made.Owner.ID {
				t.Errorf("the key is %+v (%v)", k, err)
			}
		})
		t.Run("Refused", func(t *testing.T) {
			if _, _, err := create("", access.OrdersRead); err == nil {
				t.Error("a key without a name was made")
			}
			if _, _, err := create("none"); err == nil {
				t.Error("a key without a scope was made")
			}
		})
		t.Run("OperatorsMayExceedTheLimitOfAdministrators", func(t *testing.T) {
			tenant := access.Tenant{AccountID: made.Account.ID, Environment: access.Live}
			n := service.NewKey{
				Tenant: tenant, Name: "load", Scopes: access.AllScopes, Limits: map[string]int{"read": 1_000_000_000},
			}
			k, _, err := s.CreateKey(t.Context(), access.Operator, n)
			if err != nil || k.Limits["read"] != 1_000_000_000 {
				t.Errorf("the key is %+v (%v)", k, err)
			}
			admin := access.Actor{Kind: access.ByStaff, Name: "Admin", StaffRole: access.Admin}
			if _, _, err := s.CreateKey(t.Context(), admin, n); fault.CodeOf(err) != fault.CodeValidation {
				t.Errorf("an administrator gets %v", err)
			}
		})
		t.Run("RevokedOnce", func(t *testing.T) {
			for range 2 { // the second changes nothing, and the log has one event
				k, err := s.RevokeKey(t.Context(), access.Operator, strings.ToUpper(key.ID))
				if err != nil || k.RevokedAt == nil || !k.RevokedAt.Equal(morning) {
					t.Errorf("the key is revoked at %v (%v)", k.RevokedAt, err)
				}
				clock.Advance(time.Hour)
			}
			events, total, err := st.AuditPage(t.Context(), made.Account.ID, audit.Filter{Code: audit.KeyRevoked}, 1, 10)
			if err != nil || total != 1 || events[0].UserID != made.Owner.ID {
				t.Errorf("the log has %d revocations: %+v (%v)", total, events, err)
			}
		})
		t.Run("UnknownKey", func(t *testing.T) {
			for _, id := range []string{"", "x", uuid7.New()} {
				if _, err := s.RevokeKey(t.Context(), access.Operator, id); err == nil {
					t.Errorf("%q was revoked", id)
				}
			}
		})
	})
}

// TestKeyLimit checks that users cannot make keys without end, and that those who run the service are not held back.
func TestKeyLimit(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := shop.New(t, target, func(c *service.Config) { c.Limits.Keys = 4 }) // it has two keys
		owner, err := s.Store.Owner(t.Context(), s.Account.ID)
		must.NoError(t, err)
		add := func(actor access.Actor) (*access.Key, error) {
			k, _, err := s.Service.CreateKey(t.Context(), actor, service.NewKey{
				Tenant: s.Test.Tenant, Name: "Another", Scopes: access.AllScopes,
			})
			return k, err
		}
		user := owner.Actor("", access.Origin{})
		var last *access.Key
		for range 2 {
			last, err = add(user)
			must.NoError(t, err)
		}
		if _, err := add(user); fault.CodeOf(err) != "key-limit-reached" {
			t.Errorf("a fifth key: %v", err)
		}
		_, err = add(access.Operator)
		must.NoError(t, err)
		for _, k := range []*access.Key{last, s.Live} {
			_, err := s.Service.RevokeKey(t.Context(), user, k.ID)
			must.NoError(t, err)
		}
		_, err = add(user)
		must.NoError(t, err)
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
func awaitUse(t *testing.T, s *shop.Shop, keyID string) (at time.Time) {
	t.Helper()
	must.Eventually(t, time.Minute, "the use is noted", func() bool {
		k, err := s.Store.Key(t.Context(), keyID)
		must.NoError(t, err)
		if k.LastUsedAt != nil {
			at = *k.LastUsedAt
		}
		return k.LastUsedAt != nil
	})
	return at
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
