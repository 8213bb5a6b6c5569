// Package store contains all SQL: one file per noun, one text for SQLite and PostgreSQL. Reads are methods of Queries
// and run on the pool or inside a transaction; writes are methods of Tx and run inside Update.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/store/admission"
	"github.com/assayhq/assay/internal/store/sqlite"
	"github.com/assayhq/assay/internal/tracing"
)

// ErrNotFound is returned by reads of a single row that does not exist in the caller's scope.
var ErrNotFound = errors.New("not found")

// ErrExists is returned by writes that would violate a UNIQUE constraint.
var ErrExists = errors.New("already exists")

// errPostgresURL does not wrap its cause, which may contain the password.
var errPostgresURL = errors.New("the PostgreSQL URL cannot be read")

// Store is an open database.
type Store struct {
	Queries
	db      *sql.DB
	readers *readers // nil on PostgreSQL
	writer  *writer  // nil on PostgreSQL, which takes any number of writers itself
	groups  groups   // of PostgreSQL
	config  *pgx.ConnConfig
	gate    *admission.Gate
	path    string // of SQLite
	chain   atomic.Pointer[audit.Chain]
	replica *replica
	ears    ears
	probe   string // id of the row that ProbeWrite writes
}

// Open connects to the database, brings its schema up to date and refuses one that a newer program has changed so that
// this one cannot use it. An empty or non-URL target is the path of a SQLite file; postgres:// is PostgreSQL.
func Open(ctx context.Context, target string) (*Store, error) { return openTarget(ctx, target, true) }

