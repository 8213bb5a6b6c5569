package service_test

import (
	"slices"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/shop"
)

// TestReviewLists checks the lists of the desk: their order, filters and pages.
func TestReviewLists(t *testing.T) {
	eachShop(t, func(t *testing.T, s *shop.Shop, who, admin *access.Staff) {
		ctx, reviewer, boss := t.Context(), who.Actor(access.Origin{}), admin.Actor(access.Origin{})
		var ids []string
		for range 5 { // each due a minute after the one before
			ids = append(ids, s.Order(t, s.Live, ""))
			s.Clock.Advance(time.Minute)
		}
		list := func(f order.Filter, page, limit int) ([]string, bool) {
			t.Helper()
			f.Environment = access.Live
			rows, next, err := s.Service.Orders(ctx, reviewer, f, nil, limit)
			for ; page > 1 && err == nil; page-- {
				rows, next, err = s.Service.Orders(ctx, reviewer, f, next, limit)
			}
			if err != nil {
				t.Fatal(err)
			}
			got := make([]string, len(rows))
			for i := range rows {
				got[i] = rows[i].ID
				if rows[i].AccountName != s.Account.Name || rows[i].Classification.BrandCode != "prada" {
					t.Errorf("row %+v", rows[i])
				}
			}
			return got, next != nil
		}
		want := func(name string, f order.Filter, page, limit int, more bool, expected ...string) {
			t.Helper()
			got, gotMore := list(f, page, limit)
			if len(got) != len(expected) || gotMore != more {
				t.Fatalf("%s: %v, more %t, want %v, %t", name, got, gotMore, expected, more)
			}
			for i := range got {
				if got[i] != expected[i] {
					t.Errorf("%s: %v, want %v", name, got, expected)
				}
			}
		}
		open := []order.Status{order.Queued, order.Processing}
		want("first page", order.Filter{Sort: order.DueFirst, Statuses: open}, 1, 2, true, ids[0], ids[1])
		want("last page", order.Filter{Sort: order.DueFirst, Statuses: open}, 3, 2, false, ids[4])
		if _, err := s.Service.ClaimOrder(ctx, reviewer, ids[1]); err != nil {
			t.Fatal(err)
		}
		want("merged", order.Filter{Sort: order.DueFirst, Statuses: open}, 1, 3, true, ids[0], ids[1], ids[2])
		want("mine", order.Filter{Sort: order.DueFirst, Statuses: open, AssigneeID: who.ID}, 1, 10, false, ids[1])
		want("brand", order.Filter{Sort: order.DueFirst, Statuses: open, BrandCode: "prada"}, 1, 2, true, ids[0], ids[1])
		prada := order.Filter{Sort: order.DueFirst, Statuses: open, CategoryCode: "bags", BrandCode: "prada"}
		want("category", prada, 2, 3, false, ids[3], ids[4])
		want("other brand", order.Filter{Sort: order.DueFirst, Statuses: open, BrandCode: "gucci"}, 1, 10, false)
		for _, id := range []string{ids[3], ids[0]} {
			s.Clock.Advance(time.Minute)
			if _, err := s.Service.CancelOrder(ctx, boss, id, ""); err != nil {
				t.Fatal(err)
			}
		}
		ended := []order.Status{order.Completed, order.Failed}
		want("ended, the newest first", order.Filter{Sort: order.RecentlyEnded, Statuses: ended}, 1, 1, true, ids[0])
		want("ended, second page", order.Filter{Sort: order.RecentlyEnded, Statuses: ended, CategoryCode: "bags"}, 2, 1,
			false, ids[3])
		want("ended, second page of all", order.Filter{Sort: order.RecentlyEnded, Statuses: ended}, 2, 1, false, ids[3])
		want("failed only", order.Filter{Sort: order.RecentlyEnded, Statuses: []order.Status{order.Failed}}, 1, 10, false)
		t.Run("TheCursorStays", func(t *testing.T) {
			f := order.Filter{Sort: order.DueFirst, Environment: access.Live, Statuses: open}
			_, next, err := s.Service.Orders(ctx, reviewer, f, nil, 1) // ids[1]; then 2 and 4
			if err != nil {
				t.Fatal(err)
			}
			// The order that was seen last is gone.
			if _, err := s.Service.CancelOrder(ctx, boss, ids[1], ""); err != nil {
				t.Fatal(err)
			}
			rows, next, err := s.Service.Orders(ctx, reviewer, f, next, 10)
			if err != nil || next != nil || len(rows) != 2 || rows[0].ID != ids[2] || rows[1].ID != ids[4] {
				t.Errorf("after it come %v, %v, %v", rows, next, err)
			}
		})
		t.Run("WithoutDueDate", func(t *testing.T) {
			var waiting []string
			for range 5 {
				id := s.Order(t, s.Live, "")
				if _, err := s.Service.ClaimOrder(ctx, reviewer, id); err != nil {
					t.Fatal(err)
				}
				asked := []order.RequestDraft{{IndexCode: "overall-picture"}}
				if _, err := s.Service.RequestPhotos(ctx, reviewer, id, asked); err != nil {
					t.Fatal(err)
				}
				waiting = append(waiting, id)
			}
			slices.Sort(waiting) // all are due never: the ids decide
			photos := order.Filter{Sort: order.DueFirst, Statuses: []order.Status{order.UpdatePhotos}}
			want("first", photos, 1, 2, true, waiting[:2]...)
			want("second", photos, 2, 2, true, waiting[2:4]...)
			want("last", photos, 3, 2, false, waiting[4])
			mixed := order.Filter{
				Sort: order.DueFirst, Statuses: []order.Status{order.Queued, order.UpdatePhotos}, CategoryCode: "bags",
			}
			want("mine", mixed, 2, 3, true, waiting[1:4]...)
		})
		for limit, want := range map[int]int{10: 5, 4: 4} {
			if got, err := s.Service.CountAssigned(ctx, reviewer, limit); err != nil || got != want {
				t.Errorf("up to %d claims are %d, %v", limit, got, err)
			}
		}
	})
}

