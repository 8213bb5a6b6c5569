package service_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/netguard"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/hostile"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

var updateGolden = flag.Bool("update", false, "rewrite the golden files")

// hostileNetwork gives the use cases a resolver with hosts that must not be called.
func hostileNetwork(c *service.Config) { c.Guard = &netguard.Guard{Resolver: hostile.Resolver{}} }

// endpoint registers an endpoint of the key that asks for the events.
func endpoint(t *testing.T, s *shop.Shop, k *access.Key, path string, events ...webhook.Event) *webhook.Endpoint {
	t.Helper()
	s.Reconfigure(t, hostileNetwork)
	u, problem := webhook.CheckURL("url", "https://example.com/"+path)
	if problem != nil {
		t.Fatal(problem)
	}
	e, _, err := s.Service.CreateEndpoint(t.Context(), k.Actor(access.Origin{}), k.ID,
		service.NewEndpoint{URL: u, Events: events})
	must.NoError(t, err)
	return e
}

// newest returns the delivery that was queued last.
func newest(t *testing.T, s *shop.Shop) *webhook.Delivery {
	t.Helper()
	found, err := s.Service.Deliveries(t.Context(), access.Operator, webhook.DeliveryFilter{}, 1)
	must.NoError(t, err)
	if len(found) != 1 {
		t.Fatal("there is no delivery")
	}
	d, _, err := s.Service.Delivery(t.Context(), access.Operator, found[0].ID)
	must.NoError(t, err)
	return d
}

// The fields of every payload, and those of each event beside them.
var (
	commonFields = []string{
		"classification", "created_at", "delayed", "delivery_id", "due_date", "external_id", "id", "order_number", "outcome",
		"outcome_locale", "status",
		"updated_at", "webhook_event",
	}
	variable = regexp.MustCompile(`"(id|delivery_id)":"[0-9a-f-]{36}"|"order_number":"AS-[0-9A-Z]{8}"|` +
		`certificates/[0-9A-Za-z_-]+`)
)

// TestPayloads compares the bodies of deliveries with golden files, byte for byte; only what is drawn by chance is
// masked.
func TestPayloads(t *testing.T) {
	s := shop.New(t, storetest.SQLite(t))
	catalog, err := os.ReadFile("testdata/payload_catalog.yaml")
	must.NoError(t, err)
	_, err = s.Service.ImportCatalog(t.Context(), access.System, catalog)
	must.NoError(t, err)
	made, err := s.Service.CreateAccount(t.Context(), access.System, "日本", "owner@example.jp", text.Japanese)
	must.NoError(t, err)
	japanese, _, err := s.Service.CreateKey(t.Context(), access.Operator, service.NewKey{
		Tenant: access.Tenant{AccountID: made.Account.ID, Environment: access.Test}, Name: "ja", Scopes: access.AllScopes,
	})
	must.NoError(t, err)
	admin, err := s.Service.CreateStaff(t.Context(), access.Operator, "admin@assay.test", "Admin", access.Admin)
	must.NoError(t, err)
	for _, k := range []*access.Key{s.Test, s.Live, japanese} {
		endpoint(t, s, k, k.ID, webhook.Events...)
	}
	create := func(k *access.Key, d order.Draft) string {
		d.CategoryCode, d.BrandCode, d.MockGiven = "bags", "prada", d.Mock != ""
		d.Photos = []order.DraftPhoto{
			{URL: s.Photo(t, k), IndexCode: "overall-picture"},
			{URL: s.Photo(t, k), IndexCode: "serial-number"},
		}
		answer, err := s.Service.CreateOrder(t.Context(), k.Actor(access.Origin{}), &d, nil)
		must.NoError(t, err)
		var receipt struct{ ID string }
		must.NoError(t, json.Unmarshal(answer, &receipt))
		return receipt.ID
	}
	reference := "order <1> & \"more\" 鞄"
	outcome := []string{"certificate_url"}
	for name, test := range map[string]struct {
		run  func()
		more []string
	}{
		"authentic": {
			func() {
				create(s.Test, order.Draft{Mock: order.MockAuthentic, ModelCode: "prada-galleria", ExternalID: &reference})
			},
			append(outcome, "outcome_reasons", "outcome_reasons_locale"),
		},
		"fake_ja": {
			func() { create(japanese, order.Draft{Mock: order.MockFake, ModelCode: "prada-galleria"}) },
			append(outcome, "outcome_reasons", "outcome_reasons_locale", "outcome_indexes"),
		},
		"unable_to_verify": {func() { create(s.Test, order.Draft{Mock: order.MockUnableToVerify}) }, outcome},
		"canceled": {
			func() {
				_, err := s.Service.CancelOrder(t.Context(), admin.Staff.Actor(access.Origin{}), create(s.Live, order.Draft{}), "")
				must.NoError(t, err)
			},
			outcome,
		},
		"update_photos": {
			func() { create(s.Test, order.Draft{Mock: order.MockUpdatePhotos, ExternalID: &reference}) },
			[]string{"photos_to_resubmit"},
		},
		"update_photos_ja": {
			func() { create(japanese, order.Draft{Mock: order.MockUpdatePhotos}) },
			[]string{"photos_to_resubmit"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.run()
			d := newest(t, s)
			var fields map[string]any
			must.NoError(t, json.Unmarshal(d.Body, &fields))
			want := slices.Sorted(slices.Values(append(slices.Clone(commonFields), test.more...)))
			if got := slices.Sorted(maps.Keys(fields)); !slices.Equal(got, want) {
				t.Errorf("fields:\n%v, want\n%v", got, want)
			}
			if fields["webhook_event"] != string(d.Event) || fields["delivery_id"] != d.ID || fields["id"] != d.OrderID {
				t.Errorf("the body %s is not that of %+v", d.Body, d)
			}
			compareGolden(t, "payload_"+name+".json", mask(string(d.Body))+"\n")
		})
	}
}

