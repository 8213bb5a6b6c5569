package access_test

import (
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
)

// TestRequire_Key checks that an API key never may do what only people may: its scopes say nothing about that.
func TestRequire_Key(t *testing.T) {
	key := (&access.Key{Tenant: access.Tenant{AccountID: "a"}}).Actor(access.Origin{})
	for p, want := range map[access.Permission]bool{
		access.ViewAccount: true, access.ManageOrders: true, access.ManageWebhooks: true,
		access.ManageKeys: false, access.LimitKeys: false, access.Redeliver: false, access.ManageTeam: false,
		access.ManageAccount: false, access.ReviewOrders: false, access.Administer: false,
	} {
		if err := key.Require(p); (err == nil) != want {
			t.Errorf("permission %d: %v, want it to be allowed: %t", p, err, want)
		}
	}
	if key.RequireIn(access.ViewAccount, "b") == nil {
		t.Error("a key sees another account")
	}
}
