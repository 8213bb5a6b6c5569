package access_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
)

func TestCheckName(t *testing.T) {
	for _, name := range []struct {
		name, text string
		fine       bool
	}{
		{name: "Plain", text: "Acme", fine: true},
		{name: "Japanese", text: "株式会社", fine: true},
		{name: "Longest", text: strings.Repeat("界", 100), fine: true},
		{name: "Empty", text: ""},
		{name: "Blank", text: " \u3000"},
		{name: "TooLong", text: strings.Repeat("界", 101)},
		{name: "NUL", text: "a\x00b"},
		{name: "LineBreak", text: "a\nb"},
		{name: "InvalidUTF8", text: "a\xff"},
	} {
		t.Run(name.name, func(t *testing.T) {
			err := access.CheckName("the name", name.text)
			if (err == nil) != name.fine || err != nil && !strings.HasPrefix(err.Error(), "the name ") {
				t.Errorf("%q: %v", name.text, err)
			}
		})
	}
}

// TestNormalizeEmail checks which addresses are valid, and that case does not matter.
func TestNormalizeEmail(t *testing.T) {
	t.Run("LowerCase", func(t *testing.T) {
		if got, err := access.NormalizeEmail("Owner@Example.COM"); err != nil || got != "owner@example.com" {
			t.Errorf("the address is %q (%v)", got, err)
		}
	})
	t.Run("Refused", func(t *testing.T) {
		for _, text := range []string{
			"", "owner", "@example.com", "owner@", "Owner <owner@example.com>", "a@b, c@d", " a@b.c", "a@b.c\n",
			strings.Repeat("a", 251) + "@b.c", "mar\u212A@example.com", "\u0130@example.com",
		} {
			if got, err := access.NormalizeEmail(text); err == nil {
				t.Errorf("%q is read as %q", text, got)
			}
		}
	})
}

func TestParseEnvironment(t *testing.T) {
	t.Run("Both", func(t *testing.T) {
		for _, env := range access.Environments {
			if got, ok := access.ParseEnvironment(string(env)); !ok || got != env {
				t.Errorf("%s is read as %q", env, got)
			}
		}
	})
	t.Run("Others", func(t *testing.T) {
		for _, text := range []string{"", "Test", "LIVE", "production"} {
			if got, ok := access.ParseEnvironment(text); ok || got != "" {
				t.Errorf("%q is read as %q", text, got)
			}
		}
	})
}

// TestPassword hashes a password once, because hashing is slow on purpose.
func TestPassword(t *testing.T) {
	password := access.NewPassword()
	hash := access.HashPassword(password)
	t.Run("Verified", func(t *testing.T) {
		if ok, err := access.VerifyPassword(t.Context(), hash, password); !ok || err != nil {
			t.Errorf("the password is refused: %v", err)
		}
	})
	t.Run("Wrong", func(t *testing.T) {
		if ok, err := access.VerifyPassword(t.Context(), hash, password+"x"); ok || err != nil {
			t.Errorf("another password is accepted: %v", err)
		}
	})
	t.Run("GivenUp", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if ok, err := access.VerifyPassword(ctx, hash, password); ok || !errors.Is(err, context.Canceled) {
			t.Errorf("hashed for somebody who has gone: %v", err)
		}
	})
	t.Run("HashTellsNothing", func(t *testing.T) {
		if strings.Contains(hash, password) || !strings.HasPrefix(hash, "$argon2id$v=19$m=") {
			t.Errorf("the hash is %s", hash)
		}
	})
	t.Run("BrokenHash", func(t *testing.T) {
		for _, broken := range []string{
			"", "x", "$2y$10$abc", hash[:len(hash)-2], strings.Replace(hash, "v=19", "v=18", 1),
			strings.Replace(hash, "m=", "n=", 1),
		} {
			if ok, err := access.VerifyPassword(t.Context(), broken, password); ok || err == nil {
				t.Errorf("%q is taken for a hash", broken)
			}
		}
	})
}
