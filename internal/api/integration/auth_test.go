package integration_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/api/integration"
	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/integrationtest"
	"github.com/assayhq/assay/internal/testkit/must"
)

// TestAuthentication checks that nothing but a valid key gets in, and that no refusal tells why.
func TestAuthentication(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		account := w.NewAccount(t)
		valid := account.Test(t)
		revoked := account.Test(t)
		if _, err := w.Service.RevokeKey(t.Context(), access.Operator, revoked.Key.ID); err != nil {
			t.Fatal(err)
		}
		expired := expiringKey(t, account, w.Clock.Now())

		send := func(t *testing.T, authorization ...string) *integrationtest.Response {
			t.Helper()
			h := http.Header{}
			if authorization != nil {
				h["Authorization"] = authorization
			}
			return w.Anonymous().Send(t, request{Method: "GET", Path: "/balance", Header: h})
		}
		t.Run("Valid", func(t *testing.T) { valid.Get(t, "/balance").Want(t, 200) })
		t.Run("SchemeInAnyCase", func(t *testing.T) { send(t, "bEARER "+valid.Secret).Want(t, 200) })

		t.Run("EveryOperation", func(t *testing.T) {
			for _, op := range operations {
				w.Anonymous().Send(t, op.send).Refused(t, 401, "unauthorized")
			}
		})

		typo := valid.Secret[:20] + flip(valid.Secret[20]) + valid.Secret[21:]
		refusals := map[string][]string{
			"Missing":         nil,
			"Empty":           {""},
			"SchemeOnly":      {"Bearer"},
			"EmptyToken":      {"Bearer "},
			"OtherScheme":     {"Basic " + valid.Secret},
			"NoScheme":        {valid.Secret},
			"Malformed":       {"Bearer hello"},
			"WrongChecksum":   {"Bearer " + typo},
			"Unknown":         {"Bearer " + access.NewSecretKey(access.Test)},
			"OtherEnv":        {"Bearer " + strings.Replace(valid.Secret, "assay_test_", "assay_live_", 1)},
			"Revoked":         {"Bearer " + revoked.Secret},
			"Expired":         {"Bearer " + expired},
			"Twice":           {"Bearer " + valid.Secret, "Bearer " + valid.Secret},
			"TrailingGarbage": {"Bearer " + valid.Secret + "x"},
			"NotUTF8":         {"Bearer \xff\xfe"},
			"Huge":            {"Bearer " + strings.Repeat("a", 10_000)},
		}
		var first *integrationtest.Envelope
		for name, authorization := range refusals {
			t.Run(name, func(t *testing.T) {
				e := send(t, authorization...).Refused(t, 401, "unauthorized")
				if got := e.Header.Get("WWW-Authenticate"); got != "Bearer" {
					t.Errorf("WWW-Authenticate is %q", got)
				}
				wantNoQuota(t, e.Response)
				if first == nil {
					first = e
				}
				if e.Message != first.Message || len(e.Details) != 0 {
					t.Errorf("the refusal can be told from others: %s", e.Body)
				}
			})
		}
	})
}

func flip(c byte) string {
	if c == 'a' {
		return "b"
	}
	return "a"
}

// expiringKey makes a key that ends at a time; only the portal makes such keys.
func expiringKey(t *testing.T, a *integrationtest.Account, at time.Time) string {
	t.Helper()
	secretKey := access.NewSecretKey(access.Test)
	k := &access.Key{
		ID: uuid7.New(), Tenant: access.Tenant{AccountID: a.Account.ID, Environment: access.Test}, Name: "expiring",
		Hint: access.KeyHint(secretKey), Scopes: access.AllScopes, Limits: map[string]int{}, CreatedBy: a.OwnerID,
		CreatedAt: a.World.Clock.Now(), ExpiresAt: &at,
	}
	if err := a.World.Store.Update(t.Context(), func(tx *store.Tx) error {
		return tx.InsertKey(k, access.HashSecretKey(secretKey))
	}); err != nil {
		t.Fatal(err)
	}
	return secretKey
}

