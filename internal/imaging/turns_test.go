package imaging

import (
	"context"
	"testing"
	"testing/synctest"
)

// TestTurns checks that an account with much work holds up no other, and that nobody is forgotten.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(2, 1)
		type place struct {
			account  string
			giveBack func()
		}
		got := make(chan place, 100)
		ask := func(ctx context.Context, account string) {
			go func() {
				if giveBack, err := turns.take(ctx, account); err == nil {
					got <- place{account, giveBack}
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
		light.giveBack()
		light.giveBack() // does nothing
		synctest.Wait()
		if p := <-got; p.account != "light" { // the third came later
			t.Errorf("%q has the place", p.account)
		} else {
			p.giveBack()
		}
		var order []string
		first.giveBack()
		for range 6 {
			synctest.Wait()
			p := <-got
			order = append(order, p.account)
			p.giveBack()
		}
		if n := len(order); n != 6 || order[0] != "third" && order[1] != "third" {
			t.Errorf("the turns were %v", order)
		}
		if turns.free != 2 || len(turns.taken)+len(turns.queue)+len(turns.order) != 0 {
			t.Errorf("something is left: %+v", turns)
		}
	})
}
