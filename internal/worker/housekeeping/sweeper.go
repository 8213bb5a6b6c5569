package housekeeping

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/pause"
	"github.com/assayhq/assay/internal/service/retention"
	"github.com/assayhq/assay/internal/worker/lease"
	"github.com/assayhq/assay/internal/worker/liveness"
)

// MediaSweep goes through the media store; *service.Service is one.
type MediaSweep interface {
	SweepMedia(ctx context.Context, before time.Time) (retention.Sweep, error)
}

// Sweeper deletes the files that crashes leave in the media store: photos without a row, and uploads that were never
// stored. It is a worker of its own, because it walks the whole store.
type Sweeper struct {
	Service MediaSweep
	Staging *media.Staging
	Log     *slog.Logger
	Clock   *ClockGuard  // nil: the clock is always right
	Lease   *lease.Lease // of the sweep of the media store; nil: there is no other node

	rounds liveness.Rounds
}

const (
	sweepEvery = 6 * time.Hour

	// orphanAge is the age from which a file without a row cannot belong to an upload that is being stored.
	orphanAge = time.Hour
)

// Name implements the worker interface.
func (*Sweeper) Name() string { return "media-sweeper" }

// Failures tells of the sweeps that failed on this node.
func (s *Sweeper) Failures() liveness.Failures { return s.rounds.Failures() }

// Run sweeps at once and then at intervals, until ctx ends. What fails is tried again with the next sweep: going
// through the whole store again at once would not help. While the clock may be wrong, another node may try.
func (s *Sweeper) Run(ctx context.Context) error {
	for {
		wait := sweepEvery
		begun, err := s.sweep(ctx)
		if !begun {
			s.Lease.Return(ctx)
			wait = clockSettles
		}
		if begun || err != nil { // one that does not begin does not end what failed before
			s.rounds.Ended(err)
		}
		if err != nil && ctx.Err() == nil {
			s.Log.ErrorContext(ctx, "media sweep failed", "error", err, "again_in", wait)
		}
		if pause.For(ctx, wait) != nil {
			return nil
		}
	}
}

// Sweep goes through the store once. The times of files are those of the system's clock.
func (s *Sweeper) Sweep(ctx context.Context) error {
	_, err := s.sweep(ctx)
	return err
}

// sweep reports whether the clock was right to begin with.
func (s *Sweeper) sweep(ctx context.Context) (begun bool, err error) {
	staged, failed := s.Staging.Sweep()
	var swept retention.Sweep
	done, err := s.Lease.Do(ctx, sweepEvery, func(ctx context.Context) error {
		now := time.Now()
		wrong, err := s.Clock.Check(ctx, now)
		if wrong != "" {
			s.Log.WarnContext(ctx, "the media store is not swept by a clock that may be wrong", "reason", wrong)
		}
		if begun = err == nil && wrong == ""; begun {
			swept, err = s.Service.SweepMedia(ctx, now.Add(-orphanAge))
		}
		return err
	})
	if swept.Older > 0 {
		s.Log.WarnContext(ctx, "THE MEDIA STORE IS OLDER THAN THE DATABASE: files of no photo are left where they are; "+
			"is this the right database?", "files", swept.Older)
	}
	if staged+swept.Deleted+swept.Newer > 0 {
		s.Log.InfoContext(ctx, "media swept", "staged", staged, "files", swept.Deleted, "newer_than_photos", swept.Newer)
	}
	return begun || !done, errors.Join(failed, err) // another node does it
}
