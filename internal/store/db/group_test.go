package db

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
)

func TestGroups(t *testing.T) {
	t.Run("WhoComesMeanwhileIsTheNextGroup", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var all groups
			var sizes []int
			free := make(chan struct{})
			commit := func(group []*job) {
				<-free
				sizes = append(sizes, len(group))
				for i, j := range group {
					j.err = fmt.Errorf("%d", i)
				}
				reply(group, nil)
			}
			const calls = 1 + maxJoined + 3
			results := make(chan error, calls)
			for range calls {
				go func() { results <- all.run("row", newJob(t.Context(), nil, nil), commit) }()
				synctest.Wait()
			}
			close(free)
			synctest.Wait()
			if got, want := fmt.Sprint(sizes), fmt.Sprint([]int{1, maxJoined, 3}); got != want {
				t.Errorf("groups of %s, want %s", got, want)
			}
			seen := make(map[string]int)
			for range calls {
				seen[(<-results).Error()]++
			}
			if seen["0"] != 3 || seen["2"] != 2 || seen[fmt.Sprint(maxJoined-1)] != 1 {
				t.Errorf("results %v: each has to get its own", seen)
			}
			if len(all.waiting) != 0 {
				t.Errorf("%d rows are left, nobody waits", len(all.waiting))
			}
		})
	})
	t.Run("OtherRow", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var all groups
			free := make(chan struct{})
			go func() {
				_ = all.run("row", newJob(t.Context(), nil, nil), func(group []*job) {
					<-free
					reply(group, nil)
				})
			}()
			synctest.Wait()
			if err := all.run("other row", newJob(t.Context(), nil, nil), func(group []*job) { reply(group, nil) }); err != nil {
				t.Error(err)
			}
			close(free)
		})
	})
	t.Run("Withdrawn", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var all groups
			free, ran := make(chan struct{}), 0
			commit := func(group []*job) {
				for _, j := range group {
					if j.begin() == nil {
						ran++
						j.turn.Unlock()
					}
				}
				<-free
				reply(group, nil)
			}
			gone, cancel := context.WithCancel(t.Context())
			results := make(chan error, 2)
			for range 2 { // the first is at work when the caller goes away, the second waits
				go func() { results <- all.run("row", newJob(gone, nil, nil), commit) }()
				synctest.Wait()
			}
			cancel()
			if err := <-results; !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want the error of the context", err)
			}
			close(free)
			if err := <-results; err != nil {
				t.Errorf("got %v from what was at work", err)
			}
			synctest.Wait()
			if ran != 1 {
				t.Errorf("%d ran, want 1", ran)
			}
		})
	})
}