// TestOrderFilter lists the orders of each status and outcome, page by page.
func TestOrderFilter(t *testing.T) {
	eachPortal(t, func(t *testing.T, s *shop.Shop, owner *service.Member) {
		for range 4 {
			for _, mock := range order.MockOutcomes {
				s.Order(t, s.Test, mock)
			}
		}
		queued := s.Order(t, s.Test, order.MockFake)
		developer := owner.Actor(access.Test, access.Origin{})
		must.NoError(t, second(s.Service.SimulateState(t.Context(), developer, queued, order.SandboxState(order.Queued),
			nil)))
		broken := s.Order(t, s.Test, order.MockFake)
		must.NoError(t, second(s.Service.SimulateState(t.Context(), developer, broken, order.SandboxState(order.Failed),
			nil)))
		s.Order(t, s.Live, "")
		var all []order.Summary
		must.NoError(t, s.Service.EachOrder(t.Context(), developer, order.Filter{}, func(o *order.Summary) error {
			all = append(all, *o)
			return nil
		}))
		if len(all) != 18 {
			t.Fatalf("%d orders", len(all))
		}
		for _, status := range append([]order.Status{""}, order.Statuses...) {
			for _, outcome := range append([]order.Outcome{""}, order.Outcomes...) {
				f := order.Filter{Outcome: outcome}
				if status != "" {
					f.Statuses = []order.Status{status}
				}
				var want, paged, exported []int64
				for _, o := range all {
					if (status == "" || o.Status == status) && (outcome == "" || o.Outcome == outcome) {
						want = append(want, o.Seq)
					}
				}
				for after := (*order.Cursor)(nil); ; {
					rows, next, err := s.Service.Orders(t.Context(), developer, f, after, 3)
					must.NoError(t, err)
					for _, o := range rows {
						paged = append(paged, o.Seq)
					}
					if after = next; after == nil {
						break
					}
				}
				must.NoError(t, s.Service.EachOrder(t.Context(), developer, f, func(o *order.Summary) error {
					exported = append(exported, o.Seq)
					return nil
				}))
				if !slices.Equal(paged, want) || !slices.Equal(exported, want) {
					t.Errorf("%q %q: pages %v, export %v, want %v", status, outcome, paged, exported, want)
				}
			}
		}
	})
}

