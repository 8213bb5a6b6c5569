package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"

	"github.com/jackc/pgx/v5/pgconn"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/store/admission"
	"github.com/assayhq/assay/internal/store/sqlite"
)

// Dialect is what differs between the engines; nearly every other statement is one text for both.
type Dialect struct {
	Name       string
	SkipLocked string // suffix of a SELECT that claims rows
	ForUpdate  string // suffix of a SELECT whose rows the transaction is about to change

	// ForNoKeyUpdate is ForUpdate for rows that others may refer to meanwhile.
	ForNoKeyUpdate string
	// ForKeyShare is the suffix of a SELECT whose rows nobody may take for update meanwhile; others may read them so too.
	ForKeyShare string
}

var (
	// SQLite has one writer at a time: rows that a transaction reads cannot change under it.
	SQLite   = Dialect{Name: "sqlite3"}
	Postgres = Dialect{
		Name: "postgres", SkipLocked: " FOR UPDATE SKIP LOCKED", ForUpdate: " FOR UPDATE",
		ForNoKeyUpdate: " FOR NO KEY UPDATE", ForKeyShare: " FOR KEY SHARE",
	}
)

// Classify marks the errors that callers act on: a violated UNIQUE constraint, or a database that cannot be reached.
func Classify(err error) error {
	switch {
	case err == nil:
		return nil
	case uniqueViolation(err):
		return errors.Join(ErrExists, err)
	case fault.CodeOf(err) == "" && unreachable(err):
		return fault.UnavailableError(err)
	}
	return err
}

// uniqueViolation reports whether the statement broke a UNIQUE or PRIMARY KEY rule.
func uniqueViolation(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code == "23505"
	}
	if e, ok := errors.AsType[sqlite.Error](err); ok {
		switch e.Code() {
		case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_ROWID:
			return true
		}
	}
	return false
}

// RowIDTaken reports whether another row of SQLite has the RowID of a row.
func RowIDTaken(err error) bool {
	e, ok := errors.AsType[sqlite.Error](err)
	return ok && e.Code() == sqlite3.SQLITE_CONSTRAINT_ROWID
}

// rollsBack reports whether SQLite may answer the error of a statement by rolling back the whole transaction.
func rollsBack(err error) bool {
	if e, ok := errors.AsType[sqlite.Error](err); ok {
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_INTERRUPT:
			return true
		}
	}
	return false
}

// retryable reports whether the transaction lost against another one and may simply run again.
func retryable(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (e.Code == "40001" || e.Code == "40P01") // serialization failure, deadlock
}

// unreachable reports whether the database cannot be used now, as opposed to a statement being wrong: it cannot be
// reached, does not answer in time, only reads, or has no room.
func unreachable(err error) bool {
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return unusable(e.Code)
	}
	if e, ok := errors.AsType[sqlite.Error](err); ok {
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN,
			sqlite3.SQLITE_READONLY:
			return true
		}
		return false
	}
	return errors.Is(err, context.DeadlineExceeded) || brokenConnection(err)
}

// outage reports whether the database cannot be used now, for whatever transaction.
func outage(err error) bool { return unreachable(err) && !retryable(err) }

// unusable reports whether a code of PostgreSQL says that the same statement may work later.
func unusable(code string) bool {
	switch code {
	case readOnly,
		"25P03", "25P04", // the session or the transaction took too long, as when this process stood still
		"40001", "40P01", // lost against other transactions in every try
		"55P03": // lock_timeout
		return true
	}
	switch code[:min(2, len(code))] {
	case "08", "53", "57", "58": // connection, resources, operator intervention, system error
		return true
	}
	return false
}

// brokenConnection reports whether a connection ended; pgx says of one that had ended before that it is safe to retry.
func brokenConnection(err error) bool {
	if errors.Is(err, context.Canceled) {
		return false
	}
	var network net.Error
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, errClosed) ||
		errors.Is(err, admission.ErrOverloaded) || errors.Is(err, errHeldUp) || errors.Is(err, sqlite.ErrFileLost) ||
		errors.As(err, &network) ||
		pgconn.SafeToRetry(err)
}
