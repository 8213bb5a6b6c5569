package desk_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/must"
)

const claimExpiry = 2 * time.Hour

// expire runs what housekeeping runs, and returns how many claims have expired.
func (w *world) expire(t testing.TB) int {
	t.Helper()
	n, err := w.Service.ExpireClaims(t.Context(), w.Clock.Now().Add(-claimExpiry), 100)
	must.NoError(t, err)
	return n
}

func TestClaimExpiry(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		t.Run("Idle", func(t *testing.T) {
			id := w.claimed(t, w.Mika)
			w.Clock.Advance(claimExpiry - time.Second)
			if n := w.expire(t); n != 0 {
				t.Fatalf("%d claims expired a second early", n)
			}
			w.Clock.Advance(time.Second)
			if n := w.expire(t); n != 1 {
				t.Fatalf("%d claims expired, want 1", n)
			}
			r := w.get(t, w.Mika, "/orders/"+id)
			if r.text("status") != "queued" || r.at("assignee") != nil {
				t.Errorf("the order is in %v with %v", r.at("status"), r.at("assignee"))
			}
			if r.text("timeline", 2, "event") != "released" || r.at("timeline", 2, "actor") != nil ||
				r.text("timeline", 2, "details", "reason") != "claim expired" ||
				r.text("timeline", 2, "details", "assignee", "id") != w.Mika.Staff.ID {
				t.Errorf("timeline %v", r.at("timeline", 2))
			}
			w.post(t, w.Mika, "/orders/"+id+"/complete", `{"outcome":"authentic"}`).
				want(t, http.StatusConflict, "invalid-transition")
			if n := w.expire(t); n != 0 {
				t.Errorf("%d claims expired a second time", n)
			}
			if r := w.post(t, w.Ren, "/orders/next", "").want(t, http.StatusOK, ""); r.text("id") != id {
				t.Errorf("next is %v, want %s", r.at("id"), id)
			}
			w.post(t, w.Ren, "/orders/"+id+"/complete", `{"outcome":"authentic"}`).want(t, http.StatusOK, "")
		})
		active := map[string]func(t *testing.T, id string){
			"Looking":       func(t *testing.T, id string) { w.get(t, w.Mika, "/orders/"+id) },
			"ClaimingAgain": func(t *testing.T, id string) { w.post(t, w.Mika, "/orders/"+id+"/claim", "") },
		}
		for name, act := range active {
			t.Run(name, func(t *testing.T) {
				id := w.claimed(t, w.Mika)
				w.Clock.Advance(90 * time.Minute)
				before := w.get(t, w.Ren, "/orders/"+id)
				act(t, id)
				if after := w.get(t, w.Ren, "/orders/"+id); after.text("updated_at") != before.text("updated_at") ||
					len(after.events()) != 2 {
					t.Errorf("activity has changed the order: %v", after.body)
				}
				w.Clock.Advance(90 * time.Minute)
				if n := w.expire(t); n != 0 {
					t.Fatal("the claim expired in spite of activity")
				}
				w.Clock.Advance(30 * time.Minute)
				if n := w.expire(t); n != 1 {
					t.Fatalf("%d claims expired, want 1", n)
				}
			})
		}
		t.Run("OthersLooking", func(t *testing.T) {
			id := w.claimed(t, w.Mika)
			w.Clock.Advance(claimExpiry)
			w.get(t, w.Ren, "/orders/"+id)
			w.get(t, w.Admin, "/orders/"+id)
			if n := w.expire(t); n != 1 {
				t.Errorf("%d claims expired, want 1: others' looks are no activity", n)
			}
		})
		t.Run("ActivityIsNotedOnceAMinute", func(t *testing.T) {
			id := w.claimed(t, w.Mika)
			claimedAt := func() time.Time {
				o, err := w.Store.Order(t.Context(), id)
				must.NoError(t, err)
				return *o.ClaimedAt
			}
			first := claimedAt()
			w.Clock.Advance(59 * time.Second)
			w.get(t, w.Mika, "/orders/"+id)
			if got := claimedAt(); !got.Equal(first) {
				t.Errorf("noted after %s", got.Sub(first))
			}
			w.Clock.Advance(time.Second)
			w.get(t, w.Mika, "/orders/"+id)
			if got := claimedAt(); got.Sub(first) != time.Minute {
				t.Errorf("noted after %s, want a minute", got.Sub(first))
			}
			w.post(t, w.Mika, "/orders/"+id+"/release", "").want(t, http.StatusOK, "")
		})
		t.Run("PhotosBeginAnew", func(t *testing.T) {
			id := w.waiting(t, w.Mika)
			w.Clock.Advance(10 * claimExpiry)
			if n := w.expire(t); n != 0 {
				t.Fatal("an order that waits for photos has no claim to expire")
			}
			must.NoError(t, w.submit(t, id))
			w.Clock.Advance(claimExpiry - time.Second)
			if n := w.expire(t); n != 0 {
				t.Fatal("the time before the submission was counted")
			}
			w.Clock.Advance(time.Second)
			if n := w.expire(t); n != 1 {
				t.Fatalf("%d claims expired, want 1", n)
			}
		})
		t.Run("Batches", func(t *testing.T) {
			first := w.claimed(t, w.Mika)
			w.Clock.Advance(time.Minute)
			second := w.claimed(t, w.Ren)
			w.Clock.Advance(time.Second)
			third := w.claimed(t, w.Ren)
			w.Clock.Advance(claimExpiry - time.Second)
			n, err := w.Service.ExpireClaims(t.Context(), w.Clock.Now().Add(-claimExpiry), 1)
			must.NoError(t, err)
			if n != 2 {
				t.Errorf("%d claims expired, want 2", n)
			}
			for id, status := range map[string]string{first: "queued", second: "queued", third: "processing"} {
				if got := w.get(t, w.Admin, "/orders/"+id).text("status"); got != status {
					t.Errorf("%s is %s, want %s", id, got, status)
				}
			}
		})
	})
}

