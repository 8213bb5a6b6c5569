package service_test

import (
	"encoding/json"
	"maps"
	"os"
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
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/testkit/expect"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

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
		created, err := s.Service.CreateOrder(t.Context(), k.Actor(access.Origin{}), &d, nil)
		must.NoError(t, err)
		return created.OrderID
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
			expect.Golden(t, "testdata/payload_"+name+".json", mask(string(d.Body))+"\n")
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

// TestEvents_DeletedMeanwhile: events whose time is over, and that are deleted while they are read, are not passed over
// in silence.
func TestEvents_DeletedMeanwhile(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := shop.New(t, target)
		s.Order(t, s.Test, order.MockAuthentic)
		s.Clock.Advance(2 * time.Hour)
		s.Order(t, s.Test, order.MockFake)
		read := func() ([]*webhook.OrderEvent, error) {
			events, _, err := s.Service.Events(t.Context(), s.Test.Actor(access.Origin{}), new(webhook.Cursor), 10)
			return events, err
		}
		if events, err := read(); len(events) != 2 || err != nil {
			t.Fatalf("%d events, %v", len(events), err)
		}
		s.Reconfigure(t, func(c *service.Config) {
			c.EventAge = time.Hour
			c.Now = func() time.Time { // which is asked when the events are read, and before it is known which are over
				rawsql.Exec(t, target, "DELETE FROM events WHERE seq = 1")
				rawsql.Exec(t, target, "UPDATE api_keys SET events_gone = 1 WHERE id = '"+s.Test.ID+"'")
				return s.Clock.Now()
			}
		})
		rawsql.Exec(t, target, "UPDATE api_keys SET events_gone = 0")
		if events, err := read(); fault.CodeOf(err) != fault.CodeOf(webhook.CursorExpired(0)) {
			t.Errorf("%d events, %v", len(events), err)
		}
	})
}
