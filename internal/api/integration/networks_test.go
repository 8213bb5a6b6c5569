package integration_test

import (
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/testkit/integrationtest"
)

// TestNetworks checks where a key may be used from.
func TestNetworks(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		account := w.NewAccount(t)
		at := func(c *client, address string) *client {
			moved := *c
			moved.Address = address
			return &moved
		}
		key := account.Test(t, integrationtest.From(t, "192.0.2.0/24", "2001:db8::/32"), integrationtest.Limit("read", 2))
		inside, outside := at(key, "192.0.2.7:1234"), at(key, "203.0.113.9:1234")

		t.Run("Inside", func(t *testing.T) {
			key := account.Test(t, integrationtest.From(t, "192.0.2.0/24", "2001:db8::/32"))
			for _, address := range []string{"192.0.2.0:1", "192.0.2.255:65535", "[2001:db8::7]:443", "[::ffff:192.0.2.8]:80"} {
				at(key, address).Get(t, "/balance").Want(t, 200)
			}
		})
		t.Run("Outside", func(t *testing.T) {
			for address, seen := range map[string]string{
				"203.0.113.9:1234": "203.0.113.9", "192.0.3.0:1": "192.0.3.0", "[2001:db9::7]:443": "2001:db9::7",
				"[::ffff:203.0.113.9]:80": "203.0.113.9",
			} {
				e := at(key, address).Get(t, "/balance").Refused(t, 403, "forbidden")
				if e.Details["address"] != seen || len(e.Details) != 1 {
					t.Errorf("the details are %v, want the address %s", e.Details, seen)
				}
				wantNoQuota(t, e.Response)
			}
		})
		t.Run("EveryOperation", func(t *testing.T) {
			for _, op := range operations {
				outside.Send(t, op.send).Refused(t, 403, "forbidden")
			}
			outside.Get(t, "/nothing").Refused(t, 403, "forbidden")
		})
		t.Run("CostsNoQuota", func(t *testing.T) {
			for range 5 {
				outside.Get(t, "/balance").Refused(t, 403, "forbidden")
			}
			inside.Get(t, "/balance").Want(t, 200)
			inside.Get(t, "/balance").Want(t, 200)
			inside.Get(t, "/balance").Refused(t, 429, "rate-limit-exceeded")
			outside.Get(t, "/balance").Refused(t, 403, "forbidden")
		})
		t.Run("IsNoFailedAuthentication", func(t *testing.T) {
			here := at(key, "198.51.100.1:1")
			for range 301 {
				here.Get(t, "/balance").Refused(t, 403, "forbidden")
			}
			here.Secret = access.NewSecretKey(access.Test)
			here.Get(t, "/balance").Refused(t, 401, "unauthorized")
		})
		t.Run("RevokedIsUnauthorized", func(t *testing.T) {
			gone := account.Test(t, integrationtest.From(t, "192.0.2.1"))
			if _, err := w.Service.RevokeKey(t.Context(), access.Operator, gone.Key.ID); err != nil {
				t.Fatal(err)
			}
			at(gone, "203.0.113.9:1").Get(t, "/balance").Refused(t, 401, "unauthorized")
		})
		t.Run("HeadersOfProxiesDoNotCount", func(t *testing.T) {
			outside.Send(t, request{
				Method: "GET", Path: "/balance",
				Header: map[string][]string{
					"X-Forwarded-For": {"192.0.2.7"}, "Forwarded": {"for=192.0.2.7"}, "X-Real-Ip": {"192.0.2.7"},
				},
			}).
				Refused(t, 403, "forbidden")
		})
		t.Run("ChangedElsewhereWithinASecond", func(t *testing.T) {
			c := at(account.Test(t), "203.0.113.9:1")
			c.Get(t, "/balance").Want(t, 200)
			owner, err := w.Service.MemberOfSession(t.Context(), account.OwnerID)
			if err != nil {
				t.Fatal(err)
			}
			set := func(networks ...string) {
				t.Helper()
				checked, problem := access.CheckNetworks("networks", networks)
				if problem != nil {
					t.Fatal(problem.Message)
				}
				// shares nothing but the database
				node := service.New(service.Config{Store: w.Store, Now: w.Clock.Now, Log: w.Config.Log})
				if err := node.SetKeyNetworks(t.Context(), owner.Actor("", access.Origin{}), c.Key.ID, checked); err != nil {
					t.Fatal(err)
				}
				w.Clock.Advance(time.Second)
			}
			set("192.0.2.1")
			c.Get(t, "/balance").Refused(t, 403, "forbidden")
			set("192.0.2.1", "203.0.113.0/28")
			c.Get(t, "/balance").Want(t, 200)
			set()
			c.Get(t, "/balance").Want(t, 200)
			before, err := w.Store.AuditCount(t.Context(), account.Account.ID)
			if err != nil {
				t.Fatal(err)
			}
			events, _, err := w.Store.AuditPage(t.Context(), account.Account.ID, audit.Filter{}, 1, int(before))
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events {
				if _, told := e.Metadata["networks"]; told {
					t.Errorf("the audit log tells networks: %+v", e)
				}
			}
		})
	})
}