// mask replaces what is drawn by chance.
func mask(body string) string {
	return variable.ReplaceAllStringFunc(body, func(found string) string {
		if label, _, ok := strings.Cut(found, ":"); ok {
			return label + `:"*"`
		}
		return "certificates/*"
	})
}

func compareGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *updateGolden {
		must.NoError(t, os.WriteFile(path, []byte(got), 0o600))
		return
	}
	want, err := os.ReadFile(path)
	must.NoError(t, err)
	if got != string(want) {
		t.Errorf("%s:\n%s\nwant\n%s", path, got, want)
	}
}

// TestOutbox shows who gets which event.
func TestOutbox(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		woken := 0
		s := shop.New(t, target, func(c *service.Config) { c.OnDeliveries = func() { woken++ } })
		outcomes := endpoint(t, s, s.Test, "outcomes", webhook.OrderOutcome)
		both := endpoint(t, s, s.Test, "both", webhook.Events...)
		endpoint(t, s, s.Live, "live", webhook.Events...)
		count := func(f webhook.DeliveryFilter) int {
			found, err := s.Service.Deliveries(t.Context(), access.Operator, f, 100)
			must.NoError(t, err)
			return len(found)
		}
		id := s.Order(t, s.Test, order.MockFake)
		if n := count(webhook.DeliveryFilter{OrderID: id}); n != 2 || woken != 1 {
			t.Errorf("%d deliveries of an outcome, woken %d times", n, woken)
		}
		s.Order(t, s.Test, order.MockUpdatePhotos)
		s.Order(t, s.Live, "")
		if a, b, all := count(webhook.DeliveryFilter{EndpointID: outcomes.ID}),
			count(webhook.DeliveryFilter{EndpointID: both.ID}),
			count(webhook.DeliveryFilter{Tenant: access.Tenant{AccountID: s.Account.ID}}); a != 1 || b != 2 || all != 3 {
			t.Errorf("deliveries: %d, %d, in all %d", a, b, all)
		}
		must.NoError(t, s.Service.DeleteEndpoint(t.Context(), s.Test.Actor(access.Origin{}), both.ID))
		if n := count(webhook.DeliveryFilter{}); n != 1 {
			t.Errorf("%d deliveries after an endpoint was deleted", n)
		}
		_, err := s.Service.RevokeKey(t.Context(), access.Operator, s.Test.ID)
		must.NoError(t, err)
		s.Order(t, s.Test, order.MockFake)
		if n := count(webhook.DeliveryFilter{}); n != 0 {
			t.Errorf("%d deliveries for a revoked key", n)
		}
	})
}

