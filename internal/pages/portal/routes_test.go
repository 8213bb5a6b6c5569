package portal_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assayhq/assay/internal/testkit/pagetest"
)

// TestForms_Counted checks how many forms a person can send in a minute, and how many of those that make work.
func TestForms_Counted(t *testing.T) {
	w := newWorld(t)
	send := func(v *pagetest.Visitor, path string) int { return v.Post(path).Status }
	again := "/portal/live/deliveries/" + uuid.NewString() + "/again"
	owner := w.AsUser(t, w.Owner)
	for i := range 30 {
		if status := send(owner, again); status != http.StatusNotFound {
			t.Fatalf("form %d is answered with %d", i+1, status)
		}
	}
	refused := owner.Post(again).Want(t, http.StatusTooManyRequests)
	if after := refused.Header.Get("Retry-After"); after != "60" {
		t.Errorf("Retry-After is %q", after)
	}
	name := "/portal/keys/" + uuid.NewString() + "/revoke"
	for i := range 120 - 31 {
		if status := send(owner, name); status != http.StatusNotFound {
			t.Fatalf("after the others, form %d is answered with %d", i+1, status)
		}
	}
	if status := send(owner, name); status != http.StatusTooManyRequests {
		t.Errorf("form 121 is answered with %d", status)
	}
	if status := send(w.AsUser(t, w.Developer), again); status != http.StatusNotFound {
		t.Errorf("a form of somebody else is answered with %d", status)
	}
	owner.Get("/portal/keys").Want(t, http.StatusOK)
	w.Clock.Advance(time.Minute)
	if status := send(owner, again); status != http.StatusNotFound {
		t.Errorf("a minute later a form is answered with %d", status)
	}
}
