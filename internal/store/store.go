// Package store contains all SQL: one file per noun, one text for SQLite and PostgreSQL. Reads are methods of Queries
// and run on the pool or inside a transaction; writes are methods of Tx and run inside Update.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/store/admission"
	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/db"
	"github.com/assayhq/assay/internal/store/partition"
	"github.com/assayhq/assay/internal/store/schema"
	"github.com/assayhq/assay/internal/store/uuid7"
)

// ErrNotFound is returned by reads of a single row that does not exist in the caller's scope.
var ErrNotFound = db.ErrNotFound

// NotFoundAs returns the refusal that the caller is told in place of ErrNotFound, and any other error as it is.
func NotFoundAs(err, refusal error) error {
	if errors.Is(err, ErrNotFound) {
		return refusal
	}
	return err
}

// IgnoreNotFound returns nil in place of ErrNotFound, and any other error as it is.
func IgnoreNotFound(err error) error { return NotFoundAs(err, nil) }

// RoundTime returns a time as the database keeps it, so that what is answered and what is read back are equal.
func RoundTime(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// ErrExists is returned by writes that would violate a UNIQUE constraint.
var ErrExists = db.ErrExists

// NothingCommitted reports whether a failure of the database proves that nothing of a transaction is committed: it was
// not begun, because too many wait, or its writes found the disk full.
func NothingCommitted(err error) bool {
	return errors.Is(err, admission.ErrOverloaded) || db.NotWritten(err)
}

// Queries are the reads, outside and inside transactions.
type Queries struct{ db db.Queries }

// each calls f with every row of a result, which fields returns the places of.
func each[T any](
	ctx context.Context, q Queries, fields func(*T) []any, f func(T), text string, args ...any,
) error {
	return q.db.Rows(ctx, text, args, func(scan db.Scanner) error {
		var row T
		if err := scan(fields(&row)...); err != nil {
			return err
		}
		f(row)
		return nil
	})
}

// Tx is one transaction: the reads and the writes. Its reads ignore the context they are given and use that of the
// transaction, which a request cannot cancel. So a function that is given a Tx needs no context for them: it passes
// Context.
type Tx struct {
	Queries
	db    *db.Tx
	chain audit.Chain // of the logs
}

func newTx(tx *db.Tx, chain audit.Chain) *Tx {
	return &Tx{Queries: Queries{tx.Queries}, db: tx, chain: chain}
}

// Context is the context of the transaction. It may carry nothing of the request, such as its trace: others share it.
func (t *Tx) Context() context.Context { return t.db.Context() }

// exec runs a statement, whatever it changes.
func (t *Tx) exec(text string, args ...any) error {
	_, err := t.db.Exec(text, args...)
	return err
}

// changed runs a statement and reports whether it has changed something.
func (t *Tx) changed(text string, args ...any) (bool, error) {
	n, err := t.db.Exec(text, args...)
	return n > 0, err
}

// Store is an open database.
type Store struct {
	Queries
	db    *db.DB
	chain atomic.Pointer[audit.Chain]
	probe string // id of the row that ProbeWrite writes

	tenants sync.Map // from tenants to their numbers
}

// IsPostgres reports whether the target names a PostgreSQL database.
func IsPostgres(target string) bool { return db.IsPostgres(target) }

// Open connects to the database, brings its schema up to date and refuses one that a newer program has changed so that
// this one cannot use it. An empty or non-URL target is the path of a SQLite file; postgres:// is PostgreSQL.
func Open(ctx context.Context, target string) (*Store, error) {
	if err := schema.Migrate(ctx, target); err != nil {
		return nil, openError(target, err)
	}
	return open(ctx, target)
}

// OpenToCheck is Open for what changes nothing: it refuses an older schema, too.
func OpenToCheck(ctx context.Context, target string) (*Store, error) {
	s, err := open(ctx, target)
	if err != nil {
		return nil, err
	}
	if err := schema.Check(ctx, s.db); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func open(ctx context.Context, target string) (*Store, error) {
	opened, err := db.Open(ctx, target)
	if err != nil {
		return nil, openError(target, err)
	}
	return newStore(opened), nil
}

func openError(target string, err error) error {
	return fmt.Errorf("open database: %w", db.DiskFull(target, err))
}

func newStore(opened *db.DB) *Store {
	opened.Channels = channels
	return &Store{Queries: Queries{opened.Queries}, db: opened, probe: uuid7.New()}
}

// SealLogs sets the chain that entries of the audit log and of the log of administration are sealed with.
func (s *Store) SealLogs(c audit.Chain) { s.chain.Store(&c) }

// Chain returns what SealLogs has set.
func (s *Store) Chain() audit.Chain {
	if c := s.chain.Load(); c != nil {
		return *c
	}
	return audit.Chain{}
}

// Close ends the transactions that wait, and closes the connections.
func (s *Store) Close() error { return s.db.Close() }

// Ping reports whether the database can be read now.
func (s *Store) Ping(ctx context.Context) error {
	var one int
	return s.db.Row(ctx, "SELECT 1", nil, &one)
}

// probeLife is for how long the probe of a process that has ended is kept.
const probeLife = time.Hour

// ProbeWrite reports whether the database can be written now, and will be there when it is opened the next time. Each
// process writes a row of its own, so that none waits for another.
func (s *Store) ProbeWrite(ctx context.Context) error {
	if err := s.db.CheckFiles(); err != nil {
		return err
	}
	return s.Update(Unhurried(ctx), func(tx *Tx) error {
		now := time.Now()
		if _, err := tx.db.Exec("DELETE FROM write_probes WHERE at < $1 OR at > $2", column.Micros(now.Add(-probeLife)),
			column.Micros(now.Add(probeLife))); err != nil {
			return err
		}
		return tx.exec(`INSERT INTO write_probes (id, at) VALUES ($1, $2)
			ON CONFLICT (id) DO UPDATE SET at = excluded.at`, s.probe, column.Micros(now))
	})
}

// Update runs f in one transaction that is on disk when Update returns nil. f may run more than once, reads and writes
// only through its Tx, and must not do network or file work: on SQLite every writer waits for it. Canceling ctx does
// not undo a transaction that has begun. The deadline of ctx ends the wait for it: of one that has begun by then nobody
// knows whether it is done.
func (s *Store) Update(ctx context.Context, f func(*Tx) (err error)) error {
	return s.db.Update(ctx, s.sealing(f))
}

// sealing returns f for a transaction that has the chain of the logs.
func (s *Store) sealing(f func(*Tx) error) func(*db.Tx) error {
	chain := s.Chain()
	return func(tx *db.Tx) error { return f(newTx(tx, chain)) }
}

// Admit decides whether a request that writes is served: see admission.Gate.
func (s *Store) Admit(ctx context.Context) (admitted context.Context, done func(), ok bool) {
	return s.db.Admit(ctx)
}

// Load returns how many transactions of requests run and wait, and how many were refused since the start.
func (s *Store) Load() (running, waiting int, refused int64) { return s.db.Load() }

// Unhurried returns a context for background work, whose transactions are never refused because of overload.
func Unhurried(ctx context.Context) context.Context { return admission.Unhurried(ctx) }

// Snapshot runs f over the database as it is at one moment, regardless of concurrent writes. f reads one result to its
// end before it asks for the next: the snapshot is one connection. On SQLite the write-ahead log cannot be truncated
// while a snapshot is open, so f should wait for nothing but the database.
func (s *Store) Snapshot(ctx context.Context, f func(Queries) error) error {
	return s.SnapshotTx(ctx, func(tx *sql.Tx) error { return f(Queries{s.db.In(tx)}) })
}

// SnapshotTx is Snapshot for the packages below this one, which bring their own SQL.
func (s *Store) SnapshotTx(ctx context.Context, f func(*sql.Tx) error) error {
	return s.db.SnapshotTx(ctx, func(tx *sql.Tx) error {
		if s.Shared() {
			if err := partition.Hold(ctx, tx); err != nil {
				return err
			}
		}
		return f(tx)
	})
}

// ErrReplicaURL is returned for the address of a replica that cannot be one.
var ErrReplicaURL = db.ErrReplicaURL

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

// ReplicaStatus returns the status of the replica; nil where there is none.
func (s *Store) ReplicaStatus() *db.ReplicaStatus { return s.db.ReplicaStatus() }

// PingReplica returns why the replica is not used; nil: it is.
func (s *Store) PingReplica(ctx context.Context) error { return s.db.PingReplica(ctx) }
