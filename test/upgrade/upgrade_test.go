// Package upgrade_test runs the program of the former schema beside this one, as a rolling upgrade does: nodes are
// replaced one after the other while customers go on.
package upgrade_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assayhq/assay/client"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pgtest"
	"github.com/assayhq/assay/internal/testkit/pictures"
	"github.com/assayhq/assay/internal/testkit/program"
	"github.com/assayhq/assay/internal/testkit/redistest"
	"github.com/assayhq/assay/internal/testkit/s3test"
)

const (
	secretKey = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	catalog   = "../e2e/testdata/catalog.yaml"
	customers = 4
)

// TestUpgrade upgrades three nodes one by one, and one back again, while customers upload, order and read: no request
// fails, every event arrives, and each program finds the database in order.
func TestUpgrade(t *testing.T) {
	if os.Getenv("ASSAY_TEST_HARD") == "" {
		t.Skip("builds the former program from the history: make test-hard ITEM=upgrade")
	}
	old, commit := former(t)
	r := newReceiver(t)
	f := &fleet{settings: program.Settings{
		"database": pgtest.Database(t), "secret-key": secretKey, "redis": redistest.Start(t).URL(),
		"media": s3test.Start(t).Bucket(t), "tls-listen": "", "shutdown-delay": "4s",
		"webhook-allow-private": "true", "webhook-ca-file": r.authority,
	}}
	first := f.start(t, "") // it brings the schema, as the first node of an upgrade does
	key := open(t, first.Process)
	f.start(t, old)
	f.start(t, old)
	base := f.proxy(t)
	shop, err := client.New(base+"/v1/integrations", key, client.WithoutRetry())
	must.NoError(t, err)
	_, err = shop.CreateWebhook(t.Context(), client.CreateWebhook{
		URL: r.URL + "/hook", Events: []client.WebhookEvent{client.EventOrderOutcome},
	})
	must.NoError(t, err)

	load := begin(t, shop)
	load.wait(t)
	for i := range f.nodes[1:] {
		f.replace(t, i+1, "")
		load.wait(t)
	}
	f.replace(t, 0, old) // and back
	load.wait(t)
	orders := load.stop()
	r.await(t, orders)
	for _, binary := range []string{"", old} {
		var report struct {
			Orders   int
			Problems []struct{ Kind, ID, Message string }
		}
		result := f.installation(t, binary).Run(t, "check", "--deep", "--json")
		must.NoError(t, json.Unmarshal([]byte(result.Stdout), &report))
		for _, p := range report.Problems {
			// Until the first release the schema is changed in the first migration: its number does not tell the former
			// program that this one has other indexes.
			if binary == "" || p.Kind != "schema" {
				t.Errorf("%q finds %+v", binary, p)
			}
		}
		if report.Orders != len(orders) {
			t.Errorf("%d orders were acknowledged, %q finds %d", len(orders), binary, report.Orders)
		}
	}
	figure(t, fmt.Sprintf("| Rolling upgrade | 3 nodes beside the program of %.8s, forth and back | %d orders, "+
		"no failed request, every event delivered |", commit, len(orders)))
}

