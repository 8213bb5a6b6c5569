package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrReplicaURL is returned for the address of a replica that cannot be one.
var ErrReplicaURL = errors.New("must be postgres://…, beside a --database that is one, too")

const (
	replicaTimeout = 3 * time.Second // for the first row; then the primary is asked
	maxSamples     = 4096            // of the primary's positions that the replica has not reached
)

// NewestPosition is one that no replica has reached: what is read after it is read from the primary.
const NewestPosition = Position(math.MaxInt64)

// Position is a place in PostgreSQL's log of changes.
type Position int64

// replica is a copy of the database, some time behind it, from which lists and pages can be read. A watcher compares it
// with the primary all the time and decides whether it may be used.
type replica struct {
	pool    conn
	db      *sql.DB // of pool
	primary conn
	maxLag  time.Duration
	log     *slog.Logger
	state   atomic.Pointer[replicaState]
	reads   struct{ primary, replica atomic.Int64 } // from where lists were read
	stop    context.CancelFunc
	done    chan struct{}

	// The watcher's own.
	samples []sample
	current time.Time // as of when the replica has everything
}

// sample is how far the primary had written at a time.
type sample struct {
	at       time.Time
	position Position
}

// replicaState is what the watcher has last seen.
type replicaState struct {
	current  time.Time // as of when the replica has everything
	replayed Position
	problem  string // why it cannot be used; empty: it can, unless it is too far behind
}

// UseReplica has Lists read from a streaming replica of the database, while it is no more than maxLag behind. It does
// not have to be there yet: until it is, and whenever it is not, the primary is read.
func (d *DB) UseReplica(target string, maxLag time.Duration, log *slog.Logger) error {
	if !d.Shared() || !IsPostgres(target) {
		return ErrReplicaURL
	}
	config, err := ParsePostgres(target)
	if err != nil {
		return err
	}
	config.ValidateConnect = nil // it only reads
	limitSessions(config)
	config.RuntimeParams["default_transaction_read_only"] = "on"
	ctx, stop := context.WithCancel(context.Background())
	p := d.newReplicaPool(config)
	r := &replica{
		pool: p, db: p.db, primary: newPool(d.sql), maxLag: maxLag, log: log, stop: stop, done: make(chan struct{}),
	}
	r.state.Store(&replicaState{problem: "not seen yet"})
	d.replica = r
	go r.watch(ctx)
	return nil
}

func (d *DB) newReplicaPool(config *pgx.ConnConfig) pool {
	db := openPool(config)
	n := d.sql.Stats().MaxOpenConnections
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return newPool(db)
}

func (r *replica) close() error {
	r.stop()
	<-r.done
	return r.db.Close()
}

// Lists returns the reads for what only shows: lists and pages. They may come from the replica, where there is one, and
// be as much behind as it may be; the reads of one use case should all be of one Lists. What decides, the detail of an
// order and balances are never read this way.
func (d *DB) Lists(ctx context.Context) Queries {
	if d.replica == nil {
		return d.Queries
	}
	after, _ := ctx.Value(positionKey{}).(Position)
	if !d.replica.usable(after) {
		d.replica.reads.primary.Add(1)
		return d.Queries
	}
	d.replica.reads.replica.Add(1)
	return Queries{c: replicaConn{d.replica}, Dialect: d.Dialect}
}

type positionKey struct{}

// ReadAfter returns a context in which Lists shows at least what was written up to the position: from the primary,
// while the replica has not reached it.
func ReadAfter(ctx context.Context, p Position) context.Context {
	return context.WithValue(ctx, positionKey{}, p)
}

// Position returns how far the database has written: what was committed before is before it. Without a replica there is
// nothing to compare it with, and it is 0.
func (d *DB) Position(ctx context.Context) (p Position, err error) {
	if d.replica == nil {
		return 0, nil
	}
	err = d.Row(ctx, "SELECT CAST(pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0') AS BIGINT)", nil, &p)
	return p, err
}

// usable reports whether reads that have to show what was written up to a position can be the replica's.
func (r *replica) usable(after Position) bool {
	st := r.state.Load()
	now, _ := r.condition(st)
	return now == inUse && st.replayed >= after
}

// replicaCondition is whether a replica is used, and why not. A change of it is logged.
type replicaCondition int

const (
	unseen replicaCondition = iota
	inUse
	away
	behind
)

// condition returns what follows from a state, with how far the replica may be behind at most.
func (r *replica) condition(st *replicaState) (now replicaCondition, lag time.Duration) {
	if !st.current.IsZero() {
		lag = time.Since(st.current)
	}
	switch {
	case st.problem != "":
		return away, lag
	case st.current.IsZero() || lag > r.maxLag:
		return behind, lag
	}
	return inUse, lag
}

// ReplicaStatus is what is known of a replica.
type ReplicaStatus struct {
	Used                       bool
	Lag                        time.Duration // how far it may be behind at most
	PrimaryReads, ReplicaReads int64         // lists read from the primary, and from the replica
}

// ReplicaStatus returns the status of the replica; nil where there is none.
func (d *DB) ReplicaStatus() *ReplicaStatus {
	r := d.replica
	if r == nil {
		return nil
	}
	now, lag := r.condition(r.state.Load())
	return &ReplicaStatus{
		Used: now == inUse, Lag: lag, PrimaryReads: r.reads.primary.Load(), ReplicaReads: r.reads.replica.Load(),
	}
}

