package integration_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/testkit/integrationtest"
)

// TestIdempotency checks that a creation under a key happens once.
func TestIdempotency(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		c := w.Live(t)
		create := func(t *testing.T, c *client, key string, body any) *integrationtest.Response {
			t.Helper()
			return c.Post(t, "/orders", body, "Idempotency-Key", key)
		}
		replayed := func(r *integrationtest.Response) bool { return r.Header.Get("Idempotency-Replayed") == "true" }

		t.Run("Replay", func(t *testing.T) {
			before := c.Account.Balance(t, access.Live)
			body := encoded(t, c.Bag(t))
			first := create(t, c, "replay", body).Want(t, 201)
			if replayed(first) || first.Header.Values("Idempotency-Replayed") != nil {
				t.Error("the first answer says that it is a replay")
			}
			for range 3 {
				w.Clock.Advance(time.Hour)
				again := create(t, c, "replay", body).Want(t, 201)
				if !replayed(again) || !bytes.Equal(again.Body, first.Body) {
					t.Errorf("the replay is %s, not %s", again.Body, first.Body)
				}
			}
			if got := c.Account.Balance(t, access.Live); got != before-4 {
				t.Errorf("the balance went from %d to %d", before, got)
			}
		})
		t.Run("ReplayAfterTheOrderMoved", func(t *testing.T) { // the first answer, not the state of now
			body := encoded(t, c.Bag(t))
			first := create(t, c, "moved", body).Want(t, 201)
			w.Cancel(t, first.Text(t, "id"))
			create(t, c, "moved", body).Want(t, 201).Is(t, "status", "queued")
		})
		t.Run("OtherBody", func(t *testing.T) {
			body := encoded(t, c.Bag(t))
			create(t, c, "other", body).Want(t, 201)
			// byte-equal it must be
			create(t, c, "other", body+" ").Refused(t, 400, "bad-request").Is(t, "details.field", "Idempotency-Key")
			create(t, c, "other", "{").Refused(t, 400, "bad-request")
		})
		t.Run("BeforeOtherRefusals", func(t *testing.T) { // what has changed since the first request does not matter
			once := w.NewAccount(t)
			once.SetCredits(t, access.Live, 4)
			p := once.Live(t)
			body := encoded(t, p.Bag(t))
			first := create(t, p, "spent", body).Want(t, 201)
			create(t, p, "unspent", body).Refused(t, 402, "not-enough-credits")
			if again := create(t, p, "spent", body).Want(t, 201); !replayed(again) || !bytes.Equal(again.Body, first.Body) {
				t.Errorf("the replay is %s", again.Body)
			}
			create(t, p, "spent", "{}").Refused(t, 400, "bad-request").Is(t, "details.field", "Idempotency-Key")
			create(t, p, "spent", encoded(t, p.Bag(t))).Refused(t, 400, "bad-request").
				Is(t, "details.field", "Idempotency-Key")
		})
		t.Run("WithoutKeyEachIsNew", func(t *testing.T) {
			body := c.Bag(t)
			if a, b := c.Post(t, "/orders", body).Text(t, "id"), c.Post(t, "/orders", body).Text(t, "id"); a == b {
				t.Error("one order was made")
			}
		})
		t.Run("OnlyCreationsAreRemembered", func(t *testing.T) {
			poor := w.NewAccount(t)
			poor.SetCredits(t, access.Live, 3)
			p := poor.Live(t)
			body := encoded(t, p.Bag(t))
			create(t, p, "refused", body).Refused(t, 402, "not-enough-credits")
			create(t, p, "refused", "{}").Refused(t, 400, "validation-error")
			poor.SetCredits(t, access.Live, 4)
			if r := create(t, p, "refused", body).Want(t, 201); replayed(r) {
				t.Error("a refusal was remembered")
			}
		})
		t.Run("ForADay", func(t *testing.T) {
			body := encoded(t, c.Bag(t))
			first := create(t, c, "day", body).Want(t, 201)
			w.Clock.Advance(24*time.Hour - time.Microsecond)
			if again := create(t, c, "day", body).Want(t, 201); !replayed(again) {
				t.Error("the key was forgotten too early")
			}
			w.Clock.Advance(time.Microsecond)
			second := create(t, c, "day", body).Want(t, 201)
			if replayed(second) || second.Text(t, "id") == first.Text(t, "id") {
				t.Error("the key was remembered for too long")
			}
			if again := create(t, c, "day", body).Want(t, 201); !replayed(again) || !bytes.Equal(again.Body, second.Body) {
				t.Errorf("the key stands for %s, not %s", again.Body, second.Body)
			}
		})
		t.Run("ScopeIsAccountAndEnvironment", func(t *testing.T) {
			body := encoded(t, c.Bag(t))
			first := create(t, c, "scope", body).Want(t, 201)
			if other := create(t, c.Account.Live(t), "scope", body).Want(t, 201); !replayed(other) ||
				other.Text(t, "id") != first.Text(t, "id") {
				t.Error("another key of the account and environment made another order")
			}
			test := c.Account.Test(t)
			if r := create(t, test, "scope", test.Bag(t)).Want(t, 201); replayed(r) {
				t.Error("the other environment shares the key")
			}
			otherAccount := w.Live(t)
			if r := create(t, otherAccount, "scope", otherAccount.Bag(t)).Want(t, 201); replayed(r) {
				t.Error("another account shares the key")
			}
		})
		t.Run("TestOrders", func(t *testing.T) {
			test := c.Account.Test(t)
			body := encoded(t, test.Bag(t))
			first := create(t, test, "test", body).Want(t, 201)
			if again := create(t, test, "test", body).Want(t, 201); !replayed(again) || !bytes.Equal(again.Body, first.Body) {
				t.Errorf("the replay is %s", again.Body)
			}
		})
		t.Run("LongestKey", func(t *testing.T) {
			create(t, c, strings.Repeat("k", 255), c.Bag(t)).Want(t, 201)
			create(t, c, strings.Repeat("界", 255), c.Bag(t)).Want(t, 201)
		})
		t.Run("WrongKey", func(t *testing.T) {
			for _, key := range []string{"", strings.Repeat("k", 256), "\xff"} {
				create(t, c, key, c.Bag(t)).Invalid(t, "Idempotency-Key format")
			}
			c.Post(t, "/orders", c.Bag(t), "Idempotency-Key", "a", "Idempotency-Key", "b").Invalid(t, "Idempotency-Key format")
		})
		t.Run("Forgotten", func(t *testing.T) {
			body := encoded(t, c.Bag(t))
			create(t, c, "forgotten", body).Want(t, 201)
			w.Clock.Advance(25 * time.Hour)
			if n, err := w.Service.DeleteOldIdempotencyKeys(t.Context(), 1000); err != nil || n == 0 {
				t.Errorf("%d keys were forgotten: %v", n, err)
			}
			if left := rows(t, w, "SELECT key FROM idempotency_keys"); len(left) != 0 {
				t.Errorf("%d keys are left", len(left))
			}
		})
	})
}

