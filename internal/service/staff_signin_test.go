package service_test

import (
	"slices"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/storetest"
	"github.com/assayhq/assay/internal/testkit/shop"
)

// eachShop runs a test over a shop with a reviewer and an administrator, on both engines.
func eachShop(t *testing.T, f func(t *testing.T, s *shop.Shop, reviewer, admin *access.Staff)) {
	t.Helper()
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := shop.New(t, target)
		staff := func(email string, role access.StaffRole) *access.Staff {
			one := &access.Staff{ID: store.NewID(), Email: email, Name: email, Role: role, PasswordHash: "-", CreatedAt: s.Clock.Now()}
			if err := s.Store.Update(t.Context(), func(tx *store.Tx) error { return tx.InsertStaff(one, access.HashSecretKey(access.NewStaffToken())) }); err != nil {
				t.Fatal(err)
			}
			return one
		}
		f(t, s, staff("mika@example.com", access.Reviewer), staff("aoi@example.com", access.Admin))
	})
}

// TestBoard holds the lists of the desk's pages: their order, filters and pages.
func TestBoard(t *testing.T) {
	eachShop(t, func(t *testing.T, s *shop.Shop, who, admin *access.Staff) {
		ctx := t.Context()
		var ids []string
		for range 5 { // each due a minute after the one before
			ids = append(ids, s.Order(t, s.Live, ""))
			s.Clock.Advance(time.Minute)
		}
		list := func(f store.BoardFilter, page, limit int) ([]string, bool) {
			t.Helper()
			rows, next, err := s.Service.Board(ctx, f, nil, limit)
			for ; page > 1 && err == nil; page-- {
				rows, next, err = s.Service.Board(ctx, f, next, limit)
			}
			if err != nil {
				t.Fatal(err)
			}
			got := make([]string, len(rows))
			for i := range rows {
				got[i] = rows[i].ID
				if rows[i].AccountName != s.Account.Name || rows[i].Facts.Classification.BrandCode != "prada" {
					t.Errorf("row %+v", rows[i])
				}
			}
			return got, next != nil
		}
		want := func(name string, f store.BoardFilter, page, limit int, more bool, expected ...string) {
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
		want("first page", store.BoardFilter{Statuses: open}, 1, 2, true, ids[0], ids[1])
		want("last page", store.BoardFilter{Statuses: open}, 3, 2, false, ids[4])
		if _, err := s.Service.ClaimOrder(ctx, who, ids[1]); err != nil {
			t.Fatal(err)
		}
		want("merged", store.BoardFilter{Statuses: open}, 1, 3, true, ids[0], ids[1], ids[2])
		want("mine", store.BoardFilter{Statuses: open, AssigneeID: who.ID}, 1, 10, false, ids[1])
		want("brand", store.BoardFilter{Statuses: open, BrandCode: "prada"}, 1, 2, true, ids[0], ids[1])
		want("category", store.BoardFilter{Statuses: open, CategoryCode: "bags", BrandCode: "prada"}, 2, 3, false, ids[3], ids[4])
		want("other brand", store.BoardFilter{Statuses: open, BrandCode: "gucci"}, 1, 10, false)
		for _, id := range []string{ids[3], ids[0]} {
			s.Clock.Advance(time.Minute)
			if _, err := s.Service.CancelOrder(ctx, admin, id, ""); err != nil {
				t.Fatal(err)
			}
		}
		ended := []order.Status{order.Completed, order.Failed}
		want("ended, the newest first", store.BoardFilter{Statuses: ended}, 1, 1, true, ids[0])
		want("ended, second page", store.BoardFilter{Statuses: ended, CategoryCode: "bags"}, 2, 1, false, ids[3])
		want("ended, second page of all", store.BoardFilter{Statuses: ended}, 2, 1, false, ids[3])
		want("failed only", store.BoardFilter{Statuses: []order.Status{order.Failed}}, 1, 10, false)
		t.Run("ThePlaceStays", func(t *testing.T) {
			_, next, err := s.Service.Board(ctx, store.BoardFilter{Statuses: open}, nil, 1) // ids[1]; then 2 and 4
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Service.CancelOrder(ctx, admin, ids[1], ""); err != nil { // the order that was seen last is gone
				t.Fatal(err)
			}
			rows, next, err := s.Service.Board(ctx, store.BoardFilter{Statuses: open}, next, 10)
			if err != nil || next != nil || len(rows) != 2 || rows[0].ID != ids[2] || rows[1].ID != ids[4] {
				t.Errorf("after it come %v, %v, %v", rows, next, err)
			}
		})
		t.Run("WithoutDueDate", func(t *testing.T) {
			var waiting []string
			for range 5 {
				id := s.Order(t, s.Live, "")
				if _, err := s.Service.ClaimOrder(ctx, who, id); err != nil {
					t.Fatal(err)
				}
				if _, err := s.Service.RequestPhotos(ctx, who, id, []order.RequestDraft{{IndexCode: "overall-picture"}}); err != nil {
					t.Fatal(err)
				}
				waiting = append(waiting, id)
			}
			slices.Sort(waiting) // all are due never: the ids decide
			photos := store.BoardFilter{Statuses: []order.Status{order.UpdatePhotos}}
			want("first", photos, 1, 2, true, waiting[:2]...)
			want("second", photos, 2, 2, true, waiting[2:4]...)
			want("last", photos, 3, 2, false, waiting[4])
			want("mine", store.BoardFilter{Statuses: []order.Status{order.Queued, order.UpdatePhotos}, CategoryCode: "bags"}, 2, 3, true, waiting[1:4]...)
		})
		counts, err := s.Service.ClaimCounts(ctx, who)
		if err != nil || counts[order.Processing] != 0 || counts[order.UpdatePhotos] != 5 {
			t.Errorf("counts %v, %v", counts, err)
		}
	})
}

// TestVerdictDraft holds who may keep a draft, and that a preview changes nothing.
func TestVerdictDraft(t *testing.T) {
	eachShop(t, func(t *testing.T, s *shop.Shop, who, admin *access.Staff) {
		ctx := t.Context()
		id := s.Order(t, s.Live, "")
		draft := &service.VerdictDraft{Outcome: order.Authentic, Checks: map[string]service.Check{"overall-picture": service.CheckPass}, Note: "真"}
		if err := s.Service.SaveVerdictDraft(ctx, who, id, draft); err == nil {
			t.Error("a draft for an order that nobody holds is kept")
		}
		if _, err := s.Service.ClaimOrder(ctx, who, id); err != nil {
			t.Fatal(err)
		}
		for _, note := range []string{"first", "真"} {
			draft.Note = note
			if err := s.Service.SaveVerdictDraft(ctx, who, id, draft); err != nil {
				t.Fatal(err)
			}
		}
		got, err := s.Service.VerdictDraftOf(ctx, who.ID, id)
		if err != nil || got.Note != "真" || got.Checks["overall-picture"] != service.CheckPass {
			t.Errorf("draft %+v, %v", got, err)
		}
		if others, err := s.Service.VerdictDraftOf(ctx, admin.ID, id); err != nil || others.Note != "" {
			t.Errorf("another's draft is %+v, %v", others, err)
		}
		after, err := s.Service.PreviewVerdict(ctx, who, id, &order.Verdict{Outcome: order.Authentic}, "")
		if err != nil || after.Outcome != order.Authentic {
			t.Fatalf("preview %v, %v", after, err)
		}
		now, err := s.Store.Order(ctx, id)
		if err != nil || now.Status != order.Processing || now.CertificateID != "" {
			t.Errorf("the preview has changed the order: %+v, %v", now, err)
		}
		around, err := s.Service.SurroundingsOf(ctx, now)
		if err != nil || len(around.Files) != 1 || len(around.Others) != 0 {
			t.Errorf("around the order: %+v, %v", around, err)
		}
	})
}
