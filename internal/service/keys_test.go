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
	"github.com/assayhq/assay/internal/testkit/fakeclock"
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
			for _, id := range []string{"", "x", store.NewID()} {
				if _, err := s.RevokeKey(t.Context(), access.Operator, id); err == nil {
					t.Errorf("%q was revoked", id)
				}
			}
		})
	})
}