// figure adds a line to the table that `make test-hard` prints.
func figure(t *testing.T, line string) {
	t.Helper()
	t.Log(line)
	if path := os.Getenv("ASSAY_TEST_FIGURES"); path != "" && !t.Failed() {
		f, err := os.OpenFile(filepath.Clean(path), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		must.NoError(t, err)
		_, err = fmt.Fprintln(f, line)
		must.NoError(t, errors.Join(err, f.Close()))
	}
}

// open makes a customer and returns a Test key.
func open(t *testing.T, p *program.Process) string {
	t.Helper()
	p.CLI(t, new(any), "catalog", "import", catalog)
	p.CLI(t, new(any), "accounts", "create", "--name", "Acme", "--owner", "owner@acme.example")
	p.CLI(t, new(any), "credits", "grant", "--account", "Acme", "--env", "test", "--amount", "1000000", "--note", "load")
	arguments := []string{"keys", "create", "--account", "Acme", "--env", "test", "--name", "shop", "--scopes", "all"}
	for _, category := range []string{"catalog", "read", "create", "update", "upload", "webhook"} {
		arguments = append(arguments, "--limit", category+"="+strconv.Itoa(1_000_000))
	}
	var made struct{ Key string }
	p.CLI(t, &made, arguments...)
	return made.Key
}

// receiver counts the events of orders.
type receiver struct {
	*httptest.Server
	authority string
	mu        sync.Mutex
	orders    map[string]int
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{orders: make(map[string]int)}
	r.Server = httptest.NewTLSServer(r)
	t.Cleanup(r.Close)
	r.authority = must.CertificateFile(t, r.Server)
	return r
}

// ServeHTTP takes a delivery.
func (r *receiver) ServeHTTP(_ http.ResponseWriter, q *http.Request) {
	body, _ := io.ReadAll(q.Body)
	var event struct{ ID string }
	if json.Unmarshal(body, &event) == nil {
		r.mu.Lock()
		r.orders[event.ID]++
		r.mu.Unlock()
	}
}

// await waits for the events of all orders.
func (r *receiver) await(t *testing.T, orders []string) {
	t.Helper()
	must.Eventually(t, 2*time.Minute, "the event of every order has arrived", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, id := range orders {
			if r.orders[id] == 0 {
				return false
			}
		}
		return true
	})
}

// load is customers who go on until they are stopped. Each failed request fails the test.
type load struct {
	shop    *client.Client
	photo   []byte
	running sync.WaitGroup
	rounds  atomic.Int64
	cancel  context.CancelFunc

	mu     sync.Mutex
	orders []string
}

func begin(t *testing.T, shop *client.Client) *load {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l := &load{shop: shop, photo: pictures.GrayPNG(200, 100), cancel: cancel}
	t.Cleanup(func() { l.stop() })
	for range customers {
		l.running.Go(func() {
			for ctx.Err() == nil {
				if err := l.round(); err != nil {
					t.Errorf("a request failed: %v", err)
					return
				}
				l.rounds.Add(1)
			}
		})
	}
	return l
}

// round is a purchase, with the creation sent twice under one key: both programs know what the other has answered.
func (l *load) round() error {
	ctx := context.Background() // it is not interrupted, so that what was acknowledged is known
	sent, err := l.shop.UploadPhotos(ctx, client.File{Name: "bag.png", Content: bytes.NewReader(l.photo)})
	if err != nil {
		return fmt.Errorf("upload: %w", err)
	}
	draft := client.CreateOrder{
		BrandCode: "northwind", CategoryCode: "bags", MockOutcome: client.MockAuthentic,
		Photos: []client.OrderPhoto{{URL: sent[0].URL, IndexCode: "overall"}},
	}
	key := client.NewIdempotencyKey()
	made, err := l.shop.CreateOrder(ctx, draft, client.WithIdempotencyKey(key))
	if err != nil {
		return fmt.Errorf("order: %w", err)
	}
	again, err := l.shop.CreateOrder(ctx, draft, client.WithIdempotencyKey(key))
	if err != nil || again.ID != made.ID {
		return fmt.Errorf("the order again: %+v, %w", again, err)
	}
	l.mu.Lock()
	l.orders = append(l.orders, made.ID)
	l.mu.Unlock()
	if _, err := l.shop.GetOrder(ctx, made.ID); err != nil {
		return fmt.Errorf("read: %w", err)
	}
	_, err = l.shop.ListEvents(ctx, client.EventsQuery{Limit: 10})
	return err
}

// wait waits for some more purchases.
func (l *load) wait(t *testing.T) {
	t.Helper()
	goal := l.rounds.Load() + 20
	must.Eventually(t, 2*time.Minute, "the customers have ordered", func() bool {
		return l.rounds.Load() >= goal || t.Failed()
	})
}

func (l *load) stop() []string {
	l.cancel()
	l.running.Wait()
	return l.orders
}
