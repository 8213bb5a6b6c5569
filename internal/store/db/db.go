// Package db runs statements and transactions on SQLite and PostgreSQL: connections, groups of transactions that are
// committed together, reads that share a transaction or a round trip, a replica, announcements. It knows no table.
package db

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/jackc/pgx/v5"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/assayhq/assay/internal/store/admission"
	"github.com/assayhq/assay/internal/store/sqlite"
	"github.com/assayhq/assay/internal/tracing"
)

// ErrNotFound is returned by reads of a single row that does not exist.
var ErrNotFound = errors.New("not found")

// ErrExists is returned by writes that would violate a UNIQUE constraint.
var ErrExists = errors.New("already exists")

// DB is an open database.
type DB struct {
	Queries
	*admission.Gate
	Channels []string // of the announcements that Listen receives

	sql       *sql.DB
	readers   *readers // nil on PostgreSQL
	writer    *writer  // nil on PostgreSQL, which takes any number of writers itself
	groups    groups   // of PostgreSQL
	config    *pgx.ConnConfig
	path      string // of SQLite
	replica   *replica
	listeners listenerHub
}

// IsPostgres reports whether the target names a PostgreSQL database. Any other one is the path of a SQLite file.
func IsPostgres(target string) bool {
	return strings.HasPrefix(target, "postgres://") || strings.HasPrefix(target, "postgresql://")
}

// Open connects to a database, which has its schema.
func Open(ctx context.Context, target string) (*DB, error) {
	if !IsPostgres(target) {
		return openSQLite(ctx, target)
	}
	config, err := ParsePostgres(target)
	if err != nil {
		return nil, err
	}
	return OpenPostgres(config), nil
}

func openSQLite(ctx context.Context, path string) (*DB, error) {
	pool, err := sql.Open("sqlite", sqlite.DSN(path, "query_only(1)", poolCache))
	if err != nil {
		return nil, err
	}
	n := max(4, 2*runtime.GOMAXPROCS(0))
	pool.SetMaxOpenConns(n)
	pool.SetMaxIdleConns(n)
	w, err := newWriter(ctx, path)
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	go w.loop()
	readers, err := newReaders(newStatements(pool.PrepareContext, maxStatements), path, max(2, runtime.GOMAXPROCS(0)))
	if err != nil {
		return nil, errors.Join(err, w.close(), pool.Close())
	}
	return &DB{
		Queries: Queries{c: readers, Dialect: &SQLite}, Gate: admission.NewGate(), sql: pool, readers: readers, writer: w,
		path: path,
	}, nil
}

// CreatePrivate makes a SQLite file readable by its owner only before SQLite opens it; the journal files inherit the
// mode.
func CreatePrivate(path string) error {
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

// SQL returns the pool of connections: on SQLite it only reads.
func (d *DB) SQL() *sql.DB { return d.sql }

// Shared says whether other nodes may work on this database: on PostgreSQL they may, on SQLite there is one server.
func (d *DB) Shared() bool { return d.writer == nil }

// Close ends the writer after the transactions that wait for it, and closes the connections.
func (d *DB) Close() error {
	var err error
	if d.writer != nil {
		err = errors.Join(d.writer.close(), d.readers.close())
	}
	if d.replica != nil {
		err = errors.Join(err, d.replica.close())
	}
	return errors.Join(err, d.sql.Close())
}

// CheckFiles returns an error where the files of SQLite will not be there when the database is opened the next time.
func (d *DB) CheckFiles() error {
	if d.writer == nil {
		return nil
	}
	return Classify(d.writer.files.Check(0))
}

// Update runs f in one transaction that is on disk when Update returns nil. f may run more than once. Canceling ctx
// does not undo a transaction that has begun. The deadline of ctx ends the wait for it: of one that has begun by then
// nobody knows whether it is done.
func (d *DB) Update(ctx context.Context, f func(*Tx) error) error {
	return d.run("", newJob(ctx, f, nil))
}

// UpdateGrouped is Update for work that changes a row which others change as well: all work with the same row name that
// arrives while a transaction of it runs becomes the next transaction, and where that fails a transaction each, one
// after the other. On PostgreSQL canceling ctx, too, ends the wait for one that has not begun: it is never done then.
func (d *DB) UpdateGrouped(ctx context.Context, row string, f func(*Tx) error) error {
	return d.run(row, newJob(ctx, f, nil))
}

// UpdateMerged is UpdateGrouped for work that one set of statements does for the whole group.
func (d *DB) UpdateMerged(ctx context.Context, row string, m Mergeable) error {
	return d.run(row, newJob(ctx, nil, m))
}

// run runs a job when it is its turn: on SQLite, which has one writer, in a group with all others, on PostgreSQL with
// those of its row, or in a transaction of its own.
func (d *DB) run(row string, j *job) (err error) {
	ctx := j.ctx
	if err := ctx.Err(); err != nil {
		return err
	}
	span := tracing.Transaction(ctx, d.Dialect.Name)
	defer func() { span.End(err) }()
	began, err := d.Enter(ctx)
	if err != nil {
		return Classify(err)
	}
	defer d.Leave(began)
	switch {
	case d.writer != nil:
		err = DiskFull(d.path, d.writer.run(ctx, j, !began.IsZero()))
	case row == "":
		err = d.updatePostgres(j)
	default:
		err = d.groups.run(row, j, d.commitPostgres)
	}
	return Classify(err)
}

// Snapshot runs f over the database as it is at one moment, regardless of concurrent writes.
func (d *DB) Snapshot(ctx context.Context, f func(Queries) error) error {
	return d.SnapshotTx(ctx, func(tx *sql.Tx) error { return f(d.In(tx)) })
}

// In returns the reads of a transaction.
func (d *DB) In(tx *sql.Tx) Queries { return Queries{c: txConn{tx}, Dialect: d.Dialect} }

// SnapshotTx is Snapshot for those who bring their own connection to the statements.
func (d *DB) SnapshotTx(ctx context.Context, f func(*sql.Tx) error) error {
	// SQLite has no isolation levels: each of its transactions is a snapshot.
	tx, err := d.sql.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return Classify(err)
	}
	defer func() { _ = tx.Rollback() }() // nothing was written
	if d.Shared() {                      // it locks no row, so it may take as long as the database is large
		if _, err := tx.ExecContext(ctx, "SET LOCAL statement_timeout = 0"); err != nil {
			return Classify(err)
		}
		if _, err := tx.ExecContext(ctx, "SET LOCAL idle_in_transaction_session_timeout = '10min'"); err != nil {
			return Classify(err)
		}
	}
	return f(tx)
}
