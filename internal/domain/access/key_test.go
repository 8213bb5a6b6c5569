package access_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
)

// TestSecretKey checks the form of keys and their checksum.
func TestSecretKey(t *testing.T) {
	t.Run("Form", func(t *testing.T) {
		seen := make(map[string]bool)
		for _, env := range access.Environments {
			form := regexp.MustCompile("^assay_" + string(env) + "_[0-9A-Za-z]{38}$")
			for range 100 {
				key := access.NewSecretKey(env)
				if got, ok := access.ParseSecretKey(key); !form.MatchString(key) || !ok || got != env || seen[key] {
					t.Fatalf("the key is %s", key)
				}
				seen[key] = true
			}
		}
	})
	key := access.NewSecretKey(access.Test)
	t.Run("AnyTypo", func(t *testing.T) {
		for i := range len(key) {
			for _, c := range "0aZ_~" {
				if wrong := key[:i] + string(c) + key[i+1:]; wrong != key {
					if _, ok := access.ParseSecretKey(wrong); ok {
						t.Errorf("%s passes for %s", wrong, key)
					}
				}
			}
		}
	})
	t.Run("OtherTexts", func(t *testing.T) {
		for _, text := range []string{
			"", "assay_test_", key[:len(key)-1], key + "0", " " + key, strings.Replace(key, "test", "live", 1),
			strings.ToUpper(key), "assay_prod_" + key[11:],
		} {
			if _, ok := access.ParseSecretKey(text); ok {
				t.Errorf("%q is a key", text)
			}
		}
	})
	t.Run("HashAndHint", func(t *testing.T) {
		hash := access.HashSecretKey(key)
		if len(hash) != 64 || strings.Contains(hash, key) || hash == access.HashSecretKey(key[:len(key)-1]) {
			t.Errorf("the hash is %s", hash)
		}
		if hint := access.KeyHint(key); !strings.HasSuffix(key, hint) || len(hint) != 4 {
			t.Errorf("the hint is %s", hint)
		}
	})
}

func TestKey(t *testing.T) {
	now := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	earlier, later := now.Add(-time.Second), now.Add(time.Second)
	k := &access.Key{Scopes: []access.Scope{access.OrdersRead}}
	t.Run("Scopes", func(t *testing.T) {
		if !k.Allows(access.OrdersRead) || !k.Allows("") || k.Allows(access.OrdersWrite) {
			t.Error("the key allows other scopes than its own")
		}
	})
	for _, life := range []struct {
		name string
		key  access.Key
		want bool
	}{
		{name: "Endless", want: true},
		{name: "NotYetExpired", key: access.Key{ExpiresAt: &later}, want: true},
		{name: "ExpiresNow", key: access.Key{ExpiresAt: &now}},
		{name: "Expired", key: access.Key{ExpiresAt: &earlier}},
		{name: "Revoked", key: access.Key{RevokedAt: &earlier}},
		{name: "RevokedLater", key: access.Key{RevokedAt: &later}},
	} {
		t.Run(life.name, func(t *testing.T) {
			if got := life.key.UsableAt(now); got != life.want {
				t.Errorf("usable is %v", got)
			}
		})
	}
}

func TestParseScopes(t *testing.T) {
	t.Run("All", func(t *testing.T) {
		got, err := access.ParseScopes("all")
		if want := []access.Scope{"orders:read", "orders:write", "webhooks:manage", "audit:read"}; err != nil ||
			!slices.Equal(got, want) {
			t.Errorf("all is %q (%v)", got, err)
		}
	})
	t.Run("List", func(t *testing.T) { // each once, in the canonical order
		got, err := access.ParseScopes("audit:read, orders:read,audit:read")
		if want := []access.Scope{"orders:read", "audit:read"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("the scopes are %q (%v)", got, err)
		}
	})
	t.Run("Unknown", func(t *testing.T) {
		for _, text := range []string{"", "orders", "orders:read,", "orders:read all", "ALL", "orders:read;orders:write"} {
			if got, err := access.ParseScopes(text); err == nil {
				t.Errorf("%q is read as %q", text, got)
			}
		}
	})
	t.Run("StoredForm", func(t *testing.T) {
		scopes := []access.Scope{"orders:read", "audit:read"}
		if got := access.SplitScopes(access.JoinScopes(scopes)); !slices.Equal(got, scopes) {
			t.Errorf("the scopes become %q", got)
		}
	})
	t.Run("Missing", func(t *testing.T) {
		if e := access.MissingScope(access.AuditRead); e.Code != "forbidden" || e.Details["required_scope"] != "audit:read" {
			t.Errorf("the refusal is %+v", e)
		}
	})
}
