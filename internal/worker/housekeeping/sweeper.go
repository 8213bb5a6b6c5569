package housekeeping

import (
	"context"
	"log/slog"
	"time"

	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/worker/lease"
)

// Sweeper deletes the files that crashes leave in the media store: photos without a row, and uploads that were never
// stored. It is a worker of its own, because it walks the whole store.
type Sweeper struct {
	Service *service.Service
	Staging *media.Staging
	Log     *slog.Logger
	Lease   *lease.Lease // of the sweep of the media store; nil: there is no other node
}

const (
	sweepEvery = 6 * time.Hour

	// orphanAge is the age from which a file without a row cannot belong to an upload that is being stored.
	orphanAge = time.Hour
)

// Name implements the worker interface.
func (*Sweeper) Name() string { return "media-sweeper" }

// Run sweeps at once and then at intervals, until ctx ends.
func (s *Sweeper) Run(ctx context.Context) error {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		if err := s.Sweep(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// Sweep goes through the store once. The times of files are those of the system's clock.
func (s *Sweeper) Sweep(ctx context.Context) error {
	staged, err := s.Staging.Sweep()
	if err != nil {
		return err
	}
	var files, older int
	_, err = s.Lease.Do(ctx, sweepEvery, func(ctx context.Context) error {
		files, older, err = s.Service.SweepMedia(ctx, time.Now().Add(-orphanAge))
		return err
	})
	if older > 0 {
		s.Log.WarnContext(ctx, "THE MEDIA STORE IS OLDER THAN THE DATABASE: files of no photo are left where they are; "+
			"is this the right database?", "files", older)
	}
	if staged+files > 0 {
		s.Log.InfoContext(ctx, "media swept", "staged", staged, "files", files)
	}
	return err
}
