package integrationtest

import (
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/must"
)

// reviewer returns the administrator who does everything at the desk of the world.
func (w *World) reviewer(t testing.TB) access.Actor {
	t.Helper()
	w.staffOnce.Do(func() {
		s := &access.Staff{
			ID: uuid7.New(), Email: "desk@example.com", Name: "Desk", Role: access.Admin, PasswordHash: noPassword,
			CreatedAt: w.Clock.Now(),
		}
		err := w.Store.Update(t.Context(), func(tx *store.Tx) error {
			return tx.InsertStaff(s, store.StaffToken{Hash: access.HashSecretKey(access.NewStaffToken())})
		})
		if err != nil {
			t.Fatalf("make a staff user: %v", err)
		}
		w.staff = s
	})
	return w.staff.Actor(access.Origin{})
}

// Claim takes a Live order from the queue.
func (w *World) Claim(t testing.TB, id string) {
	t.Helper()
	_, err := w.Service.ClaimOrder(t.Context(), w.reviewer(t), id)
	must.NoError(t, err)
}

// RequestPhotos brings a Live order to update-photos: it asks for overall (at most 2 photos), with everything that a
// request can say, and for serial (at most 1), with nothing.
func (w *World) RequestPhotos(t testing.TB, id string) {
	t.Helper()
	if w.Order(t, id).Status == order.Queued {
		w.Claim(t, id)
	}
	_, err := w.Service.RequestPhotos(t.Context(), w.reviewer(t), id, []order.RequestDraft{
		{
			IndexCode: "overall", Condition: "unclear", Requirements: []string{"sharp-focus", "no-glare"},
			Comment: "Please use daylight.", ReferencePhotoURL: "https://cdn.example/examples/overall.jpg", MaxPhotos: 2,
		},
		{IndexCode: "serial", MaxPhotos: 1},
	})
	must.NoError(t, err)
}

// Complete gives the verdict on a Live order that is queued or claimed.
func (w *World) Complete(t testing.TB, id string, v order.Verdict) {
	t.Helper()
	if w.Order(t, id).Status == order.Queued {
		w.Claim(t, id)
	}
	_, err := w.Service.CompleteOrder(t.Context(), w.reviewer(t), id, &v, "")
	must.NoError(t, err)
}

// Fail ends a queued Live order that cannot be processed.
func (w *World) Fail(t testing.TB, id string) {
	t.Helper()
	w.Claim(t, id)
	_, err := w.Service.FailOrder(t.Context(), w.reviewer(t), id, "")
	must.NoError(t, err)
}

// Cancel calls off a Live order.
func (w *World) Cancel(t testing.TB, id string) {
	t.Helper()
	_, err := w.Service.CancelOrder(t.Context(), w.reviewer(t), id, "")
	must.NoError(t, err)
}
