package service_test

import (
	"errors"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
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