// TestKeyLife follows keys over time.
func TestKeyLife(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		account := w.NewAccount(t)
		t.Run("RevokedElsewhereWithinASecond", func(t *testing.T) {
			c := account.Test(t)
			c.Get(t, "/balance").Want(t, 200)
			// Another node shares nothing but the database.
			node := service.New(service.Config{Store: w.Store, Now: w.Clock.Now})
			if _, err := node.RevokeKey(t.Context(), access.Operator, c.Key.ID); err != nil {
				t.Fatal(err)
			}
			w.Clock.Advance(time.Second)
			c.Get(t, "/balance").Refused(t, 401, "unauthorized")
		})
		t.Run("RevokedHereAtOnce", func(t *testing.T) {
			c := account.Test(t)
			c.Get(t, "/balance").Want(t, 200)
			if _, err := w.Service.RevokeKey(t.Context(), access.Operator, c.Key.ID); err != nil {
				t.Fatal(err)
			}
			c.Get(t, "/balance").Refused(t, 401, "unauthorized")
		})
		t.Run("RevokedWhileTheBodyComesIn", func(t *testing.T) {
			c := account.Test(t)
			form, kind := integrationtest.Multipart(t, file(t, "a"))
			for path, body := range map[string][]byte{"/orders": []byte(encoded(t, c.Bag(t))), "/photos": form} {
				c := account.Test(t)
				r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, integration.Prefix+path,
					&slowBody{bytes.NewReader(body), func() {
						_, err := w.Service.RevokeKey(t.Context(), access.Operator, c.Key.ID)
						must.NoError(t, err)
					}})
				r.Header.Set("Authorization", "Bearer "+c.Secret)
				if path == "/photos" {
					r.Header.Set("Content-Type", kind)
				}
				answer := httptest.NewRecorder()
				w.Server.Config.Handler.ServeHTTP(answer, r)
				if answer.Code != 401 {
					t.Errorf("%s: %d %s", path, answer.Code, answer.Body)
				}
			}
		})
		t.Run("ExpiresWhileCached", func(t *testing.T) {
			c := &client{
				World: w, Secret: expiringKey(t, account, w.Clock.Now().Add(100*time.Millisecond)), Address: w.Anonymous().Address,
			}
			c.Get(t, "/balance").Want(t, 200)
			w.Clock.Advance(100 * time.Millisecond)
			c.Get(t, "/balance").Refused(t, 401, "unauthorized")
		})
		t.Run("StoredAsHashOnly", func(t *testing.T) {
			c := account.Live(t)
			row := rows(t, w, "SELECT * FROM api_keys WHERE id = $1", c.Key.ID)[0]
			if strings.Contains(strings.Join(row, "\n"), c.Secret) {
				t.Error("the key itself is in the database")
			}
			if !strings.Contains(strings.Join(row, "\n"), access.HashSecretKey(c.Secret)) {
				t.Error("the hash of the key is not in the database")
			}
		})
	})
}

// slowBody is a body during whose arrival something happens.
type slowBody struct {
	*bytes.Reader
	meanwhile func()
}

func (b *slowBody) Read(p []byte) (int, error) {
	if b.Len() == int(b.Size()) {
		b.meanwhile()
	}
	return b.Reader.Read(p)
}

