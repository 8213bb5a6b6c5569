package store_test

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/outbox"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// deliveryWorld is a database whose deliveries go to endpoints of several tenants.
type deliveryWorld struct {
	*testing.T
	store *store.Store
	urls  int
}

// account adds an account and returns a function that registers endpoints of it, each with a key of its own.
func (w *deliveryWorld) account() func(access.Environment) *webhook.Endpoint {
	w.Helper()
	o := outbox.NewTest(w, w.store)
	return func(env access.Environment) *webhook.Endpoint {
		w.Helper()
		w.urls++
		key := *o.Key
		key.ID, key.Environment, key.Name = uuid7.New(), env, fmt.Sprint("key ", w.urls)
		o.Update(func(tx *store.Tx) error { return tx.InsertKey(&key, key.ID) })
		of := *o.Outbox
		of.Key = &key
		e, err := of.Endpoint(w.Context(), fmt.Sprintf("https://%d.example.com/hook", w.urls), nil)
		must.NoError(w, err)
		return e
	}
}

// add queues n deliveries to an endpoint and ends them, unless they are to be pending.
func (w *deliveryWorld) add(e *webhook.Endpoint, orderID string, status webhook.Status, n int) (ids []string) {
	w.Helper()
	var results []store.AttemptResult
	must.NoError(w, w.store.Update(w.Context(), func(tx *store.Tx) error {
		for range n {
			d := &webhook.Delivery{
				ID: uuid7.New(), OrderID: orderID, Event: webhook.OrderOutcome, Body: []byte("{}"), CreatedAt: noon,
			}
			ids = append(ids, d.ID)
			results = append(results, ending(e, d.ID, status, 1, noon))
			if err := tx.InsertDelivery(d, e); err != nil {
				return err
			}
		}
		return nil
	}))
	if status != webhook.Pending {
		w.end(results)
	}
	return ids
}

func (w *deliveryWorld) end(results []store.AttemptResult) {
	w.Helper()
	must.NoError(w, w.store.Update(w.Context(), func(tx *store.Tx) error { return tx.EndDeliveries(results) }))
}

func ending(e *webhook.Endpoint, id string, status webhook.Status, number int, due time.Time) store.AttemptResult {
	code := 500
	if status == webhook.Delivered {
		code = 200
	}
	return store.AttemptResult{
		Attempt:    webhook.Attempt{DeliveryID: id, Number: number, At: due, HTTPStatus: code},
		EndpointID: e.ID, DueAt: due,
	}
}

func (w *deliveryWorld) list(f webhook.DeliveryFilter, limit int) []*webhook.Delivery {
	w.Helper()
	found, err := w.store.Deliveries(w.Context(), f, limit)
	must.NoError(w, err)
	return found
}

// TestDeliveries_Filters compares every list, page by page, with what the filter chooses of all deliveries.
func TestDeliveries_Filters(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := &deliveryWorld{T: t, store: s}
		var endpoints []*webhook.Endpoint
		orders := []string{uuid7.New(), uuid7.New()}
		var failed []string // of the first endpoint
		for range 2 {
			register := w.account()
			for _, env := range []access.Environment{access.Live, access.Test, access.Live} {
				e := register(env)
				endpoints = append(endpoints, e)
				for _, status := range webhook.Statuses {
					for i, order := range append(orders, "") {
						ids := w.add(e, order, status, 1+i)
						if e == endpoints[0] && status == webhook.Failed {
							failed = append(failed, ids...)
						}
					}
				}
			}
		}
		// Four of the failed ones are sent again: one is pending, one delivered and two have failed once more.
		later := noon.Add(time.Hour)
		must.NoError(t, s.Update(t.Context(), func(tx *store.Tx) error {
			for _, id := range failed[:4] {
				if err := tx.Redeliver(id, later); err != nil {
					return err
				}
			}
			return nil
		}))
		first := endpoints[0]
		w.end([]store.AttemptResult{
			ending(first, failed[1], webhook.Delivered, 2, later),
			ending(first, failed[2], webhook.Failed, 2, later), ending(first, failed[3], webhook.Failed, 2, later),
		})
		// What has ended outlives its endpoint and its key, and the log of attempts.
		must.NoError(t, s.Update(t.Context(), func(tx *store.Tx) error {
			if err := tx.DeleteEndpoint(endpoints[2].APIKeyID, endpoints[2].ID, later); err != nil {
				return err
			}
			if _, err := tx.RevokeKey(endpoints[4].APIKeyID, later); err != nil {
				return err
			}
			_, err := tx.DeleteOldAttempts(later, 1000)
			return err
		}))

		all := w.list(webhook.DeliveryFilter{}, 1000)
		if want := 6*18 - 2*6; len(all) != want { // without what is pending for the two
			t.Fatalf("%d deliveries, want %d", len(all), want)
		}
		statuses := append([]webhook.Status{""}, webhook.Statuses...)
		for _, tenant := range []access.Tenant{
			{},
			{AccountID: first.AccountID},
			{Environment: access.Live},
			first.Tenant,
			{AccountID: endpoints[5].AccountID, Environment: access.Test},
			{AccountID: uuid7.New(), Environment: access.Live},
		} {
			for _, endpoint := range []string{"", first.ID, endpoints[2].ID, endpoints[4].ID, uuid7.New()} {
				for _, order := range []string{"", orders[1], uuid7.New()} {
					for _, status := range statuses {
						f := webhook.DeliveryFilter{Tenant: tenant, EndpointID: endpoint, OrderID: order, Status: status}
						w.wantList(f, all)
					}
					w.wantFailed(webhook.DeliveryFilter{Tenant: tenant, EndpointID: endpoint, OrderID: order}, all, later)
				}
			}
		}
	})
}

