package service_test

import (
	"slices"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/demo"
	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/must"
)

// TestOperatorLog does everything that the command line can change, and checks that each leaves its entry in the log of
// administration: who acts is an argument, so that none can be forgotten.
func TestOperatorLog(t *testing.T) {
	eachOffice(t, func(t *testing.T, o *office) {
		ctx, operator := t.Context(), access.Operator
		live := o.Live.Tenant
		key := func() (*access.Key, error) {
			n := service.NewKey{Tenant: live, Name: "erp", Scopes: access.AllScopes, Limits: map[string]int{"read": 9}}
			k, _, err := o.Service.CreateKey(ctx, operator, n)
			return k, err
		}
		delivery := o.failedDelivery(t)
		for _, use := range []struct {
			code audit.ActionCode
			run  func() error
		}{
			{audit.AccountCreated, func() error {
				return second(o.Service.CreateAccount(ctx, operator, "Beta", "beta@example.com", "en"))
			}},
			{audit.CreditsGranted, func() error { return second(o.Service.GrantCredits(ctx, operator, live, 1, "by hand")) }},
			{audit.ActionKeyCreated, func() error { return second(key()) }},
			{audit.ActionKeyRenamed, func() error { return o.Service.RenameKey(ctx, operator, o.Live.ID, "nightly") }},
			{audit.ActionKeyLimited, func() error { return o.Service.SetKeyLimits(ctx, operator, o.Live.ID, nil) }},
			{audit.ActionKeyNetworks, func() error { return o.Service.SetKeyNetworks(ctx, operator, o.Live.ID, nil) }},
			{audit.ActionKeyRevoked, func() error { return second(o.Service.RevokeKey(ctx, operator, o.Live.ID)) }},
			{audit.CatalogImported, func() error { return second(o.Service.ImportCatalog(ctx, operator, demo.Catalog)) }},
			{audit.DeliveryRedelivered, func() error { return o.Service.Redeliver(ctx, operator, delivery) }},
			{audit.DeliveriesRedelivered, func() error {
				o.failedDelivery(t)
				return second(o.Service.RedeliverFailed(ctx, operator, webhook.DeliveryFilter{}, time.Time{}))
			}},
		} {
			before := len(o.logged(t, audit.ActionFilter{}))
			must.NoError(t, use.run())
			all := o.logged(t, audit.ActionFilter{})
			if len(all) != before+1 || all[before].Code != use.code || all[before].StaffName != "operator" {
				t.Errorf("%s leaves %d entries", use.code, len(all)-before)
			}
		}
		for name, err := range map[string]error{ // nothing records these: they are for account users only
			"CreateEndpoint": func() error {
				_, _, err := o.Service.CreateEndpoint(ctx, operator, o.Test.ID, service.NewEndpoint{})
				return err
			}(),
			"DeleteEndpoint": o.Service.DeleteEndpoint(ctx, operator, uuid7.New()),
			"SendTestEvent":  second(o.Service.SendTestEvent(ctx, operator, uuid7.New(), webhook.OrderOutcome)),
			"SetLowCredits":  o.Service.SetLowCredits(ctx, operator, 1),
		} {
			if fault.CodeOf(err) != "forbidden" {
				t.Errorf("%s: %v, want forbidden", name, err)
			}
		}
	})
}

// testLogPages reads the log of administration page by page, while it grows.
func (o *office) testLogPages(t *testing.T) {
	ctx := t.Context()
	all := o.logged(t, audit.ActionFilter{})
	var ids []string
	for below := (audit.ActionCursor{}); ; {
		page, err := o.Service.StaffActions(ctx, by(o.boss), audit.ActionFilter{}, below, 3)
		must.NoError(t, err)
		if len(page) == 0 {
			break
		}
		for _, a := range page {
			ids = append(ids, a.ID)
		}
		below = page[len(page)-1].Cursor()
		if len(ids) == 3 { // what comes meanwhile moves no page
			must.NoError(t, second(o.Service.GrantCredits(ctx, by(o.boss), o.Live.Tenant, 1, "meanwhile")))
		}
	}
	slices.Reverse(ids)
	for i, a := range all {
		if i >= len(ids) || ids[i] != a.ID {
			t.Fatalf("%d entries on pages, want %d in their order", len(ids), len(all))
		}
	}
}

// logged returns the log of administration, the oldest entry first.
func (o *office) logged(t *testing.T, f audit.ActionFilter) []*audit.Action {
	t.Helper()
	var all []*audit.Action
	must.NoError(t, o.Service.EachStaffAction(t.Context(), by(o.boss), f, func(a *audit.Action) error {
		all = append(all, a)
		return nil
	}))
	slices.Reverse(all)
	return all
}

// failedDelivery makes a delivery that has used up its attempts, and returns its id.
func (o *office) failedDelivery(t *testing.T) string {
	t.Helper()
	e, now := endpoint(t, o.Shop, o.Test, uuid7.New(), webhook.OrderOutcome), o.Clock.Now()
	o.Order(t, o.Test, order.MockFake)
	const sender = "01980000-0000-7000-8000-000000000001"
	must.NoError(t, o.Store.Update(t.Context(), func(tx *store.Tx) error {
		_, err := tx.LeaseQueues(sender, []string{e.ID}, now, now.Add(time.Hour))
		return err
	}))
	due, err := o.Store.DueDeliveries(t.Context(), e.ID, store.Place{}, now, 1)
	must.NoError(t, err)
	must.NoError(t, o.Store.RecordAttempts(t.Context(), sender, []store.AttemptResult{{
		Attempt:    webhook.Attempt{DeliveryID: due[0].ID, Number: 1, At: now, HTTPStatus: 500},
		EndpointID: e.ID, DueAt: due[0].DueAt,
	}}))
	return due[0].ID
}

// testLogOfApprovals decides requests in every way; secret is told what must not be in the log.
func (o *office) testLogOfApprovals(t *testing.T, from access.Origin, secret func(string)) {
	ctx := t.Context()
	config := o.Config
	config.Limits.FourEyes = service.FourEyes{On: true, Credits: 10}
	careful := service.New(config)
	n, err := o.Service.CreateStaff(ctx, o.boss.Actor(from), "second@example.com", "Second", access.Admin)
	must.NoError(t, err)
	secret(n.Password)
	secret(n.Token)
	ask := func() string {
		if _, err := careful.GrantCredits(ctx, o.boss.Actor(from), o.Live.Tenant, 100, "x"); err == nil {
			t.Fatal("a large amount needs nobody else")
		}
		open, _, err := careful.Approvals(ctx, n.Staff.Actor(from))
		must.NoError(t, err)
		return open[0].ID
	}
	for _, decide := range []func(string) error{
		func(id string) error { return second(careful.Approve(ctx, n.Staff.Actor(from), id)) },
		func(id string) error { return second(careful.Refuse(ctx, n.Staff.Actor(from), id)) },
		func(id string) error { return second(careful.Withdraw(ctx, o.boss.Actor(from), id)) },
		func(string) error {
			o.Clock.Advance(access.ApprovalLife)
			return second(careful.ExpireApprovals(ctx, 10))
		},
	} {
		must.NoError(t, decide(ask()))
	}
}