// TestEnvironments checks that what is in one environment does not exist in the other, nor in another account.
func TestEnvironments(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		account, other := w.NewAccount(t), w.NewAccount(t)
		test, live, otherAccount := account.Test(t), account.Live(t), other.Test(t)
		id := test.CreateID(t, obj{"external_id": "shared"})
		liveID := live.CreateID(t)

		t.Run("OrderOfOtherEnvironment", func(t *testing.T) {
			live.Get(t, "/orders/"+id).Refused(t, 404, "order-not-found")
			live.Get(t, "/orders/shared").Refused(t, 404, "order-not-found")
			test.Get(t, "/orders/"+liveID).Refused(t, 404, "order-not-found")
		})
		t.Run("OrderOfOtherAccount", func(t *testing.T) {
			otherAccount.Get(t, "/orders/"+id).Refused(t, 404, "order-not-found")
			otherAccount.Get(t, "/orders/shared").Refused(t, 404, "order-not-found")
		})
		t.Run("OrderOfOtherKey", func(t *testing.T) { // of the same account and environment: a rotated key keeps its history
			rotated := account.Test(t)
			rotated.Get(t, "/orders/"+id).Want(t, 200).Is(t, "id", id)
			rotated.Get(t, "/orders").Want(t, 200).Is(t, "total", 1)
		})
		t.Run("ListsAreApart", func(t *testing.T) {
			test.Get(t, "/orders").Is(t, "total", 1).Is(t, "data.0.id", id)
			live.Get(t, "/orders").Is(t, "total", 1).Is(t, "data.0.id", liveID)
			otherAccount.Get(t, "/orders").Is(t, "total", 0).Is(t, "data", []any{})
		})
		t.Run("BalancesAreApart", func(t *testing.T) {
			test.Get(t, "/balance").Is(t, "", obj{"availableCredits": access.InitialTestCredits - 4})
			live.Get(t, "/balance").Is(t, "", obj{"availableCredits": integrationtest.LiveCredits - 4})
		})
		t.Run("TestBalanceStartsAt100000", func(t *testing.T) {
			n, err := w.Service.CreateAccount(t.Context(), access.System, "fresh", "fresh@example.com", "en")
			if err != nil {
				t.Fatal(err)
			}
			for env, want := range map[access.Environment]int64{access.Test: 100_000, access.Live: 0} {
				if got, err := w.Store.Balance(t.Context(), n.Account.Tenant(env)); err != nil || got != want {
					t.Errorf("%s starts with %d credits (%v), not %d", env, got, err, want)
				}
			}
		})
		t.Run("UpdatePhotosOfOtherEnvironment", func(t *testing.T) {
			body := obj{"photos": []any{obj{"index_code": "overall", "is_unable_to_provide": true}}}
			live.Post(t, "/orders/"+id+"/update_photos", body).Refused(t, 404, "order-not-found")
			otherAccount.Post(t, "/orders/"+id+"/update_photos", body).Refused(t, 404, "order-not-found")
		})
		t.Run("PhotoOfOtherEnvironment", func(t *testing.T) {
			live.Post(t, "/orders", with(live.Bag(t), "photos", test.Bag(t)["photos"])).Refused(t, 400, "unsupported-photo-url")
		})
		t.Run("PhotoOfOtherAccount", func(t *testing.T) {
			otherAccount.Post(t, "/orders", with(otherAccount.Bag(t), "photos", test.Bag(t)["photos"])).
				Refused(t, 400, "unsupported-photo-url")
		})
		t.Run("PhotoOfOtherKey", func(t *testing.T) {
			rotated := account.Test(t)
			rotated.Post(t, "/orders", with(rotated.Bag(t), "photos", test.Bag(t)["photos"])).Want(t, 201)
		})
		t.Run("EndpointsBelongToOneKey", func(t *testing.T) {
			e := test.Post(t, "/webhooks", obj{"url": "https://a.public.example/x", "events": []string{"order-outcome"}}).
				Want(t, 201)
			rotated := account.Test(t)
			for _, c := range []*client{rotated, live, otherAccount} {
				c.Get(t, "/webhooks").Want(t, 200).Is(t, "data", []any{})
				c.Delete(t, "/webhooks/"+e.Text(t, "id")).Refused(t, 404, "not-found")
			}
			// The URL is free for every other key.
			rotated.Post(t, "/webhooks", obj{"url": "https://a.public.example/x", "events": []string{"order-outcome"}}).
				Want(t, 201)
		})
	})
}

// TestAbuseProtection checks that guessing keys is stopped, while valid keys still work.
func TestAbuseProtection(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		valid := w.Test(t)
		guess := &client{World: w, Secret: "guess", Address: valid.Address}
		t.Run("WallAfter300Failures", func(t *testing.T) {
			for range 300 {
				guess.Get(t, "/balance").Refused(t, 401, "unauthorized")
			}
			w.Clock.Advance(15*time.Second + 500*time.Millisecond)
			e := guess.Get(t, "/balance").Refused(t, 429, "rate-limit-exceeded")
			e.Is(t, "details", obj{"retry_after_seconds": 45})
			if got := e.Header.Get("Retry-After"); got != "45" {
				t.Errorf("Retry-After is %q, not 45", got)
			}
			wantNoQuota(t, e.Response)
		})
		t.Run("EveryOperation", func(t *testing.T) {
			for _, op := range operations {
				guess.Send(t, op.send).Refused(t, 429, "rate-limit-exceeded")
			}
			guess.Get(t, "/nothing").Refused(t, 429, "rate-limit-exceeded")
		})
		t.Run("ValidKeyUnaffected", func(t *testing.T) { valid.Get(t, "/balance").Want(t, 200) })
		t.Run("OtherAddressUnaffected", func(t *testing.T) {
			(&client{World: w, Secret: "guess", Address: w.Anonymous().Address}).Get(t, "/balance").
				Refused(t, 401, "unauthorized")
		})
		t.Run("RecoversAfterTheWindow", func(t *testing.T) {
			w.Clock.Advance(44 * time.Second)
			guess.Get(t, "/balance").Refused(t, 429, "rate-limit-exceeded")
			w.Clock.Advance(time.Second)
			guess.Get(t, "/balance").Refused(t, 401, "unauthorized")
		})
	})
}

// TestAbuseProtection_Setting checks that the number of failures is a setting.
func TestAbuseProtection_Setting(t *testing.T) {
	integrationtest.EachWith(t, integrationtest.Options{FailureLimit: 2}, func(t *testing.T, w *world) {
		t.Run("LimitOfTwo", func(t *testing.T) {
			c := w.Anonymous()
			c.Get(t, "/balance").Refused(t, 401, "unauthorized")
			c.Get(t, "/balance").Refused(t, 401, "unauthorized")
			c.Get(t, "/balance").Refused(t, 429, "rate-limit-exceeded")
		})
	})
}
