package service_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/secret"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/service/keyring"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/expect"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/progresstest"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

func newBox(t *testing.T, key string, previous ...string) *secret.Box {
	t.Helper()
	box, err := secret.New(key, previous...)
	must.NoError(t, err)
	return box
}

// sealEverything leaves a value in every column that is sealed.
func sealEverything(t *testing.T, s *shop.Shop) {
	t.Helper()
	for _, path := range []string{"a", "b"} {
		e := endpoint(t, s, s.Test, path, webhook.OrderOutcome)
		_, _, err := s.Service.RotateSecret(t.Context(), s.Test.Actor(access.Origin{}), e.ID)
		must.NoError(t, err)
	}
	must.NoError(t, s.Store.Update(t.Context(), func(tx *store.Tx) error {
		return errors.Join(
			tx.SetTOTP(access.Portal, "user-1", &store.TOTP{
				SealedSecret: s.Config.Secrets.Seal("totp", "totp of user-1"),
			}, s.Clock.Now()),
			s.Service.QueueMail(tx, &store.Mail{Kind: "notice"}, map[string]string{"a": "b"}),
		)
	}))
}

// sealedWith returns "table.column" of every text in the database that begins with the prefix.
func sealedWith(t *testing.T, target, prefix string) (places []string) {
	t.Helper()
	columns := "SELECT m.name, c.name FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c WHERE m.type = 'table'"
	if store.IsPostgres(target) {
		columns = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = current_schema()"
	}
	for _, c := range rawsql.Rows(t, target, columns) {
		found := rawsql.Rows(t, target,
			"SELECT COUNT(*) FROM "+c[0]+" WHERE CAST("+c[1]+" AS TEXT) LIKE '"+prefix+"%'")
		if found[0][0] != "0" {
			places = append(places, c[0]+"."+c[1])
		}
	}
	return places
}

func TestRotateSecrets(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := shop.New(t, target, shop.WithMail, func(c *service.Config) { c.SecretOverlap = time.Hour })
		ctx := t.Context()
		sealEverything(t, s)
		const fresh = "the secret key that replaces the other"
		oldPrefix := newBox(t, shop.SecretKey).Prefix()
		places := sealedWith(t, target, oldPrefix)
		if len(places) != 5 {
			t.Fatalf("sealed: %v", places)
		}

		t.Run("AnotherKeyIsRefused", func(t *testing.T) {
			_, err := keyring.OpenOrCreate(ctx, s.Store, newBox(t, fresh), s.Clock.Now())
			if !errors.Is(err, keyring.ErrSecretKey) {
				t.Errorf("OpenOrCreate = %v", err)
			}
		})
		before := s.Service.CertificateKeys()
		both, err := keyring.OpenOrCreate(ctx, s.Store, newBox(t, fresh, shop.SecretKey), s.Clock.Now())
		must.NoError(t, err)
		s.Reconfigure(t, func(c *service.Config) { c.Secrets = both })

		t.Run("Interrupted", func(t *testing.T) {
			rawsql.Exec(t, target, "ALTER TABLE webhook_endpoints RENAME TO away")
			_, err := s.Service.RotateSecrets(ctx)
			rawsql.Exec(t, target, "ALTER TABLE away RENAME TO webhook_endpoints")
			if err == nil {
				t.Fatal("it was not interrupted")
			}
			for _, key := range []string{fresh, shop.SecretKey} {
				_, err := keyring.OpenOrCreate(ctx, s.Store, newBox(t, key), s.Clock.Now())
				if !errors.Is(err, keyring.ErrSecretKey) {
					t.Errorf("with one of both keys: %v", err)
				}
			}
			must.NoError(t, second(keyring.OpenOrCreate(ctx, s.Store, newBox(t, fresh, shop.SecretKey), s.Clock.Now())))
		})
		t.Run("OneIsBroken", func(t *testing.T) {
			rawsql.Exec(t, target, "UPDATE totp SET sealed_secret = 'v2:00000000:AAAA' || sealed_secret")
			told := &progresstest.Recorder{}
			r, err := s.Service.RotateSecrets(told.Context(ctx))
			must.NoError(t, err)
			told.WantDone(t, "secrets to seal")
			expect.Equal(t, "remaining", r.Remaining, 1)
			if len(r.Broken) != 1 || r.Broken[0] != "totp user-1" {
				t.Errorf("broken: %v", r.Broken)
			}
			var unreadable []string
			must.NoError(t, s.Service.UnreadableSecrets(ctx, func(table, id string) {
				unreadable = append(unreadable, table+" "+id)
			}))
			expect.Equal(t, "unreadable", strings.Join(unreadable, ", "), "totp user-1")
			rawsql.Exec(t, target, "UPDATE totp SET sealed_secret = REPLACE(sealed_secret, 'v2:00000000:AAAA', '')")
		})
		t.Run("GoesOn", func(t *testing.T) {
			r, err := s.Service.RotateSecrets(ctx)
			must.NoError(t, err)
			expect.Equal(t, "resealed", r.Resealed, 1)
			expect.Equal(t, "remaining", r.Remaining, 0)
		})
		t.Run("OneKeptKeyIsBroken", func(t *testing.T) {
			for _, label := range []string{"certificates-live", "audit-chains"} {
				rawsql.Exec(t, target, "UPDATE sealed_keys SET sealed = 'v2:00000000:AAAA' || sealed WHERE id = '"+label+"'")
				r, err := s.Service.RotateSecrets(ctx)
				must.NoError(t, err)
				expect.Equal(t, "remaining", r.Remaining, 1)
				expect.Equal(t, "broken", strings.Join(r.Broken, ", "), "sealed_keys "+label)
				_, err = keyring.OpenOrCreate(ctx, s.Store, newBox(t, fresh, shop.SecretKey), s.Clock.Now())
				if !errors.Is(err, keyring.ErrSecretKey) || !strings.Contains(err.Error(), "but not "+label) {
					t.Errorf("OpenOrCreate with a broken %s: %v", label, err)
				}
				rawsql.Exec(t, target, "UPDATE sealed_keys SET sealed = REPLACE(sealed, 'v2:00000000:AAAA', '')")
			}
		})
		t.Run("EverythingSealedIsListed", func(t *testing.T) {
			if left := sealedWith(t, target, oldPrefix); len(left) > 0 {
				t.Errorf("still sealed with the replaced key: %v", left)
			}
			if now := sealedWith(t, target, both.Prefix()); len(now) != len(places) {
				t.Errorf("sealed with the new key: %v, want %v", now, places)
			}
		})
		t.Run("WithoutThePreviousKey", func(t *testing.T) {
			box, err := keyring.OpenOrCreate(ctx, s.Store, newBox(t, fresh), s.Clock.Now())
			must.NoError(t, err)
			s.Reconfigure(t, func(c *service.Config) { c.Secrets = box })
			must.NoError(t, s.Service.UnreadableSecrets(ctx, func(table, id string) {
				t.Errorf("%s %s cannot be opened", table, id)
			}))
			expect.Equal(t, "certificate key", s.Service.CertificateKeys()[0].ID, before[0].ID)
			r, err := s.Service.RotateSecrets(ctx)
			must.NoError(t, err)
			expect.Equal(t, "resealed", r.Resealed, 0)
		})
	})
}

