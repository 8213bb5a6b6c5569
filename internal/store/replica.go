package store

import (
	"context"
	"log/slog"
	"time"

	"github.com/assayhq/assay/internal/store/db"
)

// ErrReplicaURL is returned for the address of a replica that cannot be one.
var ErrReplicaURL = db.ErrReplicaURL

// NewestPosition is one that no replica has reached: what is read after it is read from the primary.
const NewestPosition = db.NewestPosition

// Position is a place in PostgreSQL's log of changes.
type Position = db.Position

// ParsePosition reads a position; what is none is the newest.
func ParsePosition(s string) Position { return db.ParsePosition(s) }

// ReadAfter returns a context in which Lists shows at least what was written up to the position.
func ReadAfter(ctx context.Context, p Position) context.Context { return db.ReadAfter(ctx, p) }

// Position returns how far the database has written: what was committed before is before it. Without a replica there is
// nothing to compare it with, and it is 0.
func (s *Store) Position(ctx context.Context) (Position, error) { return s.db.Position(ctx) }

// UseReplica has Lists read from a streaming replica of the database, while it is no more than maxLag behind. It does
// not have to be there yet: until it is, and whenever it is not, the primary is read.
func (s *Store) UseReplica(target string, maxLag time.Duration, log *slog.Logger) error {
	return s.db.UseReplica(target, maxLag, log)
}

// Lists returns the reads for what only shows: lists and pages. They may come from the replica, where there is one, and
// be as much behind as it may be; the reads of one use case should all be of one Lists. What decides, the detail of an
// order and balances are never read this way.
func (s *Store) Lists(ctx context.Context) Queries { return Queries{s.db.Lists(ctx)} }

// ReplicaState tells of the replica: whether it is used, how far it may be behind at most, and how many lists were read
// from the primary and from the replica; ok is false where there is none.
func (s *Store) ReplicaState() (used bool, lag time.Duration, primary, replica int64, ok bool) {
	return s.db.ReplicaState()
}

// PingReplica returns why the replica is not used; nil: it is.
func (s *Store) PingReplica(ctx context.Context) error { return s.db.PingReplica(ctx) }
