package imaging

import (
	"context"
	"testing"
	"testing/synctest"
)

// TestFairSemaphore checks that an account with much work holds up no other, and that nobody is forgotten.
func TestFairSemaphore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		places := newFairSemaphore(2, 1)
		type place struct {
			account string
			release func()
		}
		got := make(chan place, 100)
		ask := func(ctx context.Context, account string) {
			go func() {
				if release, err := places.acquire(ctx, account); err == nil {
					got <- place{account, release}
				}
			}()
			synctest.Wait()
		}
		gone, leave := context.WithCancel(t.Context())
		for range 4 {
			ask(t.Context(), "heavy")
		}
		first := <-got
		if first.account != "heavy" || len(got) != 0 {
			t.Fatalf("one account has %d further places", len(got))
		}
		ask(t.Context(), "light") // is not behind the heavy one
		light := <-got
		for _, account := range []string{"light", "third", "light", "heavy"} {
			ask(t.Context(), account)
		}
		ask(gone, "gone")
		leave()
		synctest.Wait()
		light.release()
		light.release() // does nothing
		synctest.Wait()
		if p := <-got; p.account != "light" { // the third came later
			t.Errorf("%q has the place", p.account)
		} else {
			p.release()
		}
		var order []string
		first.release()
		for range 6 {
			synctest.Wait()
			p := <-got
			order = append(order, p.account)
			p.release()
		}
		if n := len(order); n != 6 || order[0] != "third" && order[1] != "third" {
			t.Errorf("the turns were %v", order)
		}
		if places.free != 2 || len(places.taken)+len(places.queue)+len(places.order) != 0 {
			t.Errorf("something is left: %+v", places)
		}
	})
}
