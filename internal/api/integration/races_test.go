package integration_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/testkit/integrationtest"
)

func count(results []int, want int) int {
	n := 0
	for _, r := range results {
		if r == want {
			n++
		}
	}
	return n
}

// TestCredits_Race creates 100 orders at once with credits for 37.
func TestCredits_Race(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		for _, env := range access.Environments {
			t.Run(string(env), func(t *testing.T) {
				account := w.NewAccount(t)
				account.SetCredits(t, env, 37*4)
				keys := []*client{account.Key(t, env), account.Key(t, env)} // they share the balance
				body := keys[0].Bag(t)
				statuses := parallel(100, func(i int) int { return keys[i%2].Post(t, "/orders", body).Status })
				if made, refused := count(statuses, 201), count(statuses, 402); made != 37 || refused != 63 {
					t.Errorf("%d orders were made and %d refused", made, refused)
				}
				if got := account.Balance(t, env); got != 0 {
					t.Errorf("the balance is %d", got)
				}
				keys[0].Get(t, "/orders").Is(t, "total", 37)
				seqs := rows(t, w, "SELECT seq FROM orders WHERE account_id = $1 AND environment = $2 ORDER BY seq",
					account.Account.ID, string(env))
				for i, seq := range seqs {
					if seq[0] != fmt.Sprint(i+1) {
						t.Fatalf("order %d has the number %s in sequence", i+1, seq[0])
					}
				}
			})
		}
	})
}

// catalogWithRoom returns the catalog with room for n open orders of the answer time 60.
func catalogWithRoom(n int) []byte {
	return []byte(strings.Replace(string(integrationtest.Catalog), "max_open_orders: 3",
		fmt.Sprintf("max_open_orders: %d", n), 1))
}

// TestCapacity_Race creates four times as many orders at once as an answer time has room for.
func TestCapacity_Race(t *testing.T) {
	const room = 7
	integrationtest.EachWith(t, integrationtest.Options{Catalog: catalogWithRoom(room)}, func(t *testing.T, w *world) {
		t.Run("ExactlyAsManyAsThereIsRoom", func(t *testing.T) {
			clients := make([]*client, 4)
			bodies := make([]obj, 4)
			for i := range clients { // over all accounts
				clients[i] = w.Live(t)
				bodies[i] = clients[i].Bag(t, obj{"answer_time": 60})
			}
			statuses := parallel(4*room, func(i int) int { return clients[i%4].Post(t, "/orders", bodies[i%4]).Status })
			if made, refused := count(statuses, 201), count(statuses, 400); made != room || refused != 3*room {
				t.Errorf("%d orders were made and %d refused: %v", made, refused, statuses)
			}
			// Without an answer time, and with the default used up, the slowest that is left is taken, race or not.
			statuses = parallel(8, func(i int) int {
				return clients[i%4].Post(t, "/orders", with(bodies[i%4], "answer_time", nil)).Status
			})
			if made := count(statuses, 201); made != 8 {
				t.Errorf("%d orders without an answer time were made", made)
			}
		})
	})
}

// TestCapacity_RaceForTheDefault creates orders at once that leave the answer time open: who comes too late for the
// default gets the slowest.
func TestCapacity_RaceForTheDefault(t *testing.T) {
	const room = 2
	document := strings.Replace(string(catalogWithRoom(room)), "    default: true\n", "", 1)
	document = strings.Replace(document, "code: 60\n", "code: 60\n    default: true\n", 1)
	integrationtest.EachWith(t, integrationtest.Options{Catalog: []byte(document)}, func(t *testing.T, w *world) {
		t.Run("AllAreMade", func(t *testing.T) {
			clients := make([]*client, 4)
			bodies := make([]obj, 4)
			for i := range clients {
				clients[i] = w.Live(t)
				bodies[i] = clients[i].Bag(t)
			}
			statuses := parallel(16, func(i int) int { return clients[i%4].Post(t, "/orders", bodies[i%4]).Status })
			if made := count(statuses, 201); made != 16 {
				t.Errorf("%d orders were made: %v", made, statuses)
			}
			fast := rows(t, w, "SELECT COUNT(*) FROM orders WHERE answer_time = 60")
			if fast[0][0] != fmt.Sprint(room) {
				t.Errorf("%s orders have the default answer time", fast[0][0])
			}
		})
	})
}

// TestWebhooks_Race registers endpoints at once: never more than ten, never one URL twice.
func TestWebhooks_Race(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		register := func(c *client, url string) int {
			return c.Post(t, "/webhooks", obj{"url": url, "events": []any{"order-outcome"}}).Status
		}
		t.Run("TenEndpoints", func(t *testing.T) {
			c := w.Live(t)
			statuses := parallel(20, func(i int) int { return register(c, fmt.Sprintf("https://a.public.example/%d", i)) })
			if made, refused := count(statuses, 201), count(statuses, 409); made != 10 || refused != 10 {
				t.Errorf("%d endpoints were made and %d refused", made, refused)
			}
		})
		t.Run("OneURL", func(t *testing.T) {
			c := w.Live(t)
			statuses := parallel(8, func(int) int { return register(c, "https://a.public.example/same") })
			if made, refused := count(statuses, 201), count(statuses, 409); made != 1 || refused != 7 {
				t.Errorf("%d endpoints were made and %d refused", made, refused)
			}
		})
	})
}

// TestPhotos_Race uses the same photos in many orders at once while unused ones are deleted.
func TestPhotos_Race(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		t.Run("UsedPhotosStay", func(t *testing.T) {
			c := w.Live(t)
			for range 3 {
				urls := c.Photos(t, 2)
				forward := []any{obj{"url": urls[0], "index_code": "overall"}, obj{"url": urls[1], "index_code": "serial"}}
				backward := []any{obj{"url": urls[1], "index_code": "overall"}, obj{"url": urls[0], "index_code": "serial"}}
				statuses := parallel(9, func(i int) int {
					if i == 8 {
						_, err := w.Service.DeleteUnusedPhotos(t.Context(), w.Clock.Now().Add(1), 100)
						if err != nil {
							t.Error(err)
						}
						return 0
					}
					return c.Post(t, "/orders", with(c.Bag(t), "photos", [][]any{forward, backward}[i%2])).Status
				})
				// Either the photos were deleted before the first order, or they are used and all orders are made.
				if made := count(statuses, 201); made != 8 && made != 0 {
					t.Errorf("the answers are %v", statuses)
				}
			}
		})
	})
}

// TestAudit_Race appends events at once: the log has no gaps and its chain is intact.
func TestAudit_Race(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		t.Run("DenseAndChained", func(t *testing.T) {
			account := w.NewAccount(t)
			parallel(20, func(i int) int {
				_, _, err := w.Service.CreateKey(t.Context(), access.Operator, service.NewKey{
					Tenant: access.Tenant{AccountID: account.Account.ID, Environment: access.Test}, Name: fmt.Sprint("k", i),
					Scopes: access.AllScopes,
				})
				if err != nil {
					t.Error(err)
				}
				return 0
			})
			seqs := rows(t, w, "SELECT seq FROM audit_events WHERE account_id = $1 ORDER BY seq", account.Account.ID)
			if len(seqs) != 20 || seqs[0][0] != "1" || seqs[19][0] != "20" {
				t.Errorf("the numbers are %v", seqs)
			}
		})
	})
}