// PingReplica returns why the replica is not used; nil: it is.
func (d *DB) PingReplica(context.Context) error {
	st := d.replica.state.Load()
	switch now, _ := d.replica.condition(st); now {
	case inUse:
		return nil
	case behind:
		return errors.New("it is too far behind")
	default:
		return errors.New(st.problem)
	}
}

// watch compares the replica with the primary until ctx ends.
func (r *replica) watch(ctx context.Context) {
	defer close(r.done)
	tick := time.NewTicker(min(max(r.maxLag/5, 50*time.Millisecond), time.Second))
	defer tick.Stop()
	logged := unseen
	for {
		st := r.look(ctx)
		if ctx.Err() != nil {
			return
		}
		r.state.Store(st)
		if now, lag := r.condition(st); now != logged {
			r.logCondition(ctx, now, lag, st.problem)
			logged = now
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (r *replica) logCondition(ctx context.Context, now replicaCondition, lag time.Duration, problem string) {
	switch now {
	case inUse:
		r.log.InfoContext(ctx, "lists and pages are read from the replica")
	case behind:
		r.log.WarnContext(ctx, "THE REPLICA IS BEHIND: lists and pages are read from the primary",
			"lag", lag.Round(time.Millisecond), "limit", r.maxLag)
	default:
		r.log.WarnContext(ctx, "THE REPLICA IS AWAY: lists and pages are read from the primary", "reason", problem)
	}
}

// look asks the primary how far it has written, then the replica how far it has come.
func (r *replica) look(ctx context.Context) *replicaState {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	st := &replicaState{current: r.current}
	at := time.Now()
	var system, theirs string
	var written Position
	if err := (Queries{c: r.primary, Dialect: &Postgres}).Row(ctx, `SELECT CAST(system_identifier AS TEXT),
		CAST(pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0') AS BIGINT) FROM pg_control_system()`, nil,
		&system, &written); err != nil {
		st.problem = "the primary does not say how far it is"
		return st
	}
	if len(r.samples) < maxSamples {
		r.samples = append(r.samples, sample{at, written})
	}
	var recovers bool
	err := (Queries{c: r.pool, Dialect: &Postgres}).Row(ctx, `SELECT CAST(system_identifier AS TEXT), pg_is_in_recovery(),
		COALESCE(CAST(pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0') AS BIGINT), 0) FROM pg_control_system()`, nil,
		&theirs, &recovers, &st.replayed)
	switch {
	case err != nil:
		st.problem = "it does not answer"
	case theirs != system:
		st.problem = "it is of another database"
	case !recovers:
		st.problem = "it is no replica any more: it was promoted"
	default:
		r.reached(st.replayed)
		st.current = r.current
	}
	return st
}

// reached notes how far the replica has come.
func (r *replica) reached(p Position) {
	n := 0
	for n < len(r.samples) && r.samples[n].position <= p {
		r.current = r.samples[n].at
		n++
	}
	r.samples = append(r.samples[:0], r.samples[n:]...)
}

// failed notes an error of a read. One that says that the replica cannot be reached ends its use until the watcher has
// seen it again.
func (r *replica) failed(err error) {
	if st := r.state.Load(); st.problem == "" && outage(err) {
		next := *st
		next.problem = "a read has failed"
		r.state.CompareAndSwap(st, &next)
	}
}

var (
	errReplicaWrite = errors.New("a replica is not written to")
	errReplicaLate  = errors.New("the replica has not answered in time")
)

// replicaConn reads from the replica, and what fails there from the primary: it may be gone, have canceled the read in
// favour of changes that it had to replay, or not have a column yet that a migration has added.
type replicaConn struct{ *replica }

func (c replicaConn) query(ctx context.Context, q string, args []any) (*sql.Rows, error) {
	limited, cancel := context.WithCancel(ctx)
	late := time.AfterFunc(replicaTimeout, cancel)
	rows, err := c.pool.query(limited, q, args) // ends with ctx, which its reader ends
	inTime := late.Stop()
	if err == nil && inTime || ctx.Err() != nil {
		return rows, err
	}
	cancel()
	if err == nil {
		_ = rows.Close() //nolint:sqlclosecheck // they have ended with limited
		err = errReplicaLate
	}
	c.failed(err)
	return c.primary.query(ctx, q, args)
}

func (c replicaConn) records(ctx context.Context, q string, args []any, r *Record, each func() error) error {
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	late := time.AfterFunc(replicaTimeout, cancel)
	begun := false
	err := c.pool.records(limited, q, args, r, func() error {
		if !begun && !late.Stop() {
			return errReplicaLate
		}
		begun = true
		return each()
	})
	if late.Stop(); err == nil || begun || ctx.Err() != nil {
		return err
	}
	c.failed(err)
	return c.primary.records(ctx, q, args, r, each)
}

func (c replicaConn) exec(context.Context, string, []any) (sql.Result, error) {
	return nil, errReplicaWrite
}

func (c replicaConn) batch(context.Context, []Command, bool) error { return errReplicaWrite }

// String writes a position so that ParsePosition reads it.
func (p Position) String() string { return fmt.Sprintf("%x", int64(p)) }

// ParsePosition reads a position; what is none is the newest.
func ParsePosition(s string) Position {
	var p int64
	if _, err := fmt.Sscanf(s, "%x", &p); err != nil || p < 0 {
		return NewestPosition
	}
	return Position(p)
}
