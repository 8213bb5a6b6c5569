// Package crash_test kills the real program and checks what is left.
package crash_test

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/assayhq/assay/client"
	"github.com/assayhq/assay/internal/demo"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/pgtest"
	"github.com/assayhq/assay/internal/testkit/pictures"
	"github.com/assayhq/assay/internal/testkit/program"
	"github.com/assayhq/assay/internal/testkit/receiver"
)

const (
	seed      = 20260701
	secretKey = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

	// settle is the time for the last events: on PostgreSQL the leases of a killed server have to expire first.
	settle = 2 * time.Minute
)

// TestWebhooksSurviveKills kills the server at random while orders are created that complete at once. Every event
// of every acknowledged order must arrive, with the same bytes each time.
func TestWebhooksSurviveKills(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		data := t.TempDir()
		kills := 15
		if testing.Short() {
			kills = 5
		}
		survive(t, program.Settings{"data": data}, filepath.Join(data, "assay.db"), kills)
	})
	t.Run("postgres", func(t *testing.T) {
		target := pgtest.Database(t)
		survive(t, program.Settings{"database": target, "secret-key": secretKey}, target, 10)
	})
}

func survive(t *testing.T, settings program.Settings, target string, kills int) {
	r := receiver.Start(t, "127.0.0.1")
	settings["webhook-allow-private"] = "true"
	settings["webhook-ca-file"] = r.CAFile
	settings["webhook-retry-delays"] = "200ms,400ms,800ms"
	settings["webhook-timeout"] = "2s"
	installation := program.New(t, settings)
	key := newKey(t, installation)
	random := rand.New(rand.NewPCG(seed, uint64(kills)))

	var acknowledged orders
	var killed []time.Time
	var photo string
	for i := range kills + 1 {
		server := installation.Start(t)
		c, err := client.New(server.URL("/v1/integrations"), key)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			photo = prepare(t, c, r)
		}
		if i == kills {
			acknowledged.wait(t, r)
			if code := server.Stop(t); code != 0 {
				t.Errorf("the last server ended with exit code %d", code)
			}
			break
		}
		ctx, stop := context.WithCancel(t.Context())
		var streams sync.WaitGroup
		for range 3 {
			streams.Go(func() { acknowledged.stream(ctx, c, photo) })
		}
		time.Sleep(time.Duration(10+random.IntN(250)) * time.Millisecond)
		server.Kill(t)
		killed = append(killed, time.Now())
		stop()
		streams.Wait()
	}
	r.Report(t)
	checkAttempts(t, target, r.Arrivals(), killed)
}

// newKey imports the catalog and creates an account with a Test key.
func newKey(t *testing.T, installation *program.Installation) string {
	t.Helper()
	catalog := filepath.Join(t.TempDir(), "catalog.yaml")
	if err := os.WriteFile(catalog, demo.Catalog, 0o600); err != nil {
		t.Fatal(err)
	}
	if result := installation.Run(t, "catalog", "import", catalog); result.ExitCode != 0 {
		t.Fatal(result.Stderr)
	}
	var account struct {
		ID string `json:"account_id"`
	}
	installation.CLI(t, &account, "accounts", "create", "--name", "Acme", "--owner", "owner@acme.test")
	var key struct{ Key string }
	installation.CLI(t, &key, "keys", "create", "--account", account.ID, "--env", "test", "--name", "crash", "--scopes",
		"all",
		"--limit", "create=1000000")
	installation.CLI(t, new(json.RawMessage), "credits", "grant", "--account", account.ID, "--env", "test", "--amount",
		"100000000", "--note", "enough")
	return key.Key
}

// prepare registers the receiver and uploads the photo for all orders.
func prepare(t *testing.T, c *client.Client, r *receiver.Receiver) (photo string) {
	t.Helper()
	w, err := c.CreateWebhook(t.Context(), client.CreateWebhook{
		URL: r.URL + "/hook", Events: []client.WebhookEvent{client.EventOrderOutcome, client.EventUpdatePhotos},
	})
	if err != nil {
		t.Fatal(err)
	}
	r.Register("/hook", w.SigningSecret)
	content := bytes.NewReader(pictures.GrayPNG(8, 8))
	uploaded, err := c.UploadPhotos(t.Context(), client.File{Name: "bag.png", Content: content})
	if err != nil {
		t.Fatal(err)
	}
	return uploaded[0].URL
}

// orders are the acknowledged orders.
type orders struct {
	mu  sync.Mutex
	ids []string
}

// stream creates orders until the server is killed.
func (o *orders) stream(ctx context.Context, c *client.Client, photo string) {
	outcomes := []client.MockOutcome{
		client.MockAuthentic, client.MockFake, client.MockUnableToVerify, client.MockUpdatePhotos,
	}
	for i := 0; ctx.Err() == nil; i++ {
		created, err := c.CreateOrder(ctx, client.CreateOrder{
			BrandCode: "prada", CategoryCode: "bags", MockOutcome: outcomes[i%len(outcomes)],
			Photos: []client.OrderPhoto{{URL: photo, IndexCode: "overall-picture"}},
		})
		if err != nil {
			return // the server was killed
		}
		o.mu.Lock()
		o.ids = append(o.ids, created.ID)
		o.mu.Unlock()
	}
}

// wait waits until the event of every order was acknowledged.
func (o *orders) wait(t *testing.T, r *receiver.Receiver) {
	t.Helper()
	missing := o.ids
	for deadline := time.Now().Add(settle); len(missing) > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no event of %d of %d orders arrived, for example of %s", len(missing), len(o.ids), missing[0])
		}
		done := make(map[string]bool)
		for _, a := range r.Arrivals() {
			done[a.OrderID] = done[a.OrderID] || a.Acknowledged
		}
		missing = slices.DeleteFunc(slices.Clone(missing), func(id string) bool { return done[id] })
	}
	if len(o.ids) == 0 {
		t.Fatal("no order was acknowledged")
	}
}

// checkAttempts checks that an order has one delivery and, in the database, that none had more requests than recorded
// attempts, at most four, plus those interrupted by kills.
func checkAttempts(t *testing.T, target string, arrivals map[string]receiver.Arrival, killed []time.Time) {
	t.Helper()
	s, err := store.Open(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	requests, deliveries := 0, make(map[string]string)
	for id, a := range arrivals {
		if other, ok := deliveries[a.OrderID]; ok {
			t.Errorf("order %s has two deliveries: %s, %s", a.OrderID, other, id)
		}
		deliveries[a.OrderID] = id
		requests += a.Count
		d, err := s.Delivery(t.Context(), id)
		if err != nil {
			t.Fatalf("delivery %s: %v", id, err)
		}
		if string(d.Body) != a.Body {
			t.Errorf("delivery %s has another body in the database", id)
		}
		cut := 0
		for _, at := range killed {
			if at.After(a.First) {
				cut++
			}
		}
		if d.Attempts > 4 || a.Count > d.Attempts+cut ||
			(a.Acknowledged && a.Last.After(killed[len(killed)-1]) && d.Status != webhook.Delivered) {
			t.Errorf("delivery %s, %s: %d requests, %d attempts, %d kills since the first", id, d.Status, a.Count, d.Attempts,
				cut)
		}
	}
	t.Logf("%d deliveries arrived in %d requests", len(arrivals), requests)
}