func chooses(f webhook.DeliveryFilter, d *webhook.Delivery) bool {
	return (f.AccountID == "" || f.AccountID == d.AccountID) &&
		(f.Environment == "" || f.Environment == d.Environment) &&
		(f.EndpointID == "" || f.EndpointID == d.EndpointID) && (f.OrderID == "" || f.OrderID == d.OrderID) &&
		(f.Status == "" || f.Status == d.Status)
}

func (w *deliveryWorld) wantList(f webhook.DeliveryFilter, all []*webhook.Delivery) {
	w.Helper()
	var want, got []string
	for _, d := range all {
		if chooses(f, d) {
			want = append(want, d.ID+" "+string(d.Status))
		}
	}
	const size = 5
	for page := f; ; {
		found := w.list(page, size)
		for _, d := range found {
			got = append(got, d.ID+" "+string(d.Status))
		}
		if len(found) < size {
			break
		}
		page.Before = found[size-1].ID
	}
	if !slices.Equal(got, want) {
		w.Errorf("%+v: %d deliveries, want %d:\n%v\n%v", f, len(got), len(want), got, want)
	}
}

// wantFailed checks what has failed at any time, and what at a time or later.
func (w *deliveryWorld) wantFailed(f webhook.DeliveryFilter, all []*webhook.Delivery, later time.Time) {
	w.Helper()
	f.Status = webhook.Failed
	for _, since := range []time.Time{noon, later} {
		var want, got []string
		for _, d := range all {
			if chooses(f, d) && !d.FinishedAt.Before(since) {
				want = append(want, d.ID)
			}
		}
		slices.Sort(want)
		for after := ""; ; {
			found, err := w.store.FailedDeliveries(w.Context(), f, since, after, 4)
			must.NoError(w, err)
			if len(found) == 0 {
				break
			}
			got, after = append(got, found...), found[len(found)-1]
		}
		if !slices.Equal(got, want) {
			w.Errorf("%+v since %v: %d failed, want %d", f, since, len(got), len(want))
		}
	}
}