// TestOrderPermissions checks that use cases about orders refuse actors of the wrong kind themselves, whatever page or
// route calls them.
func TestOrderPermissions(t *testing.T) {
	eachOffice(t, func(t *testing.T, o *office) {
		ctx := t.Context()
		id := o.Order(t, o.Live, "")
		_, err := o.Service.ClaimOrder(ctx, by(o.reviewer), id)
		if err != nil {
			t.Fatal(err)
		}
		owner := access.Actor{Kind: access.ByUser, ID: "x", Role: access.Owner, Tenant: o.Live.Tenant}
		viewer := access.Actor{Kind: access.ByUser, ID: "x", Role: access.Viewer, Tenant: o.Live.Tenant}
		for name, use := range map[string]func() error{
			"SaveVerdictDraft": func() error {
				_, err := o.Service.SaveVerdictDraft(ctx, owner, id, new(order.VerdictDraft), 0)
				return err
			},
			"ColleaguesDraft": func() error { _, err := o.Service.ColleaguesDraft(ctx, owner, id); return err },
			"PreviewVerdict": func() error {
				_, err := o.Service.PreviewVerdict(ctx, owner, id, &order.Verdict{Outcome: order.Authentic}, "")
				return err
			},
			"PreviewRequest": func() error {
				_, err := o.Service.PreviewRequest(ctx, o.Live.Actor(access.Origin{}), id, nil)
				return err
			},
			"CreateOrder": func() error { _, err := o.Service.CreateOrder(ctx, viewer, new(order.Draft), nil); return err },
		} {
			if err := use(); fault.CodeOf(err) != "forbidden" {
				t.Errorf("%s: %v, want forbidden", name, err)
			}
		}
		if err := o.Service.SimulateDelay(ctx, by(o.boss), id, true); fault.CodeOf(err) != order.NotATestOrder.Code {
			t.Errorf("a Live order is marked late: %v", err)
		}
	})
}

func TestPortalLists(t *testing.T) {
	eachPortal(t, func(t *testing.T, s *shop.Shop, owner *service.Member) {
		s.Trade(t)
		actor := owner.Actor(access.Test, access.Origin{})
		rows, total, err := s.Service.OrderPage(t.Context(), actor, order.Filter{}, 1, 3)
		must.NoError(t, err)
		if len(rows) != 3 || total != 5 || rows[0].Seq != 5 || rows[0].Classification.BrandCode != "prada" {
			t.Errorf("%d rows of %d: %+v", len(rows), total, rows)
		}
		photos := order.Filter{Statuses: []order.Status{order.UpdatePhotos}}
		waiting, _, err := s.Service.Orders(t.Context(), actor, photos, nil, 10)
		must.NoError(t, err)
		if len(waiting) != 1 {
			t.Errorf("%d orders wait", len(waiting))
		}
		found, err := s.Service.FindOrders(t.Context(), actor, rows[1].Number, 10)
		must.NoError(t, err)
		if len(found) != 1 || found[0].ID != rows[1].ID {
			t.Errorf("found %+v", found)
		}
		overview, err := s.Service.Overview(t.Context(), owner.Actor(access.Test, access.Origin{}))
		must.NoError(t, err)
		if overview.Waiting != 1 || overview.Days[len(overview.Days)-1].Orders != 5 || overview.Total.Ended() != 4 {
			t.Errorf("overview %+v", overview)
		}
		live := owner.Actor(access.Live, portalOrigin)
		lines, book, err := s.Service.Ledger(t.Context(), live, live.Tenant, 1, 10)
		must.NoError(t, err)
		if len(lines) != int(book.Entries) || lines[0].BalanceAfter != book.Credits || lines[0].OrderNumber == "" {
			t.Errorf("%d of %d lines: %+v", len(lines), book.Entries, lines)
		}
		from, to := s.Clock.Now().Add(-time.Hour), s.Clock.Now().Add(time.Hour)
		created := audit.Filter{Code: audit.KeyCreated, From: &from, To: &to}
		events, _, err := s.Service.AuditEvents(t.Context(), live, created, 0, 10)
		must.NoError(t, err)
		if len(events) != 2 {
			t.Errorf("%d events", len(events))
		}
		f := webhook.DeliveryFilter{Tenant: live.Tenant}
		if n, err := s.Service.RedeliverFailed(t.Context(), live, f, from); err != nil || n != 0 {
			t.Errorf("%d sent again, %v", n, err)
		}
	})
}
