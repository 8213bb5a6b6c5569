package desk

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
)

// TestFeed_FailedLook: a move that leaves the numbers as they are is told even where the look after it has failed.
func TestFeed_FailedLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failure error
		f := newFeed(func(context.Context, access.Environment) (map[order.Status]int64, error) {
			return map[order.Status]int64{order.Processing: 1}, failure
		}, slog.New(slog.DiscardHandler))
		f.every = feedInterval
		page := f.join("a session")
		defer f.close()
		told := func() bool {
			time.Sleep(2 * feedInterval)
			synctest.Wait()
			select {
			case <-page:
				return true
			default:
				return false
			}
		}
		if !told() || told() {
			t.Fatal("the page is told of other things than the first numbers")
		}
		failure = errors.New("away")
		f.changed()
		if told() {
			t.Error("the page was told of what nobody could read")
		}
		failure = nil
		if !told() {
			t.Error("the move is not told any more")
		}
	})
}

// TestFeed_LateLook: the numbers of a look that began before another and ended after it are not told.
func TestFeed_LateLook(t *testing.T) {
	f := newFeed(nil, slog.New(slog.DiscardHandler))
	begun := time.Now()
	f.seen(map[order.Status]int64{order.Queued: 2}, begun, false)
	version, _ := f.state()
	f.seen(map[order.Status]int64{order.Queued: 1}, begun.Add(-time.Millisecond), false)
	if now, counts := f.state(); now != version || counts[order.Queued] != 2 {
		t.Errorf("version %d after %d, %v", now, version, counts)
	}
}
