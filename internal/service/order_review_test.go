package service_test

import (
	"errors"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/shop"
)

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

// TestVerdictDraft_SamePage checks that a page that never got the answer to its last save goes on from it, that a save
// which arrives late replaces nothing, and that neither holds for another page.
func TestVerdictDraft_SamePage(t *testing.T) {
	eachShop(t, func(t *testing.T, s *shop.Shop, who, _ *access.Staff) {
		id := s.Order(t, s.Live, "")
		_, err := s.Service.ClaimOrder(t.Context(), by(who), id)
		must.NoError(t, err)
		for _, step := range []struct {
			note    string
			page    order.DraftPage
			from    int64
			version int64 // 0: refused
		}{
			{"a1", order.DraftPage{ID: "a", Save: 1}, 0, 1},
			{"a2", order.DraftPage{ID: "a", Save: 2}, 0, 2},  // the answer to the first was lost
			{"a4", order.DraftPage{ID: "a", Save: 4}, 0, 3},  // and the third is still under way
			{"a3", order.DraftPage{ID: "a", Save: 3}, 0, 0},  // it arrives
			{"b1", order.DraftPage{ID: "b", Save: 9}, 2, 0},  // has not seen the latest
			{"none", order.DraftPage{}, 2, 0},                // says nothing of its page
			{"b2", order.DraftPage{ID: "b", Save: 10}, 3, 4}, // has seen it
			{"a5", order.DraftPage{ID: "a", Save: 5}, 0, 0},  // has not seen that
			{"none", order.DraftPage{}, 4, 5},                // replaces it
			{"none again", order.DraftPage{Save: 99}, 4, 0},  // is not known to be the same page
			{"b3", order.DraftPage{ID: "b", Save: 11}, 4, 0}, // has not seen it either
			{"b3", order.DraftPage{ID: "b", Save: 12}, 5, 6}, // after somebody has looked
			{"b4", order.DraftPage{ID: "b", Save: 13}, 5, 7}, // and so on
		} {
			d := &order.VerdictDraft{Note: step.note, Page: step.page}
			version, err := s.Service.SaveVerdictDraft(t.Context(), by(who), id, d, step.from)
			if step.version == 0 {
				if !errors.Is(err, order.DraftChanged) {
					t.Errorf("%+v: version %d, %v", step, version, err)
				}
			} else if err != nil || version != step.version {
				t.Errorf("%+v: version %d, %v", step, version, err)
			}
		}
		if got, err := s.Service.VerdictDraft(t.Context(), who.ID, id); err != nil || got.Note != "b4" || got.Page.ID != "b" {
			t.Errorf("stored is %+v, %v", got, err)
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

// TestCompleteOrder_OfAnother checks that the verdict of an administrator on an order that a reviewer holds is the
// administrator's: its checklist, its count and its place in the lists. The reviewer is told who took the order.
func TestCompleteOrder_OfAnother(t *testing.T) {
	eachShop(t, func(t *testing.T, s *shop.Shop, who, admin *access.Staff) {
		ctx := t.Context()
		id := s.Order(t, s.Live, "")
		_, err := s.Service.ClaimOrder(ctx, by(who), id)
		must.NoError(t, err)
		for staff, mark := range map[*access.Staff]order.Mark{who: order.MarkFail, admin: order.MarkPass} {
			draft := &order.VerdictDraft{Checks: map[string]order.Mark{"overall-picture": mark}}
			_, err := s.Service.SaveVerdictDraft(ctx, by(staff), id, draft, 0)
			must.NoError(t, err)
		}
		r, err := s.Service.CompleteOrder(ctx, by(admin), id, &order.Verdict{Outcome: order.Authentic}, "")
		must.NoError(t, err)
		if r.AssigneeID != admin.ID || r.Assignee == nil || r.Assignee.ID != admin.ID {
			t.Errorf("the verdict is of %+v", r.Assignee)
		}
		if lost := r.LostBy(who.ID); lost == nil || lost.Actor.ID != admin.ID {
			t.Errorf("the reviewer lost the order by %+v", lost)
		}
		kept, err := s.Service.VerdictDraft(ctx, admin.ID, id)
		if err != nil || kept.Checks["overall-picture"] != order.MarkPass {
			t.Errorf("the checklist of who judged is %v, %v", kept.Checks, err)
		}
		if left, err := s.Service.VerdictDraft(ctx, who.ID, id); err != nil || !left.Empty() {
			t.Errorf("the checklist of who did not judge is %v, %v", left.Checks, err)
		}
		for _, staff := range []*access.Staff{who, admin} {
			f := order.Filter{
				Sort: order.RecentlyEnded, Environment: access.Live, Statuses: []order.Status{order.Completed},
				AssigneeID: staff.ID,
			}
			rows, _, err := s.Service.Orders(ctx, by(staff), f, nil, 10)
			if want := staff == admin; err != nil || (len(rows) == 1) != want {
				t.Errorf("%s has %d ended orders, %v", staff.Name, len(rows), err)
			}
		}
		figures, err := s.Service.Statistics(ctx, by(admin), 1)
		must.NoError(t, err)
		if got := figures.Total.Reviewers; len(got) != 1 || got[admin.ID] != 1 {
			t.Errorf("verdicts by staff user: %v", got)
		}
	})
}

// TestRequestPhotos_OfAnother checks that a reviewer whose order an administrator takes over by a photo request is told
// so, until they have the order again.
func TestRequestPhotos_OfAnother(t *testing.T) {
	eachShop(t, func(t *testing.T, s *shop.Shop, who, admin *access.Staff) {
		ctx := t.Context()
		id := s.Order(t, s.Live, "")
		_, err := s.Service.ClaimOrder(ctx, by(who), id)
		must.NoError(t, err)
		r, err := s.Service.RequestPhotos(ctx, by(admin), id, []order.RequestDraft{{IndexCode: "overall-picture"}})
		must.NoError(t, err)
		if lost := r.LostBy(who.ID); lost == nil || lost.Event != "photos-requested" || lost.Actor.ID != admin.ID {
			t.Errorf("the reviewer lost the order by %+v", lost)
		}
		photo := s.Photo(t, s.Live)
		_, err = s.Service.SubmitPhotos(ctx, s.Live.Actor(access.Origin{}), id, &order.Submission{
			Entries: []order.SubmissionEntry{{IndexCode: "overall-picture", URL: &photo}},
		})
		must.NoError(t, err)
		r, err = s.Service.ReassignOrder(ctx, by(admin), id, who.ID)
		must.NoError(t, err)
		if lost := r.LostBy(who.ID); lost != nil {
			t.Errorf("the reviewer, who has the order again, lost it by %+v", lost)
		}
		r, err = s.Service.RequestPhotos(ctx, by(who), id, []order.RequestDraft{{IndexCode: "overall-picture"}})
		must.NoError(t, err)
		if lost := r.LostBy(who.ID); lost != nil {
			t.Errorf("the reviewer, who asked for photos, lost the order by %+v", lost)
		}
	})
}

// TestWatchedOrder checks that a page which asks for an order by itself keeps no claim alive, and is not stopped by an
// order that cannot be read or is gone.
func TestWatchedOrder(t *testing.T) {
	eachShop(t, func(t *testing.T, s *shop.Shop, who, _ *access.Staff) {
		ctx := t.Context()
		id, broken := s.Order(t, s.Live, ""), s.Order(t, s.Live, "")
		_, err := s.Service.ClaimOrder(ctx, by(who), id)
		must.NoError(t, err)
		claimed := s.Clock.Now()
		s.Clock.Advance(time.Hour)
		r, err := s.Service.WatchedOrder(ctx, by(who), id)
		if err != nil || !r.HeldBy(by(who)) || !r.ClaimedAt.Equal(claimed) || len(r.Timeline) != 2 {
			t.Fatalf("the order is %+v, %v", r, err)
		}
		if n, err := s.Service.ExpireClaims(ctx, claimed, 10); err != nil || n != 1 {
			t.Errorf("%d claims have expired, %v", n, err)
		}
		for _, change := range []string{"facts = 'xx'", "creation = '{'"} {
			rawsql.Exec(t, s.Target, "UPDATE orders SET "+change+" WHERE id = '"+broken+"'")
			if r, err := s.Service.WatchedOrder(ctx, by(who), broken); err != nil || r != nil {
				t.Errorf("an order with %s is %+v, %v", change, r, err)
			}
		}
		for _, none := range []string{"nonsense", who.ID} {
			if r, err := s.Service.WatchedOrder(ctx, by(who), none); err != nil || r != nil {
				t.Errorf("the order %s is %+v, %v", none, r, err)
			}
		}
		if _, err := s.Service.WatchedOrder(ctx, s.Live.Actor(access.Origin{}), id); err == nil {
			t.Error("a customer's key watches an order")
		}
	})
}