// OpenToCheck is Open for what changes nothing: it refuses an older schema, too.
func OpenToCheck(ctx context.Context, target string) (*Store, error) {
	s, err := openTarget(ctx, target, false)
	if err != nil {
		return nil, err
	}
	if err := s.checkVersion(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func openTarget(ctx context.Context, target string, migrate bool) (*Store, error) {
	open := openSQLite
	if IsPostgres(target) {
		open = openPostgres
	}
	s, err := open(ctx, target, migrate)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", diskFull(target, err))
	}
	s.probe, s.gate = NewID(), admission.NewGate()
	return s, nil
}

// IsPostgres reports whether the target names a PostgreSQL database.
func IsPostgres(target string) bool {
	return strings.HasPrefix(target, "postgres://") || strings.HasPrefix(target, "postgresql://")
}

func openSQLite(ctx context.Context, path string, migrate bool) (*Store, error) {
	if migrate {
		if err := createPrivate(path); err != nil {
			return nil, err
		}
		if err := migrateSQLite(ctx, path, Newest); err != nil {
			return nil, err
		}
	}
	db, err := sql.Open("sqlite", sqlite.DSN(path, "query_only(1)", poolCache))
	if err != nil {
		return nil, err
	}
	n := max(4, 2*runtime.NumCPU())
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	w, err := newWriter(ctx, path)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	go w.loop()
	readers, err := newReaders(newStatements(db.PrepareContext, maxStatements),
		path, max(2, runtime.NumCPU()))
	if err != nil {
		return nil, errors.Join(err, w.close(), db.Close())
	}
	return &Store{Queries: Queries{c: readers, d: &sqliteDialect}, db: db, readers: readers, writer: w, path: path}, nil
}

// createPrivate makes the file readable by its owner only before SQLite opens it; the journal files inherit the mode.
func createPrivate(path string) error {
	f, err := os.OpenFile(filepath.Clean(path), os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// The page caches of a connection, in KiB. What runs now and then, some of it over large parts of the database, shares
// a pool of many connections, which must not keep all that in memory; what runs with every request, and the writer,
// have few.
const (
	poolCache = "cache_size(-4000)"
	hotCache  = "cache_size(-16000)"
)

// SealLogs sets the chain that entries of the audit log and of the log of administration are sealed with.
func (s *Store) SealLogs(c audit.Chain) { s.chain.Store(&c) }

// Chain returns what SealLogs has set.
func (s *Store) Chain() audit.Chain {
	if c := s.chain.Load(); c != nil {
		return *c
	}
	return audit.Chain{}
}

// Close ends the writer after the transactions that wait for it, and closes the connections.
func (s *Store) Close() error {
	var err error
	if s.writer != nil {
		err = errors.Join(s.writer.close(), s.readers.close())
	}
	if s.replica != nil {
		err = errors.Join(err, s.replica.close())
	}
	return errors.Join(err, s.db.Close())
}

// Ping reports whether the database can be read now.
func (s *Store) Ping(ctx context.Context) error {
	var one int
	return s.row(ctx, "SELECT 1", nil, &one)
}

// probeLife is for how long the probe of a process that has ended is kept.
const probeLife = time.Hour

// ProbeWrite reports whether the database can be written now, and will be there when it is opened the next time. Each
// process writes a row of its own, so that none waits for another.
func (s *Store) ProbeWrite(ctx context.Context) error {
	if s.writer != nil {
		if err := s.writer.files.Check(0); err != nil {
			return Classify(err)
		}
	}
	return s.Update(Unhurried(ctx), func(tx *Tx) error {
		now := time.Now()
		if _, err := tx.exec("DELETE FROM write_probes WHERE at < $1 OR at > $2", micros(now.Add(-probeLife)),
			micros(now.Add(probeLife))); err != nil {
			return err
		}
		_, err := tx.exec(`INSERT INTO write_probes (id, at) VALUES ($1, $2)
			ON CONFLICT (id) DO UPDATE SET at = excluded.at`, s.probe, micros(now))
		return err
	})
}

// Update runs f in one transaction that is on disk when Update returns nil. f may run more than once, reads and writes
// only through its Tx, and must not do network or file work: on SQLite every writer waits for it. Canceling ctx does
// not undo a transaction that has begun.
func (s *Store) Update(ctx context.Context, f func(*Tx) (err error)) error {
	j := s.sealing(f)
	return s.transaction(ctx, j, func() error { return s.updatePostgres(context.WithoutCancel(ctx), j) })
}

// UpdateTogether is Update for use cases that all change the same row, which row names: those that arrive while one is
// running become one transaction. ctx ends the wait for it.
func (s *Store) UpdateTogether(ctx context.Context, row string, f func(*Tx) error) error {
	return s.together(ctx, row, s.sealing(f))
}

// sealing returns f as a job whose transaction has the chain of the logs.
func (s *Store) sealing(f func(*Tx) error) *job {
	chain := s.Chain()
	return newJob(func(tx *Tx) error {
		tx.chain = chain
		return f(tx)
	})
}

// together runs a job in a group: on SQLite, which has one writer, with all others, on PostgreSQL with those of its
// row.
func (s *Store) together(ctx context.Context, row string, j *job) error {
	return s.transaction(ctx, j, func() error { return s.groups.run(ctx, row, j, s.commitPostgres) })
}

// transaction runs a job when it is its turn: on SQLite by the writer, on PostgreSQL by postgres.
func (s *Store) transaction(ctx context.Context, j *job, postgres func() error) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	span := tracing.Transaction(ctx, s.d.name)
	defer func() { span.End(err) }()
	began, err := s.gate.Enter(ctx)
	if err != nil {
		return Classify(err)
	}
	defer s.gate.Leave(began)
	if s.writer != nil {
		return Classify(diskFull(s.path, s.writer.run(j, !began.IsZero())))
	}
	return Classify(postgres())
}

// Admit decides whether a request that writes is served: see admission.Gate.
func (s *Store) Admit(ctx context.Context) (admitted context.Context, done func(), ok bool) {
	return s.gate.Admit(ctx)
}

// Load tells how many transactions of requests run and wait, and how many were refused since the start.
func (s *Store) Load() (running, waiting int, refused int64) { return s.gate.Load() }

// Unhurried returns a context for background work, whose transactions are never refused because of overload.
func Unhurried(ctx context.Context) context.Context { return admission.Unhurried(ctx) }

// Snapshot runs f over the database as it is at one moment, regardless of concurrent writes. f reads one result to its
// end before it asks for the next: the snapshot is one connection. On SQLite the write-ahead log cannot be truncated
// while a snapshot is open, so f should wait for nothing but the database.
func (s *Store) Snapshot(ctx context.Context, f func(Queries) error) error {
	return s.SnapshotTx(ctx, func(tx *sql.Tx) error { return f(Queries{c: txConn{tx}, d: s.d}) })
}

// SnapshotTx is Snapshot for the packages below this one, which bring their own SQL.
func (s *Store) SnapshotTx(ctx context.Context, f func(*sql.Tx) error) error {
	// SQLite has no isolation levels: each of its transactions is a snapshot.
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return Classify(err)
	}
	defer func() { _ = tx.Rollback() }() // nothing was written
	if s.Shared() {                      // it locks no row, so it may take as long as the database is large
		if _, err := tx.ExecContext(ctx, "SET LOCAL statement_timeout = 0"); err != nil {
			return Classify(err)
		}
		if _, err := tx.ExecContext(ctx, "SET LOCAL idle_in_transaction_session_timeout = '10min'"); err != nil {
			return Classify(err)
		}
	}
	return f(tx)
}
