package server

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// TestCatalogRefresher checks that the catalog is read within a second, and not more often than needed for that.
func TestCatalogRefresher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reads []time.Time
		refresh := func(context.Context) error {
			reads = append(reads, time.Now())
			return errors.New("out of reach") // polling continues
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		began := time.Now()
		go func() { done <- (&catalogRefresher{refresh: refresh, log: slog.New(slog.DiscardHandler)}).Run(ctx) }()
		time.Sleep(10 * time.Second)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if n := len(reads); n > 30 {
			t.Errorf("%d reads in 10 seconds", n)
		}
		last := began
		for _, at := range reads {
			if at.Sub(last) > time.Second/2 {
				t.Errorf("%v between two reads", at.Sub(last))
			}
			last = at
		}
		if time.Since(last) > time.Second {
			t.Errorf("no read for %v", time.Since(last))
		}
	})
}