// TestIdempotency_Race checks that parallel requests under one key make one order and one charge.
func TestIdempotency_Race(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		t.Run("OneCharge", func(t *testing.T) {
			c := w.Live(t)
			for round := range 5 {
				before := c.Account.Balance(t, access.Live)
				body := encoded(t, c.Bag(t))
				key := strings.Repeat("r", round+1)
				statuses := parallel(8, func(int) int { return c.Post(t, "/orders", body, "Idempotency-Key", key).Status })
				for _, status := range statuses {
					if status != 201 && status != 409 {
						t.Errorf("the answers are %v", statuses)
					}
				}
				if statuses[0] != 201 || c.Account.Balance(t, access.Live) != before-4 {
					t.Errorf("the answers are %v, the balance went from %d to %d", statuses, before,
						c.Account.Balance(t, access.Live))
				}
			}
			c.Get(t, "/orders").Is(t, "total", 5)
		})
		t.Run("AcrossNodes", func(t *testing.T) { // two nodes share nothing but the database
			c := w.Live(t)
			other := service.New(w.Config)
			if err := other.RefreshCatalog(t.Context()); err != nil {
				t.Fatal(err)
			}
			urls := c.Photos(t, 2)
			for round := range 5 {
				before := c.Account.Balance(t, access.Live)
				made := parallel(8, func(i int) int {
					node := []*service.Service{w.Service, other}[i%2]
					idem, err := node.BeginIdempotent(c.Key.Tenant, fmt.Sprint("node", round), []byte("body"))
					if err == nil {
						draft := &order.Draft{
							CategoryCode: "bags", BrandCode: "chanel",
							Photos: []order.DraftPhoto{{URL: urls[0], IndexCode: "overall"}, {URL: urls[1], IndexCode: "serial"}},
						}
						_, err = node.CreateOrder(t.Context(), c.Key.Actor(access.Origin{}), draft, idem)
						if err == nil {
							idem.End()
							return 1
						}
					}
					idem.End()
					if err != nil && fault.CodeOf(err) != "request-in-progress" {
						t.Error(err)
					}
					return 0
				})
				if count(made, 1) != 1 || c.Account.Balance(t, access.Live) != before-4 {
					t.Errorf("%d orders were made, the balance went from %d to %d", count(made, 1), before,
						c.Account.Balance(t, access.Live))
				}
			}
		})
		t.Run("InProgress", func(t *testing.T) {
			c := w.Live(t)
			body := encoded(t, c.Bag(t))
			// The first request is under way as long as its body is: the key is taken when the body has been read.
			running, err := w.Service.BeginIdempotent(c.Key.Tenant, "busy", []byte(body))
			if err != nil {
				t.Fatal(err)
			}
			c.Post(t, "/orders", body, "Idempotency-Key", "busy").Refused(t, 409, "request-in-progress")
			running.End()
			c.Post(t, "/orders", body, "Idempotency-Key", "busy").Want(t, 201)
		})
	})
}
