package service_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
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
		want("ended, the newest first", order.Filter{Sort: order.EndedLast, Statuses: ended}, 1, 1, true, ids[0])
		want("ended, second page", order.Filter{Sort: order.EndedLast, Statuses: ended, CategoryCode: "bags"}, 2, 1, false,
			ids[3])
		want("ended, second page of all", order.Filter{Sort: order.EndedLast, Statuses: ended}, 2, 1, false, ids[3])
		want("failed only", order.Filter{Sort: order.EndedLast, Statuses: []order.Status{order.Failed}}, 1, 10, false)
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

// TestVerdictDraft checks who may store a draft, and that a preview changes nothing.
func TestVerdictDraft(t *testing.T) {
	eachShop(t, func(t *testing.T, s *shop.Shop, who, admin *access.Staff) {
		ctx, reviewer := t.Context(), who.Actor(access.Origin{})
		id := s.Order(t, s.Live, "")
		draft := &order.VerdictDraft{
			Outcome: order.Authentic, Checks: map[string]order.Mark{"overall-picture": order.MarkPass}, Note: "真",
		}
		if _, err := s.Service.SaveVerdictDraft(ctx, reviewer, id, draft, 0); err == nil {
			t.Error("a draft for an order that nobody holds is kept")
		}
		if _, err := s.Service.ClaimOrder(ctx, reviewer, id); err != nil {
			t.Fatal(err)
		}
		for i, note := range []string{"first", "真"} {
			draft.Note = note
			version, err := s.Service.SaveVerdictDraft(ctx, reviewer, id, draft, int64(i))
			if err != nil || version != int64(i)+1 {
				t.Fatalf("version %d, %v", version, err)
			}
		}
		if version, err := s.Service.SaveVerdictDraft(ctx, reviewer, id, draft, 0); err != nil || version != 2 {
			t.Errorf("the same once more is version %d, %v", version, err)
		}
		older := &order.VerdictDraft{Note: "older"}
		if _, err := s.Service.SaveVerdictDraft(ctx, reviewer, id, older, 1); !errors.Is(err, order.DraftChanged) {
			t.Errorf("a draft made from an older one: %v", err)
		}
		got, err := s.Service.VerdictDraft(ctx, who.ID, id)
		if err != nil || got.Note != "真" || got.Checks["overall-picture"] != order.MarkPass {
			t.Errorf("draft %+v, %v", got, err)
		}
		if others, err := s.Service.VerdictDraft(ctx, admin.ID, id); err != nil || others.Note != "" {
			t.Errorf("another's draft is %+v, %v", others, err)
		}
		theirs, err := s.Service.ColleaguesDraft(ctx, admin.Actor(access.Origin{}), id)
		if err != nil || theirs.Note != "真" || theirs.StaffName != who.Name || theirs.Version != 2 {
			t.Errorf("the colleague's draft is %+v, %v", theirs, err)
		}
		if none, err := s.Service.ColleaguesDraft(ctx, reviewer, id); err != nil || none != nil {
			t.Errorf("nobody's draft is %+v, %v", none, err)
		}
		after, err := s.Service.PreviewVerdict(ctx, reviewer, id, &order.Verdict{Outcome: order.Authentic}, "")
		if err != nil || after.Outcome != order.Authentic {
			t.Fatalf("preview %v, %v", after, err)
		}
		now, err := s.Store.Order(ctx, id)
		if err != nil || now.Status != order.Processing || now.CertificateID != "" {
			t.Errorf("the preview has changed the order: %+v, %v", now, err)
		}
		around, err := s.Service.OrderContext(ctx, now)
		if err != nil || len(around.Files) != 1 || len(around.Others) != 0 {
			t.Errorf("around the order: %+v, %v", around, err)
		}
	})
}

// TestVerdictDraft_Ended checks that drafts go with the verdict, except that of who gave it: it tells how it came
// about.
func TestVerdictDraft_Ended(t *testing.T) {
	eachShop(t, func(t *testing.T, s *shop.Shop, who, admin *access.Staff) {
		ctx := t.Context()
		id := s.Order(t, s.Live, "")
		for _, staff := range []*access.Staff{who, admin} {
			actor := staff.Actor(access.Origin{})
			if _, err := s.Service.ClaimOrder(ctx, actor, id); err != nil {
				t.Fatal(err)
			}
			draft := &order.VerdictDraft{Note: staff.Name}
			if _, err := s.Service.SaveVerdictDraft(ctx, actor, id, draft, 0); err != nil {
				t.Fatal(err)
			}
			if staff == admin {
				break
			}
			if _, err := s.Service.ReleaseOrder(ctx, actor, id); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Service.CompleteOrder(ctx, admin.Actor(access.Origin{}), id,
			&order.Verdict{Outcome: order.UnableToVerify}, ""); err != nil {
			t.Fatal(err)
		}
		if left, err := s.Service.VerdictDraft(ctx, who.ID, id); err != nil || left.Note != "" {
			t.Errorf("the draft of who did not judge is %+v, %v", left, err)
		}
		if kept, err := s.Service.VerdictDraft(ctx, admin.ID, id); err != nil || kept.Note != admin.Name {
			t.Errorf("the draft of who judged is %+v, %v", kept, err)
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
