package store

import (
	"context"
	"errors"
	"testing"
)

func TestTurns(t *testing.T) {
	var all turns
	var leave []func()
	for range atOnce {
		done, err := all.take(t.Context(), "row")
		if err != nil {
			t.Fatal(err)
		}
		leave = append(leave, done)
	}
	t.Run("OtherRow", func(t *testing.T) {
		done, err := all.take(t.Context(), "other row")
		if err != nil {
			t.Fatal(err)
		}
		done()
	})
	t.Run("Full", func(t *testing.T) {
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := all.take(gone, "row"); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the error of the context", err)
		}
	})
	t.Run("Next", func(t *testing.T) {
		leave[0]()
		done, err := all.take(t.Context(), "row")
		if err != nil {
			t.Fatal(err)
		}
		leave[0] = done
	})
	for _, done := range leave {
		done()
	}
	if len(all.byKey) != 0 {
		t.Errorf("%d queues are left, nobody is in them", len(all.byKey))
	}
}