// TestDeliveries_Work checks that a list reads what is in it, and neither what others have failed to receive or wait
// for, nor the many deliveries that went well.
func TestDeliveries_Work(t *testing.T) {
	const many = 5000
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := &deliveryWorld{T: t, store: s}
		quiet := w.account()(access.Live)
		register := w.account()
		down, waiting, fine := register(access.Live), register(access.Live), register(access.Live)
		order := uuid7.New()
		for _, e := range []*webhook.Endpoint{quiet, fine} {
			for _, status := range webhook.Statuses {
				w.add(e, order, status, 2)
			}
		}
		w.add(quiet, "", webhook.Delivered, many)
		w.add(down, "", webhook.Failed, many)
		w.add(waiting, "", webhook.Pending, many)
		if s.Shared() {
			for _, table := range []string{"deliveries", "delivery_attempts", "delivery_queue"} {
				must.NoError(t, s.Vacuum(t.Context(), table))
			}
		}
		const ( // what SQLite begins with: ranges with two ends
			ofTenant   = `delivery_attempts_of_tenant \(.*failed_tenant.*>.* AND .*failed_tenant.*<`
			ofEndpoint = `delivery_attempts_of_endpoint \(.*failed_endpoint.*>.* AND .*failed_endpoint.*<`
			queue      = `q USING PRIMARY KEY \(endpoint_id>\? AND endpoint_id<\?\)`
			ofOrder    = `deliveries_of_order \(order_id=\?`
			deliveries = `d USING INDEX deliveries_of_endpoint \(endpoint_id>\? AND .*endpoint_id.*<`
		)
		account := access.Tenant{AccountID: quiet.AccountID}
		for name, test := range map[string]struct {
			filter webhook.DeliveryFilter
			index  string
		}{
			"Failed":           {webhook.DeliveryFilter{Tenant: quiet.Tenant}, ofTenant},
			"FailedOfAccount":  {webhook.DeliveryFilter{Tenant: account}, ofTenant},
			"FailedOfEndpoint": {webhook.DeliveryFilter{Tenant: fine.Tenant, EndpointID: fine.ID}, ofEndpoint},
			"FailedOfForeign":  {webhook.DeliveryFilter{Tenant: quiet.Tenant, EndpointID: down.ID}, ofEndpoint},
			"FailedOfOrder":    {webhook.DeliveryFilter{Tenant: quiet.Tenant, OrderID: order}, ofOrder},
			"Pending":          {webhook.DeliveryFilter{Tenant: quiet.Tenant, Status: webhook.Pending}, queue},
			"PendingOfAccount": {webhook.DeliveryFilter{Tenant: account, Status: webhook.Pending}, queue},
			"PendingOfEndpoint": {
				webhook.DeliveryFilter{Tenant: fine.Tenant, EndpointID: fine.ID, Status: webhook.Pending}, queue,
			},
			"PendingOfForeign": {
				webhook.DeliveryFilter{Tenant: quiet.Tenant, EndpointID: waiting.ID, Status: webhook.Pending}, queue,
			},
			"PendingOfOrder": {
				webhook.DeliveryFilter{Tenant: quiet.Tenant, OrderID: order, Status: webhook.Pending}, ofOrder,
			},
			"AllOfEndpoint": {webhook.DeliveryFilter{Tenant: fine.Tenant, EndpointID: fine.ID}, deliveries},
			"AllOfForeign":  {webhook.DeliveryFilter{Tenant: quiet.Tenant, EndpointID: down.ID}, deliveries},
			"DeliveredOfEndpoint": {
				webhook.DeliveryFilter{Tenant: fine.Tenant, EndpointID: fine.ID, Status: webhook.Delivered}, deliveries,
			},
			"AllOfOrder": {webhook.DeliveryFilter{Tenant: quiet.Tenant, EndpointID: quiet.ID, OrderID: order}, ofOrder},
		} {
			f := test.filter
			if strings.HasPrefix(name, "Failed") {
				f.Status = webhook.Failed
				for place, after := range map[string]string{"First": "", "Next": uuid7.First(noon)} {
					t.Run(name+"/Since/"+place, func(t *testing.T) {
						work, err := s.FailedDeliveriesWork(t.Context(), f, after)
						must.NoError(t, err)
						wantWork(t, work, test.index)
					})
				}
			}
			for place, before := range map[string]string{"First": "", "Next": uuid7.New()} {
				f.Before = before
				t.Run(name+"/"+place, func(t *testing.T) {
					work, err := s.DeliveriesWork(t.Context(), f)
					must.NoError(t, err)
					wantWork(t, work, test.index)
				})
			}
		}
	})
}

var wholeTable = regexp.MustCompile(`SCAN [a-z]\b`)

// wantWork checks that a statement goes by an index, on SQLite, and reads little, on PostgreSQL.
func wantWork(t *testing.T, plan, index string) {
	t.Helper()
	const most = 200 // pages of the database
	if m := buffers.FindStringSubmatch(plan); m != nil {
		hit, _ := strconv.Atoi(cmp.Or(m[1], "0"))
		read, _ := strconv.Atoi(cmp.Or(m[2], "0"))
		if hit+read > most {
			t.Errorf("it reads %d pages, want at most %d:\n%s", hit+read, most, plan)
		}
		return
	}
	if !regexp.MustCompile(index).MatchString(plan) || wholeTable.MatchString(plan) {
		t.Errorf("it does not read %s:\n%s", index, plan)
	}
}
