package admin_test

import (
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/integrationtest"
	"github.com/assayhq/assay/internal/testkit/must"
)

// TestPauseAnswerTime checks what integrators see of a pause.
func TestPauseAnswerTime(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *integrationtest.World) {
		ctx := t.Context()
		boss := &access.Staff{
			ID: uuid7.New(), Email: "boss@example.com", Name: "Boss", Role: access.Admin, PasswordHash: "$none$",
			CreatedAt: w.Clock.Now(),
		}
		must.NoError(t, w.Store.Update(ctx, func(tx *store.Tx) error {
			return tx.InsertStaff(boss, store.StaffToken{Hash: access.HashSecretKey(access.NewStaffToken())})
		}))
		actor := boss.Actor(access.Origin{})
		live := w.NewAccount(t).Live(t)
		times := func() *integrationtest.Response {
			return live.Get(t, "/catalog/answer_times?category_code=bags&brand_code=chanel").Want(t, 200)
		}
		must.NoError(t, w.Service.PauseAnswerTime(ctx, actor, 1440))
		must.NoError(t, w.Service.PauseAnswerTime(ctx, actor, 1440))
		times().Is(t, "data.2.code", 1440).Is(t, "data.2.available", false).Is(t, "data.2.next_available_at", nil).
			Is(t, "data.0.available", true)
		live.Post(t, "/orders", live.Bag(t, integrationtest.M{"answer_time": 1440})).
			Refused(t, 400, "answer-time-unavailable").
			Is(t, "details", integrationtest.M{"available_answer_times": []int{30, 60}, "next_available_at": nil})
		if got := w.Order(t, live.CreateID(t)).AnswerTime; got != 60 {
			t.Errorf("an order without an answer time gets %d, want the slowest that is left: 60", got)
		}
		must.NoError(t, w.Service.PauseAnswerTime(ctx, actor, 60)) // which has a capacity
		live.Post(t, "/orders", live.Bag(t, integrationtest.M{"answer_time": 60})).Refused(t, 400, "answer-time-unavailable")

		other := service.New(w.Config) // another node
		must.NoError(t, other.RefreshCatalog(ctx))
		if !other.Paused(1440) || !other.Paused(60) || other.Paused(30) {
			t.Error("another node does not know of the pause")
		}
		must.NoError(t, w.Service.ResumeAnswerTime(ctx, actor, 1440))
		must.NoError(t, w.Service.ResumeAnswerTime(ctx, actor, 60))
		times().Is(t, "data.2.available", true).Is(t, "data.1.available", true)
		live.Create(t, integrationtest.M{"answer_time": 1440})
		if err := w.Service.PauseAnswerTime(ctx, actor, 7); fault.CodeOf(err) != fault.CodeNotFound {
			t.Errorf("an answer time that the catalog has not: %v", err)
		}
	})
}