func TestReassign(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		reassign := func(id string, to *service.NewStaff) (*service.OrderRecord, error) {
			return w.Service.ReassignOrder(t.Context(), w.Admin.Staff.Actor(access.Origin{}), id, to.Staff.ID)
		}
		t.Run("Held", func(t *testing.T) {
			id := w.claimed(t, w.Mika)
			o, err := reassign(id, w.Ren)
			must.NoError(t, err)
			if o.Assignee.ID != w.Ren.Staff.ID || o.Status != "processing" {
				t.Errorf("in %s with %+v", o.Status, o.Assignee)
			}
			w.post(t, w.Mika, "/orders/"+id+"/complete", `{"outcome":"authentic"}`).want(t, http.StatusConflict, "order-claimed")
			r := w.post(t, w.Ren, "/orders/"+id+"/complete", `{"outcome":"authentic"}`).want(t, http.StatusOK, "")
			if got := r.events(); !slices.Equal(got, []string{"created", "claimed", "reassigned", "completed"}) ||
				r.text("timeline", 2, "actor") != "Aoi Mori" {
				t.Errorf("timeline %v", r.at("timeline"))
			}
		})
		t.Run("Queued", func(t *testing.T) {
			id := w.queued(t)
			o, err := reassign(id, w.Ren)
			must.NoError(t, err)
			if o.Assignee.ID != w.Ren.Staff.ID || o.Status != "processing" {
				t.Errorf("in %s with %+v", o.Status, o.Assignee)
			}
		})
		t.Run("Refused", func(t *testing.T) {
			gone := w.staff(t, "gone@example.com", "Gone", access.Reviewer)
			must.NoError(t, second(w.Service.DeactivateStaff(t.Context(), access.Operator, gone.Staff.ID)))
			nobody := &service.NewStaff{Staff: access.Staff{ID: uuid7.New()}}
			id := w.claimed(t, w.Mika)
			for code, try := range map[string]func() (*service.OrderRecord, error){
				"forbidden": func() (*service.OrderRecord, error) {
					return w.Service.ReassignOrder(t.Context(), w.Mika.Staff.Actor(access.Origin{}), id, w.Ren.Staff.ID)
				},
				"validation-error":   func() (*service.OrderRecord, error) { return reassign(id, gone) },
				"validation-error ":  func() (*service.OrderRecord, error) { return reassign(id, nobody) },
				"invalid-transition": func() (*service.OrderRecord, error) { return reassign(w.waiting(t, w.Mika), w.Ren) },
				"order-not-found":    func() (*service.OrderRecord, error) { return reassign(uuid7.New(), w.Ren) },
			} {
				if _, err := try(); fault.CodeOf(err) != code && fault.CodeOf(err)+" " != code {
					t.Errorf("got %v, want %s", err, code)
				}
			}
		})
	})
}

// TestClaimAfterDeactivation lets a request that began before its staff user was deactivated end as if it had begun
// after.
func TestClaimAfterDeactivation(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		id := w.queued(t)
		must.NoError(t, second(w.Service.DeactivateStaff(t.Context(), access.Operator, w.Mika.Staff.ID)))
		_, err := w.Service.TakeNextOrder(t.Context(), w.Mika.Staff.Actor(access.Origin{}), order.QueueFilter{})
		if fault.CodeOf(err) != "unauthorized" {
			t.Errorf("next: %v, want unauthorized", err)
		}
		if r := w.get(t, w.Ren, "/orders/"+id); r.text("status") != "queued" {
			t.Errorf("the order is in %v", r.at("status"))
		}
	})
}