func TestRedeliver(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := shop.New(t, target)
		ctx := t.Context()
		e := endpoint(t, s, s.Test, "hook", webhook.OrderOutcome)
		fail := func() {
			const sender = "01980000-0000-7000-8000-000000000001"
			now := s.Clock.Now()
			must.NoError(t, s.Store.Update(ctx, func(tx *store.Tx) error {
				_, err := tx.LeaseQueues(sender, []string{e.ID}, now, now.Add(time.Hour))
				return err
			}))
			due, err := s.Store.DueDeliveries(ctx, e.ID, store.Place{}, now, 1000)
			must.NoError(t, err)
			var results []store.AttemptResult
			for _, d := range due {
				results = append(results, store.AttemptResult{
					Attempt:    webhook.Attempt{DeliveryID: d.ID, Number: d.Attempts + 1, At: now, HTTPStatus: http.StatusGone},
					EndpointID: e.ID, DueAt: d.DueAt,
				})
			}
			must.NoError(t, s.Store.RecordAttempts(ctx, sender, results))
		}
		for range 250 {
			s.Order(t, s.Test, order.MockUnableToVerify)
		}
		pending := newest(t, s)
		if err := s.Service.Redeliver(ctx, access.Operator, pending.ID); fault.CodeOf(err) != "not-redeliverable" {
			t.Errorf("redelivery of a pending delivery: %v", err)
		}
		fail()
		d, attempts, err := s.Service.Delivery(ctx, access.Operator, strings.ToUpper(pending.ID))
		if err != nil || d.Status != webhook.Failed || len(attempts) != 1 || attempts[0].HTTPStatus != http.StatusGone {
			t.Errorf("delivery: %+v, %+v, %v", d, attempts, err)
		}
		must.NoError(t, s.Service.Redeliver(ctx, access.Operator, d.ID))
		if got := newest(t, s); got.Status != webhook.Pending || string(got.Body) != string(pending.Body) {
			t.Errorf("redelivered: %+v", got)
		}
		since := s.Clock.Now()
		if n, err := s.Service.RedeliverFailed(ctx, access.Operator, webhook.DeliveryFilter{},
			since.Add(time.Second)); n != 0 || err != nil {
			t.Errorf("%d failed later, %v", n, err)
		}
		if n, err := s.Service.RedeliverFailed(ctx, access.Operator, webhook.DeliveryFilter{EndpointID: e.ID},
			since); n != 249 || err != nil {
			t.Errorf("%d failed were sent again, %v", n, err)
		}
		fail()
		must.NoError(t, s.Service.DeleteEndpoint(ctx, s.Test.Actor(access.Origin{}), e.ID))
		if n, err := s.Service.RedeliverFailed(ctx, access.Operator, webhook.DeliveryFilter{}, since); n != 0 || err != nil {
			t.Errorf("%d were sent again to a deleted endpoint, %v", n, err)
		}
		if err := s.Service.Redeliver(ctx, access.Operator, d.ID); fault.CodeOf(err) != "not-redeliverable" {
			t.Errorf("redelivery to a deleted endpoint: %v", err)
		}
		for _, id := range []string{"", "x", store.NewID()} {
			if _, _, err := s.Service.Delivery(ctx, access.Operator, id); !errors.Is(err, webhook.DeliveryNotFound()) {
				t.Errorf("delivery %q: %v", id, err)
			}
		}
		if n, err := s.Service.DeleteOldAttempts(ctx, s.Clock.Advance(time.Hour), 1000); n != 500 || err != nil {
			t.Errorf("%d attempts were forgotten, %v", n, err)
		}
		if n, err := s.Service.DeleteOldAttempts(ctx, s.Clock.Now(), 1000); n != 0 || err != nil {
			t.Errorf("%d attempts were forgotten again, %v", n, err)
		}
	})
}

// TestHostileURLs registers destinations that must not be called, as url and as token_url.
func TestHostileURLs(t *testing.T) {
	s := shop.New(t, storetest.SQLite(t))
	s.Reconfigure(t, hostileNetwork)
	honest, _ := webhook.CheckURL("url", "https://example.com/hook")
	refuse := func(t *testing.T, n service.NewEndpoint, field string) {
		t.Helper()
		n.Events = webhook.Events
		_, _, err := s.Service.CreateEndpoint(t.Context(), s.Test.Actor(access.Origin{}), s.Test.ID, n)
		if fault.CodeOf(err) != webhook.CodeUnsafe {
			t.Errorf("%s: %v", field, err)
		}
	}
	for _, host := range hostile.Hosts {
		t.Run(host, func(t *testing.T) {
			target := "https://" + host + "/hook"
			u, problem := webhook.CheckURL("url", target)
			if problem != nil {
				return // refused by its form
			}
			refuse(t, service.NewEndpoint{URL: u}, "url")
			tokenURL, problem := webhook.CheckTokenURL("auth.token_url", target)
			if problem != nil {
				t.Fatalf("%s is a URL and no token URL: %v", target, problem)
			}
			refuse(t, service.NewEndpoint{URL: honest, OAuth: &service.NewOAuth{
				TokenURL: tokenURL, ClientID: "id",
				ClientSecret: "secret",
			}}, "token_url")
		})
	}
	for _, form := range hostile.URLs {
		raw := form
		if strings.Contains(form, "%s") {
			raw = fmt.Sprintf(form, "example.com")
		}
		if _, problem := webhook.CheckURL("url", raw); problem == nil {
			t.Errorf("%q passes as url", raw)
		}
		if _, problem := webhook.CheckTokenURL("auth.token_url", raw); problem == nil {
			t.Errorf("%q passes as token_url", raw)
		}
	}
	if n := len(hostile.Hosts) + len(hostile.URLs); n < 60 {
		t.Errorf("only %d hostile URLs", n)
	}
}
