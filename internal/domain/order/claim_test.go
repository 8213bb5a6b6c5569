package order_test

import (
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
)

func TestCheckMove(t *testing.T) {
	staff := func(id string, role access.StaffRole) access.Actor {
		return (&access.Staff{ID: id, Role: role}).Actor(access.Origin{})
	}
	mika, ren, admin := staff("mika", access.Reviewer), staff("ren", access.Reviewer), staff("admin", access.Admin)
	user := (&access.User{ID: "mika", Role: access.Owner}).Actor(access.Live, access.Origin{})
	held := order.Order{Environment: access.Live, Status: order.Processing, AssigneeID: "mika"}
	queued := order.Order{Environment: access.Live, Status: order.Queued}
	waiting := order.Order{Environment: access.Live, Status: order.UpdatePhotos, AssigneeID: "mika"}
	test := order.Order{Environment: access.Test, Status: order.Queued}
	tests := map[string]struct {
		order order.Order
		move  order.Move
		who   access.Actor
		want  string
	}{
		"ClaimQueued":          {queued, order.Claim, mika, ""},
		"ClaimAnothers":        {held, order.Claim, ren, "order-claimed"},
		"AdminClaimsAnothers":  {held, order.Claim, admin, "order-claimed"},
		"ClaimWaiting":         {waiting, order.Claim, ren, "invalid-transition"},
		"ReleaseOwn":           {held, order.Release, mika, ""},
		"ReleaseAnothers":      {held, order.Release, ren, "order-claimed"},
		"AdminReleases":        {held, order.Release, admin, ""},
		"ReleaseQueued":        {queued, order.Release, mika, "invalid-transition"},
		"AdminCompletesQueued": {queued, order.Complete, admin, "invalid-transition"},
		"CompleteAnothers":     {held, order.Complete, ren, "order-claimed"},
		"StateBeforeHolder":    {waiting, order.Complete, ren, "invalid-transition"},
		"CancelAnothers":       {held, order.Cancel, admin, ""},
		"CancelWaiting":        {waiting, order.Cancel, admin, ""},
		"TestOrder":            {test, order.Claim, mika, "invalid-transition"},
		"AdminOnTestOrder":     {test, order.Cancel, admin, "invalid-transition"},
		"UserCancelsQueued":    {queued, order.Cancel, user, ""},
		"UserCancelsTestOrder": {test, order.Cancel, user, ""},
		"UserCancelsHeld":      {held, order.Cancel, user, "invalid-transition"},
		"UserCancelsWaiting":   {waiting, order.Cancel, user, "invalid-transition"},
		"SystemReleases":       {held, order.Release, access.System, ""},
		"SystemExpiresQueued":  {queued, order.Expire, access.System, "invalid-transition"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := fault.CodeOf(tt.order.CheckMove(tt.move, tt.who)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	t.Run("HeldBy", func(t *testing.T) {
		if !held.HeldBy(mika) || held.HeldBy(ren) || waiting.HeldBy(mika) || held.HeldBy(user) {
			t.Error("an order is held by its assignee while it is in processing")
		}
	})
	t.Run("AssignTo", func(t *testing.T) {
		o, now := queued, time.UnixMicro(7)
		o.AssignTo("ren", now)
		if o.AssigneeID != "ren" || !o.ClaimedAt.Equal(now) {
			t.Errorf("assigned %+v", o)
		}
	})
}