// TestRotateSecrets_Ended: the previous secret of an endpoint, with which nothing is signed any more, needs no key, and
// is forgotten.
func TestRotateSecrets_Ended(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		ctx := t.Context()
		s := shop.New(t, target, func(c *service.Config) { c.SecretOverlap = time.Hour })
		e := endpoint(t, s, s.Test, "hook", webhook.OrderOutcome)
		_, _, err := s.Service.RotateSecret(ctx, s.Test.Actor(access.Origin{}), e.ID)
		must.NoError(t, err)
		rotated := s.Clock.Now()
		rawsql.Exec(t, target, "UPDATE webhook_endpoints SET sealed_previous = 'v2:00000000:AAAA'")
		remaining := func() (n int) {
			t.Helper()
			r, err := s.Service.RotateSecrets(ctx)
			must.NoError(t, err)
			must.NoError(t, s.Service.UnreadableSecrets(ctx, func(string, string) { n++ }))
			expect.Equal(t, "remaining", r.Remaining, n)
			return n
		}
		expect.Equal(t, "remaining while it is valid", remaining(), 1)
		s.Clock.Advance(time.Hour)
		expect.Equal(t, "remaining after its end", remaining(), 0)

		forget := func(want int) {
			t.Helper()
			n, err := s.Service.ForgetEndedSecrets(ctx, 10)
			must.NoError(t, err)
			expect.Equal(t, "forgotten", n, want)
		}
		s.Clock.Advance(24 * time.Hour)
		forget(0)
		s.Clock.Advance(time.Second)
		forget(1)
		forget(0)
		e, err = s.Store.Endpoint(ctx, e.ID)
		must.NoError(t, err)
		if r := e.Rotation; r == nil || r.SealedPrevious != "" || !r.At.Equal(rotated) {
			t.Errorf("the rotation is %+v", r)
		}
	})
}

// TestLostKeys: keys are made for a new installation only, and what was lost is named.
func TestLostKeys(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := shop.New(t, target)
		ctx, box := t.Context(), newBox(t, shop.SecretKey)
		count := func() string { return rawsql.Rows(t, target, "SELECT COUNT(*) FROM sealed_keys")[0][0] }
		for _, lost := range []struct{ where, named, left string }{
			{"id = 'audit-chains'", "lost audit-chains,", "3"},
			{"1 = 1", "lost root, certificates-live, certificates-test, audit-chains,", "0"},
		} {
			rawsql.Exec(t, target, "DELETE FROM sealed_keys WHERE "+lost.where)
			_, err := keyring.OpenOrCreate(ctx, s.Store, box, s.Clock.Now())
			_, read := keyring.Open(ctx, s.Store, box)
			for _, err := range []error{err, read} {
				if err == nil || !strings.Contains(err.Error(), lost.named) || !strings.Contains(err.Error(), "restore a backup") {
					t.Errorf("without %s: %v", lost.where, err)
				}
			}
			expect.Equal(t, "keys left", count(), lost.left)
		}
	})
}
